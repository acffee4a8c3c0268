import PowerSyncWire
import PowerSyncYAML

/// Reads the YAML of one bucket definition (service 6.1).
struct DefinitionReader {
    private static let keys: Set<String> = [
        "data", "parameters", "priority", "accept_potentially_dangerous_queries",
    ]

    private var reader: ValueReader

    /// Reads a bucket definition.
    ///
    /// - Parameters:
    ///   - source: The text.
    ///   - name: Its name.
    ///   - pair: Its key and its map.
    /// - Returns: The definition, with what is wrong with it.
    static func read(_ source: SourceText, name: ExactText, _ pair: ValueReader.Pair) -> BucketDefinition {
        var reader = DefinitionReader(reader: ValueReader(source))
        var definition = BucketDefinition(name: name, nameRange: ValueReader.range(pair.key))
        if pair.value.pairs == nil {
            reader.reader.add(.definitionNotMap, [name.text], value: pair.value)
        } else if let map = reader.reader.map(pair.value, known: keys) {
            reader.read(map, &definition)
        }
        definition.notes = reader.reader.notes
        return definition
    }

    private mutating func read(_ map: [String: ValueReader.Pair], _ definition: inout BucketDefinition) {
        if let pair = map["priority"] {
            definition.priority = reader.priority(pair.value)
            definition.priorityRange = ValueReader.range(pair.key)
        }
        if let node = map["accept_potentially_dangerous_queries"]?.value {
            definition.acceptsDangerousQueries = reader.bool(node) ?? false
        }
        if let node = map["parameters"]?.value { definition.parameters = parameters(node) }
        if let node = map["data"]?.value {
            definition.data = reader.queries(node) ?? []
        } else {
            reader.add(.dataMissing, at: definition.nameRange)
        }
    }

    /// The parameter queries: one text or several.
    private mutating func parameters(_ node: YAMLNode) -> [QueryText] {
        let nodes = node.elements ?? [node]
        guard nodes.allSatisfy({ $0.string != nil && !$0.isNull }) else {
            reader.add(.parametersNotText, value: node)
            return []
        }
        return nodes.compactMap { reader.query($0) }
    }
}
