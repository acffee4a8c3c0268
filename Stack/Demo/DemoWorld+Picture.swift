import PowerSync

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The situation of the demo in which a file belongs to a row.
extension DemoWorld {
    /// A picture follows its row to another device of its user and to nobody else's, and goes with it.
    package func pictureFollowsItsRow() async throws {
        timeline.chapter("A saves a picture; B gets it, C does not; A deletes it")
        let (onA, onB) = (a.pictures(), b.pictures())
        do {
            try await exchange(onA, onB)
        } catch {
            // What they throw now follows from that.
            try? await onA.close()
            try? await onB.close()
            throw error
        }
        try await onA.close()
        try await onB.close()
    }

    private func exchange(_ onA: AttachmentQueue, _ onB: AttachmentQueue) async throws {
        try await onA.startSync()
        try await onB.startSync()
        let todo = try await a.watch("SELECT id FROM todos ORDER BY id LIMIT 1", for: "a todo on A") {
            !$0.isEmpty
        }[0]
        let picture = DemoPicture.png()
        let saved = try await onA.saveFile(
            data: Data(picture), mediaType: DemoPicture.mediaType, fileExtension: DemoPicture.fileExtension
        ) { transaction, attachment in
            try transaction.execute(
                sql: "UPDATE todos SET photo_id = ? WHERE id = ?", parameters: [attachment.id, todo])
        }
        timeline.event(
            "A", "a picture of \(picture.count) bytes saved, and its id in a todo, in one transaction")

        let transferred =
            "SELECT id FROM attachments WHERE id = ? AND state = \(AttachmentState.synced.rawValue)"
        try await a.watch(transferred, [saved.id], for: "A's picture to be uploaded") { !$0.isEmpty }
        timeline.event("A", "uploaded to an address that the backend has signed for these bytes alone")
        try await b.watch(transferred, [saved.id], for: "A's picture on B") { !$0.isEmpty }
        let copy = try await b.database.get(
            sql: "SELECT local_uri FROM attachments WHERE id = ?", parameters: [saved.id]
        ) { try $0.getString(index: 0) }
        guard try Data(contentsOf: URL(filePath: copy)) == Data(picture) else {
            throw StackError(.answer, "the picture on B has other bytes than that on A")
        }
        timeline.event("B", "downloaded behind its row: the same \(picture.count) bytes")
        try await checkThirdDeviceIsRefused(saved)

        try await onA.deleteFile(attachmentId: saved.id) { transaction, _ in
            try transaction.execute(
                sql: "UPDATE todos SET photo_id = NULL WHERE id = ?", parameters: [todo])
        }
        timeline.event("A", "deletes it, and its id in the todo, in one transaction")
        let known = "SELECT id FROM attachments WHERE id = ?"
        try await a.watch(known, [saved.id], for: "the backend to delete A's picture") { $0.isEmpty }
        timeline.event("Backend", "has deleted it, for no row names it any more")
        try await b.watch(known, [saved.id], for: "B's copy to go") { $0.isEmpty }
        for file in [saved.localUri, copy] {
            guard let file, !FileManager.default.fileExists(atPath: file) else {
                throw StackError(.answer, "the file of a deleted picture is still there")
            }
        }
        timeline.event("B", "its copy is archived, and removed: B keeps none that no row names")
    }

    /// Whose rows do not name a picture is told no address of it.
    private func checkThirdDeviceIsRefused(_ picture: Attachment) async throws {
        do {
            _ = try await SignedURLStorage(connector: c.connector).downloadFile(attachment: picture)
        } catch let error as AttachmentStorageError where error.code == .unknown && error.status == 404 {
            timeline.event("C", "is refused the address as for a picture that is not there: 404 unknown")
            return
        }
        throw StackError(.answer, "C got the picture of another user")
    }
}
