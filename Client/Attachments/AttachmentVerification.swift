/// Compares the rows of a table of attachments with the files that are there (client-api 4.7).
struct AttachmentVerification: Sendable {
    /// How many rows are looked at together.
    static let pageSize = 200

    let service: any AttachmentServiceProtocol
    let local: LocalFiles

    /// What a look for the file of a row has shown.
    struct Finding: Sendable {
        let row: Attachment
        /// Whether the file is where the row says; also where nobody can tell.
        var isThere = false
        /// The path where the file is, and should be; nil if it is not there.
        var expected: String?
        /// Why nobody can tell where the file is.
        var doubt: (any Error)?

        /// What becomes of the row: only a file that is surely missing is given up.
        var change: AttachmentChange {
            let change = AttachmentRules.verified(row, isThere: isThere, expected: expected)
            return doubt != nil && change == .movedWithoutFile(to: .archived) ? .unchanged : change
        }

        /// Whether it is of the row as it is now.
        func isOf(_ row: Attachment) -> Bool {
            row.state == self.row.state && row.localUri == self.row.localUri
                && row.filename == self.row.filename
        }
    }

    /// Files of which nobody can tell where they are.
    struct Doubts: Sendable {
        /// How many there are.
        var count = 0
        /// Why nobody can tell of the first one.
        var first: (any Error)?

        mutating func add(_ others: Doubts) {
            count += others.count
            first = first ?? others.first
        }
    }

    /// Looks at all rows, page by page.
    ///
    /// A file that cannot be looked at is nothing that keeps others waiting: its row stays as it is, with a warning.
    ///
    /// - Throws: what the database throws, `CancellationError`.
    func run() async throws {
        var last: String?
        var doubts = Doubts()
        while true {
            try Task.checkCancellation()
            let page = try await service.withContext { [last] in
                try await $0.rows.rows(behind: last, where: AttachmentSQL.withPath, limit: Self.pageSize)
            }
            doubts.add(try await verify(page))
            guard page.count == Self.pageSize else { break }
            last = page.last?.id
        }
        guard let first = doubts.first else { return }
        let text = "\(doubts.count) files of attachments cannot be looked for: \(first)"
        let logger = try await service.withContext { $0.logger }
        logger.warning(text, tag: LogTag.attachmentQueue)
    }

    /// Looks at rows, and changes those whose files are elsewhere or gone.
    ///
    /// - Parameters:
    ///   - rows: the rows as they were read.
    ///   - isUnwanted: whether nothing is to be changed any more.
    /// - Returns: of how many nobody can tell where their files are.
    /// - Throws: what the database throws.
    @discardableResult
    func verify(
        _ rows: [Attachment], unless isUnwanted: @escaping @Sendable () -> Bool = { false }
    ) async throws -> Doubts {
        var suspects: [Attachment] = []
        var doubts = Doubts()
        for row in rows {
            let finding = await look(row)
            if let doubt = finding.doubt { doubts.add(Doubts(count: 1, first: doubt)) }
            if finding.change != .unchanged { suspects.append(row) }
        }
        guard !suspects.isEmpty else { return doubts }
        // Once more while nobody else of this queue is between a row and its file.
        try await service.withContext { [suspects] context in
            var findings: [String: Finding] = [:]
            for row in suspects { findings[row.id] = await look(row) }
            try await context.rows.change(suspects.map(\.id)) { [findings] row in
                guard !isUnwanted(), let finding = findings[row.id], finding.isOf(row) else {
                    return .unchanged
                }
                return finding.change
            }
        }
        return doubts
    }

    /// Looks for the file of a row: where the row says, and then where it should be.
    ///
    /// - Parameter row: the row.
    /// - Returns: what the look has shown.
    func look(_ row: Attachment) async -> Finding {
        guard row.hasPath, let path = row.localUri else { return Finding(row: row) }
        let known = await local.presence(of: path)
        if case .here = known { return Finding(row: row, isThere: true) }
        var place: String?
        do throws(PowerSyncAttachmentError) {
            place = try await local.checkedPath(of: row.filename)
        } catch {
            // Nothing is kept under a name that is not allowed.
        }
        guard let place, place != path else {
            guard case .unknown(let error) = known else { return Finding(row: row) }
            return Finding(row: row, isThere: true, doubt: error)
        }
        switch (known, await local.presence(of: place)) {
        case (_, .here): return Finding(row: row, expected: place)
        case (_, .unknown(let error)): return Finding(row: row, isThere: true, doubt: error)
        // As where the folder of the app was moved: the file is not within reach, but nobody knows that it is lost.
        case (.unknown(let error), .missing): return Finding(row: row, doubt: error)
        case (.missing, .missing), (.here, .missing): return Finding(row: row)
        }
    }
}
