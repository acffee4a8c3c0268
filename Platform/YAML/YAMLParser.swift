import CPowerSyncYAML

/// A line and a column, both from 1.
struct Place {
    var line = 1
    var column = 1

    /// The place behind the last character.
    init(behind text: String) {
        var previous: Unicode.Scalar?
        for scalar in text.unicodeScalars {
            if !scalar.endsYAMLLine {
                column += 1
            } else if scalar != "\n" || previous != "\r" {
                (line, column) = (line + 1, 1)
            }
            previous = scalar
        }
    }

    /// The place of a mark, in a text with that end.
    ///
    /// Where a text lacks its last line end, libyaml names the line below it.
    init(_ mark: yaml_mark_t, end: Place) {
        (line, column) = (Int(mark.line) + 1, Int(mark.column) + 1)
        if line > end.line { self = end }
    }
}

/// Builds nodes of libyaml's events.
struct EventParser {
    private static let depthLimit = 64

    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private var anchors: [String: (node: YAMLNode, size: Int, height: Int)] = [:]
    private var nodesLeft: Int
    private var depth = 0
    /// How many levels the last node has.
    private var height = 0
    private let end: Place
    private let text: TextBytes
    /// Where the last event stands, in bytes.
    private var lastEvent = (start: 0, end: 0)
    /// Where the last node ends, as its `end` and `fullEnd`; of an alias where it stands itself.
    private var nodeEnds = (end: 0, fullEnd: 0)
    /// Keys that stand twice, with the errors about them.
    private(set) var duplicates: [(key: YAMLNode, error: YAMLError)] = []

    /// Makes a parser.
    ///
    /// - Parameters:
    ///   - nodeLimit: How many nodes the document may have.
    ///   - end: The place behind the text.
    ///   - bytes: The text.
    init(nodeLimit: Int, end: Place, bytes: [UInt8]) {
        nodesLeft = nodeLimit
        self.end = end
        text = TextBytes(bytes)
        parser = .allocate(capacity: 1)
        parser.initialize(to: yaml_parser_t())
        let isReady = yaml_parser_initialize(parser)
        precondition(isReady == 1, "no memory for a YAML parser")
    }

    /// Gives its memory back.
    func close() {
        yaml_parser_delete(parser)
        parser.deallocate()
    }

    /// Reads the one document of a text.
    mutating func parse(_ input: UnsafeBufferPointer<UInt8>) -> Result<YAMLNode?, YAMLError> {
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        yaml_parser_set_input_string(parser, input.baseAddress, input.count)
        do throws(YAMLError) {
            _ = try next()
            var event = try next()
            guard event.type == YAML_DOCUMENT_START_EVENT else { return .success(nil) }
            event = try next()
            let root = try node(event)
            _ = try next()
            event = try next()
            guard event.type == YAML_STREAM_END_EVENT else {
                throw error("a second document", event)
            }
            return .success(root)
        } catch {
            return .failure(error)
        }
    }

    /// What is needed of an event, copied out of libyaml's memory.
    private struct Event {
        var type: yaml_event_type_t
        var line: Int
        var column: Int
        var start: Int
        var end: Int
        var text = ""
        var style = YAMLNode.Style.plain
        /// Whether a collection stands in brackets.
        var isFlow = false
        var anchor: String?
        var tag: String?
    }

    private mutating func next() throws(YAMLError) -> Event {
        var raw = yaml_event_t()
        guard yaml_parser_parse(parser, &raw) == 1 else { throw failure() }
        defer { yaml_event_delete(&raw) }
        let place = Place(raw.start_mark, end: end)
        var event = Event(
            type: raw.type, line: place.line, column: place.column,
            start: text.offset(ofScalar: Int(raw.start_mark.index)),
            end: text.offset(ofScalar: Int(raw.end_mark.index)))
        lastEvent = (event.start, event.end)
        switch raw.type {
        case YAML_SCALAR_EVENT:
            let scalar = raw.data.scalar
            let value = UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            event.text = String(decoding: value, as: UTF8.self)
            event.style = Self.style(scalar.style)
            event.anchor = Self.text(scalar.anchor)
            event.tag = Self.text(scalar.tag)
        case YAML_SEQUENCE_START_EVENT:
            event.anchor = Self.text(raw.data.sequence_start.anchor)
            event.tag = Self.text(raw.data.sequence_start.tag)
            event.isFlow = raw.data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE
        case YAML_MAPPING_START_EVENT:
            event.anchor = Self.text(raw.data.mapping_start.anchor)
            event.tag = Self.text(raw.data.mapping_start.tag)
            event.isFlow = raw.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE
        case YAML_ALIAS_EVENT:
            event.text = Self.text(raw.data.alias.anchor) ?? ""
        default: break
        }
        return event
    }

    private static func text(_ pointer: UnsafeMutablePointer<yaml_char_t>?) -> String? {
        pointer.map { String(cString: $0) }
    }

    private static func style(_ style: yaml_scalar_style_t) -> YAMLNode.Style {
        switch style {
        case YAML_SINGLE_QUOTED_SCALAR_STYLE: .single
        case YAML_DOUBLE_QUOTED_SCALAR_STYLE: .double
        case YAML_LITERAL_SCALAR_STYLE: .literal
        case YAML_FOLDED_SCALAR_STYLE: .folded
        default: .plain
        }
    }

    private func error(_ message: String, _ event: Event) -> YAMLError {
        YAMLError(message, line: event.line, column: event.column, offset: event.start)
    }

    private func failure() -> YAMLError {
        let problem = parser.pointee.problem.map { String(cString: $0) } ?? "not YAML"
        let context = parser.pointee.context.map { " " + String(cString: $0) } ?? ""
        let mark = Place(parser.pointee.problem_mark, end: end)
        // A reader error has no mark, only an offset in bytes.
        let isReaderError = parser.pointee.error == YAML_READER_ERROR
        let place = isReaderError ? " (at byte \(parser.pointee.problem_offset))" : ""
        let offset =
            isReaderError
            ? min(Int(parser.pointee.problem_offset), text.bytes.count)
            : text.offset(ofScalar: Int(parser.pointee.problem_mark.index))
        return YAMLError(
            problem + context + place + hint(problem, at: offset), line: mark.line, column: mark.column,
            offset: offset, contextOffset: keyOffset(problem, before: offset))
    }

    /// What helps: YAML escapes a character as a whole, where JSON's escapes may be two halves of one.
    private func hint(_ problem: String, at offset: Int) -> String {
        guard problem == "found invalid Unicode character escape code", offset > 0,
            text.bytes[offset - 1] == UInt8(ascii: "u")
        else { return "" }
        return "; write the character itself in place of two escapes \\u "
            + "(Python: json.dumps with ensure_ascii=False)"
    }

    /// Where the key begins that a problem is about, if that is on an earlier line.
    private func keyOffset(_ problem: String, before offset: Int) -> Int? {
        let start: Int
        switch problem {
        case "could not find expected ':'":
            start = text.offset(ofScalar: Int(parser.pointee.context_mark.index))
        case "mapping values are not allowed in this context":
            // A text of several lines cannot be a key: it was taken for a value, and is the last event.
            guard text.skippingBlanks(lastEvent.end) == offset else { return nil }
            start = lastEvent.start
        default: return nil
        }
        return start < offset && text.lineEnd(start) < offset ? start : nil
    }

    private mutating func count(_ nodes: Int, _ event: Event) throws(YAMLError) {
        nodesLeft -= nodes
        guard nodesLeft >= 0 else {
            throw error("the document has too many nodes", event)
        }
    }

    private mutating func node(_ event: Event) throws(YAMLError) -> YAMLNode {
        if event.type == YAML_ALIAS_EVENT {
            guard let target = anchors[event.text] else {
                throw error("no anchor &\(event.text) stands before", event)
            }
            try count(target.size, event)
            // Aliases of aliases would be deeper than what is written.
            try checkDepth(depth + target.height, event)
            height = target.height
            nodeEnds = (event.end, text.fullEnd(event.end))
            return target.node
        }
        let before = nodesLeft
        try count(1 + event.text.utf8.count / 1024, event)
        depth += 1
        defer { depth -= 1 }
        try checkDepth(depth, event)
        var start = text.skippingProperties(event.start, event.end)
        let kind: YAMLNode.Kind
        switch event.type {
        case YAML_SCALAR_EVENT:
            kind = .scalar(event.text, event.style)
            height = 1
            if event.style == .plain, start >= event.end {
                // Nothing stands here; as recorded, its place is behind the blanks.
                start = text.skippingBlanks(event.end)
                nodeEnds = (start, start)
            } else if event.style == .literal || event.style == .folded {
                nodeEnds = (event.end, text.blockEnd(start, event.end))
            } else {
                nodeEnds = (event.end, text.fullEnd(event.end))
            }
        case YAML_SEQUENCE_START_EVENT: kind = .sequence(try sequence(event))
        default: kind = .mapping(try mapping(event))
        }
        let node = YAMLNode(
            kind: kind, tag: event.tag.flatMap { $0.hasPrefix("tag:yaml.org,2002:") ? nil : $0 },
            line: event.line, column: event.column, outerStart: event.start, start: start,
            end: nodeEnds.end, fullEnd: nodeEnds.fullEnd)
        if let anchor = event.anchor { anchors[anchor] = (node, before - nodesLeft, height) }
        return node
    }

    private func checkDepth(_ depth: Int, _ event: Event) throws(YAMLError) {
        guard depth > Self.depthLimit else { return }
        throw error("nested more than \(Self.depthLimit) deep", event)
    }

    /// Sets where a collection ends: behind its bracket, or where its last node does.
    private mutating func setEnds(of start: Event, with event: Event) {
        if start.isFlow { nodeEnds = (event.end, text.fullEnd(event.end)) }
    }

    private mutating func sequence(_ start: Event) throws(YAMLError) -> [YAMLNode] {
        var elements: [YAMLNode] = []
        var highest = 0
        while true {
            let event = try next()
            if event.type == YAML_SEQUENCE_END_EVENT {
                setEnds(of: start, with: event)
                height = highest + 1
                return elements
            }
            elements.append(try node(event))
            highest = max(highest, height)
        }
    }

    private mutating func mapping(_ start: Event) throws(YAMLError) -> [(key: YAMLNode, value: YAMLNode)] {
        var pairs: [(key: YAMLNode, value: YAMLNode)] = []
        // By bytes: what takes the keys for names, such as Postgres, tells "é" as one scalar from "é" as two.
        var lines: [[UInt8]: Int] = [:]
        var highest = 0
        while true {
            let event = try next()
            if event.type == YAML_MAPPING_END_EVENT {
                setEnds(of: start, with: event)
                height = highest + 1
                return pairs
            }
            let key = try node(event)
            highest = max(highest, height)
            if let name = key.string, let line = lines.updateValue(key.line, forKey: Array(name.utf8)) {
                // An alias may be a long key on each of many lines.
                let shown = name.utf8.count <= 1_000 ? name : String(name.unicodeScalars.prefix(1_000)) + "…"
                let message = "the key \"\(shown)\" stands on line \(line) already"
                duplicates.append((key, duplicate(key, message, pairs)))
            }
            pairs.append((key, try node(try next())))
            highest = max(highest, height)
        }
    }

    /// The error of a key that stands twice; behind a value that is not there it begins where that would be.
    private func duplicate(
        _ key: YAMLNode, _ message: String, _ pairs: [(key: YAMLNode, value: YAMLNode)]
    ) -> YAMLError {
        let before = pairs.last?.value
        let isMissing = before?.isNull == true && before?.start == before?.end
        return YAMLError(
            message, line: key.line, column: key.column, offset: key.start,
            contextOffset: isMissing ? before?.start : nil)
    }
}
