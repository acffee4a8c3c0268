/// Decodes a literal or folded scalar, as libyaml's scanner does.
struct BlockScalarDecoder {
    private let text: [UInt8]
    private let end: Int
    private let isFolded: Bool
    private var place: Int
    private var decoded = DecodedScalar()

    /// Decodes a scalar.
    ///
    /// Its indentation depends on what stands around it, so it is taken from the value.
    ///
    /// - Parameters:
    ///   - text: The YAML.
    ///   - scalar: The scalar from its indicator on.
    ///   - isFolded: Whether its lines are joined.
    ///   - value: What libyaml made of it.
    /// - Returns: Its value, and what it was made of.
    static func decode(
        _ text: [UInt8], _ scalar: Range<Int>, isFolded: Bool, value: [UInt8]
    ) -> DecodedScalar {
        var decoder = BlockScalarDecoder(
            text: text, end: scalar.upperBound, isFolded: isFolded, place: scalar.lowerBound)
        let chomping = decoder.header()
        let indentation = decoder.indentation(value)
        decoder.lines(indentation: indentation, chomping: chomping)
        return decoder.decoded
    }

    private init(text: [UInt8], end: Int, isFolded: Bool, place: Int) {
        self.text = text
        self.end = end
        self.isFolded = isFolded
        self.place = place
    }

    /// What becomes of the line ends behind the last line.
    private enum Chomping {
        case strip
        case clip
        case keep
    }

    /// Reads the line of the indicator.
    private mutating func header() -> Chomping {
        var chomping = Chomping.clip
        var isIndicator = true
        while place < end {
            if let lineEnd = LineEnd(text, place, end) {
                place = lineEnd.range.upperBound
                break
            }
            switch text[place] {
            case UInt8(ascii: "-") where isIndicator: chomping = .strip
            case UInt8(ascii: "+") where isIndicator: chomping = .keep
            case UInt8(ascii: " "), UInt8(ascii: "\t"): isIndicator = false
            default: break
            }
            place += 1
        }
        return chomping
    }

    /// How many spaces each line of the content begins with that are none of it.
    ///
    /// The first line that is more than spaces has as many more than in the value. If there is none, the longest line
    /// has as many more than the longest line of the value.
    private func indentation(_ value: [UInt8]) -> Int {
        let (inText, isContent) = Self.spaces(text, place..<end)
        let (inValue, _) = Self.spaces(value, 0..<value.count)
        return max(isContent || inText > inValue ? inText - inValue : inText, 0)
    }

    /// The spaces that the first line begins with that is more than spaces, and true; if there is none the most spaces
    /// of a line, and false.
    private static func spaces(_ bytes: [UInt8], _ range: Range<Int>) -> (count: Int, isContent: Bool) {
        var most = 0
        var place = range.lowerBound
        while place < range.upperBound {
            let start = place
            while place < range.upperBound, bytes[place] == UInt8(ascii: " ") { place += 1 }
            most = max(most, place - start)
            guard place < range.upperBound else { break }
            guard let lineEnd = LineEnd(bytes, place, range.upperBound) else { return (place - start, true) }
            place = lineEnd.range.upperBound
        }
        return (most, false)
    }

    private mutating func lines(indentation: Int, chomping: Chomping) {
        var lineEnd: LineEnd?
        var wasBlank = false
        var (blankLines, isContent) = breaks(indentation)
        while isContent {
            let isBlank = text[place] == UInt8(ascii: " ") || text[place] == UInt8(ascii: "\t")
            if let before = lineEnd {
                if isFolded, before.isFeed, !wasBlank, !isBlank {
                    if blankLines.isEmpty { decoded.fold(before) }
                } else {
                    decoded.add([before])
                }
            }
            decoded.add(blankLines)
            wasBlank = isBlank
            let start = place
            while place < end, LineEnd(text, place, end) == nil { place += 1 }
            decoded.copy(text, start..<place)
            lineEnd = LineEnd(text, place, end)
            if let lineEnd { place = lineEnd.range.upperBound }
            (blankLines, isContent) = breaks(indentation)
        }
        if chomping != .strip, let lineEnd { decoded.add([lineEnd]) }
        if chomping == .keep { decoded.add(blankLines) }
    }

    /// Reads lines without content, and the indentation of the next one; false if there is none.
    private mutating func breaks(_ indentation: Int) -> (lines: [LineEnd], isContent: Bool) {
        var lines: [LineEnd] = []
        while true {
            let start = place
            while place < end, place - start < indentation, text[place] == UInt8(ascii: " ") { place += 1 }
            guard let lineEnd = LineEnd(text, place, end) else {
                return (lines, place < end && place - start == indentation)
            }
            lines.append(lineEnd)
            place = lineEnd.range.upperBound
        }
    }
}
