import PowerSyncHTTP
import PowerSyncWire

/// What requests about attachments come to: the tables of `SPEC.md`, without a database and a store.
package enum AttachmentRules {
    /// What a question for an upload comes to.
    package enum Upload: Sendable, Hashable {
        /// There is no record: one is made if there is room.
        case make
        /// The same bytes are on their way: the store is asked, and else they are signed for again.
        case again(AttachmentRecord)
        /// Bytes are on their way from somebody else: nobody may have a hand in them.
        case busy
        /// The same bytes are there.
        case uploaded(AttachmentRecord)
        /// The id is that of other bytes.
        case conflict
        /// The id was deleted.
        case gone
    }

    /// For how many seconds an upload that nobody asks a URL for may stay unfinished.
    package static let unfinished = 86_400.0
    /// For how many seconds an attachment stays that no row names, whosever it is.
    package static let unnamed = 30 * 86_400.0
    /// For how many seconds a deleted id is kept.
    package static let kept = 30 * 86_400.0
    /// How many seconds lie between two looks at the rows of an attachment.
    package static let lookedAt = 86_400.0
    /// How many seconds after the last URL of an upload the store is told once more that the bytes go: whoever began in time
    /// may end later.
    package static let settled = Double(ObjectStoreLifetime.upload) + 3_600
    /// How many seconds after that it is told for the last time: the clock by which a URL is judged may be another one.
    package static let lastTold = 86_400.0
    /// How many seconds after a store has refused it is told again.
    package static let pause = 600.0

    /// Decides about a question for an upload, of somebody who may upload.
    ///
    /// - Parameters:
    ///   - request: the question.
    ///   - record: what is known of the id: of the one who asks, else of the table that shares it.
    ///   - subject: who asks.
    /// - Returns: what it comes to.
    package static func upload(
        _ request: AttachmentUploadRequest, _ record: AttachmentRecord?, by subject: String
    ) -> Upload {
        guard let record else { return .make }
        guard record.state != .deleted else { return .gone }
        guard record.state == .ready || record.isOwned(by: subject) else { return .busy }
        let isSame =
            record.size == request.size && ExactText(record.sha256) == ExactText(request.sha256)
            && ExactText(record.contentType) == ExactText(request.contentType)
        guard isSame else { return .conflict }
        return record.state == .ready ? .uploaded(record) : .again(record)
    }

    /// Decides when a store that was told now that bytes go is told again.
    ///
    /// - Parameters:
    ///   - removal: the bytes.
    ///   - now: the time.
    /// - Returns: when; nil if never.
    package static func nextTelling(of removal: AttachmentRemoval, at now: Double) -> Double? {
        [removal.lastAt, removal.lastAt + lastTold].first { now < $0 }
    }

    // MARK: Bytes

    /// Whether a file goes in parts.
    package static func isInParts(_ size: Int64) -> Bool { size >= AttachmentPart.size }

    /// Returns the number of parts of a file that goes in parts.
    package static func partCount(_ size: Int64) -> Int { Int((size - 1) / AttachmentPart.size) + 1 }

    /// Returns the bytes of a part.
    ///
    /// - Parameters:
    ///   - number: its number, from 1 to `partCount`.
    ///   - size: the bytes of the file.
    /// - Returns: the size of every part, or what is left for the last.
    package static func partSize(_ number: Int, of size: Int64) -> Int64 {
        min(AttachmentPart.size, size - Int64(number - 1) * AttachmentPart.size)
    }

    /// Returns the parts that a store has as they must be, by their numbers.
    ///
    /// - Parameters:
    ///   - parts: what the store has.
    ///   - size: the bytes of the file.
    /// - Returns: those of the right numbers and sizes.
    package static func usable(_ parts: [StoredPart], of size: Int64) -> [StoredPart] {
        let numbers = 1...partCount(size)
        return parts.filter { numbers.contains($0.number) && $0.size == partSize($0.number, of: size) }
            .sorted { $0.number < $1.number }
    }

    /// Whether parts are a whole file.
    package static func isWhole(_ parts: [StoredPart], of size: Int64) -> Bool {
        parts.map(\.number) == Array(1...partCount(size))
    }

    /// Whether what a store has is what was announced, as far as the store says it.
    package static func fits(_ object: StoredObject, _ record: AttachmentRecord) -> Bool {
        guard object.size == record.size else { return false }
        return object.sha256.map { $0 == bytes(ofDigest: record.sha256) } ?? true
    }

    /// Returns the bytes that hexadecimal digits spell.
    package static func bytes(ofDigest digits: String) -> [UInt8] {
        let values = digits.utf8.map { byte in
            (0x30...0x39).contains(byte) ? byte &- 0x30 : (byte | 0x20) &- 0x61 &+ 10
        }
        return stride(from: 0, to: values.count - 1, by: 2).map { values[$0] << 4 | values[$0 + 1] & 15 }
    }

    // MARK: Answers

    /// Returns the `content-disposition` of a download.
    ///
    /// What a browser would run is never shown within a page, whatever was asked for.
    ///
    /// - Parameters:
    ///   - wantsInline: whether the browser should show it.
    ///   - record: the attachment.
    /// - Returns: the value of the field (RFC 6266).
    package static func disposition(inline wantsInline: Bool, _ record: AttachmentRecord) -> String {
        let kind = wantsInline && isShowable(record.contentType) ? "inline" : "attachment"
        let name = plainName(record.filename)
        guard !name.isEmpty else { return kind }
        let fallback = String(
            decoding: name.utf8.map { byte -> UInt8 in
                (0x20..<0x7F).contains(byte) && !"\"\\%".utf8.contains(byte) ? byte : UInt8(ascii: "_")
            }, as: UTF8.self)
        return "\(kind); filename=\"\(fallback)\"; filename*=UTF-8''\(PercentEncoding.encode(name))"
    }

    /// The longest name in an answer, which comes within a URL.
    private static let nameBytes = 180

    /// A name without folders and without what acts instead of being seen; of a long one the end, which has the extension.
    private static func plainName(_ filename: String) -> String {
        var scalars: [Unicode.Scalar] = []
        var bytes = 0
        for scalar in filename.unicodeScalars.reversed() {
            if scalar == "/" || scalar == "\\" { break }
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
                continue
            default: break
            }
            bytes += UTF8.width(scalar)
            if bytes > nameBytes { break }
            scalars.append(scalar)
        }
        return String(String.UnicodeScalarView(scalars.reversed()))
    }

    /// Media types that hold no program for a browser.
    private static func isShowable(_ contentType: String) -> Bool {
        let type = AttachmentPolicy.essence(contentType)
        if type.hasPrefix("audio/") || type.hasPrefix("video/") || type == "text/plain" { return true }
        return [
            "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp", "image/heic",
        ]
        .contains(type)
    }
}
