import PowerSyncPostgresValues
import PowerSyncWire

/// Write checkpoints that wait for the log to pass their heads (service 1.8).
///
/// Of each key only the newest one is kept, as on the disk: a larger id tells of everything before it. So there are no
/// more than keys that a stream has.
package struct PendingHeads: Sendable {
    private struct Entry: Comparable, Sendable {
        let head: LSN
        let key: ExactText

        static func < (left: Entry, right: Entry) -> Bool { left.head < right.head }
    }

    private struct Waiting: Sendable {
        var id: Int64
        var head: LSN
    }

    private var newest: [ExactText: Waiting] = [:]
    /// Entries of keys that wait for something else by now stay until they come up or are the greater part.
    private var heap = MinHeap<Entry>()

    /// Makes heads of which there are none.
    package init() {}

    /// How many keys wait.
    package var count: Int { newest.count }

    /// How many entries are held, those that are over among them.
    package var entryCount: Int { heap.count }

    /// Adds a write checkpoint; it changes nothing if a newer one of the key waits.
    ///
    /// - Parameters:
    ///   - id: Its id. One that is given again is not reached before its new head is.
    ///   - key: Whose it is.
    ///   - head: The position that the log has to reach, as it is stored with the id.
    package mutating func add(_ id: Int64, of key: ExactText, at head: LSN) {
        if let known = newest[key], known.id > id || known.id == id && known.head >= head { return }
        newest[key] = Waiting(id: id, head: head)
        heap.insert(Entry(head: head, key: key))
        compact()
    }

    /// Forgets a key: nobody is left who could be told.
    package mutating func remove(_ key: ExactText) {
        guard newest.removeValue(forKey: key) != nil else { return }
        compact()
    }

    /// Whether something may be reached at a position.
    package func isReached(at position: LSN) -> Bool {
        heap.first.map { $0.head <= position } ?? false
    }

    /// Takes what is reached at a position.
    ///
    /// - Parameter position: How far the log has come.
    /// - Returns: The id of each key whose head does not lie behind that.
    package mutating func take(upTo position: LSN) -> [ExactText: Int64] {
        var reached: [ExactText: Int64] = [:]
        while let entry = heap.first, entry.head <= position {
            _ = heap.popFirst()
            guard let waiting = newest[entry.key], waiting.head == entry.head else { continue }
            newest[entry.key] = nil
            reached[entry.key] = waiting.id
        }
        return reached
    }

    /// Lowers heads behind the end of the log: what lay there was lost in a failover or a crash, and does not come.
    ///
    /// - Parameters:
    ///   - furthest: The furthest of them.
    ///   - end: Where the log ended.
    package mutating func lower(upTo furthest: LSN, to end: LSN) {
        for (key, waiting) in newest where waiting.head > end && waiting.head <= furthest {
            newest[key]?.head = end
        }
        rebuild()
    }

    private mutating func compact() {
        if heap.count > 2 * newest.count + 16 { rebuild() }
    }

    private mutating func rebuild() {
        heap = MinHeap(newest.map { Entry(head: $0.value.head, key: $0.key) })
    }
}
