/// A service in memory: buckets with their history, and the newest write checkpoint.
struct ServiceModel {
    struct Operation {
        enum Kind: String { case put = "PUT", remove = "REMOVE", move = "MOVE", clear = "CLEAR" }

        let id: Int64
        var kind: Kind
        var row: ModelRow?
        var subkey: String?
        var content: ModelContent?
        let checksum: UInt32

        /// Client-core 5.5.
        var key: String? { row.map { "\($0.type)/\($0.id)/\(subkey ?? "null")" } }
    }

    struct Bucket {
        let name: String
        /// Absent in lines means 3.
        let priority: Int?
        /// The parameters of the explicit stream it belongs to; nil for a bucket of the default stream.
        let parameters: String?
        var operations: [Operation] = []
        var isOffered = true

        var effectivePriority: Int { priority ?? 3 }
        var checksum: UInt32 { operations.reduce(0) { $0 &+ $1.checksum } }

        /// What the operations amount to.
        var current: [String: Operation] {
            var current: [String: Operation] = [:]
            for operation in operations {
                switch operation.kind {
                case .put: current[operation.key ?? ""] = operation
                case .remove: current[operation.key ?? ""] = nil
                case .move: continue
                case .clear: current = [:]
                }
            }
            return current
        }
    }

    /// A stream that the client subscribes to with one of these parameters.
    static let explicitStream = "extra"
    static let explicitParameters = ["{\"v\":1}", "{\"v\":2}"]

    private(set) var buckets = [
        Bucket(name: "p0[]", priority: 0, parameters: nil),
        Bucket(name: "p1[]", priority: 1, parameters: nil),
        Bucket(name: "also1[]", priority: 1, parameters: nil),
        Bucket(name: "p2[\"ü\"]", priority: 2, parameters: nil),
        Bucket(name: "p3[]", priority: nil, parameters: nil),
        Bucket(name: "x1[1]", priority: 1, parameters: explicitParameters[0]),
        Bucket(name: "x3[2]", priority: 3, parameters: explicitParameters[1]),
    ]
    private(set) var head: Int64 = 0
    private(set) var writeCheckpoint: Int64?

    /// Puts or removes a row in a bucket.
    mutating func write(
        _ row: ModelRow, _ content: ModelContent?, subkey: String?, bucket: Int, checksum: UInt32
    ) {
        // Numbers are shared with other clients' buckets: there are gaps.
        head += Int64(1 + checksum % 3)
        buckets[bucket].operations.append(
            Operation(
                id: head, kind: content == nil ? .remove : .put, row: row, subkey: subkey, content: content,
                checksum: checksum))
    }

    mutating func toggle(_ bucket: Int) { buckets[bucket].isOffered.toggle() }

    mutating func nextWriteCheckpoint() -> Int64 {
        let next = (writeCheckpoint ?? 0) + 1
        writeCheckpoint = next
        return next
    }

    /// Takes a write checkpoint that the client chose; returns the greatest that there was.
    mutating func take(writeCheckpoint id: Int64) -> Int64 {
        let greatest = max(writeCheckpoint ?? 0, id)
        writeCheckpoint = greatest
        return greatest
    }

    /// Replaces superseded operations by MOVE, and the beginning without current rows by one CLEAR.
    mutating func compact(_ index: Int, clears: Bool) {
        var operations = buckets[index].operations
        var seen: Set<String> = []
        for position in operations.indices.reversed() {
            guard let key = operations[position].key, !seen.insert(key).inserted else { continue }
            operations[position].kind = .move
            operations[position].row = nil
            operations[position].content = nil
        }
        if clears {
            let start = operations.firstIndex { $0.kind == .put } ?? operations.count
            if start >= 2 {
                let sum = operations[..<start].reduce(UInt32(0)) { $0 &+ $1.checksum }
                let clear = Operation(id: operations[start - 1].id, kind: .clear, checksum: sum)
                operations.replaceSubrange(..<start, with: [clear])
            }
        }
        buckets[index].operations = operations
    }

    /// The buckets of a client with these subscriptions.
    func offered(_ subscriptions: [String]) -> [Bucket] {
        buckets.filter { $0.isOffered && ($0.parameters.map(subscriptions.contains) ?? true) }
    }

    /// The rows that a client with these subscriptions must show: the newest operation of each row counts.
    func rows(_ subscriptions: [String]) -> [ModelRow: ModelContent] {
        var newest: [ModelRow: Operation] = [:]
        for bucket in offered(subscriptions) {
            for operation in bucket.current.values {
                guard let row = operation.row else { continue }
                if let other = newest[row], other.id > operation.id { continue }
                newest[row] = operation
            }
        }
        return newest.compactMapValues(\.content)
    }

    /// Applies an uploaded change as a backend would: the row's own bucket gets it.
    mutating func apply(_ entry: QueueEntry, checksum: UInt32) {
        let home = Int(entry.row.id.utf8.last ?? 0) % 5
        let subkey: String? = nil
        switch entry.operation {
        case .put:
            let content = ModelContent(id: entry.row.id, title: entry.title, n: entry.n, extra: nil)
            write(entry.row, content, subkey: subkey, bucket: home, checksum: checksum)
        case .patch:
            // The row as the service knows it, in whichever bucket; without one there is nothing to change.
            guard let old = rows(Self.explicitParameters)[entry.row] else { return }
            let content = ModelContent(
                id: entry.row.id, title: entry.setsTitle ? entry.title : old.title,
                n: entry.setsN ? entry.n : old.n, extra: nil)
            write(entry.row, content, subkey: subkey, bucket: home, checksum: checksum)
        case .delete:
            for index in buckets.indices {
                for operation in buckets[index].current.values.sorted(by: { $0.id < $1.id })
                where operation.row == entry.row {
                    write(entry.row, nil, subkey: operation.subkey, bucket: index, checksum: checksum)
                }
            }
        }
    }
}

/// A change in the upload queue.
struct QueueEntry: Hashable {
    enum Operation: String { case put = "PUT", patch = "PATCH", delete = "DELETE" }

    let operation: Operation
    let row: ModelRow
    var title: String?
    var n: Int?
    var setsTitle = false
    var setsN = false
    /// The entry as the queue stores it.
    let text: String
}
