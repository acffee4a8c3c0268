import PowerSyncWire
import PowerSyncYAML

/// Reads values of a configuration's YAML, and notes what is wrong with them.
struct ValueReader {
    /// A key with what stands at it.
    typealias Pair = (key: YAMLNode, value: YAMLNode)

    /// The text.
    let source: SourceText
    /// What is wrong, but for keys that nobody knows.
    private(set) var diagnostics = DiagnosticList()
    /// The keys that nobody knows.
    private(set) var unknownKeys = DiagnosticList()

    /// Makes a reader that has found nothing wrong yet.
    init(_ source: SourceText) { self.source = source }

    /// What was found so far.
    var notes: DefinitionNotes { DefinitionNotes(first: diagnostics, last: unknownKeys) }

    /// Notes something.
    ///
    /// - Parameters:
    ///   - name: What it is about.
    ///   - arguments: What stands in the places of its text.
    ///   - range: Its place.
    ///   - recorded: The place that the admin routes have, if that is another one.
    ///   - hint: What may help, of which they say nothing.
    mutating func add(
        _ name: DiagnosticName, _ arguments: [String] = [], at range: TextRange, recorded: TextRange? = nil,
        hint: String? = nil
    ) {
        let other = recorded.flatMap { $0 == range ? nil : $0 }
        let form = other.map { Recorded(.text(name.message(arguments), $0)) }
        diagnostics.add(Diagnostic(name, arguments, at: range, recorded: form).hinting(hint))
    }

    /// Notes something about a value; the admin routes count the line end behind it as a part of it.
    mutating func add(_ name: DiagnosticName, _ arguments: [String] = [], value: YAMLNode) {
        let recorded = TextRange(start: value.start, end: value.fullEnd)
        add(name, arguments, at: Self.range(value), recorded: recorded)
    }

    /// Notes something that the admin routes are silent about.
    mutating func addOurs(_ name: DiagnosticName, _ arguments: [String] = [], at range: TextRange) {
        diagnostics.add(Diagnostic(name, arguments, at: range, recorded: Recorded(.silent)))
    }

    /// Notes that there is nothing in the text, where the admin routes tell of a crash (service 3.14, D16).
    mutating func addEmptyDocument(at range: TextRange) {
        let recorded = Recorded(.text("Cannot read properties of null (reading 'range')", nil))
        diagnostics.add(Diagnostic(.emptyDocument, at: range, recorded: recorded))
    }

    /// Where a node stands.
    static func range(_ node: YAMLNode) -> TextRange { TextRange(start: node.start, end: node.end) }

    /// The pairs of a map of which the keys are given, by key; nil for what is no map.
    mutating func map(_ node: YAMLNode, known: Set<String>) -> [String: Pair]? {
        guard let pairs = node.pairs else {
            add(.expectedMap, value: node)
            return nil
        }
        var found: [String: Pair] = [:]
        for pair in pairs {
            guard let name = text(key: pair.key) else { continue }
            if known.contains(name) {
                found[name] = pair
            } else {
                let near = NearestName(ExactText(name)).nearest(of: known.map { ExactText($0) })
                unknownKeys.add(
                    Diagnostic(.unknownKey, [name], at: Self.range(pair.key))
                        .suggesting(near.map { "'\($0.text)'" }))
            }
        }
        return found
    }

    /// The pairs of a map of which the keys are names; nil for what is no map.
    mutating func names(_ node: YAMLNode) -> [(name: ExactText, pair: Pair)]? {
        guard let pairs = node.pairs else {
            add(.expectedMap, value: node)
            return nil
        }
        var found: [(name: ExactText, pair: Pair)] = []
        for pair in pairs {
            if let name = text(key: pair.key) { found.append((ExactText(name), pair)) }
        }
        return found
    }

    /// The text of a key; numbers, truth values, null and collections are none.
    private mutating func text(key: YAMLNode) -> String? {
        if let text = key.string, key.bool == nil, key.number == nil, !key.isNull { return text }
        add(.keyNotText, at: Self.range(key))
        return nil
    }

    /// A truth value.
    mutating func bool(_ node: YAMLNode) -> Bool? {
        guard isScalar(node) else { return nil }
        if node.bool == nil { add(.mustBeBoolean, value: node) }
        return node.bool
    }

    /// A number.
    mutating func number(_ node: YAMLNode) -> Double? {
        guard isScalar(node) else { return nil }
        if node.number == nil { add(.mustBeNumeric, value: node) }
        return node.number
    }

    /// A priority: 0 to 3.
    mutating func priority(_ node: YAMLNode) -> Int? {
        for priority in 0...3 where node.number == Double(priority) { return priority }
        add(.priorityInvalid, value: node)
        return nil
    }

    /// SQL; what else a scalar means is taken for SQL, too, as recorded of a number.
    mutating func query(_ node: YAMLNode) -> QueryText? {
        guard isScalar(node) else { return nil }
        return QueryText(node, in: source)
    }

    /// A list of SQL; nil for what is no list.
    mutating func queries(_ node: YAMLNode) -> [QueryText]? {
        guard let elements = node.elements else {
            add(.expectedSequence, value: node)
            return nil
        }
        return elements.compactMap { query($0) }
    }

    /// The common table expressions of a `with`.
    mutating func commonTables(_ node: YAMLNode) -> [CommonTable] {
        var tables: [CommonTable] = []
        for (name, pair) in names(node) ?? [] {
            guard let query = query(pair.value) else { continue }
            tables.append(CommonTable(name: name, nameRange: Self.range(pair.key), query: query))
        }
        return tables
    }

    private mutating func isScalar(_ node: YAMLNode) -> Bool {
        if node.string == nil { add(.expectedScalar, value: node) }
        return node.string != nil
    }
}
