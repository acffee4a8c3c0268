import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncWire

/// One download (backend 10.2).
extension SignedURLStorage {
    /// Brings a file from the storage, behind the bytes of it that are there.
    ///
    /// Bytes that turn out to be others than were uploaded are removed. If some of them were there before the file is
    /// fetched once more, from its beginning.
    ///
    /// - Parameters:
    ///   - attachment: the row of the attachment.
    ///   - localUri: the path that is written; no symbolic link.
    ///   - progress: is told how many bytes are there, ten times a second at most and at the end.
    /// - Throws: ``AttachmentStorageError``; `CancellationError`; what the session throws.
    public func download(
        attachment: Attachment, localUri: String, progress: @escaping @Sendable (AttachmentBytes) -> Void
    ) async throws {
        try await AttachmentStorageError.wrapping {
            let ticket = try await backend.downloadTicket(attachment.id)
            let part = try PartFile(localUri)
            do {
                let meter = TransferMeter(total: ticket.size, uptime: uptime, report: progress)
                try await receive(attachment.id, ticket, into: part, meter)
                meter.finish()
            } catch let error as CancellationError {
                // A thread may be at work on it still, and closes it then.
                throw error
            } catch let error as AttachmentStorageError where error.code == .damaged {
                part.discard()
                throw error
            } catch {
                part.close()
                throw error
            }
            part.close()
        }
    }

    /// Fetches what is missing of a file, and looks at all of it.
    private func receive(
        _ id: String, _ first: AttachmentDownloadTicket, into part: PartFile, _ meter: TransferMeter
    ) async throws {
        if part.size > first.size { try part.beginAnew() }
        try await part.digestWhatIsThere(work, onPiece: onPiece)
        meter.advance(to: part.size)
        try await fetch(id, first, into: part, meter)
        var isWhole = part.finish() == first.sha256
        if !isWhole, part.hasOlderBytes {
            // What was there may be of another file, or may not have come to the disk.
            try part.beginAnew()
            meter.advance(to: 0)
            try await fetch(id, first, into: part, meter)
            isWhole = part.finish() == first.sha256
        }
        guard isWhole else {
            throw AttachmentStorageError(.damaged, "The file that was downloaded has another SHA-256")
        }
    }

    /// Fetches what is missing of a file.
    private func fetch(
        _ id: String, _ first: AttachmentDownloadTicket, into part: PartFile, _ meter: TransferMeter
    ) async throws {
        var ticket = first
        var isRenewed = false
        var isAnew = false
        while part.size < ticket.size {
            let start = part.size
            let (answer, stream) = try await storage.fetch(ticket.url, from: start)
            switch answer.meaning {
            case .done:
                try await append(stream, to: part, ticket, meter)
                // An answer may end early, and may bring less than was asked for, but not nothing.
                guard part.size > start || part.size == ticket.size else {
                    throw AttachmentStorageError(
                        .network, "The storage ended its answer before the first byte")
                }
            case .refusedURL where !isRenewed:
                isRenewed = true
                let renewed = try await backend.downloadTicket(id)
                guard renewed.size == ticket.size, renewed.sha256 == ticket.sha256 else {
                    throw AttachmentStorageError(
                        .damaged, "The backend tells of other bytes than a moment before")
                }
                ticket = renewed
            case .badRange where start > 0 && !isAnew:
                // Once: a storage that knows no ranges, and ends too early without a word, would be asked for ever.
                isAnew = true
                try part.beginAnew()
                meter.advance(to: 0)
            default: throw answer.error
            }
        }
    }

    /// Appends the body of an answer to what is there.
    private func append(
        _ stream: HTTPClientStream, to part: PartFile, _ ticket: AttachmentDownloadTicket,
        _ meter: TransferMeter
    ) async throws {
        // What is not wanted of the body ends its connection.
        defer { stream.cancel() }
        if stream.status == 206 {
            try Self.check(stream.fields, start: part.size, size: ticket.size)
        } else if part.size > 0 {
            try part.beginAnew()
            meter.advance(to: 0)
        }
        let length = stream.fields["content-length"].flatMap { Int64($0) }
        guard length == nil || length == ticket.size - part.size || stream.status == 206 else {
            throw Self.otherSize
        }
        while let piece = try await stream.next() {
            guard part.size + Int64(piece.count) <= ticket.size else { throw Self.otherSize }
            onPiece?(piece.count)
            try part.append(piece)
            meter.advance(to: part.size)
        }
    }

    /// Checks that a range is the one that was asked for, or begins as that does (RFC 9110, 14.4).
    private static func check(
        _ fields: HTTPFields, start: Int64, size: Int64
    ) throws(AttachmentStorageError) {
        guard let range = fields["content-range"].flatMap(ContentRange.init), range.first == start else {
            throw AttachmentStorageError(.storage, "The storage sent another range than was asked for")
        }
        guard range.total == nil || range.total == size, range.last < size else { throw otherSize }
    }

    private static var otherSize: AttachmentStorageError {
        AttachmentStorageError(.damaged, "The file in the storage has another size than was uploaded")
    }
}

/// The value of `Content-Range` in bytes.
struct ContentRange: Hashable {
    /// The place of the first byte and of the last one, from 0.
    let first: Int64
    let last: Int64
    /// The number of bytes of the whole; nil where it is not told.
    let total: Int64?

    /// Reads a value such as `bytes 8-15/100`; nil for any other text.
    init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: " "), maxSplits: 1)
        guard parts.count == 2, Substring(parts[0]).lowercased() == "bytes" else { return nil }
        let sides = parts[1].split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard sides.count == 2 else { return nil }
        let places = sides[0].split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard places.count == 2, let first = Self.number(places[0]), let last = Self.number(places[1]),
            first <= last
        else { return nil }
        if sides[1].elementsEqual("*".utf8) {
            total = nil
        } else {
            guard let total = Self.number(sides[1]), last < total else { return nil }
            self.total = total
        }
        self.first = first
        self.last = last
    }

    private static func number(_ digits: Substring.UTF8View) -> Int64? {
        guard digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return Int64(Substring(digits))
    }
}
