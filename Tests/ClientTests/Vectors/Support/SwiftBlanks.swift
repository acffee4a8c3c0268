/// Puts blanks in the place of the comments and the string literals of Swift source.
struct SwiftBlanks {
    private let source: [UInt8]
    private var result: [UInt8]
    private var position = 0

    init(_ source: [UInt8]) {
        self.source = source
        result = source
    }

    /// Returns the source, each byte where it was.
    mutating func code() -> [UInt8] {
        skipCode(inLiteral: false)
        return result
    }

    /// Goes to the end, or behind the parenthesis that ends what is interpolated.
    private mutating func skipCode(inLiteral: Bool) {
        var depth = 0
        while position < source.count {
            if has("//") {
                let end = source[position...].firstIndex(of: 10) ?? source.count
                blank(to: end)
            } else if has("/*") {
                skipComment()
            } else if let hashes = literalStart {
                skipLiteral(hashes: hashes)
            } else {
                if has("(") { depth += 1 }
                if has(")") {
                    if inLiteral, depth == 0 {
                        position += 1
                        return
                    }
                    depth -= 1
                }
                position += 1
            }
        }
    }

    private mutating func skipComment() {
        let start = position
        var depth = 0
        repeat {
            if has("/*") { depth += 1 }
            if has("*/") { depth -= 1 }
            position += depth == 0 || has("/*") || has("*/") ? 2 : 1
        } while depth > 0 && position < source.count
        blank(from: start)
    }

    /// How many hashes begin a literal here; nil if none begins.
    private var literalStart: Int? {
        let hashes = source[position...].prefix { $0 == UInt8(ascii: "#") }.count
        let quote = position + hashes
        return quote < source.count && source[quote] == UInt8(ascii: "\"") ? hashes : nil
    }

    private mutating func skipLiteral(hashes: Int) {
        let start = position
        let marks = String(repeating: "#", count: hashes)
        position += hashes
        let quotes = has("\"\"\"") ? "\"\"\"" : "\""
        position += quotes.utf8.count
        while position < source.count, !has(quotes + marks) {
            if has("\\\(marks)(") {
                position += 2 + hashes
                skipCode(inLiteral: true)
            } else {
                position += has("\\\(marks)") ? 2 + hashes : 1
            }
        }
        position += quotes.utf8.count + hashes
        blank(from: start)
    }

    private func has(_ text: String) -> Bool { source[position...].starts(with: text.utf8) }

    private mutating func blank(to end: Int) {
        let start = position
        position = end
        blank(from: start)
    }

    private mutating func blank(from start: Int) {
        position = min(position, source.count)
        for index in start..<position where source[index] != 10 { result[index] = UInt8(ascii: " ") }
    }
}
