import PowerSyncYAML

/// Finds where a character of a YAML scalar stands in the YAML text, also through quotes and block scalars.
///
/// Characters other than blanks stand in the text in the order of the value; folding only changes blanks,
/// escapes and
/// indentation only add some. So both texts are walked together, each non-blank of the value to its next
/// occurrence.
struct ScalarPlaces {
    private let text: [Unicode.Scalar]
    private let start: Int
    private let end: Int
    private let line: Int
    private let column: Int
    private let value: String
    private let isPlain: Bool

    init(node: YAMLNode, text bytes: [UInt8]) {
        let part = bytes[node.outerStart..<max(node.outerStart, node.end)]
        text = Array(String(decoding: part, as: UTF8.self).unicodeScalars)
        start = 0
        end = text.count
        line = node.line
        column = node.column
        value = node.string ?? ""
        isPlain = (node.style ?? .plain) == .plain
    }

    /// Line and column of the byte of the value at an offset in UTF-8.
    func place(of offset: Int) -> (line: Int, column: Int) {
        var position = start
        if !isPlain { position = contentStart() }
        var lastPlaces: [Unicode.Scalar: Int] = [:]
        for index in position..<end { lastPlaces[text[index]] = index }
        var seen = 0
        for scalar in value.unicodeScalars {
            if seen >= offset, !scalar.properties.isWhitespace { break }
            seen += UTF8.width(scalar)
            guard !scalar.properties.isWhitespace else { continue }
            // What is escaped stands nowhere; looking for it each time would cost the square of the length.
            guard let last = lastPlaces[scalar], last >= position else { continue }
            while text[position] != scalar { position += 1 }
            position += 1
        }
        while position < end, text[position].properties.isWhitespace { position += 1 }
        return place(at: position)
    }

    /// Behind the opening quote, or behind the header of a block scalar.
    private func contentStart() -> Int {
        guard start < end else { return start }
        if text[start] == "|" || text[start] == ">" {
            return (text[start..<end].firstIndex(where: \.endsYAMLLine) ?? start) + 1
        }
        return text[start] == "\"" || text[start] == "'" ? start + 1 : start
    }

    private func place(at position: Int) -> (line: Int, column: Int) {
        var place = (line: line, column: column)
        for index in start..<min(position, end) {
            let isPair = text[index] == "\r" && index + 1 < text.count && text[index + 1] == "\n"
            if text[index].endsYAMLLine, !isPair {
                place = (place.line + 1, 1)
            } else {
                place.column += 1
            }
        }
        return place
    }
}
