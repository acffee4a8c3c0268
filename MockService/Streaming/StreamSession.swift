import PowerSyncWire

/// A checkpoint as one stream sees it.
package struct CheckpointView: Sendable, Equatable {
    /// The last operation of the checkpoint.
    package var operation: Int64
    /// The client's newest write checkpoint that it includes.
    package var writeCheckpoint: Int64?
    /// The buckets of the request, with their states.
    package var buckets: [Bucket]

    /// A bucket and its state.
    package struct Bucket: Sendable, Equatable {
        /// Name, priority and reasons.
        package var bucket: ResolvedBucket
        /// Checksum and extent.
        package var state: BucketState

        /// Makes a bucket of its parts.
        package init(bucket: ResolvedBucket, state: BucketState) {
            self.bucket = bucket
            self.state = state
        }
    }

    /// Makes a view of its parts.
    package init(operation: Int64, writeCheckpoint: Int64?, buckets: [Bucket]) {
        self.operation = operation
        self.writeCheckpoint = writeCheckpoint
        self.buckets = buckets
    }
}

/// Decides what one stream sends next, without reading or sending anything itself (service 3.2 to 3.5).
package struct StreamSession {
    /// What the loop shall do.
    package enum Step: Sendable, Equatable {
        /// Read operations and give them to `received`.
        case read(BucketRead)
        /// Send a line.
        case send(SyncLine)
        /// Everything is sent; wait for the next checkpoint.
        case wait
    }

    /// Operations to read for the next data line.
    package struct BucketRead: Sendable, Equatable {
        /// The bucket's name.
        package let name: String
        /// Its id in the state file.
        package let bucket: Int64
        /// The operation behind which to begin.
        package let after: Int64
        /// The last operation that may be read.
        package let last: Int64
        /// At most that many operations.
        package let rows: Int
    }

    /// Operations that one reading of the storage yields, over all its lines (service 3.4).
    package static let rowLimit = 1000

    private struct Plan {
        /// Priorities with the names of their buckets, both ascending.
        var groups: [(priority: Int, names: [ExactText])]
        var isComplete = false
    }

    private let streams: [StreamDescription]
    private var positions: [ExactText: Int64]
    private var listed: [ExactText: CheckpointView.Bucket] = [:]
    /// The order in which buckets are listed.
    private var places: [ExactText: Int] = [:]
    private var waiting: Set<ExactText> = []
    private var plan = Plan(groups: [], isComplete: true)
    private var current: (operation: Int64, writeCheckpoint: Int64?)?
    private var rowsLeft = Self.rowLimit
    private var rowsSinceLine = 0

    /// Begins a stream.
    ///
    /// - Parameters:
    ///   - positions: What the client holds.
    ///   - streams: What its first checkpoint describes.
    package init(positions: [BucketRequest], streams: [StreamDescription]) {
        self.streams = streams
        self.positions = Dictionary(
            positions.map { (ExactText($0.name), $0.after) }, uniquingKeysWith: { _, last in last })
    }

    /// Whether so much was sent for the current line that a newer checkpoint should be looked at (service
    /// 3.5).
    package var mayBeInterrupted: Bool { rowsSinceLine >= Self.rowLimit }

    /// Takes a newer checkpoint.
    ///
    /// - Parameter view: The checkpoint.
    /// - Returns: The line to send; nil if the checkpoint changes nothing for this client, then what was
    ///   planned goes on.
    package mutating func offer(_ view: CheckpointView) -> SyncLine? {
        var view = view
        view.writeCheckpoint = newest(view.writeCheckpoint)
        if let current {
            guard
                let diff = CheckpointDiffer.diff(
                    from: listed, writeCheckpoint: current.writeCheckpoint, to: view)
            else { return nil }
            places = Self.places(of: view.buckets)
            return take(diff, at: view.operation, view.writeCheckpoint)
        }
        places = Self.places(of: view.buckets)
        for bucket in view.buckets { listed[ExactText(bucket.bucket.name)] = bucket }
        waiting = Set(listed.keys)
        positions = positions.filter { listed[$0.key] != nil }
        begin(at: view.operation, view.writeCheckpoint)
        return .checkpoint(
            Checkpoint(
                lastOpID: view.operation, writeCheckpoint: view.writeCheckpoint,
                buckets: view.buckets.map(Self.entry), streams: streams))
    }

    /// Takes what a newer checkpoint has changed; the stream has begun with a whole view.
    ///
    /// - Parameter change: The change since the view or change before.
    /// - Returns: The line to send; nil if nothing is new for this client, then what was planned goes on.
    package mutating func offer(_ change: ViewChange) -> SyncLine? {
        guard let current else { preconditionFailure("a stream begins with a whole view") }
        var change = change
        change.writeCheckpoint = newest(change.writeCheckpoint)
        guard
            var diff = CheckpointDiffer.diff(
                from: listed, writeCheckpoint: current.writeCheckpoint, by: change)
        else { return nil }
        diff.updated.sort { place(of: $0) < place(of: $1) }
        return take(diff, at: change.operation, change.writeCheckpoint)
    }

    /// What was told is not taken back: an id that is not kept any more was reached long ago, and of two that were reached
    /// the state knows the one by which it was asked.
    private func newest(_ writeCheckpoint: Int64?) -> Int64? {
        [writeCheckpoint, current?.writeCheckpoint].compactMap { $0 }.max()
    }

    private static func places(of buckets: [CheckpointView.Bucket]) -> [ExactText: Int] {
        var places: [ExactText: Int] = [:]
        for (place, bucket) in buckets.enumerated() { places[ExactText(bucket.bucket.name)] = place }
        return places
    }

    private func place(of bucket: CheckpointView.Bucket) -> Int {
        places[ExactText(bucket.bucket.name)] ?? .max
    }

    private mutating func take(
        _ diff: CheckpointDiffer.Difference, at operation: Int64, _ writeCheckpoint: Int64?
    ) -> SyncLine {
        for name in diff.removed.map({ ExactText($0) }) {
            listed[name] = nil
            positions[name] = nil
            waiting.remove(name)
        }
        for bucket in diff.updated {
            listed[ExactText(bucket.bucket.name)] = bucket
            waiting.insert(ExactText(bucket.bucket.name))
        }
        begin(at: operation, writeCheckpoint)
        return .checkpointDiff(
            CheckpointDiff(
                lastOpID: operation, writeCheckpoint: writeCheckpoint,
                updatedBuckets: diff.updated.map(Self.entry), removedBuckets: diff.removed))
    }

    private mutating func begin(at operation: Int64, _ writeCheckpoint: Int64?) {
        current = (operation, writeCheckpoint)
        plan = makePlan()
        rowsLeft = Self.rowLimit
        rowsSinceLine = 0
    }

    /// What to do now.
    package mutating func next() -> Step {
        guard let current, !plan.isComplete else { return .wait }
        while let group = plan.groups.first {
            while let name = plan.groups[0].names.first {
                if let read = read(name, upTo: current.operation) { return .read(read) }
                plan.groups[0].names.removeFirst()
            }
            plan.groups.removeFirst()
            if !plan.groups.isEmpty {
                return .send(
                    .partialCheckpointComplete(lastOpID: current.operation, priority: group.priority))
            }
        }
        plan.isComplete = true
        return .send(.checkpointComplete(lastOpID: current.operation))
    }

    /// Takes what was read.
    ///
    /// - Parameters:
    ///   - chunk: The operations.
    ///   - read: What was asked for.
    /// - Returns: The line to send, nil if there was nothing.
    package mutating func received(_ chunk: BucketChunk, for read: BucketRead) -> SyncLine? {
        let name = ExactText(read.name)
        guard let last = chunk.operations.last else {
            // A bucket with nothing to send stays among those that wait, as recorded (service 3.2, step 6).
            finish(name)
            return nil
        }
        positions[name] = last.id
        rowsSinceLine += chunk.operations.count
        rowsLeft -= chunk.operations.count
        if rowsLeft <= 0 { rowsLeft = Self.rowLimit }
        if !chunk.isCut {
            waiting.remove(name)
            finish(name)
        }
        return .data(
            DataLine(
                bucket: read.name, after: read.after, nextAfter: last.id, hasMore: chunk.isCut,
                operations: OperationList(chunk.operations)))
    }

    private mutating func finish(_ name: ExactText) {
        guard plan.groups.first?.names.first == name else { return }
        plan.groups[0].names.removeFirst()
    }

    private func read(_ name: ExactText, upTo last: Int64) -> BucketRead? {
        guard let state = listed[name]?.state, let id = state.id else { return nil }
        let position = positions[name] ?? 0
        guard position < min(last, state.lastOperation) else { return nil }
        return BucketRead(name: name.text, bucket: id, after: position, last: last, rows: rowsLeft)
    }

    /// Groups come from the buckets that wait, not from those that changed.
    private func makePlan() -> Plan {
        var groups: [Int: [ExactText]] = [:]
        for name in waiting {
            guard let bucket = listed[name] else { continue }
            groups[bucket.bucket.priority, default: []].append(name)
        }
        return Plan(
            groups: groups.sorted { $0.key < $1.key }.map { entry in
                (entry.key, entry.value.sorted { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) })
            })
    }

    private static func entry(_ bucket: CheckpointView.Bucket) -> BucketChecksum {
        BucketChecksum(
            bucket: bucket.bucket.name, checksum: bucket.state.checksum, priority: bucket.bucket.priority,
            count: bucket.state.count, subscriptions: bucket.bucket.reasons)
    }
}
