import PowerSyncHTTPClient
import PowerSyncWire

/// One upload (backend 10.2).
extension SignedURLStorage {
    /// Brings a file to the storage.
    ///
    /// Its media type is that of the row, or `application/octet-stream` where that is none.
    ///
    /// - Parameters:
    ///   - attachment: the row of the attachment.
    ///   - localUri: the path of the file, which does not change meanwhile.
    ///   - progress: is told how many bytes have gone, ten times a second at most and at the end.
    /// - Throws: ``AttachmentStorageError``; ``PowerSyncAttachmentError/fileNotFound(_:)``; `CancellationError`; what
    ///   the session throws.
    public func upload(
        attachment: Attachment, localUri: String, progress: @escaping @Sendable (AttachmentBytes) -> Void
    ) async throws {
        try await AttachmentStorageError.wrapping {
            let file = try await digest(of: localUri, attachment.id)
            let meter = TransferMeter(total: file.size, uptime: uptime, report: progress)
            let type = attachment.mediaType.flatMap { AttachmentUploadRequest.isMediaType($0) ? $0 : nil }
            let question = AttachmentUploadRequest(
                id: attachment.id, filename: attachment.filename,
                contentType: type ?? "application/octet-stream", size: file.size, sha256: file.sha256)
            let ticket = try await ticket(question)
            do {
                if !ticket.isUploaded {
                    if let multipart = ticket.multipart {
                        try await sendParts(of: file, multipart, question.id, meter)
                    } else if let request = ticket.request {
                        try await send(file, request, question, meter)
                    }
                    try await backend.complete(question.id, inParts: ticket.multipart != nil)
                }
            } catch let error as AttachmentStorageError where error.code == .damaged {
                // It may have changed, although it must not: the next time it is read.
                digests.forget(file)
                throw error
            }
            digests.forget(file)
            meter.finish()
        }
    }

    /// Returns what the backend is told of a file: what is known, or what is found by reading it.
    private func digest(of path: String, _ id: String) async throws -> FileDigest {
        let file = try LocalFile(path)
        if var known = digests.digest(of: file.identity) {
            // The folder may have been moved since it was read.
            known.path = file.path
            return known
        }
        // Without a connection each file that waits would be read with each try of all of them.
        if digests.isUnreachable {
            try await backend.reach(id)
            digests.note(isUnreachable: false)
        }
        let digest = try await FileDigest.of(path, work, onPiece: onPiece)
        digests.keep(digest)
        return digest
    }

    /// Asks where a file goes, and notes whether anybody answers.
    private func ticket(_ question: AttachmentUploadRequest) async throws -> AttachmentUploadTicket {
        do {
            let ticket = try await backend.uploadTicket(question)
            digests.note(isUnreachable: false)
            return ticket
        } catch let error as CancellationError {
            throw error
        } catch {
            // These stand for an answer.
            digests.note(isUnreachable: !(error is AttachmentStorageError))
            throw error
        }
    }

    /// Sends a file with one request.
    private func send(
        _ file: FileDigest, _ first: SignedRequest, _ question: AttachmentUploadRequest,
        _ meter: TransferMeter
    ) async throws {
        var request = first
        var isRenewed = false
        let body = HTTPFileBody(path: file.path, offset: 0, length: file.size)
        while true {
            let answer = try await storage.send(request, body, as: .whole) { meter.advance(to: $0) }
            switch answer.meaning {
            case .done, .stored: return
            case .refusedURL where !isRenewed:
                isRenewed = true
                let ticket = try await backend.uploadTicket(question)
                if ticket.isUploaded { return }
                guard let renewed = ticket.request else {
                    throw AttachmentStorageError(
                        .storage, "The backend wants another kind of upload than before")
                }
                request = renewed
            default: throw answer.error
            }
        }
    }

    /// Sends the parts of a file that are not stored.
    ///
    /// - Parameters:
    ///   - file: the file.
    ///   - multipart: what is stored of it.
    ///   - id: the id of the attachment.
    ///   - meter: is told how far it is.
    /// - Throws: as `upload`, before its errors are wrapped.
    func sendParts(
        of file: FileDigest, _ multipart: AttachmentMultipart, _ id: String, _ meter: TransferMeter
    ) async throws {
        guard multipart.partSize == AttachmentPart.size, multipart.partCount == file.parts.count else {
            throw AttachmentStorageError(.storage, "The backend wants other parts than this client sends")
        }
        let stored = Set(multipart.uploaded)
        var missing = (1...multipart.partCount).filter { !stored.contains($0) }[...]
        var done = stored.reduce(0) { $0 + file.region(ofPart: $1).length }
        meter.advance(to: done)
        var isRenewed = false
        while !missing.isEmpty {
            let numbers = missing.prefix(AttachmentPart.countPerRequest)
            let requests = try await backend.partRequests(
                numbers.map { AttachmentPart(number: $0, sha256: file.parts[$0 - 1]) }, of: id)
            for (number, request) in zip(numbers, requests) {
                let (offset, length) = file.region(ofPart: number)
                let body = HTTPFileBody(path: file.path, offset: offset, length: length)
                let before = done
                let answer = try await storage.send(request, body, as: .part) {
                    meter.advance(to: before + $0)
                }
                if answer.meaning == .stored { return }
                if answer.meaning == .refusedURL, !isRenewed {
                    // They were signed together: those behind it are as late.
                    isRenewed = true
                    break
                }
                guard answer.meaning == .done else { throw answer.error }
                isRenewed = false
                missing.removeFirst()
                done += length
                meter.advance(to: done)
            }
        }
    }
}
