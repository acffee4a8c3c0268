/// What the client must hold, written down from client-core 5 to 8: the meaning of the tables without their SQL.
struct ClientModel {
    struct Operation: Hashable {
        let id: Int64
        let key: String
        let row: ModelRow
        let content: ModelContent
        let checksum: UInt32
    }

    struct Bucket {
        let name: String
        var lastApplied: Int64 = 0
        var last: Int64 = 0
        var superseded: UInt32 = 0
        var present: UInt32 = 0
        var countAtLast = 0
        var countSinceLast = 0
        var size = 0
        /// What is stored, ascending by operation.
        var operations: [Operation] = []
    }

    /// In the order in which they came.
    var buckets: [Bucket] = []
    /// Rows to look at again with the next complete checkpoint.
    var updated: Set<ModelRow> = []
    /// What the app sees, and rows of types without a table.
    var visible: [ModelRow: ModelContent] = [:]
    /// Rows of which a partial checkpoint showed an older version than was there before.
    ///
    /// Client-core 6.7 has only the buckets in scope decide then, and the complete checkpoint not look again: a
    /// bucket that comes anew with operations older than those of a less urgent one hides them until the row changes.
    var outdated: Set<ModelRow> = []
    /// One element for each local transaction that waits.
    var queue: [[QueueEntry]] = []
    var target: Int64?
    var seen: Int64?
    var applied: Int64?
    /// When each priority was complete.
    var synced: [Int: Int64] = [:]
    var subscriptions: [Subscription] = []
    /// Whether ps_crud ever had a row, and how many.
    var queuedEver = 0

    var iteration = Iteration.idle
    var requested: [Subscription.Key] = []
    /// The subscriptions of the status, each with the largest number among the priorities of its buckets.
    var listed: [(key: Subscription.Key, priority: Int?)] = []
    var pending: Tracked?
    /// By priority: total and downloaded.
    var progress: [Int: (total: Int, downloaded: Int)]?

    enum Iteration {
        case idle
        case before(known: [String])
        case tracking(Tracked)
    }

    struct Tracked {
        var last: Int64
        var writeCheckpoint: Int64?
        var buckets: [String: ServiceLine.Bucket]
        var streams: [ServiceLine.Stream]
        /// What the service would show at this checkpoint.
        var truth: [ModelRow: ModelContent]
    }

    /// What an event leads to beside the changed tables.
    enum Outcome: Equatable {
        case nothing
        case completed(Int64?, truth: [ModelRow: ModelContent])
        case mismatch
        case closed
    }

    static let full = 2_147_483_647
    /// The target while nobody knows the write checkpoint yet.
    static let unknown = Int64.max

    var isActive: Bool {
        if case .idle = iteration { false } else { true }
    }

    /// The rows that have to be those of the service, without the ones that only this client has.
    func comparable(_ rows: [ModelRow: ModelContent]) -> [ModelRow: ModelContent] {
        rows.filter { $0.key.type != ModelRow.draft("").type && !outdated.contains($0.key) }
    }

    // MARK: Operations (client-core 6.6)

    mutating func store(_ name: String, _ operations: [ServiceModel.Operation], size: Int) {
        if !buckets.contains(where: { $0.name == name }) { buckets.append(Bucket(name: name)) }
        guard let index = buckets.firstIndex(where: { $0.name == name }) else { return }
        var bucket = buckets[index]
        // A line without operations makes the bucket, and counts for nothing.
        if !operations.isEmpty { bucket.size += size }
        for operation in operations {
            // Sent again: neither above `last` nor above what this line brought before.
            guard operation.id > bucket.last else { continue }
            bucket.last = operation.id
            bucket.countSinceLast += 1
            switch operation.kind {
            case .put, .remove:
                let old = bucket.operations.filter { $0.key == operation.key }
                bucket.operations.removeAll { $0.key == operation.key }
                for old in old {
                    bucket.superseded &+= old.checksum
                    bucket.present &-= old.checksum
                }
                guard let row = operation.row, let key = operation.key else { continue }
                if let content = operation.content {
                    bucket.present &+= operation.checksum
                    bucket.operations.append(
                        Operation(
                            id: operation.id, key: key, row: row, content: content,
                            checksum: operation.checksum))
                } else {
                    bucket.superseded &+= operation.checksum
                    // Only what an applied bucket showed has to go.
                    if !old.isEmpty, bucket.lastApplied != 0 { updated.insert(row) }
                }
            case .move: bucket.superseded &+= operation.checksum
            case .clear:
                updated.formUnion(bucket.operations.map(\.row))
                bucket.operations = []
                bucket.lastApplied = 0
                bucket.superseded = operation.checksum
                bucket.present = 0
            }
        }
        let new = bucket.countSinceLast - buckets[index].countSinceLast
        buckets[index] = bucket
        if case .tracking(let tracked) = iteration, let priority = tracked.buckets[name]?.effectivePriority {
            progress?[priority]?.downloaded += new
        }
    }

    mutating func delete(_ names: some Sequence<String>) {
        let names = Set(names)
        for bucket in buckets where names.contains(bucket.name) {
            updated.formUnion(bucket.operations.map(\.row))
        }
        buckets.removeAll { names.contains($0.name) }
    }

    // MARK: Checkpoints (client-core 6.7)

    mutating func apply(_ tracked: Tracked, priority: Int?, now: Int64) -> Outcome? {
        let scope = Set(
            tracked.buckets.values.filter { priority == nil || $0.effectivePriority <= priority ?? 0 }
                .map(\.name))
        let wrong = scope.filter { name in
            let bucket = buckets.first { $0.name == name }
            let sum = (bucket?.superseded ?? 0) &+ (bucket?.present ?? 0)
            return sum != tracked.buckets[name]?.checksum
        }
        if !wrong.isEmpty {
            delete(wrong)
            return .mismatch
        }
        for index in buckets.indices where scope.contains(buckets[index].name) {
            buckets[index].last = tracked.last
        }
        if priority == nil, let id = tracked.writeCheckpoint { seen = id }
        if priority != 0, !queue.isEmpty || (target.map { $0 > seen ?? 0 } ?? false) { return nil }
        apply(scope, isComplete: priority == nil)
        synced = synced.filter { $0.key >= priority ?? Self.full }
        synced[priority ?? Self.full] = now
        stamp(priority, now)
        guard priority == nil else { return .nothing }
        for index in buckets.indices {
            guard let count = tracked.buckets[buckets[index].name]?.count else { continue }
            buckets[index].countAtLast = count
            buckets[index].countSinceLast = 0
        }
        if let id = tracked.writeCheckpoint { applied = id }
        progress = nil
        return .completed(tracked.writeCheckpoint, truth: tracked.truth)
    }

    private mutating func apply(_ scope: Set<String>, isComplete: Bool) {
        var rows = isComplete ? updated : []
        var newest: [ModelRow: Operation] = [:]
        for bucket in buckets where isComplete || scope.contains(bucket.name) {
            for operation in bucket.operations {
                if operation.id > bucket.lastApplied { rows.insert(operation.row) }
                if operation.id > newest[operation.row]?.id ?? 0 { newest[operation.row] = operation }
            }
        }
        for row in rows { visible[row] = newest[row]?.content }
        outdated.subtract(rows)
        for bucket in buckets where !isComplete && !scope.contains(bucket.name) {
            for operation in bucket.operations
            where rows.contains(operation.row) && operation.id > newest[operation.row]?.id ?? 0
                && operation.id <= bucket.lastApplied
            {
                outdated.insert(operation.row)
            }
        }
        for index in buckets.indices where isComplete || scope.contains(buckets[index].name) {
            buckets[index].lastApplied = buckets[index].last
        }
        if isComplete { updated = [] }
    }
}

extension ServiceLine.Bucket {
    var effectivePriority: Int { priority ?? 3 }
}
