/// Compares the rows of a table of attachments with the files that are there (client-api 4.7).
struct AttachmentVerification: Sendable {
    /// How many rows are looked at together.
    static let pageSize = 200

    let service: any AttachmentServiceProtocol
    let local: LocalFiles

    /// What a look for the file of a row has shown.
    private struct Finding: Sendable {
        let row: Attachment
        let isThere: Bool
        /// The path where the file is, and should be; nil if it is not there.
        let expected: String?

        var change: AttachmentChange {
            AttachmentRules.verified(row, isThere: isThere, expected: expected)
        }

        /// Whether it is of the row as it is now.
        func isOf(_ row: Attachment) -> Bool {
            row.state == self.row.state && row.localUri == self.row.localUri
                && row.filename == self.row.filename
        }
    }

    /// Looks at all rows, page by page.
    ///
    /// - Throws: what the database and the storage throw, `CancellationError`.
    func run() async throws {
        var last: String?
        while true {
            try Task.checkCancellation()
            let page = try await service.withContext { [last] in
                try await $0.rows.rows(behind: last, where: AttachmentSQL.withPath, limit: Self.pageSize)
            }
            try await verify(page)
            guard page.count == Self.pageSize else { return }
            last = page.last?.id
        }
    }

    /// Looks at rows, and changes those whose files are elsewhere or gone.
    ///
    /// - Parameters:
    ///   - rows: the rows as they were read.
    ///   - isUnwanted: whether nothing is to be changed any more.
    /// - Throws: what the database and the storage throw.
    func verify(
        _ rows: [Attachment], unless isUnwanted: @escaping @Sendable () -> Bool = { false }
    ) async throws {
        var suspects: [Attachment] = []
        for row in rows {
            if try await look(row).change != .unchanged { suspects.append(row) }
        }
        guard !suspects.isEmpty else { return }
        // Once more while nobody else of this queue is between a row and its file.
        try await service.withContext { [suspects] context in
            var findings: [String: Finding] = [:]
            for row in suspects { findings[row.id] = try await look(row) }
            try await context.rows.change(suspects.map(\.id)) { [findings] row in
                guard !isUnwanted(), let finding = findings[row.id], finding.isOf(row) else {
                    return .unchanged
                }
                return finding.change
            }
        }
    }

    private func look(_ row: Attachment) async throws -> Finding {
        guard row.hasPath, let path = row.localUri else {
            return Finding(row: row, isThere: false, expected: nil)
        }
        if try await isThere(path) { return Finding(row: row, isThere: true, expected: nil) }
        let expected: String
        do {
            expected = try await local.checkedPath(of: row.filename)
        } catch PowerSyncAttachmentError.invalidPath {
            // Nothing is kept under a name that is not allowed.
            return Finding(row: row, isThere: false, expected: nil)
        }
        guard expected != path, try await isThere(expected) else {
            return Finding(row: row, isThere: false, expected: nil)
        }
        return Finding(row: row, isThere: false, expected: expected)
    }

    /// Whether there is a file; a path that may not be used leads to none.
    private func isThere(_ path: String) async throws -> Bool {
        do {
            return try await local.exists(path)
        } catch PowerSyncAttachmentError.invalidPath {
            return false
        }
    }
}
