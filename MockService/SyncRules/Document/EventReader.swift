import PowerSyncWire
import PowerSyncYAML

/// Reads the YAML of one event (service 7.9).
struct EventReader {
    /// Reads an event.
    ///
    /// - Parameters:
    ///   - source: The text.
    ///   - name: Its name.
    ///   - pair: Its key and its map.
    /// - Returns: The event, with what is wrong with it.
    static func read(_ source: SourceText, name: ExactText, _ pair: ValueReader.Pair) -> EventDefinition {
        var reader = ValueReader(source)
        var event = EventDefinition(name: name, nameRange: ValueReader.range(pair.key))
        if let map = reader.map(pair.value, known: ["payloads"]) {
            if let node = map["payloads"]?.value {
                event.payloads = reader.queries(node) ?? []
            } else {
                reader.add(.expectedSequence, at: event.nameRange)
            }
        }
        event.notes = reader.notes
        return event
    }
}
