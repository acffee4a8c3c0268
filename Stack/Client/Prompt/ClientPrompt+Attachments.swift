import PowerSync
import PowerSyncSQLite

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
        let outcome = try await operations.listAttachments(mapper: { try TableRow($0) })
        guard case .rows(let rows) = outcome else { return }
        await show(["id", "state", "filename", "size", "error"], rows.map(\.values))
    }

    /// Returns the statement that a command ends with, if it does.
    private static func statements(_ sql: String?) -> [ClientStatement] {
        guard let sql else { return [] }
        let isNamed = sql.contains(ClientStatement.attachmentMark)
        return [ClientStatement(sql, isNamed ? [ClientStatement.AttachmentMark()] : [])]
    }
}
