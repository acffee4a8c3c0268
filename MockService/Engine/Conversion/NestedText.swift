/// Takes the texts of Postgres' nested types apart: arrays, composites, ranges.
enum NestedText {
    /// An element of an array.
    enum ArrayElement: Equatable {
        /// A value, nil for NULL.
        case value(String?)
        /// A dimension more.
        case list([ArrayElement])
    }

    /// What a range holds; nil bounds are open.
    struct Range: Equatable {
        var lower: String?
        var upper: String?
        var excludesLower: Bool
        var excludesUpper: Bool
    }

    /// Reads `{1,NULL,"a b"}`, also with several dimensions and with bounds before it.
    static func array(_ text: String, delimiter: Character) throws(ConversionError) -> ArrayElement {
        var cursor = Cursor(text)
        if cursor.peek == UInt8(ascii: "[") {
            while let next = cursor.peek, next != UInt8(ascii: "{") { _ = next; cursor.advance() }
        }
        let delimiter = delimiter.asciiValue ?? UInt8(ascii: ",")
        let element = try cursor.list(delimiter, depth: 0)
        guard cursor.peek == nil else { throw .malformed("array") }
        return element
    }

    /// Reads `(a,,"b c")`; a field with nothing in it is NULL.
    static func composite(_ text: String) throws(ConversionError) -> [String?] {
        var cursor = Cursor(text)
        guard cursor.take("(") else { throw .malformed("composite value") }
        var fields: [String?] = []
        repeat {
            fields.append(try cursor.bound(until: [UInt8(ascii: ","), UInt8(ascii: ")")]))
        } while cursor.take(",")
        guard cursor.take(")"), cursor.peek == nil else { throw .malformed("composite value") }
        return fields
    }

    /// Reads `[1,5)`; nil for `empty`.
    static func range(_ text: String) throws(ConversionError) -> Range? {
        guard text != "empty" else { return nil }
        var cursor = Cursor(text)
        let excludesLower = cursor.peek == UInt8(ascii: "(")
        guard cursor.take("[") || cursor.take("(") else { throw .malformed("range") }
        let lower = try cursor.bound(until: [UInt8(ascii: ",")])
        guard cursor.take(",") else { throw .malformed("range") }
        let upper = try cursor.bound(until: [UInt8(ascii: "]"), UInt8(ascii: ")")])
        let excludesUpper = cursor.peek == UInt8(ascii: ")")
        guard cursor.take("]") || cursor.take(")"), cursor.peek == nil else { throw .malformed("range") }
        return Range(lower: lower, upper: upper, excludesLower: excludesLower, excludesUpper: excludesUpper)
    }

    /// Reads `{[1,3),[5,9)}` into the texts of its ranges.
    static func multirange(_ text: String) throws(ConversionError) -> [String] {
        let bytes = Array(text.utf8)
        guard bytes.first == UInt8(ascii: "{"), bytes.last == UInt8(ascii: "}") else {
            throw .malformed("multirange")
        }
        var ranges: [String] = []
        var start: Int?
        var isQuoted = false
        var index = 1
        while index < bytes.count - 1 {
            switch bytes[index] {
            case UInt8(ascii: "\\"): index += 1
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: "["), UInt8(ascii: "("):
                if !isQuoted, start == nil { start = index }
            case UInt8(ascii: "]"), UInt8(ascii: ")"):
                if !isQuoted, let first = start {
                    ranges.append(String(decoding: bytes[first...index], as: UTF8.self))
                    start = nil
                }
            default: break
            }
            index += 1
        }
        return ranges
    }

    private struct Cursor {
        private let bytes: [UInt8]
        private var position = 0

        init(_ text: String) { bytes = Array(text.utf8) }

        var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

        mutating func advance() { position += 1 }

        mutating func take(_ sign: Unicode.Scalar) -> Bool {
            guard peek == UInt8(ascii: sign) else { return false }
            advance()
            return true
        }

        mutating func list(_ delimiter: UInt8, depth: Int) throws(ConversionError) -> ArrayElement {
            guard take("{"), depth <= 10 else { throw .malformed("array") }
            var elements: [ArrayElement] = []
            if take("}") { return .list(elements) }
            while true {
                if peek == UInt8(ascii: "{") {
                    elements.append(try list(delimiter, depth: depth + 1))
                } else {
                    elements.append(.value(try element(delimiter)))
                }
                if take("}") { return .list(elements) }
                guard peek == delimiter else { throw .malformed("array") }
                advance()
            }
        }

        private mutating func element(_ delimiter: UInt8) throws(ConversionError) -> String? {
            if take("\"") { return try quoted(doubles: false) }
            var content: [UInt8] = []
            while let next = peek, next != delimiter, next != UInt8(ascii: "}") {
                advance()
                if next == UInt8(ascii: "\\"), let escaped = peek {
                    content.append(escaped)
                    advance()
                } else {
                    content.append(next)
                }
            }
            let text = String(decoding: content, as: UTF8.self)
            return text == "NULL" ? nil : text
        }

        /// A field or bound: quoted parts and plain parts one after the other; nothing at all is nil.
        mutating func bound(until ends: [UInt8]) throws(ConversionError) -> String? {
            var text = ""
            var isThere = false
            while let next = peek, !ends.contains(next) {
                isThere = true
                advance()
                switch next {
                case UInt8(ascii: "\""): text += try quoted(doubles: true)
                case UInt8(ascii: "\\"):
                    guard let escaped = peek else { throw .malformed("nested value") }
                    advance()
                    text += String(decoding: [escaped], as: UTF8.self)
                default:
                    var plain = [next]
                    while let more = peek, !ends.contains(more), more != UInt8(ascii: "\""),
                        more != UInt8(ascii: "\\")
                    {
                        plain.append(more)
                        advance()
                    }
                    text += String(decoding: plain, as: UTF8.self)
                }
            }
            return isThere ? text : nil
        }

        private mutating func quoted(doubles: Bool) throws(ConversionError) -> String {
            var content: [UInt8] = []
            while let next = peek {
                advance()
                if next == UInt8(ascii: "\\"), let escaped = peek {
                    content.append(escaped)
                    advance()
                } else if next != UInt8(ascii: "\"") {
                    content.append(next)
                } else if doubles, peek == UInt8(ascii: "\"") {
                    content.append(next)
                    advance()
                } else {
                    return String(decoding: content, as: UTF8.self)
                }
            }
            throw .malformed("nested value")
        }
    }
}
