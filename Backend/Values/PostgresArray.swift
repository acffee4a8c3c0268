import PowerSyncPostgres
import PowerSyncWire

/// Arrays as Postgres spells them.
enum PostgresArray {
    /// Postgres has no more.
    static let dimensions = 6
    /// More elements than an array can have that is not too long: each is printed with a comma and, by us, in quotes.
    static let elementLimit = ValueConversion.textLimit / 4 + 1_000

    /// Reads `{…}` with its quotes, escapes and inner arrays, without bounds in front of it.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - areJSON: Whether the elements are JSON themselves; then there is one dimension, or nobody could tell an inner
    ///     array from JSON.
    /// - Returns: An array whose elements are texts, NULL, or arrays; JSON values if they are such.
    /// - Throws: `ValueRefusal` for what is no such text.
    static func value(of text: String, areJSON: Bool) throws(ValueRefusal) -> JSON {
        var reader = ArrayReader(rest: Array(text.utf8)[...], areJSON: areJSON)
        let elements = try reader.elements(depth: 0)
        guard reader.rest.isEmpty else { throw ArrayReader.noArray }
        return .array(elements)
    }

    static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
}

private struct ArrayReader {
    var rest: ArraySlice<UInt8>
    let areJSON: Bool
    private var count = 0

    static var noArray: ValueRefusal { .invalid("an array") }

    init(rest: ArraySlice<UInt8>, areJSON: Bool) {
        self.rest = rest
        self.areJSON = areJSON
    }

    mutating func elements(depth: Int) throws(ValueRefusal) -> [JSON] {
        guard depth < (areJSON ? 1 : PostgresArray.dimensions), rest.popFirst() == UInt8(ascii: "{") else {
            throw Self.noArray
        }
        var elements: [JSON] = []
        skipBlanks()
        if rest.first == UInt8(ascii: "}") {
            rest.removeFirst()
            return []
        }
        while true {
            skipBlanks()
            count += 1
            guard count <= PostgresArray.elementLimit else { throw .tooLong }
            if rest.first == UInt8(ascii: "{") {
                elements.append(.array(try self.elements(depth: depth + 1)))
            } else {
                elements.append(try element())
            }
            skipBlanks()
            switch rest.popFirst() {
            case UInt8(ascii: ","): continue
            case UInt8(ascii: "}"): return elements
            default: throw Self.noArray
            }
        }
    }

    private mutating func element() throws(ValueRefusal) -> JSON {
        var bytes: [UInt8] = []
        // Blanks behind an element are none of it unless they are escaped.
        var kept = 0
        let isQuoted = rest.first == UInt8(ascii: "\"")
        if isQuoted { rest.removeFirst() }
        while let byte = rest.first {
            if isQuoted ? byte == UInt8(ascii: "\"") : byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}")
            {
                break
            }
            if !isQuoted, byte == UInt8(ascii: "{") || byte == UInt8(ascii: "\"") { throw Self.noArray }
            rest.removeFirst()
            if byte == UInt8(ascii: "\\") {
                guard let escaped = rest.popFirst() else { throw Self.noArray }
                bytes.append(escaped)
                kept = bytes.count
            } else {
                bytes.append(byte)
                if !PostgresArray.isBlank(byte) { kept = bytes.count }
            }
        }
        guard !rest.isEmpty else { throw Self.noArray }
        if isQuoted { rest.removeFirst() } else { bytes.removeLast(bytes.count - kept) }
        let text = String(decoding: bytes, as: UTF8.self)
        if !isQuoted {
            if bytes.isEmpty { throw Self.noArray }
            if bytes.count == 4, text.lowercased() == "null" { return .null }
        }
        guard areJSON else { return .string(text) }
        // Whatever is wrong with it, it is no JSON.
        guard let value = try? JSON.parse(text) else { throw Self.noArray }
        return value
    }

    private mutating func skipBlanks() { rest = rest.drop(while: PostgresArray.isBlank) }
}

/// Writes an array with each element converted, and adds up what Postgres prints of it.
struct ArrayWriter {
    /// What is written.
    private(set) var bytes: [UInt8] = []
    /// At least as many bytes as Postgres prints of it.
    private(set) var printed = 0
    private let kind: ColumnKind
    private let options: ValueOptions

    init(kind: ColumnKind, options: ValueOptions) {
        self.kind = kind
        self.options = options
    }

    mutating func append(_ elements: [JSON], depth: Int) throws(ValueRefusal) {
        guard depth < PostgresArray.dimensions else {
            throw .invalid("an array of at most \(PostgresArray.dimensions) dimensions")
        }
        printed += 2
        bytes.append(UInt8(ascii: "{"))
        for (index, element) in elements.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            if case .array(let inner) = element, kind != .json {
                try append(inner, depth: depth + 1)
            } else {
                let converted = try ValueConversion.convert(element, as: kind, options: options)
                let before = bytes.count
                appendArrayElement(converted.text, to: &bytes)
                printed +=
                    1 + (bytes.count - before)
                    + max(0, converted.printedLength - (converted.text?.utf8.count ?? 0))
            }
            guard printed <= ValueConversion.textLimit else { throw .tooLong }
        }
        bytes.append(UInt8(ascii: "}"))
    }
}
