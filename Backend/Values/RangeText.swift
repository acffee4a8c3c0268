import PowerSyncPostgres

/// Passes a range or a multirange as Postgres spells it, and writes it again with each bound converted.
struct RangeText {
    /// What is written.
    private(set) var bytes: [UInt8] = []
    /// At least as many bytes as Postgres prints of it.
    private(set) var printed = 0
    private var rest: ArraySlice<UInt8>
    private let convert: (String) throws(ValueRefusal) -> ConvertedValue

    /// Begins with a text without blanks around it.
    init(_ text: String, convert: @escaping (String) throws(ValueRefusal) -> ConvertedValue) {
        rest = Array(text.utf8)[...]
        self.convert = convert
    }

    /// Passes the text to its end.
    ///
    /// - Throws: `ValueRefusal` for what is no range, or of a bound.
    mutating func pass() throws(ValueRefusal) {
        if rest.first == UInt8(ascii: "{") { try passRanges() } else { try passRange() }
        guard rest.isEmpty else { throw Self.noRange }
    }

    private mutating func passRanges() throws(ValueRefusal) {
        move()
        skipBlanks()
        if rest.first == UInt8(ascii: "}") {
            move()
            return
        }
        while true {
            skipBlanks()
            try passRange()
            skipBlanks()
            switch rest.first {
            case UInt8(ascii: ","): move()
            case UInt8(ascii: "}"):
                move()
                return
            default: throw Self.noRange
            }
        }
    }

    private mutating func passRange() throws(ValueRefusal) {
        if rest.prefix(5).map({ $0 | 0x20 }).elementsEqual("empty".utf8) {
            for _ in 0..<5 { move() }
            return
        }
        guard rest.first == UInt8(ascii: "[") || rest.first == UInt8(ascii: "(") else { throw Self.noRange }
        move()
        try passBound()
        guard rest.first == UInt8(ascii: ",") else { throw Self.noRange }
        move()
        try passBound()
        guard rest.first == UInt8(ascii: "]") || rest.first == UInt8(ascii: ")") else { throw Self.noRange }
        move()
        guard printed <= ValueConversion.textLimit else { throw .tooLong }
    }

    /// A bound ends where a comma or a bracket stands outside of quotes; an empty one without quotes is none.
    private mutating func passBound() throws(ValueRefusal) {
        var bound: [UInt8] = []
        var hasQuotes = false
        var isQuoted = false
        while let byte = rest.first {
            if !isQuoted, ",()[]".utf8.contains(byte) { break }
            rest.removeFirst()
            switch byte {
            case UInt8(ascii: "\\"):
                guard let escaped = rest.popFirst() else { throw Self.noRange }
                bound.append(escaped)
            case UInt8(ascii: "\"") where isQuoted && rest.first == UInt8(ascii: "\""):
                rest.removeFirst()
                bound.append(byte)
            case UInt8(ascii: "\""):
                isQuoted.toggle()
                hasQuotes = true
            default: bound.append(byte)
            }
        }
        guard !isQuoted else { throw Self.noRange }
        if bound.isEmpty, !hasQuotes { return }
        let converted = try convert(String(decoding: bound, as: UTF8.self))
        let start = bytes.count
        appendArrayElement(converted.text, to: &bytes)
        printed += bytes.count - start + max(0, converted.printedLength - (converted.text?.utf8.count ?? 0))
    }

    /// Takes the next byte over.
    private mutating func move() {
        guard let byte = rest.popFirst() else { return }
        bytes.append(byte)
        printed += 1
    }

    private mutating func skipBlanks() { rest = rest.drop(while: PostgresArray.isBlank) }

    private static var noRange: ValueRefusal { .invalid("a range") }
}
