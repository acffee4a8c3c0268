/// Identified deadlines in the order in which they pass: a binary heap whose removed entries are dropped late.
struct DeadlineQueue<Value> {
    private struct Entry {
        let deadline: Int64
        let id: UInt64
    }

    private var heap: [Entry] = []
    private var values: [UInt64: Value] = [:]

    /// The number of entries that are neither removed nor passed.
    var count: Int { values.count }

    /// The number of places the heap holds, removed entries included.
    var heldPlaces: Int { heap.count }

    /// The earliest deadline; a removed entry may still be the earliest for a while.
    var earliest: Int64? { heap.first?.deadline }

    /// Adds an entry and says whether it became the earliest.
    mutating func insert(_ value: Value, id: UInt64, deadline: Int64) -> Bool {
        values[id] = value
        heap.append(Entry(deadline: deadline, id: id))
        var index = heap.count - 1
        while index > 0, heap[(index - 1) / 2].deadline > heap[index].deadline {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
        return index == 0
    }

    /// Takes an entry out before its deadline; nil when it is not there.
    mutating func remove(id: UInt64) -> Value? {
        let value = values.removeValue(forKey: id)
        // Without this, a long sleep that is cancelled again and again would fill the memory.
        if heap.count > 64, heap.count > 2 * values.count { compact() }
        return value
    }

    /// Takes out every entry whose deadline is at or before the given moment, earliest first.
    mutating func removePassed(_ now: Int64) -> [Value] {
        var passed: [Value] = []
        while let first = heap.first, first.deadline <= now {
            removeFirst()
            if let value = values.removeValue(forKey: first.id) { passed.append(value) }
        }
        return passed
    }

    /// Takes out every entry.
    mutating func removeAll() -> [Value] {
        let all = Array(values.values)
        values = [:]
        heap = []
        return all
    }

    private mutating func removeFirst() {
        let last = heap.removeLast()
        guard !heap.isEmpty else { return }
        heap[0] = last
        var index = 0
        while true {
            var smallest = index
            for child in [2 * index + 1, 2 * index + 2]
            where child < heap.count && heap[child].deadline < heap[smallest].deadline {
                smallest = child
            }
            guard smallest != index else { return }
            heap.swapAt(index, smallest)
            index = smallest
        }
    }

    private mutating func compact() {
        // A sorted array is a heap.
        heap = heap.filter { values[$0.id] != nil }.sorted { $0.deadline < $1.deadline }
    }
}
