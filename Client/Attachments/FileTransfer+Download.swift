import PowerSyncSystem

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Bringing a file from the storage.
extension FileTransfer {
    /// Brings a file, which gets its name once it is known that its row wants it.
    func download(_ attachment: Attachment) async throws -> Done {
        let path = try await parts.local.checkedPath(of: attachment.filename)
        if try await parts.local.isTaken(path, besides: id, parts.service.withContext(callback: { $0.rows }))
        {
            throw PowerSyncAttachmentError.invalidPath(
                "the filename of an attachment, which leads to the file of another one here")
        }
        guard let files = parts.local.files else {
            let data = try await parts.remote.downloadFile(attachment: attachment)
            // What comes too late leaves no file.
            try checkStop()
            let storage = parts.local.storage
            let publish: @Sendable () async throws -> Int64 = {
                try await storage.saveFile(filePath: path, data: data)
            }
            return Done(bytes: Int64(data.count), file: Brought(path: path, publish: publish))
        }
        let part = try await bring(attachment, files, to: path)
        return Done(
            bytes: part.size,
            file: Brought(
                path: path, temporary: part.path,
                publish: {
                    let size = part.size
                    try AttachmentFiles.naming { () throws(SystemError) -> Void in
                        try part.commit(to: path, replacing: true, syncsNames: false)
                    }
                    return size
                }, drop: { part.discard() }))
    }

    /// Brings a file, and what there is of it to the disk.
    private func bring(
        _ attachment: Attachment, _ files: AttachmentFiles, to path: String
    ) async throws -> StagedFile {
        let work = FileWork()
        if let transport = parts.transport {
            if files.isPartHeld(of: path) {
                throw AttachmentStorageError(
                    .notUploaded, "An earlier download of the file has not ended yet")
            }
            try await transport.download(
                attachment: attachment.at(path), localUri: files.partPath(of: path), progress: progress)
            try checkStop()
            let part = try files.part(of: path)
            try await work.run(bytes: part.size) { _ in try part.syncBytes() }
            return part
        }
        let data = try await parts.remote.downloadFile(attachment: attachment)
        try checkStop()
        let part = try files.newPart(of: path)
        do {
            try await work.run(bytes: Int64(data.count)) { isWanted in
                var rest = data[...]
                while !rest.isEmpty {
                    guard isWanted() else { throw CancellationError() }
                    try part.write([UInt8](rest.prefix(LocalFile.pieceSize)))
                    rest = rest.dropFirst(LocalFile.pieceSize)
                }
                try part.syncBytes()
            }
        } catch {
            await drop(part, of: Int64(data.count), work)
            throw error
        }
        return part
    }

    /// Drops a file with which nobody goes on, and of which the disk may be full, also where the task is cancelled.
    private func drop(_ part: StagedFile, of size: Int64, _ work: FileWork) async {
        do {
            // On a thread, too: that which writes may be waiting for the disk still.
            try await Task { try await work.run(bytes: size) { _ in part.discard() } }.value
        } catch {
            report("Removing what there is of a file failed", error, isFirst: true)
        }
    }
}
