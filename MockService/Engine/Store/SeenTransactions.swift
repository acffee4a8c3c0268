/// Which transactions a statement sees, as Postgres spells it in `txid_current_snapshot()`.
package struct SeenTransactions: Sendable, Hashable {
    /// The spelling of Postgres: the oldest that is open, the one behind the newest, and which of those between are open.
    package let text: String
    private let end: UInt64
    private let open: Set<UInt64>

    /// Reads the spelling; nil for anything else.
    package init?(text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let end = UInt64(parts[1]) else { return nil }
        self.text = text
        self.end = end
        open = Set(parts[2].split(separator: ",").compactMap { UInt64($0) })
    }

    /// Whether a transaction of the stream is seen.
    ///
    /// - Parameter id: What the stream tells, 32 bits of an id: it is the one that is nearest to those of the statement.
    /// - Returns: False if it was open, or had not begun.
    package func contains(_ id: UInt32) -> Bool {
        let distance = Int32(bitPattern: id &- UInt32(truncatingIfNeeded: end))
        return distance < 0 && !open.contains(end &+ UInt64(bitPattern: Int64(distance)))
    }
}
