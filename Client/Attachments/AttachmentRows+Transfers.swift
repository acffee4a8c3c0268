/// What transfers read and write of the rows: each time at once, whatever the number of rows.
extension AttachmentRows {
    /// Returns what a plan wants to know of the rows, as they are at one moment.
    func look(for wish: TransferWish) async throws -> TransferFindings {
        try await db.readLock { [sql] connection in
            var findings = TransferFindings()
            for page in wish.pages {
                let found = findings.part { try sql.found(page, on: connection) }
                findings.pages.append(found)
            }
            if !wish.ids.isEmpty {
                findings.lanes = findings.part { try sql.lanes(of: wish.ids, on: connection) }
            }
            return findings
        }
    }

    /// Returns what is known when the transfer of a row begins; nil if the row does not wait for that.
    func start(of id: String, in lane: TransferLane) async throws -> FileTransfer.Start? {
        try await db.readLock { [sql] connection in
            guard let row = try sql.row(id, on: connection), row.state == lane.state else { return nil }
            return FileTransfer.Start(
                attachment: row, hasQueuedWrites: try sql.hasWritesQueued(on: connection),
                isShared: try lane == .download && sql.isShared(row.filename, besides: id, on: connection))
        }
    }

    /// Returns what is known of the rows of files that were brought, in their order.
    func brought(_ files: [Attachment]) async throws -> [BroughtRow] {
        try await db.readLock { [sql] connection in
            try files.map { file in
                BroughtRow(
                    row: try sql.row(file.id, on: connection),
                    isShared: try sql.isShared(file.filename, besides: file.id, on: connection))
            }
        }
    }

    /// Decides about rows whose transfers are done, and writes that, in one transaction.
    ///
    /// - Parameters:
    ///   - ids: the ids of the rows.
    ///   - lanes: the lanes of the transfers.
    ///   - rule: decides about the row of a place in `ids`; called in the transaction, if there is one.
    /// - Returns: what becomes of the row of each place, and the lanes for which no row waits then.
    /// - Throws: what the database throws; nothing is written then.
    func finish(
        _ ids: [String], in lanes: Set<TransferLane>,
        _ rule: @escaping @Sendable (_ place: Int, _ row: Attachment) -> AttachmentChange
    ) async throws -> (changed: [ChangedRow], empty: Set<TransferLane>) {
        try await transaction { [sql] connection, now in
            var changed: [ChangedRow] = []
            for (place, id) in ids.enumerated() {
                guard let row = try sql.row(id, on: connection) else {
                    changed.append(ChangedRow(change: .unchanged, row: nil))
                    continue
                }
                let change = rule(place, row)
                changed.append(
                    ChangedRow(
                        change: change, row: try sql.apply(change, to: row, at: now, on: connection)))
            }
            return (changed, try lanes.filter { try sql.isEmpty($0, on: connection) })
        }
    }
}

/// What is known of the row of a file that was brought.
struct BroughtRow: Sendable {
    /// The row as it is; nil if it is gone.
    let row: Attachment?
    /// Whether another row has the filename, too.
    let isShared: Bool
}
