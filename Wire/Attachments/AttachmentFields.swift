/// Reads the members that messages about attachments have in common (backend 10.2).
///
/// Each has a limit: what is read here is stored, signed or sent on.
struct AttachmentFields {
    /// The most bytes of the id of an attachment.
    static let idBytes = 255
    /// The most bytes of the name of a file.
    static let filenameBytes = 1_024
    /// The most bytes of a media type.
    static let mediaTypeBytes = 127
    /// The most bytes of a signed address.
    static let addressBytes = 16 << 10
    /// The most parts of an upload, as S3 has it.
    static let partCount = 10_000

    private let json: JSON
    /// What stands before the names in errors.
    private let path: String

    /// Looks at an object.
    ///
    /// - Parameters:
    ///   - json: the object.
    ///   - path: where it stands in the message; empty for the message itself.
    /// - Throws: `WireError` with `.invalidField` for another kind of value.
    init(_ json: JSON, _ path: String = "") throws(WireError) {
        guard json.objectMembers != nil else { throw .field(path.isEmpty ? "body" : path, "an object") }
        self.json = json
        self.path = path.isEmpty ? "" : path + "/"
    }

    /// Returns a member that is there and not `null`.
    func member(_ name: String) -> JSON? {
        guard let member = json[name], !member.isNull else { return nil }
        return member
    }

    /// Reads a text.
    func text(_ name: String, bytes: ClosedRange<Int>) throws(WireError) -> String {
        guard let text = member(name)?.stringValue, bytes.contains(text.utf8.count) else {
            throw .field(path + name, "a text of \(bytes.lowerBound) to \(bytes.upperBound) bytes")
        }
        return text
    }

    /// Reads a text that may be absent.
    func optionalText(_ name: String, bytes: ClosedRange<Int>) throws(WireError) -> String? {
        guard member(name) != nil else { return nil }
        return try text(name, bytes: bytes)
    }

    /// Reads the id of an attachment.
    func id(_ name: String) throws(WireError) -> String {
        let id = try text(name, bytes: 1...Self.idBytes)
        guard !id.utf8.contains(0) else { throw .field(path + name, "a text without NUL") }
        return id
    }

    /// Reads a count of bytes.
    func size(_ name: String, from least: Int64 = 0) throws(WireError) -> Int64 {
        guard let size = member(name)?.int64Value, size >= least else {
            throw .field(path + name, "a whole number from \(least)")
        }
        return size
    }

    /// Reads a whole number of a range.
    func number(_ name: String, in range: ClosedRange<Int>) throws(WireError) -> Int {
        guard let number = member(name)?.int64Value.flatMap({ Int(exactly: $0) }), range.contains(number)
        else { throw .field(path + name, "a whole number from \(range.lowerBound) to \(range.upperBound)") }
        return number
    }

    /// Reads the digits of a SHA-256.
    func digest(_ name: String) throws(WireError) -> String {
        guard let text = member(name)?.stringValue, Self.isDigest(text) else {
            throw .field(path + name, "64 lower-case hexadecimal digits")
        }
        return text
    }

    /// Reads a media type with or without parameters.
    func mediaType(_ name: String) throws(WireError) -> String {
        guard let text = member(name)?.stringValue, Self.isMediaType(text) else {
            throw .field(path + name, "a media type of at most \(Self.mediaTypeBytes) bytes")
        }
        return text
    }

    /// Reads an array whose elements `element` reads.
    func list<Element>(
        _ name: String, _ element: (JSON, String) throws(WireError) -> Element
    ) throws(WireError) -> [Element] {
        guard let values = member(name)?.arrayValue else { throw .field(path + name, "an array") }
        var elements: [Element] = []
        elements.reserveCapacity(values.count)
        for (index, value) in values.enumerated() {
            elements.append(try element(value, "\(path)\(name)/\(index)"))
        }
        return elements
    }

    // MARK: Texts

    /// Whether a text is a SHA-256 as messages spell it.
    static func isDigest(_ text: String) -> Bool {
        text.utf8.count == 64
            && text.utf8.allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }
    }

    /// Whether a text is a media type (RFC 6838, 4.2), with or without parameters (RFC 9110, 8.3.1).
    static func isMediaType(_ text: String) -> Bool {
        guard text.utf8.count <= mediaTypeBytes else { return false }
        var parts = text.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)[...]
        guard let type = parts.popFirst() else { return false }
        let names = type.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard names.count == 2, names.allSatisfy(isName) else { return false }
        return parts.allSatisfy { part in
            let pair = trimmed(part)
            guard let sign = pair.firstIndex(of: UInt8(ascii: "=")), isName(pair[..<sign]) else {
                return false
            }
            return isValue(pair[pair.index(after: sign)...])
        }
    }

    private typealias Bytes = Substring.UTF8View

    private static func trimmed(_ bytes: Bytes) -> Bytes {
        let isBlank: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        var bytes = bytes
        while let first = bytes.first, isBlank(first) { bytes = bytes.dropFirst() }
        while let last = bytes.last, isBlank(last) { bytes = bytes.dropLast() }
        return bytes
    }

    /// Whether bytes are a restricted name of RFC 6838.
    private static func isName(_ bytes: Bytes) -> Bool {
        guard let first = bytes.first, isLetterOrDigit(first) else { return false }
        return bytes.allSatisfy(isNameByte)
    }

    /// Whether bytes are the value of a parameter: a name, or printable text in quotes without escapes.
    private static func isValue(_ bytes: Bytes) -> Bool {
        guard bytes.first == UInt8(ascii: "\"") else {
            return !bytes.isEmpty && bytes.allSatisfy(isNameByte)
        }
        let inner = bytes.dropFirst()
        guard inner.last == UInt8(ascii: "\"") else { return false }
        return inner.dropLast().allSatisfy {
            (0x20..<0x7F).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
        }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        isLetterOrDigit(byte) || "!#$&-^_.+".utf8.contains(byte)
    }
}
