/// What a JSON reader accepts; everything from outside has a limit.
package struct JSONLimits: Sendable {
    /// How deep arrays and objects may be nested.
    package var depth: Int
    /// How many bytes a number may have.
    package var numberBytes: Int
    /// Whether a name that occurs twice in one object is an error.
    package var refusesDuplicateNames: Bool

    /// Makes limits; the defaults suit a line of the sync protocol.
    package init(depth: Int = 128, numberBytes: Int = 1024, refusesDuplicateNames: Bool = false) {
        self.depth = depth
        self.numberBytes = numberBytes
        self.refusesDuplicateNames = refusesDuplicateNames
    }

    /// The default limits.
    package static let standard = JSONLimits()
}

/// Reads JSON (RFC 8259) from a buffer, value by value, without building a tree of what nobody asked for.
///
/// The buffer must outlive the scanner. Bytes are checked as they are passed: UTF-8, escapes, surrogate pairs,
/// number grammar, nesting.
package struct JSONScanner {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0
    private var depth = 0
    private let limits: JSONLimits

    /// Reads from the beginning of a buffer.
    package init(_ bytes: UnsafeBufferPointer<UInt8>, limits: JSONLimits = .standard) {
        self.bytes = bytes
        self.limits = limits
    }

    /// What the next value is, seen by its first byte.
    package enum Kind { case null, bool, number, string, array, object }

    /// Returns the kind of the next value without passing it.
    package mutating func peek() throws(WireError) -> Kind {
        skipSpace()
        guard let byte = current else { throw malformed("a value") }
        switch byte {
        case UInt8(ascii: "\""): return .string
        case UInt8(ascii: "{"): return .object
        case UInt8(ascii: "["): return .array
        case UInt8(ascii: "n"): return .null
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .bool
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
        default: throw malformed("a value")
        }
    }

    /// Passes `{`; then call `nextName` until it returns nil.
    package mutating func beginObject() throws(WireError) { try open("{") }

    /// Passes `[`; then call `nextElement` until it returns false.
    package mutating func beginArray() throws(WireError) { try open("[") }

    /// Passes to the next member of the open object and returns its name; nil after passing `}`.
    package mutating func nextName(isFirst: Bool) throws(WireError) -> String? {
        guard try next(isFirst: isFirst, closing: "}") else { return nil }
        let name = try string()
        skipSpace()
        try pass(":")
        return name
    }

    /// Passes to the next element of the open array; false after passing `]`.
    package mutating func nextElement(isFirst: Bool) throws(WireError) -> Bool {
        try next(isFirst: isFirst, closing: "]")
    }

    /// Passes white space and requires that nothing else follows.
    package mutating func end() throws(WireError) {
        skipSpace()
        if position < bytes.count { throw malformed("the end of the text") }
    }

    /// Passes `null` if it is next, and tells whether it was.
    package mutating func passNull() throws(WireError) -> Bool {
        guard try peek() == .null else { return false }
        try word("null")
        return true
    }

    /// Reads `true` or `false`.
    package mutating func bool() throws(WireError) -> Bool {
        guard try peek() == .bool else { throw malformed("true or false") }
        if current == UInt8(ascii: "t") {
            try word("true")
            return true
        }
        try word("false")
        return false
    }

    /// Reads a number and returns it as it is spelled.
    package mutating func number() throws(WireError) -> String {
        guard try peek() == .number else { throw malformed("a number") }
        let start = position
        if current == UInt8(ascii: "-") { position += 1 }
        if current == UInt8(ascii: "0") { position += 1 } else { try digits() }
        if current == UInt8(ascii: ".") {
            position += 1
            try digits()
        }
        if current == UInt8(ascii: "e") || current == UInt8(ascii: "E") {
            position += 1
            if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { position += 1 }
            try digits()
        }
        guard position - start <= limits.numberBytes else {
            throw WireError(.tooLarge, "a number has more than \(limits.numberBytes) bytes")
        }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    /// Reads a string and returns it unescaped.
    package mutating func string() throws(WireError) -> String {
        skipSpace()
        try pass("\"")
        let start = position
        while let byte = current, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 {
            position += 1
        }
        guard current == UInt8(ascii: "\"") else { return try escapedString(from: start) }
        defer { position += 1 }
        return try text(bytes[start..<position])
    }

    /// Passes a value of any kind, checking its grammar.
    package mutating func skip() throws(WireError) {
        switch try peek() {
        case .null: try word("null")
        case .bool: _ = try bool()
        case .number: _ = try number()
        case .string: _ = try string()
        case .array:
            try beginArray()
            var isFirst = true
            while try nextElement(isFirst: isFirst) {
                isFirst = false
                try skip()
            }
        case .object:
            try beginObject()
            var isFirst = true
            while try nextName(isFirst: isFirst) != nil {
                isFirst = false
                try skip()
            }
        }
    }

    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private func malformed(_ expected: String) -> WireError {
        WireError(.malformedJSON, "expected \(expected) at byte \(position)")
    }

    private mutating func skipSpace() {
        while let byte = current, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
            position += 1
        }
    }

    private mutating func pass(_ character: Unicode.Scalar) throws(WireError) {
        guard current == UInt8(ascii: character) else { throw malformed("\"\(character)\"") }
        position += 1
    }

    private mutating func open(_ character: Unicode.Scalar) throws(WireError) {
        skipSpace()
        try pass(character)
        depth += 1
        guard depth <= limits.depth else {
            throw WireError(.tooLarge, "arrays and objects are nested more than \(limits.depth) deep")
        }
    }

    private mutating func next(isFirst: Bool, closing: Unicode.Scalar) throws(WireError) -> Bool {
        skipSpace()
        if current == UInt8(ascii: closing) {
            position += 1
            depth -= 1
            return false
        }
        if !isFirst { try pass(",") }
        return true
    }

    private mutating func word(_ word: StaticString) throws(WireError) {
        for index in 0..<word.utf8CodeUnitCount {
            guard current == word.utf8Start[index] else { throw malformed("a value") }
            position += 1
        }
    }

    private mutating func digits() throws(WireError) {
        let start = position
        while let byte = current, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { position += 1 }
        if position == start { throw malformed("a digit") }
    }

    private func text(_ slice: Slice<UnsafeBufferPointer<UInt8>>) throws(WireError) -> String {
        guard let text = String(validating: slice, as: UTF8.self) else {
            throw WireError(.malformedJSON, "a text ending at byte \(position) is not UTF-8")
        }
        return text
    }

    /// The slow way, for a string that has escapes.
    private mutating func escapedString(from start: Int) throws(WireError) -> String {
        var buffer = [UInt8](bytes[start..<position])
        while let byte = current {
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let text = String(validating: buffer, as: UTF8.self) else {
                    throw WireError(.malformedJSON, "a text ending at byte \(position) is not UTF-8")
                }
                return text
            case UInt8(ascii: "\\"): try escape(into: &buffer)
            case 0..<0x20: throw malformed("no control character in a text")
            default: buffer.append(byte)
            }
        }
        throw malformed("the end of a text")
    }

    private mutating func escape(into buffer: inout [UInt8]) throws(WireError) {
        guard let byte = current else { throw malformed("an escape") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): buffer.append(byte)
        case UInt8(ascii: "b"): buffer.append(0x08)
        case UInt8(ascii: "f"): buffer.append(0x0C)
        case UInt8(ascii: "n"): buffer.append(0x0A)
        case UInt8(ascii: "r"): buffer.append(0x0D)
        case UInt8(ascii: "t"): buffer.append(0x09)
        case UInt8(ascii: "u"):
            let unit = try hexadecimal()
            if (0xD800..<0xDC00).contains(unit) {
                try pass("\\")
                try pass("u")
                let low = try hexadecimal()
                guard (0xDC00..<0xE000).contains(low) else {
                    throw malformed("the second half of a surrogate pair")
                }
                append(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00), to: &buffer)
            } else if (0xDC00..<0xE000).contains(unit) {
                throw malformed("no lone surrogate")
            } else {
                append(unit, to: &buffer)
            }
        default: throw malformed("an escape")
        }
    }

    private func append(_ scalar: UInt32, to buffer: inout [UInt8]) {
        // Every caller has excluded surrogates and values above 0x10FFFF.
        guard let scalar = Unicode.Scalar(scalar) else { return }
        buffer.append(contentsOf: UTF8.encode(scalar).map(Array.init) ?? [])
    }

    private mutating func hexadecimal() throws(WireError) -> UInt32 {
        guard position + 4 <= bytes.count,
            let value = UInt32(String(decoding: bytes[position..<position + 4], as: UTF8.self), radix: 16),
            bytes[position] != UInt8(ascii: "+")
        else { throw malformed("four hexadecimal digits") }
        position += 4
        return value
    }
}
