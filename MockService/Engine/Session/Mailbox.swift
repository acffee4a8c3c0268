import PowerSyncSystem
import PowerSyncWire

/// What was published for one stream and that has yet to look at; the stream waits on it for everything.
///
/// It holds references, in order, and a bounded number of them: a stream that is later than that reads anew.
package final class Mailbox: Sendable {
    /// Why there is nothing more for a stream.
    package enum End: Sendable {
        /// Clients are served from another replication stream, or from none: the stream ends as one that is complete.
        case replaced
        /// The service ends.
        case closed
    }

    /// All that was published since the stream looked last.
    package struct News: Sendable, Equatable {
        /// The newest checkpoint.
        package let checkpoint: StoredCheckpoint
        /// The totals at that checkpoint of those of the stream's buckets that may have changed; nil if all have to be
        /// read.
        package let changed: [ExactText: BucketTotals]?
        /// Those of the stream's keys of lookups that find something else; nil if any may.
        package let lookups: Set<LookupKey>?
        /// The newest write checkpoint that was reached; nil if none was.
        package let writeCheckpoint: Int64?
    }

    /// What a stream holds.
    package struct Holdings: Sendable {
        /// Its buckets, by whole name.
        package var buckets: Set<ExactText>
        /// The keys of lookups that these come of.
        package var lookups: Set<LookupKey> = []
    }

    /// How many times as many publications are held of all that there are, as of those that concern a stream.
    private static let openFactor = 16

    /// Who waits for something to come.
    typealias Waiter = CheckedContinuation<Void, any Error>

    private struct State {
        var holdings: Holdings
        /// Whether everything is posted, for nobody knows what concerns the stream.
        var isOpen = false
        var publications: [Publication] = []
        /// How many buckets and keys these name, whosever they are.
        var nameCount = 0
        /// Whether publications were left out.
        var isIncomplete = false
        /// The newest write checkpoint of those that were left out.
        var writeCheckpoint: Int64?
        var end: End?
        var hasRung = false
        var isAtRest = false
        var waiter: Waiter?
        /// Who waits for the end alone.
        var endWaiter: Waiter?

        mutating func takeWaiter() -> Waiter? {
            defer { waiter = nil }
            return waiter
        }

        mutating func takeEndWaiter() -> Waiter? {
            defer { endWaiter = nil }
            return endWaiter
        }
    }

    /// By what the stream's write checkpoints are kept.
    package let key: ExactText
    private let limit: Int
    private let nameLimit: Int
    private let state: Lock<State>

    /// Makes an empty mailbox.
    ///
    /// - Parameters:
    ///   - buckets: The buckets that the stream lists, by whole name.
    ///   - key: By what its write checkpoints are kept.
    ///   - limit: How many publications are held.
    ///   - nameLimit: How many buckets and keys these name, unless one alone names more.
    package init(
        buckets: Set<ExactText>, key: ExactText, limit: Int = StoreLimits().mailboxPublications,
        nameLimit: Int = StoreLimits().mailboxNames
    ) {
        state = Lock(State(holdings: Holdings(buckets: buckets)))
        self.key = key
        self.limit = limit
        self.nameLimit = nameLimit
    }

    /// What the stream holds.
    package var holdings: Holdings { state.withLock { $0.holdings } }

    /// The stream's buckets, by whole name.
    package var buckets: Set<ExactText> { holdings.buckets }

    /// Why there is nothing more; nil as long as there may be.
    package var end: End? { state.withLock { $0.end } }

    /// Whether the stream has sent everything that it looked at, and has looked at everything.
    package var isAtRest: Bool { state.withLock { $0.isAtRest } }

    // MARK: The publisher

    /// Takes a publication that concerns the stream.
    ///
    /// - Parameter publication: The publication, newer than all before.
    /// - Returns: Whether the mailbox was empty, and who waits: to be resumed without a lock.
    func post(_ publication: Publication) -> (wasEmpty: Bool, waiter: Waiter?) {
        state.withLock { state in
            guard state.end == nil else { return (false, nil) }
            let wasEmpty = state.publications.isEmpty
            let names = publication.nameCount
            if state.publications.count >= (state.isOpen ? limit * Self.openFactor : limit)
                || (!wasEmpty && state.nameCount + names > nameLimit)
            {
                state.writeCheckpoint = newest(state.publications, state.writeCheckpoint)
                state.publications = []
                state.nameCount = 0
                state.isIncomplete = true
            }
            state.publications.append(publication)
            state.nameCount += names
            state.isAtRest = false
            return (wasEmpty, state.takeWaiter())
        }
    }

    /// Says whether everything is posted, not only what concerns what the stream holds.
    func setOpen(_ isOpen: Bool) { state.withLock { $0.isOpen = isOpen } }

    /// Takes note of what the stream holds from now on; only what concerns that is posted.
    func hold(_ buckets: Set<ExactText>, _ lookups: Set<LookupKey>) {
        state.withLock { state in
            state.holdings = Holdings(buckets: buckets, lookups: lookups)
            state.isOpen = false
        }
    }

    /// Says that there is nothing more; what has not been looked at does not matter any more.
    ///
    /// - Parameter end: Why.
    /// - Returns: Who waits: to be resumed without a lock.
    func finish(_ end: End) -> Waiter? {
        state.withLock { state in
            state.publications = []
            state.nameCount = 0
            state.end = end
            return state.takeWaiter() ?? state.takeEndWaiter()
        }
    }

    private func newest(_ publications: [Publication], _ known: Int64?) -> Int64? {
        publications.reduce(known) { newest, publication in
            [newest, publication.writeCheckpoints[key]].compactMap { $0 }.max()
        }
    }

    // MARK: The stream

    /// Wakes the stream for a time that has come.
    package func ring() {
        let waiter = state.withLock { state in
            state.hasRung = state.waiter == nil
            return state.takeWaiter()
        }
        waiter?.resume()
    }

    /// Returns as soon as there is something to look at, the end has come or `ring` was called, also before this.
    ///
    /// Who waits with nothing to look at is at rest. One task waits at a time.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    package func wait() async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: Waiter) in
                let answer: Result<Void, any Error>? = state.withLock { state in
                    // The cancellation handler may have run already and have found nobody waiting.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if !state.publications.isEmpty || state.end != nil { return .success(()) }
                    state.isAtRest = true
                    if state.hasRung {
                        state.hasRung = false
                        return .success(())
                    }
                    state.waiter = continuation
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            state.withLock { $0.takeWaiter() }?.resume(throwing: CancellationError())
        }
    }

    /// Returns as soon as the end has come, also before this, and for nothing else.
    ///
    /// One task waits at a time, here or in `wait`.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    package func waitForEnd() async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: Waiter) in
                let answer: Result<Void, any Error>? = state.withLock { state in
                    // The cancellation handler may have run already and have found nobody waiting.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.end != nil { return .success(()) }
                    state.endWaiter = continuation
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            state.withLock { $0.takeEndWaiter() }?.resume(throwing: CancellationError())
        }
    }

    /// Takes everything that was published since the last call.
    ///
    /// - Parameter operation: What the stream knows already: of what is published up to there only write checkpoints are
    ///   news, since the stream has read the disk in the meantime.
    /// - Returns: The news; nil if nothing was published.
    package func take(behind operation: OperationID = .min) -> News? {
        let taken = state.withLock { state in
            defer {
                state.publications = []
                state.nameCount = 0
                state.isIncomplete = false
                state.writeCheckpoint = nil
            }
            return (state.publications, state.isIncomplete, state.writeCheckpoint, state.holdings)
        }
        let (publications, isIncomplete, writeCheckpoint, holdings) = taken
        guard let last = publications.last else { return nil }
        let unknown = publications.filter { $0.checkpoint.operation > operation }
        // Those that were left out are older than the ones that are there.
        let isAnyNew = isIncomplete && !unknown.isEmpty
        let lookups = Self.lookups(unknown, of: holdings.lookups)
        return News(
            checkpoint: last.checkpoint,
            changed: isAnyNew ? nil : Self.changed(unknown, of: holdings.buckets),
            lookups: isAnyNew && !holdings.lookups.isEmpty ? nil : lookups,
            writeCheckpoint: newest(publications, writeCheckpoint))
    }

    /// Which of a stream's keys of lookups publications name; nil if any may be one, of a stream that has some.
    private static func lookups(
        _ publications: [Publication], of keys: Set<LookupKey>
    ) -> Set<LookupKey>? {
        var changed: Set<LookupKey> = []
        guard !keys.isEmpty else { return changed }
        for publication in publications {
            guard let named = publication.lookups else { return nil }
            changed.formUnion(keys.count < named.count ? keys.intersection(named) : named.intersection(keys))
        }
        return changed
    }

    /// What publications say of a stream's buckets, the newest of each.
    private static func changed(
        _ publications: [Publication], of buckets: Set<ExactText>
    ) -> [ExactText: BucketTotals]? {
        var changed: [ExactText: BucketTotals] = [:]
        for publication in publications {
            guard let totals = publication.changed else { return nil }
            // One publication may name the buckets of thousands of streams.
            if totals.count < buckets.count {
                for (name, totals) in totals where buckets.contains(name) { changed[name] = totals }
            } else {
                for name in buckets { changed[name] = totals[name] ?? changed[name] }
            }
        }
        return changed
    }
}

/// A mailbox equals itself alone.
extension Mailbox: Hashable {
    /// Whether both are one.
    package static func == (left: Mailbox, right: Mailbox) -> Bool { left === right }

    /// Hashes which one it is.
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
