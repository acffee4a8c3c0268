/// What a JSON reader accepts; everything from outside has a limit.
package struct JSONLimits: Sendable {
    /// How deep arrays and objects may be nested.
    package var depth: Int
    /// How many bytes a number may have.
    package var numberBytes: Int
    /// How many values a tree may have: each takes up to a hundred bytes, however few it was written with.
    package var values: Int
    /// Whether a name that occurs twice in one object is an error.
    package var refusesDuplicateNames: Bool
    /// Whether half of a surrogate pair, which JavaScript takes, is U+FFFD and not an error.
    package var replacesHalfCharacters: Bool

    /// Makes limits; the defaults suit a line of the sync protocol.
    package init(
        depth: Int = 128, numberBytes: Int = 1024, values: Int = .max, refusesDuplicateNames: Bool = false,
        replacesHalfCharacters: Bool = false
    ) {
        self.depth = depth
        self.numberBytes = numberBytes
        self.values = values
        self.refusesDuplicateNames = refusesDuplicateNames
        self.replacesHalfCharacters = replacesHalfCharacters
    }

    /// The default limits.
    package static let standard = JSONLimits()

    /// The limits of an answer that has a few members, such as a token, a number or a problem.
    package static let shortAnswer = JSONLimits(values: 1_000)
}

/// Reads JSON (RFC 8259) from a buffer, value by value, without building a tree of what nobody asked for.
///
/// The buffer must outlive the scanner. Bytes are checked as they are passed: UTF-8, escapes, surrogate pairs,
/// number grammar, nesting.
package struct JSONScanner {
    let bytes: UnsafeBufferPointer<UInt8>
    var position = 0
    private var depth = 0
    /// How many values have become part of a tree.
    private var values = 0
    /// How many members the next object of a tree is expected to have: as many as the last one; 0 if nobody knows.
    var usualMembers = 0
    let limits: JSONLimits

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
        try nextScannedName(isFirst: isFirst)?.string
    }

    /// Passes to the next member of the open object and returns its name where it is; nil after passing `}`.
    mutating func nextScannedName(isFirst: Bool) throws(WireError) -> ScannedText? {
        guard try next(isFirst: isFirst, closing: "}") else { return nil }
        let name = try scannedText()
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
        let start = try passNumber()
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    /// Passes a number and returns where it begins.
    mutating func passNumber() throws(WireError) -> Int {
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
            throw WireError(
                .tooLarge, "a number has more than \(limits.numberBytes) bytes", limit: limits.numberBytes)
        }
        return start
    }

    /// Reads a string and returns it unescaped.
    package mutating func string() throws(WireError) -> String { try scannedText().string }

    /// Passes a value of any kind, checking its grammar.
    package mutating func skip() throws(WireError) {
        switch try peek() {
        case .null: try word("null")
        case .bool: _ = try bool()
        case .number: _ = try passNumber()
        case .string: _ = try scannedText()
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
            while try nextScannedName(isFirst: isFirst) != nil {
                isFirst = false
                try skip()
            }
        }
    }

    /// Counts a value that becomes part of a tree.
    mutating func countValue() throws(WireError) {
        values += 1
        guard values <= limits.values else {
            throw WireError(.tooLarge, "there are more than \(limits.values) values", limit: limits.values)
        }
    }

    var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    @inline(never)
    func malformed(_ expected: String) -> WireError {
        WireError(.malformedJSON, "expected \(expected) at byte \(position)")
    }

    @inline(__always)
    mutating func skipSpace() {
        while let byte = current, byte <= 0x20, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
            position += 1
        }
    }

    /// Passes one character of the grammar, which must be next.
    @inline(__always)
    mutating func pass(_ character: Unicode.Scalar) throws(WireError) {
        guard current == UInt8(ascii: character) else { throw malformed("\"\(character)\"") }
        position += 1
    }

    @inline(__always)
    private mutating func open(_ character: Unicode.Scalar) throws(WireError) {
        skipSpace()
        try pass(character)
        depth += 1
        guard depth <= limits.depth else {
            throw WireError(
                .tooLarge, "arrays and objects are nested more than \(limits.depth) deep", limit: limits.depth
            )
        }
    }

    @inline(__always)
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
}
