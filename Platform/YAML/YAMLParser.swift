import CPowerSyncYAML

extension YAMLNode {
    /// Reads one document.
    ///
    /// - Parameters:
    ///   - text: the text, at most 16 MiB.
    ///   - nodeLimit: how many nodes the document may have once its aliases are expanded; a long text counts as
    ///     one more for each 1,024 bytes.
    /// - Returns: the root; nil for a text without a document.
    /// - Throws: `YAMLError` with the place, also for a key that stands twice in one mapping.
    package static func parse(_ text: String, nodeLimit: Int = 200_000) throws(YAMLError) -> YAMLNode? {
        guard text.utf8.count <= 16 << 20 else {
            throw YAMLError("the text is larger than 16 MiB", line: 1, column: 1)
        }
        // The parser keeps the pointer to its input, so all of its work happens while the bytes stand still.
        let bytes = Array(text.utf8)
        return try bytes.withUnsafeBufferPointer { input -> Result<YAMLNode?, YAMLError> in
            var parser = EventParser(nodeLimit: nodeLimit, end: Place(behind: text))
            defer { parser.close() }
            return parser.parse(input)
        }.get()
    }
}

/// A line and a column, both from 1.
private struct Place {
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
private struct EventParser {
    private static let depthLimit = 64

    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private var anchors: [String: (node: YAMLNode, size: Int)] = [:]
    private var nodesLeft: Int
    private var depth = 0
    private let end: Place

    init(nodeLimit: Int, end: Place) {
        nodesLeft = nodeLimit
        self.end = end
        parser = .allocate(capacity: 1)
        parser.initialize(to: yaml_parser_t())
        let isReady = yaml_parser_initialize(parser)
        precondition(isReady == 1, "no memory for a YAML parser")
    }

    func close() {
        yaml_parser_delete(parser)
        parser.deallocate()
    }

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
                throw YAMLError("a second document", line: event.line, column: event.column)
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
        var offset: Int
        var endOffset: Int
        var text = ""
        var isPlain = false
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
            offset: Int(raw.start_mark.index), endOffset: Int(raw.end_mark.index))
        switch raw.type {
        case YAML_SCALAR_EVENT:
            let scalar = raw.data.scalar
            let value = UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            event.text = String(decoding: value, as: UTF8.self)
            event.isPlain = scalar.style == YAML_PLAIN_SCALAR_STYLE
            event.anchor = Self.text(scalar.anchor)
            event.tag = Self.text(scalar.tag)
        case YAML_SEQUENCE_START_EVENT:
            event.anchor = Self.text(raw.data.sequence_start.anchor)
            event.tag = Self.text(raw.data.sequence_start.tag)
        case YAML_MAPPING_START_EVENT:
            event.anchor = Self.text(raw.data.mapping_start.anchor)
            event.tag = Self.text(raw.data.mapping_start.tag)
        case YAML_ALIAS_EVENT:
            event.text = Self.text(raw.data.alias.anchor) ?? ""
        default: break
        }
        return event
    }

    private static func text(_ pointer: UnsafeMutablePointer<yaml_char_t>?) -> String? {
        pointer.map { String(cString: $0) }
    }

    private func failure() -> YAMLError {
        let problem = parser.pointee.problem.map { String(cString: $0) } ?? "not YAML"
        let context = parser.pointee.context.map { " " + String(cString: $0) } ?? ""
        let mark = Place(parser.pointee.problem_mark, end: end)
        // A reader error has no mark, only an offset in bytes.
        let isReaderError = parser.pointee.error == YAML_READER_ERROR
        let place = isReaderError ? " (at byte \(parser.pointee.problem_offset))" : ""
        return YAMLError(problem + context + place, line: mark.line, column: mark.column)
    }

    private mutating func count(_ nodes: Int, _ event: Event) throws(YAMLError) {
        nodesLeft -= nodes
        guard nodesLeft >= 0 else {
            throw YAMLError("the document has too many nodes", line: event.line, column: event.column)
        }
    }

    private mutating func node(_ event: Event) throws(YAMLError) -> YAMLNode {
        if event.type == YAML_ALIAS_EVENT {
            guard let target = anchors[event.text] else {
                throw YAMLError(
                    "no anchor &\(event.text) stands before", line: event.line, column: event.column)
            }
            try count(target.size, event)
            return target.node
        }
        let before = nodesLeft
        try count(1 + event.text.utf8.count / 1024, event)
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.depthLimit else {
            throw YAMLError(
                "nested more than \(Self.depthLimit) deep", line: event.line, column: event.column)
        }
        var end = event.endOffset
        let kind: YAMLNode.Kind
        switch event.type {
        case YAML_SCALAR_EVENT: kind = .scalar(event.text, plain: event.isPlain)
        case YAML_SEQUENCE_START_EVENT: kind = .sequence(try sequence(&end))
        default: kind = .mapping(try mapping(&end))
        }
        let node = YAMLNode(
            kind: kind, tag: event.tag.flatMap { $0.hasPrefix("tag:yaml.org,2002:") ? nil : $0 },
            line: event.line,
            column: event.column, offset: event.offset, endOffset: end)
        if let anchor = event.anchor { anchors[anchor] = (node, before - nodesLeft) }
        return node
    }

    private mutating func sequence(_ end: inout Int) throws(YAMLError) -> [YAMLNode] {
        var elements: [YAMLNode] = []
        while true {
            let event = try next()
            if event.type == YAML_SEQUENCE_END_EVENT {
                end = event.endOffset
                return elements
            }
            elements.append(try node(event))
        }
    }

    private mutating func mapping(_ end: inout Int) throws(YAMLError) -> [(key: YAMLNode, value: YAMLNode)] {
        var pairs: [(key: YAMLNode, value: YAMLNode)] = []
        // By bytes: what takes the keys for names, such as Postgres, tells "é" as one scalar from "é" as two.
        var lines: [[UInt8]: Int] = [:]
        while true {
            let event = try next()
            if event.type == YAML_MAPPING_END_EVENT {
                end = event.endOffset
                return pairs
            }
            let key = try node(event)
            if let name = key.string, let line = lines.updateValue(key.line, forKey: Array(name.utf8)) {
                throw key.error("the key \"\(name)\" stands on line \(line) already")
            }
            pairs.append((key, try node(try next())))
        }
    }
}
