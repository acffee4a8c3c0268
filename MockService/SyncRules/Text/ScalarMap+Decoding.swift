import PowerSyncYAML

extension ScalarMap {
    /// Finds out how a scalar was made, by decoding it once more; libyaml does not say it.
    ///
    /// It has no runs if what is decoded is not what the node holds.
    ///
    /// - Parameters:
    ///   - node: A scalar of the text.
    ///   - bytes: The text.
    package init(_ node: YAMLNode, in bytes: [UInt8]) {
        let whole = TextRange(start: node.start, end: node.end)
        guard case .scalar(let text, let style) = node.kind, node.start <= node.end, node.end <= bytes.count
        else {
            self.init(runs: [], whole: whole)
            return
        }
        let value = Array(text.utf8)
        let decoded: DecodedScalar
        switch style {
        case .plain, .single, .double:
            decoded = FlowScalarDecoder.decode(bytes, node.start..<node.end, style)
        case .literal, .folded:
            let scalar = node.start..<node.end
            decoded = BlockScalarDecoder.decode(bytes, scalar, isFolded: style == .folded, value: value)
        }
        self.init(runs: decoded.bytes == value ? decoded.runs : [], whole: whole)
    }
}

extension QueryText {
    /// Takes the SQL of a scalar of a configuration; nil for other nodes.
    package init?(_ node: YAMLNode, in source: SourceText) {
        guard let text = node.string else { return nil }
        self.init(text, map: ScalarMap(node, in: source.bytes))
    }

    /// Where the SQL stands, without quotes and indicators; the scalar if it is empty.
    package var content: TextRange { bytes.isEmpty ? whole : range(0..<bytes.count) }
}

/// A value that is put together of pieces of a text.
struct DecodedScalar {
    /// The value.
    private(set) var bytes: [UInt8] = []
    /// What it was made of.
    private(set) var runs: [ScalarMap.Run] = []

    /// Adds bytes that were made of a part of the text.
    mutating func add(_ value: [UInt8], _ text: Range<Int>) {
        guard !value.isEmpty else { return }
        let start = bytes.count
        bytes += value
        append(start..<bytes.count, text)
    }

    /// Adds bytes that stand in the text as they are.
    mutating func copy(_ text: [UInt8], _ range: Range<Int>) {
        // Without an array of its own for each byte.
        guard !range.isEmpty else { return }
        let start = bytes.count
        bytes += text[range]
        append(start..<bytes.count, range)
    }

    /// Adds the blank that a line end becomes; its run is its own, else nobody would see that there was a line end.
    mutating func fold(_ end: LineEnd) {
        let start = bytes.count
        bytes.append(UInt8(ascii: " "))
        runs.append(ScalarMap.Run(value: start..<bytes.count, text: end.range, isFold: true))
    }

    /// Adds a run; one that stands there byte by byte joins such a one before it, so a line is one run.
    private mutating func append(_ value: Range<Int>, _ text: Range<Int>) {
        if value.count == text.count, let last = runs.last, !last.isFold, last.value.count == last.text.count,
            last.text.upperBound == text.lowerBound
        {
            runs[runs.count - 1] = ScalarMap.Run(
                value: last.value.lowerBound..<value.upperBound, text: last.text.lowerBound..<text.upperBound)
        } else {
            runs.append(ScalarMap.Run(value: value, text: text))
        }
    }

    /// Adds a line end of the text, or of several.
    mutating func add(_ ends: [LineEnd]) {
        for end in ends { add(end.value, end.range) }
    }
}

/// A line end as YAML 1.1 has it, which libyaml reads.
struct LineEnd {
    /// Where it stands.
    let range: Range<Int>
    /// What it means: a line feed, but U+2028 and U+2029 themselves.
    let value: [UInt8]

    /// The line end at a byte; nil if there is none before an end.
    init?(_ bytes: [UInt8], _ place: Int, _ end: Int) {
        guard place < end else { return nil }
        switch bytes[place] {
        case UInt8(ascii: "\n"):
            self.init(range: place..<place + 1)
        case UInt8(ascii: "\r"):
            let isPair = place + 1 < end && bytes[place + 1] == UInt8(ascii: "\n")
            self.init(range: place..<place + (isPair ? 2 : 1))
        case 0xC2 where place + 1 < end && bytes[place + 1] == 0x85:
            self.init(range: place..<place + 2)
        case 0xE2 where place + 2 < end && bytes[place + 1] == 0x80:
            let value = Array(bytes[place..<place + 3])
            guard value[2] == 0xA8 || value[2] == 0xA9 else { return nil }
            self.init(range: place..<place + 3, value: value)
        default: return nil
        }
    }

    private init(range: Range<Int>, value: [UInt8] = [UInt8(ascii: "\n")]) {
        self.range = range
        self.value = value
    }

    /// Whether it is a line feed, which folding makes a blank of.
    var isFeed: Bool { value.count == 1 }
}
