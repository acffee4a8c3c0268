import PowerSyncWire
import PowerSyncYAML

/// Reads the YAML of a configuration of any edition (service 6.1, 6.2).
package struct DocumentReader {
    /// How many bytes a configuration may have.
    private static let byteLimit = 1 << 20
    /// What the admin routes name for something that is not there: the beginning, whatever stands there.
    private static let beginning = TextRange(start: 0, end: 10)
    private static let keys: Set<String> = [
        "config", "streams", "bucket_definitions", "with", "event_definitions",
    ]

    private let source: SourceText
    private var reader: ValueReader
    private var options = ConfigOptions()
    private var names: Set<ExactText> = []
    private var commonTables: [CommonTable] = []
    private var definitions: [BucketDefinition] = []
    private var streams: [StreamDefinition] = []
    private var events: [EventDefinition] = []

    /// Reads a configuration.
    ///
    /// - Parameters:
    ///   - source: The text.
    ///   - diagnostics: Where it is noted why there is no document, and nothing else: a document has its own notes.
    /// - Returns: The document with what is wrong in it; nil if the text is no map of YAML.
    package static func read(_ source: SourceText, _ diagnostics: inout DiagnosticList) -> SyncDocument? {
        var reader = DocumentReader(source)
        guard let root = reader.root(), reader.readKeys(root) else {
            diagnostics.add(reader.reader.diagnostics)
            return nil
        }
        return reader.finish()
    }

    private init(_ source: SourceText) {
        self.source = source
        reader = ValueReader(source)
    }

    /// The root; nil for a text without one.
    private mutating func root() -> YAMLNode? {
        let start = TextRange(start: 0, end: 0)
        guard source.bytes.count <= Self.byteLimit else {
            reader.addOurs(.tooLarge, ["1 MiB"], at: start)
            return nil
        }
        let document = YAMLDocument(String(decoding: source.bytes, as: UTF8.self))
        for (key, error) in document.duplicates {
            let recorded = error.contextOffset.map { TextRange(start: $0, end: $0) }
            reader.add(
                .yamlDuplicateKey, [key.string ?? ""], at: ValueReader.range(key), recorded: recorded)
        }
        if let failure = document.failure {
            let recorded = failure.contextOffset.map { TextRange(start: $0, end: failure.offset) }
            // The admin routes have the line, or what began before it.
            let line = source.line(around: failure.offset)
            let place = TextRange(start: failure.offset, end: failure.offset)
            let byte = source.bytes.indices.contains(failure.offset) ? source.bytes[failure.offset] : nil
            reader.add(
                .yamlSyntax, [failure.message], at: place, recorded: recorded ?? line,
                hint: Hint.yaml(failure.message, at: byte))
        }
        guard document.duplicates.isEmpty, document.failure == nil else { return nil }
        if document.root == nil { reader.addEmptyDocument(at: start) }
        // An alias stands for a text that may be long, and each of them is a query.
        guard document.root.map({ Self.textBytes($0) <= 2 * Self.byteLimit }) ?? true else {
            reader.addOurs(.tooLarge, ["2 MiB with its aliases"], at: start)
            return nil
        }
        return document.root
    }

    private static func textBytes(_ node: YAMLNode) -> Int {
        switch node.kind {
        case .scalar(let text, _): text.utf8.count
        case .sequence(let elements): elements.reduce(0) { $0 + textBytes($1) }
        case .mapping(let pairs): pairs.reduce(0) { $0 + textBytes($1.key) + textBytes($1.value) }
        }
    }

    /// Reads all that stands at the keys of the root; false if it has none.
    private mutating func readKeys(_ root: YAMLNode) -> Bool {
        guard root.pairs != nil else {
            reader.add(.rootNotMap, value: root)
            return false
        }
        let map = reader.map(root, known: Self.keys) ?? [:]
        if let node = map["config"]?.value { options = ConfigOptions(node, &reader) }
        if options.edition >= 3 {
            readStreamsAlone(map)
        } else {
            readBoth(map)
        }
        for (name, pair) in map["event_definitions"].flatMap({ reader.names($0.value) }) ?? [] {
            events.append(EventReader.read(source, name: name, pair))
        }
        let isEmpty = streams.isEmpty && definitions.isEmpty && !reader.diagnostics.isFatal
        if isEmpty, let pair = map["streams"] ?? map["bucket_definitions"] {
            reader.addOurs(.noDefinitions, at: ValueReader.range(pair.key))
        }
        return true
    }

    /// Edition 3.
    private mutating func readStreamsAlone(_ map: [String: ValueReader.Pair]) {
        if let with = map["with"]?.value { commonTables = reader.commonTables(with) }
        if let key = map["bucket_definitions"]?.key {
            reader.add(.definitionsInEdition3, at: ValueReader.range(key))
        }
        let found = map["streams"].flatMap { reader.names($0.value) }
        if found == nil { addMissing(.streamsMissing) }
        for (name, pair) in found ?? [] { readStream(name, pair) }
    }

    /// Editions 1 and 2.
    private mutating func readBoth(_ map: [String: ValueReader.Pair]) {
        if let with = map["with"]?.value { reader.add(.cteNeedsEdition3, value: with) }
        let buckets = map["bucket_definitions"].flatMap { reader.names($0.value) }
        let found = map["streams"].flatMap { reader.names($0.value) }
        if buckets == nil, found == nil { addMissing(.definitionsMissing) }
        for (name, pair) in buckets ?? [] {
            names.insert(name)
            definitions.append(DefinitionReader.read(source, name: name, pair))
        }
        guard let found, let node = map["streams"]?.value else { return }
        reader.add(.alphaStreams, value: node)
        for (name, pair) in found { readStream(name, pair) }
    }

    private mutating func readStream(_ name: ExactText, _ pair: ValueReader.Pair) {
        let isTwice = !names.insert(name).inserted
        streams.append(
            StreamReader.read(source, edition: options.edition, name: name, pair, isTwice: isTwice))
    }

    private mutating func addMissing(_ name: DiagnosticName) {
        reader.add(name, at: TextRange(start: 0, end: 0), recorded: Self.beginning)
    }

    private func finish() -> SyncDocument {
        var last = ValueReader(source)
        if let key = options.tooHighEdition { last.add(.mustBeBelowFour, at: key, recorded: Self.beginning) }
        var trailing = last.diagnostics
        trailing.add(reader.unknownKeys)
        return SyncDocument(
            edition: options.edition, options: options.compatibility, commonTables: commonTables,
            definitions: definitions, streams: streams, events: events, diagnostics: reader.diagnostics,
            trailing: trailing)
    }
}
