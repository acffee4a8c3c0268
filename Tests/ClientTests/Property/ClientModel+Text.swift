/// The tables as text, one line for each row, as ``DatabaseText`` reads them from a file.
extension ClientModel {
    var text: DatabaseText {
        var text = DatabaseText()
        text.parts["buckets"] = lines(
            buckets.map {
                """
                \($0.name) applied \($0.lastApplied) last \($0.last) add \($0.superseded) op \($0.present) \
                count \($0.countAtLast)+\($0.countSinceLast) size \($0.size)
                """
            })
        text.parts["operations"] = lines(
            buckets.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }.flatMap { bucket in
                bucket.operations.map {
                    """
                    \(bucket.name) \($0.id) \($0.row.type) \($0.row.id) \($0.key) \
                    \(Int32(bitPattern: $0.checksum)) \($0.content.text)
                    """
                }
            })
        text.parts["updated"] = lines(updated.sorted().map(\.description))
        text.parts["rows"] = lines(visible.keys.sorted().map { "\($0) \(visible[$0]?.text ?? "")" })
        text.parts["queue"] = lines(
            queue.enumerated().flatMap { index, entries in entries.map { "\(index + 1) \($0.text)" } })
        func number(_ value: Int64?) -> String { value.map(String.init) ?? "-" }
        text.parts["gate"] = "target \(number(target)) seen \(number(seen)) applied \(number(applied))"
        text.parts["synced"] = lines(synced.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" })
        text.parts["subscriptions"] = lines(
            subscriptions.map {
                """
                \($0.key.name) \($0.key.parameters ?? "null") \($0.isActive ? 1 : 0) \
                \($0.isDefault ? 1 : 0) \(number($0.timeToLive)) \(number($0.expiresAt)) \
                \(number($0.lastSynced))
                """
            })
        return text
    }

    private func lines(_ lines: [String]) -> String { lines.joined(separator: "\n") }
}
