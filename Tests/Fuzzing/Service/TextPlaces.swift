/// The places that a text has.
struct TextPlaces {
    /// How many characters stand on each line; lines end as YAML 1.1 says.
    private var lengths = [0]

    init(_ text: String) {
        var previous: Unicode.Scalar?
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n" where previous == "\r": break
            case "\n", "\r", "\u{85}", "\u{2028}", "\u{2029}": lengths.append(0)
            default: lengths[lengths.count - 1] += 1
            }
            previous = scalar
        }
    }

    /// Whether a character stands there, or the end of a line; both numbers count from 1.
    func have(line: Int, column: Int) -> Bool {
        lengths.indices.contains(line - 1) && column >= 1 && column <= lengths[line - 1] + 1
    }
}
