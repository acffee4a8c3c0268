import PowerSyncSystem

/// Gives room for lines in turn, one after another, for as long as those that all streams hold are within a limit.
///
/// A stream holds a line from before it is read until the system has taken it, which a slow client makes long. What is
/// there already is counted without a turn, and may be longer than was asked for: then more than the limit is held, and
/// nobody has a turn.
package final class LineBudget: Sendable {
    /// Room for one line; given back when the last reference goes, however the stream ends.
    package final class Room: Sendable {
        private let budget: LineBudget
        private let id: UInt64

        fileprivate init(_ budget: LineBudget, _ id: UInt64) {
            self.budget = budget
            self.id = id
        }

        deinit { budget.leave(id) }

        /// Whether the line may be held.
        package var isGiven: Bool { budget.state.withLock { $0.rooms[id]?.isGiven ?? false } }

        /// Returns when the line may be held; who is cancelled keeps the place in the queue.
        ///
        /// - Throws: `CancellationError`.
        package func wait() async throws { try await budget.wait(id) }

        /// Says how long the line has become: more is not waited for, since the line is there already.
        package func resize(to bytes: Int) { budget.resize(id, to: bytes) }
    }

    private struct Entry {
        var bytes: Int
        var isGiven: Bool
        var waiter: CheckedContinuation<Void, any Error>?
    }

    private struct State {
        var used = 0
        var rooms: [UInt64: Entry] = [:]
        /// Who waits, in turn; those who have left are still in it.
        var queue: [UInt64] = []
        var lastID: UInt64 = 0

        /// Gives room without a turn.
        mutating func take(_ bytes: Int) -> UInt64 {
            lastID += 1
            rooms[lastID] = Entry(bytes: bytes, isGiven: true)
            used += bytes
            return lastID
        }

        /// Gives room to those whose turn it is; one line alone may be longer than the limit.
        mutating func give(_ limit: Int) -> [CheckedContinuation<Void, any Error>] {
            var given: [CheckedContinuation<Void, any Error>] = []
            while let id = queue.first {
                if let room = rooms[id] {
                    guard used == 0 || used + room.bytes <= limit else { break }
                    used += room.bytes
                    if let waiter = room.waiter { given.append(waiter) }
                    rooms[id] = Entry(bytes: room.bytes, isGiven: true)
                }
                queue.removeFirst()
            }
            return given
        }
    }

    private let limit: Int
    private let state = Lock(State())

    /// Makes a budget of which nothing is used.
    ///
    /// - Parameter limit: Up to how many bytes of all lines there are turns.
    package init(limit: Int) { self.limit = limit }

    /// The bytes of all lines that are held.
    package var usedBytes: Int { state.withLock { $0.used } }

    /// How many lines wait for room.
    package var waitingCount: Int { state.withLock { state in state.rooms.values.count { !$0.isGiven } } }

    /// Asks for room in turn.
    ///
    /// - Parameter bytes: What the line may need.
    /// - Returns: The room, which may have to be waited for.
    package func queue(_ bytes: Int) -> Room {
        let (id, given) = state.withLock { state in
            state.lastID += 1
            state.rooms[state.lastID] = Entry(bytes: bytes, isGiven: false)
            state.queue.append(state.lastID)
            return (state.lastID, state.give(limit))
        }
        for waiter in given { waiter.resume() }
        return Room(self, id)
    }

    /// Counts a line that is there already, without a turn: one that ends a silence cannot wait for others.
    ///
    /// - Parameter bytes: Its length.
    /// - Returns: Its room.
    package func take(_ bytes: Int) -> Room {
        Room(self, state.withLock { $0.take(bytes) })
    }

    /// Room for a line that nobody waits for yet; nil unless half of all stays free.
    ///
    /// - Parameter bytes: What the line may need.
    /// - Returns: The room.
    package func takeSpare(_ bytes: Int) -> Room? {
        let id = state.withLock { state in
            state.used + bytes <= limit / 2 ? state.take(bytes) : nil
        }
        return id.map { Room(self, $0) }
    }

    private func wait(_ id: UInt64) async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<Void, any Error>) in
                let answer: Result<Void, any Error>? = state.withLock { state in
                    // The cancellation handler may have run already and have found nobody waiting.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.rooms[id]?.isGiven == true { return .success(()) }
                    state.rooms[id]?.waiter = continuation
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                defer { state.rooms[id]?.waiter = nil }
                return state.rooms[id]?.waiter
            }
            waiter?.resume(throwing: CancellationError())
        }
    }

    private func resize(_ id: UInt64, to bytes: Int) {
        change { state in
            guard let room = state.rooms[id], room.isGiven else { return }
            state.used += bytes - room.bytes
            state.rooms[id]?.bytes = bytes
        }
    }

    private func leave(_ id: UInt64) {
        change { state in
            guard let room = state.rooms.removeValue(forKey: id), room.isGiven else { return }
            state.used -= room.bytes
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let given = state.withLock { state in
            body(&state)
            return state.give(limit)
        }
        for waiter in given { waiter.resume() }
    }
}
