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
        package var state: BucketTotals

        /// Makes a bucket of its parts.
        package init(bucket: ResolvedBucket, state: BucketTotals) {
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
        /// Find operations, send them as a data line, and say so by `received`.
        case read(BucketRead)
        /// Send a line.
        case send(SyncLine)
        /// Everything is sent; wait for the next checkpoint.
        case wait
    }

    /// The operations of the next data line.
    package struct BucketRead: Sendable, Equatable {
        /// The bucket's name.
        package let name: String
        /// The position of the stream, behind which the line begins.
        package let after: Int64
        /// Asks for the operations; where it begins means the same as the position.
        package let request: FrameRequest
    }

    /// What was found for a data line.
    package struct LinePart: Sendable, Equatable {
        /// The last operation.
        package let last: OperationID
        /// How many operations there are.
        package let count: Int
        /// Whether more lines of the bucket may follow.
        package let hasMore: Bool

        /// Makes a part of its fields.
        package init(last: OperationID, count: Int, hasMore: Bool) {
            self.last = last
            self.count = count
            self.hasMore = hasMore
        }
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
    /// The last operations of buckets whose positions lie behind them, and mean the same.
    private var ends: [ExactText: OperationID] = [:]
    private var listed: [ExactText: CheckpointView.Bucket] = [:]
    /// Listed buckets with the priority and the reasons that they have by now, where the client was told others: it gets
    /// them with the next content (service 3.14 D3).
    private var untold: [ExactText: ResolvedBucket] = [:]
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
            for bucket in view.buckets.map(\.bucket) { note(bucket) }
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
        for index in diff.updated.indices {
            guard let bucket = untold[ExactText(diff.updated[index].bucket.name)] else { continue }
            diff.updated[index].bucket = bucket
        }
        diff.updated.sort { place(of: $0) < place(of: $1) }
        // A write checkpoint may be told of with a checkpoint that is older than what was read meanwhile.
        return take(diff, at: max(change.operation, current.operation), change.writeCheckpoint)
    }

    /// What was told is not taken back: an id that is not kept any more was reached long ago, and of two that were reached
    /// the state knows the one by which it was asked.
    private func newest(_ writeCheckpoint: Int64?) -> Int64? {
        [writeCheckpoint, current?.writeCheckpoint].compactMap { $0 }.max()
    }

    /// Takes note of what a bucket is listed with from its next content on.
    private mutating func note(_ bucket: ResolvedBucket) {
        let name = ExactText(bucket.name)
        let isTold = listed[name].map { $0.bucket == bucket } ?? true
        untold[name] = isTold ? nil : bucket
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
            untold[name] = nil
            positions[name] = nil
            ends[name] = nil
            waiting.remove(name)
        }
        for bucket in diff.updated {
            let name = ExactText(bucket.bucket.name)
            noteEnd(of: name)
            listed[name] = bucket
            untold[name] = nil
            waiting.insert(name)
        }
        begin(at: operation, writeCheckpoint)
        return .checkpointDiff(
            CheckpointDiff(
                lastOpID: operation, writeCheckpoint: writeCheckpoint,
                updatedBuckets: diff.updated.map(Self.entry), removedBuckets: diff.removed))
    }

    /// Notes that a position behind the end of its bucket means that end: up to the checkpoint nothing lies between, so
    /// that streams whose positions differ can ask for the same operations.
    private mutating func noteEnd(of name: ExactText) {
        guard let current, let known = listed[name]?.state, let position = positions[name],
            known.lastOperation < position, position <= current.operation
        else { return }
        ends[name] = known.lastOperation
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

    /// Takes note of what is the next data line.
    ///
    /// - Parameters:
    ///   - part: What was found for it; nil if there was nothing, then there is no line.
    ///   - read: What was asked for.
    package mutating func received(_ part: LinePart?, for read: BucketRead) {
        let name = ExactText(read.name)
        guard let part else {
            // A bucket with nothing to send stays among those that wait, as recorded (service 3.2, step 6).
            finish(name)
            return
        }
        positions[name] = part.last
        ends[name] = nil
        rowsSinceLine += part.count
        rowsLeft -= part.count
        if rowsLeft <= 0 { rowsLeft = Self.rowLimit }
        if !part.hasMore {
            waiting.remove(name)
            finish(name)
        }
    }

    private mutating func finish(_ name: ExactText) {
        guard plan.groups.first?.names.first == name else { return }
        plan.groups[0].names.removeFirst()
    }

    private func read(_ name: ExactText, upTo last: Int64) -> BucketRead? {
        guard let state = listed[name]?.state, let id = state.id else { return nil }
        let position = positions[name] ?? 0
        let last = min(last, state.lastOperation)
        guard position < last else { return nil }
        return BucketRead(
            name: name.text, after: position,
            request: FrameRequest(
                bucket: id, after: ends[name] ?? position, last: last, rows: rowsLeft,
                bytes: FrameRequest.lineBytes))
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
