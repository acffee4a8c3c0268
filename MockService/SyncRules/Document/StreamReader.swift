import PowerSyncWire
import PowerSyncYAML

/// Reads the YAML of one stream (service 6.1).
struct StreamReader {
    private static let keys: Set<String> = [
        "query", "queries", "auto_subscribe", "priority", "with", "accept_potentially_dangerous_queries",
    ]

    private let edition: Int
    private var reader: ValueReader

    /// Makes a reader for streams of an edition.
    init(_ source: SourceText, edition: Int) {
        self.edition = edition
        reader = ValueReader(source)
    }

    /// Reads a stream.
    ///
    /// - Parameters:
    ///   - source: The text.
    ///   - edition: The edition of the configuration.
    ///   - name: Its name.
    ///   - pair: Its key and its map.
    ///   - isTwice: Whether another stream or bucket definition has the name.
    /// - Returns: The stream, with what is wrong with it.
    static func read(
        _ source: SourceText, edition: Int, name: ExactText, _ pair: ValueReader.Pair, isTwice: Bool
    ) -> StreamDefinition {
        var reader = StreamReader(source, edition: edition)
        var stream = StreamDefinition(name: name, nameRange: ValueReader.range(pair.key))
        if isTwice { reader.reader.add(.duplicateDefinition, at: stream.nameRange) }
        if let map = reader.reader.map(pair.value, known: keys) {
            reader.readOptions(map, &stream)
            if edition >= 3 {
                reader.readQueries(map, pair.value, &stream)
            } else {
                reader.readAlphaQuery(map, &stream)
            }
        }
        stream.notes = reader.reader.notes
        return stream
    }

    private mutating func readOptions(_ map: [String: ValueReader.Pair], _ stream: inout StreamDefinition) {
        if let node = map["auto_subscribe"]?.value { stream.isDefault = reader.bool(node) ?? false }
        if let node = map["priority"]?.value { stream.priority = reader.priority(node) ?? 3 }
        if let node = map["accept_potentially_dangerous_queries"]?.value {
            stream.acceptsDangerousQueries = reader.bool(node) ?? false
        }
    }

    private mutating func readQueries(
        _ map: [String: ValueReader.Pair], _ node: YAMLNode, _ stream: inout StreamDefinition
    ) {
        if let with = map["with"]?.value { stream.commonTables = reader.commonTables(with) }
        let hasNone = map["queries"]?.value.elements?.isEmpty == true
        switch (map["query"]?.value, map["queries"]?.value) {
        case (let query?, nil): stream.queries = [reader.query(query)].compactMap { $0 }
        case (nil, let queries?) where !hasNone: stream.queries = reader.queries(queries) ?? []
        default:
            let recorded = TextRange(start: node.start, end: node.fullEnd)
            reader.add(.queryXorQueries, at: stream.nameRange, recorded: recorded)
        }
    }

    /// Reads the query of edition 2; edition 1 has streams to say what is wrong with them.
    private mutating func readAlphaQuery(
        _ map: [String: ValueReader.Pair], _ stream: inout StreamDefinition
    ) {
        if let with = map["with"]?.value { reader.add(.cteNeedsCompiler, value: with) }
        if let queries = map["queries"]?.value {
            return reader.add(.queriesNeedCompiler, value: queries)
        }
        guard let node = map["query"]?.value else {
            // As recorded of the admin routes, which are silent about it.
            return reader.addOurs(.queryXorQueries, at: stream.nameRange)
        }
        guard let query = reader.query(node) else { return }
        if edition < 2 {
            reader.add(.streamNeedsEdition2, at: query.content)
        } else {
            stream.queries = [query]
        }
    }
}
