import PowerSyncPostgresValues

/// What was submitted and is not on the disk yet: in which order, how many bytes, and what is ready to be written; a value
/// (DESIGN.md, 3).
package struct IntakeQueue: Sendable {
    /// What the writer does next.
    package enum Job: Sendable {
        /// Stores a group.
        case write([EvaluatedBatch])
        /// Publishes a position that has nothing to be stored with yet.
        case tell(LSN)
    }

    private struct Entry: Sendable {
        /// The batch as it was submitted, until somebody evaluates it.
        var submitted: ChangeBatch?
        /// The batch as it can be written.
        var evaluated: EvaluatedBatch?
        let bytes: Int
        /// How many bytes it comes to, once it is evaluated.
        var made = 0
        let isAhead: Bool
        /// Whether it has commits, and positions that were passed, alone.
        let isOfPositions: Bool
        /// How many calls it is of.
        var calls: UInt64 = 1
    }

    private let limits: StoreLimits
    private var entries: ArraySlice<Entry> = []
    /// The number of the first entry.
    private var first: UInt64 = 0
    /// The number of the first entry that nobody may have begun to evaluate.
    private var next: UInt64 = 0
    /// What the writer has in hand.
    private var written: (calls: UInt64, bytes: Int, made: Int) = (0, 0, 0)
    /// How many bytes are under way, positions left out.
    private var bytes = 0
    /// How many bytes that is of which it is known what it comes to.
    private var made = 0
    /// The position that was told last.
    private var told = LSN.zero
    /// How many calls there were up to the last one whose position must not wait any more.
    private var due: UInt64 = 0
    /// How many batches were submitted.
    package private(set) var submitted: UInt64 = 0
    /// How many of these are on the disk.
    package private(set) var stored: UInt64 = 0

    /// Begins with nothing.
    ///
    /// - Parameter limits: How much may be under way, and stored at once.
    package init(limits: StoreLimits = StoreLimits()) { self.limits = limits }

    /// Whether everything is on the disk.
    package var isAtRest: Bool { stored == submitted }

    /// Whether the first that is not on the disk is a position that waits for the time, or for something to be stored with.
    package var hasWaitingPosition: Bool {
        (entries.first?.isOfPositions ?? false) && stored + written.calls >= due
    }

    // MARK: Submitting

    /// Whether there is room for a batch.
    ///
    /// - Parameters:
    ///   - count: Its bytes, which are counted three times; one alone may be larger than all room.
    ///   - isOfPositions: Whether it has commits, and positions that were passed, alone: these become one.
    /// - Returns: Whether it may be added.
    package func hasRoom(for count: Int, isOfPositions: Bool = false) -> Bool {
        bytes == 0 || isOfPositions
            || ((bytes + count) * 3 <= limits.pipelineBytes && made <= limits.evaluatedBytes)
    }

    /// Adds a batch that has to be evaluated.
    package mutating func add(_ batch: ChangeBatch) {
        add(
            Entry(
                submitted: batch, bytes: batch.byteCount, isAhead: batch.isAhead,
                isOfPositions: batch.isOfPositions))
    }

    /// Adds a batch that was evaluated by whoever submits it.
    ///
    /// - Parameters:
    ///   - batch: What it comes to.
    ///   - bytes: How many bytes it had.
    package mutating func add(_ batch: EvaluatedBatch, bytes: Int) {
        let isOfPositions = batch.isOfPositions
        if isOfPositions, let last = entries.indices.last, entries[last].isOfPositions,
            entries[last].evaluated != nil
        {
            // The later position stands for both.
            submitted += 1
            entries[last].calls += 1
            entries[last].evaluated?.passPositions(of: batch)
            return
        }
        add(
            Entry(
                evaluated: batch, bytes: bytes, made: batch.byteCount, isAhead: batch.isAhead,
                isOfPositions: isOfPositions))
    }

    private mutating func add(_ entry: Entry) {
        submitted += 1
        if !entry.isOfPositions {
            bytes += entry.bytes
            made += entry.made
        }
        entries.append(entry)
    }

    /// Lets no position wait any more that was submitted so far.
    package mutating func demandAll() { due = submitted }

    // MARK: Evaluating

    /// Takes the next batch that nobody evaluates; nil if there is none, or if those before it come to so much that they are
    /// to be written first.
    ///
    /// - Returns: The batch, and the number to which `finish(_:_:)` is to be told of.
    package mutating func takeSubmitted() -> (number: UInt64, batch: ChangeBatch)? {
        next = max(next, first)
        while next < first + UInt64(entries.count) {
            let number = next
            let index = entries.startIndex + Int(number - first)
            guard let batch = entries[index].submitted else {
                next += 1
                continue
            }
            // What came evaluated may wait for this one: the first is always taken.
            guard made <= limits.evaluatedBytes || number == first else { return nil }
            next += 1
            // Whoever evaluates it has the only reference.
            entries[index].submitted = nil
            return (number, batch)
        }
        return nil
    }

    /// Takes back a batch that was evaluated.
    ///
    /// - Parameters:
    ///   - number: Its number.
    ///   - batch: What it comes to.
    package mutating func finish(_ number: UInt64, _ batch: EvaluatedBatch) {
        let index = entries.startIndex + Int(number - first)
        entries[index].evaluated = batch
        entries[index].made = batch.byteCount
        made += batch.byteCount
    }

    // MARK: Writing

    /// Takes what the writer does next: all that is ready at the front, as far as one group goes.
    ///
    /// - Returns: The job, which `finishJob` ends if it is one to be written; nil if there is none.
    package mutating func takeJob() -> Job? {
        var batches: [EvaluatedBatch] = []
        var (size, calls) = (0, UInt64(0))
        var (isAhead, isOfPositions) = (true, true)
        for entry in entries {
            guard let batch = entry.evaluated else { break }
            isAhead = isAhead && entry.isAhead
            let limit = isAhead ? limits.snapshotGroupBytes : limits.groupBytes
            guard batches.isEmpty || size + entry.bytes <= limit else { break }
            batches.append(batch)
            size += entry.bytes
            calls += entry.calls
            isOfPositions = isOfPositions && entry.isOfPositions
            if !entry.isOfPositions {
                written.bytes += entry.bytes
                written.made += entry.made
            }
        }
        guard !batches.isEmpty else { return nil }
        if isOfPositions, stored >= due {
            guard let position = batches.compactMap(\.lastCommit).last, position > told else { return nil }
            told = position
            return .tell(position)
        }
        written.calls = calls
        // The array holds what is in front of its slice.
        for index in entries.indices.prefix(batches.count) { entries[index].evaluated = nil }
        entries = entries.dropFirst(batches.count)
        first += UInt64(batches.count)
        return .write(batches)
    }

    /// What was taken to be written is on the disk.
    package mutating func finishJob() {
        stored += written.calls
        bytes -= written.bytes
        made -= written.made
        written = (0, 0, 0)
    }
}

extension EvaluatedBatch {
    /// Whether it has commits, and positions that were passed, alone.
    var isOfPositions: Bool {
        rows.isEmpty
            && marks.allSatisfy { entry in
                switch entry.mark {
                case .begun, .committed, .passed: true
                case .told, .truncate, .identityIsOver, .readUpTo, .readWhole, .hold: false
                }
            }
    }

    /// Where the last transaction is committed that ends in the batch; nil if none does.
    var lastCommit: LSN? {
        for (_, mark) in marks.reversed() {
            if case .committed(let position) = mark { return position }
        }
        return nil
    }

    /// Takes the positions of a batch that follows, of which both have no more than that.
    mutating func passPositions(of next: EvaluatedBatch) {
        var (committed, passed): (LSN?, LSN?) = (nil, nil)
        for (_, mark) in marks + next.marks {
            switch mark {
            case .committed(let position): committed = position
            case .passed(let position): passed = position
            case .begun, .told, .truncate, .identityIsOver, .readUpTo, .readWhole, .hold: break
            }
        }
        marks = []
        if let committed { marks.append((before: 0, mark: .committed(committed))) }
        if let passed { marks.append((before: 0, mark: .passed(passed))) }
    }
}
