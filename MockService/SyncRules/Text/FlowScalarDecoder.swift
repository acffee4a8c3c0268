import PowerSyncYAML

/// Decodes a scalar that is plain or in quotes, as libyaml's scanner does.
struct FlowScalarDecoder {
    private let text: [UInt8]
    private let end: Int
    private let style: YAMLNode.Style
    private var place: Int
    private var decoded = DecodedScalar()

    /// Decodes a scalar.
    ///
    /// - Parameters:
    ///   - text: The YAML.
    ///   - scalar: The scalar with its quotes.
    ///   - style: How it is written: plain, single or double.
    /// - Returns: Its value, and what it was made of.
    static func decode(_ text: [UInt8], _ scalar: Range<Int>, _ style: YAMLNode.Style) -> DecodedScalar {
        let quote = style == .plain ? 0 : 1
        guard scalar.count >= 2 * quote else { return DecodedScalar() }
        var decoder = FlowScalarDecoder(
            text: text, end: scalar.upperBound - quote, style: style, place: scalar.lowerBound + quote)
        decoder.run()
        return decoder.decoded
    }

    private init(text: [UInt8], end: Int, style: YAMLNode.Style, place: Int) {
        self.text = text
        self.end = end
        self.style = style
        self.place = place
    }

    private mutating func run() {
        while place < end {
            let isCut = words()
            blanks(behindCut: isCut)
        }
    }

    /// Reads up to a blank or a line end; true behind a line end that a backslash took away.
    private mutating func words() -> Bool {
        var start = place
        while place < end, !isBlank(place), LineEnd(text, place, end) == nil {
            if style == .single, text[place] == UInt8(ascii: "'") {
                // Two quotes are one.
                decoded.copy(text, start..<place)
                decoded.add([UInt8(ascii: "'")], place..<min(place + 2, end))
                place = min(place + 2, end)
                start = place
            } else if style == .double, text[place] == UInt8(ascii: "\\") {
                decoded.copy(text, start..<place)
                if let cut = LineEnd(text, place + 1, end) {
                    place = cut.range.upperBound
                    return true
                }
                escape()
                start = place
            } else {
                place += 1
            }
        }
        decoded.copy(text, start..<place)
        return false
    }

    /// Reads blanks and line ends: blanks within a line stay, a line end is a blank, several are one less.
    private mutating func blanks(behindCut isCut: Bool) {
        let start = place
        var first: LineEnd?
        var others: [LineEnd] = []
        var blanks = start..<start
        while place < end {
            if isBlank(place) {
                place += 1
                if !isCut, first == nil { blanks = start..<place }
            } else if let lineEnd = LineEnd(text, place, end) {
                if !isCut, first == nil { first = lineEnd } else { others.append(lineEnd) }
                place = lineEnd.range.upperBound
            } else {
                break
            }
        }
        if let first {
            if !first.isFeed {
                decoded.add([first])
            } else if others.isEmpty {
                decoded.fold(first)
            }
            decoded.add(others)
        } else if isCut {
            decoded.add(others)
        } else {
            decoded.copy(text, blanks)
        }
    }

    private static let escapes: [UInt8: [UInt8]] = [
        UInt8(ascii: "0"): [0], UInt8(ascii: "a"): [7], UInt8(ascii: "b"): [8], UInt8(ascii: "t"): [9],
        UInt8(ascii: "\t"): [9], UInt8(ascii: "n"): [10], UInt8(ascii: "v"): [11], UInt8(ascii: "f"): [12],
        UInt8(ascii: "r"): [13], UInt8(ascii: "e"): [27], UInt8(ascii: "N"): [0xC2, 0x85],
        UInt8(ascii: "_"): [0xC2, 0xA0], UInt8(ascii: "L"): [0xE2, 0x80, 0xA8],
        UInt8(ascii: "P"): [0xE2, 0x80, 0xA9],
    ]

    /// Reads a backslash and what it stands for.
    private mutating func escape() {
        let start = place
        guard place + 1 < end else {
            place = end
            return
        }
        let letter = text[place + 1]
        let digits: Int
        switch letter {
        case UInt8(ascii: "x"): digits = 2
        case UInt8(ascii: "u"): digits = 4
        case UInt8(ascii: "U"): digits = 8
        default: digits = 0
        }
        place = min(place + 2 + digits, end)
        guard digits > 0 else {
            // Others are themselves: quotes, a slash, a backslash, a blank.
            return decoded.add(Self.escapes[letter] ?? [letter], start..<place)
        }
        let number = UInt32(String(decoding: text[min(start + 2, place)..<place], as: UTF8.self), radix: 16)
        guard let scalar = number.flatMap({ Unicode.Scalar($0) }) else { return }
        decoded.add(Array(String(scalar).utf8), start..<place)
    }

    private func isBlank(_ place: Int) -> Bool {
        text[place] == UInt8(ascii: " ") || text[place] == UInt8(ascii: "\t")
    }
}
