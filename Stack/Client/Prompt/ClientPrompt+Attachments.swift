import PowerSync

/// What a prompt does with files that belong to rows.
extension ClientPrompt {
    /// Follows the transfers of files, if there are any, until the task ends.
    func followAttachments() async {
        guard let queue = operations.attachments?.queue else { return }
        for await status in queue.statusUpdates() {
            board.change { $0.take(status) }
        }
    }

    /// Saves a file, with a statement in the same transaction.
    func attach(_ file: String, _ sql: String?) async throws {
        let id = try await operations.attach(file, mediaType: nil, Self.statements(sql))
        await console.show("saved as \(DisplayText.of(id))")
    }

    /// Deletes a file, with a statement in the same transaction.
    func detach(_ id: String, _ sql: String?) async throws {
        try await operations.deleteAttachment(id, Self.statements(sql))
        await console.show("deleted here; the storage follows")
    }

    /// Copies a file to where the person wants it.
    func export(_ id: String, to file: String) async throws {
        try await operations.exportAttachment(id, to: file)
        await console.show("copied to \(DisplayText.of(file))")
    }

    /// Lists the files.
    func showAttachments() async throws {
        let rows = TableRows(limit: console.rowLimit)
        _ = try await operations.listAttachments(mapper: { try rows.take($0) })
        let table = rows.table
        let isPart = table.rows.count < rows.count
        await show(
            table,
            rows.count == 0
                ? "(none)" : isPart ? "(the first \(table.rows.count) of \(rows.count) files)" : nil)
    }

    /// Returns the statement that a command ends with, if it does.
    private static func statements(_ sql: String?) -> [ClientStatement] {
        guard let sql else { return [] }
        let isNamed = sql.contains(ClientStatement.attachmentMark)
        return [ClientStatement(sql, isNamed ? [ClientStatement.AttachmentMark()] : [])]
    }
}
