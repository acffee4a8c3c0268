/// The bytes of a text, found by its Unicode scalars, which are what libyaml counts.
struct TextBytes {
    /// Scalars from one sample to the next.
    private static let distance = 64

    /// The UTF-8.
    let bytes: [UInt8]
    /// Where each 64th scalar begins.
    private let samples: [Int]
    private let isASCII: Bool

    /// Counts the scalars of a text.
    init(_ bytes: [UInt8]) {
        var samples: [Int] = []
        var count = 0
        for index in bytes.indices where bytes[index] & 0xC0 != 0x80 {
            if count % Self.distance == 0 { samples.append(index) }
            count += 1
        }
        self.bytes = bytes
        self.samples = samples
        isASCII = count == bytes.count
    }

    /// Where a scalar begins; the end of the text for those behind it.
    func offset(ofScalar scalar: Int) -> Int {
        guard !isASCII else { return min(scalar, bytes.count) }
        let sample = scalar / Self.distance
        guard sample < samples.count else { return bytes.count }
        var offset = samples[sample]
        for _ in 0..<scalar % Self.distance where offset < bytes.count {
            offset += 1
            while offset < bytes.count, bytes[offset] & 0xC0 == 0x80 { offset += 1 }
        }
        return offset
    }

    /// Behind the blanks that stand at a byte.
    func skippingBlanks(_ start: Int) -> Int {
        var place = start
        while place < bytes.count, isBlank(place) { place += 1 }
        return place
    }

    private func isBlank(_ place: Int) -> Bool {
        bytes[place] == UInt8(ascii: " ") || bytes[place] == UInt8(ascii: "\t")
    }

    /// Behind blanks, a comment and the end of the line.
    func fullEnd(_ end: Int) -> Int {
        var place = skippingBlanks(end)
        if place > end, place < bytes.count, bytes[place] == UInt8(ascii: "#") {
            place = lineEnd(place)
        }
        return place + lineEndLength(place)
    }

    /// The end of a block scalar without the blank lines behind it, unless it keeps them.
    func blockEnd(_ start: Int, _ end: Int) -> Int {
        var first = lineEnd(start)
        let header = bytes[start..<first].prefix { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        if header.contains(UInt8(ascii: "+")) { return end }
        first += lineEndLength(first)
        // Lines of more blanks than its first line begins with are lines of it.
        let indentation = firstIndentation(first, end)
        var kept = min(first, end)
        var line = kept
        while line < end {
            let content = lineEnd(line)
            let isSpaces = bytes[line..<content].allSatisfy { $0 == UInt8(ascii: " ") }
            let isBlank = isSpaces && content - line <= indentation
            line = content + lineEndLength(content)
            if !isBlank { kept = min(line, end) }
        }
        return kept
    }

    /// How many spaces the first line that is not blank begins with.
    private func firstIndentation(_ start: Int, _ end: Int) -> Int {
        var line = start
        while line < end {
            var place = line
            while place < end, bytes[place] == UInt8(ascii: " ") { place += 1 }
            if place < end, lineEndLength(place) == 0 { return place - line }
            line = place + max(1, lineEndLength(place))
        }
        return Int.max
    }

    /// Where the line ends that a byte stands in, before its line feed or carriage return.
    func lineEnd(_ start: Int) -> Int {
        let end = bytes[min(start, bytes.count)...].firstIndex {
            $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r")
        }
        return end ?? bytes.count
    }

    /// How many bytes of a line end stand at a byte: none, one, or CR and LF.
    func lineEndLength(_ place: Int) -> Int {
        guard place < bytes.count else { return 0 }
        switch bytes[place] {
        case UInt8(ascii: "\n"): return 1
        case UInt8(ascii: "\r"):
            return place + 1 < bytes.count && bytes[place + 1] == UInt8(ascii: "\n") ? 2 : 1
        default: return 0
        }
    }

    /// Behind the anchor and the tag of a node, and what separates them from it; no farther than its end.
    func skippingProperties(_ start: Int, _ end: Int) -> Int {
        var place = start
        while place < end, bytes[place] == UInt8(ascii: "&") || bytes[place] == UInt8(ascii: "!") {
            let isAnchor = bytes[place] == UInt8(ascii: "&")
            place += 1
            while place < end, isAnchor ? isOfAnchor(bytes[place]) : separatorLength(place) == 0 {
                place += 1
            }
            place = skippingSeparation(place, end)
        }
        return min(place, end)
    }

    /// Whether a byte is of the name of an anchor, which ends before any other: libyaml wants no blank behind it.
    private func isOfAnchor(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    /// Behind blanks, line ends and comments; no farther than an end.
    private func skippingSeparation(_ start: Int, _ end: Int) -> Int {
        var place = start
        while place < end {
            let length = separatorLength(place)
            if length > 0 {
                place += length
            } else if bytes[place] == UInt8(ascii: "#") {
                while place < end, separatorLength(place) == 0 || isBlank(place) { place += 1 }
            } else {
                break
            }
        }
        return place
    }

    /// How many bytes of a blank or of a line end of YAML 1.1 stand at a byte.
    private func separatorLength(_ place: Int) -> Int {
        let rest = bytes[place...].prefix(3)
        switch rest.first {
        case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): return 1
        case 0xC2: return rest.dropFirst().first == 0x85 ? 2 : 0
        case 0xE2:
            return rest.elementsEqual([0xE2, 0x80, 0xA8]) || rest.elementsEqual([0xE2, 0x80, 0xA9]) ? 3 : 0
        default: return 0
        }
    }
}
