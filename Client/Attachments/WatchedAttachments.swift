import PowerSyncSystem
import PowerSyncWire

/// Brings the table of attachments in step with the files that rows of the app refer to (client-api 4.5).
struct WatchedAttachments: Sendable {
    /// How many rows are looked at together.
    static let pageSize = 500

    let service: any AttachmentServiceProtocol
    /// Whether files are downloaded that rows of the app refer to.
    let downloads: Bool
    /// The folders below that of the attachments in which files may lie.
    let subdirectories: [String]
    /// Looks for the files of rows.
    let verification: AttachmentVerification
    /// Makes a filename of an id and what it ends with.
    let filename: @Sendable (String, String?) async -> String
    let logger: any LoggerProtocol
    /// The ids of those that were left out for their names when that was said last: it is said once of the same ones.
    let warned = Lock<Set<ExactText>>([])

    /// A row that gets another state.
    private struct Changed: Sendable {
        let id: String
        /// Whether a row of the app refers to it.
        let isWatched: Bool
        /// What a look for its file has shown, where it is no longer archived: the cache may have dropped the file.
        let finding: AttachmentVerification.Finding?
    }

    /// What is to be changed, as far as the rows were when they were read.
    private struct Differences: Sendable {
        var changed: [Changed] = []
        /// Files that have no row.
        var new: [Attachment] = []
        var refused = Refused()
    }

    /// Files that are left out for their names.
    private struct Refused: Sendable {
        var ids: Set<ExactText> = []
        /// Why one of them is.
        var reason = "other attachments have them"
    }

    /// Returns the filename of an attachment, unless the app has another idea.
    static func standardName(_ id: String, _ fileExtension: String?) -> String {
        "\(id).\(fileExtension ?? "attachment")"
    }

    /// Processes all items that rows of the app refer to.
    ///
    /// - Parameter items: the items; of several with one id the first one counts.
    /// - Throws: what the database throws; nothing is changed then.
    func process(_ items: [WatchedAttachmentItem]) async throws {
        try await service.withContext { context in
            let differences = try await differences(items, context)
            var refused = differences.refused
            if !differences.changed.isEmpty || !differences.new.isEmpty {
                refused.ids.formUnion(try await write(differences, context.rows))
            }
            warn(refused)
        }
    }

    /// Reads all rows, page by page, without keeping anybody from writing.
    private func differences(
        _ items: [WatchedAttachmentItem], _ context: AttachmentContext
    ) async throws -> Differences {
        var unknown: [ExactText: Int] = [:]
        for (index, item) in items.enumerated() where unknown[ExactText(item.id)] == nil {
            unknown[ExactText(item.id)] = index
        }
        var differences = Differences()
        var last: String?
        while true {
            let page = try await context.rows.rows(behind: last, limit: Self.pageSize)
            for row in page {
                let isWatched = unknown.removeValue(forKey: ExactText(row.id)) != nil
                guard Self.change(row, isWatched) != .unchanged else { continue }
                var finding: AttachmentVerification.Finding?
                if isWatched { finding = await verification.look(row) }
                differences.changed.append(Changed(id: row.id, isWatched: isWatched, finding: finding))
            }
            guard page.count == Self.pageSize else { break }
            last = page.last?.id
        }
        if downloads {
            try await add(unknown.values.sorted().map { items[$0] }, to: &differences, context.rows)
        }
        return differences
    }

    /// Makes rows for files that have none; those whose names are not allowed, or are those of other rows, are left out.
    private func add(
        _ items: [WatchedAttachmentItem], to differences: inout Differences, _ table: AttachmentRows
    ) async throws {
        var rows: [Attachment] = []
        for item in items {
            let name: String
            if let chosen = item.filename {
                name = chosen
            } else {
                name = await filename(item.id, item.fileExtension)
            }
            do throws(PowerSyncAttachmentError) {
                try AttachmentFiles.check(filename: name, subdirectories: subdirectories)
                rows.append(
                    Attachment(
                        id: item.id, filename: name, state: .queuedDownload, hasSynced: false,
                        mediaType: item.mediaType, metaData: item.metaData))
            } catch {
                differences.refused.ids.insert(ExactText(item.id))
                differences.refused.reason = String(describing: error)
            }
        }
        guard !rows.isEmpty else { return }
        let shared = try await table.db.readLock { [rows, sql = table.sql] connection -> Set<ExactText> in
            let shared = try rows.filter { try sql.isShared($0.filename, besides: $0.id, on: connection) }
            return Set(shared.map { ExactText($0.id) })
        }
        differences.new = rows.filter { !shared.contains(ExactText($0.id)) }
        differences.refused.ids.formUnion(shared)
    }

    /// Says how many are left out, unless that was said of the same ones.
    private func warn(_ refused: Refused) {
        let isNew = warned.withLock { warned in
            defer { warned = refused.ids }
            return warned != refused.ids
        }
        guard isNew, !refused.ids.isEmpty else { return }
        logger.warning(
            "\(refused.ids.count) attachments are left out for their names: \(refused.reason)",
            tag: LogTag.attachmentQueue)
    }

    /// Writes in one transaction what is still so; returns the ids of files that are left out, whose names other rows have.
    private func write(_ differences: Differences, _ rows: AttachmentRows) async throws -> Set<ExactText> {
        try await rows.transaction { [sql = rows.sql] connection, now -> Set<ExactText> in
            for changed in differences.changed {
                guard var row = try sql.row(changed.id, on: connection) else { continue }
                if let finding = changed.finding, finding.isOf(row) {
                    row = try sql.apply(finding.change, to: row, at: now, on: connection) ?? row
                }
                let change = Self.change(row, changed.isWatched)
                _ = try sql.apply(change, to: row, at: now, on: connection)
            }
            guard !differences.new.isEmpty else { return [] }
            var stamp = try sql.stamp(at: now, on: connection)
            var refused: Set<ExactText> = []
            for row in differences.new {
                guard try sql.row(row.id, on: connection) == nil else { continue }
                guard try !sql.isShared(row.filename, besides: row.id, on: connection) else {
                    refused.insert(ExactText(row.id))
                    continue
                }
                try sql.write(row.saved(at: stamp), on: connection)
                stamp = AttachmentSQL.stamp(behind: stamp)
            }
            return refused
        }
    }

    private static func change(_ row: Attachment, _ isWatched: Bool) -> AttachmentChange {
        isWatched ? AttachmentRules.watched(row) : AttachmentRules.unwatched(row)
    }
}
