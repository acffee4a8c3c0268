import PowerSyncSystem

/// The stream subscriptions that handles of the app keep alive, counted for all instances of a file.
final class StreamRegistry: Sendable {
    /// What the app asked for when it subscribed.
    struct Wish: Sendable, Equatable {
        var timeToLive: Int64?
        var priority: Int?
    }

    private struct Handle {
        let number: Int
        /// The instance that it was subscribed with.
        let instance: Int
        let wish: Wish
    }

    private struct State {
        /// The handles of each stream, the oldest first.
        var handles: [StreamKey: [Handle]] = [:]
        /// The streams that have handles, in the order in which they got their first.
        var order: [StreamKey] = []
        var lastNumber = 0

        mutating func remove(_ key: StreamKey) {
            handles[key] = nil
            order.removeAll { $0 == key }
        }

        /// Removes handles of a stream; returns whether it had some before and has none now.
        mutating func remove(_ key: StreamKey, where isOver: (Handle) -> Bool) -> Bool {
            guard let left = handles[key]?.filter({ !isOver($0) }) else { return false }
            handles[key] = left
            if left.isEmpty { remove(key) }
            return left.isEmpty
        }
    }

    private let state = Lock(State())

    /// The streams that are held, in the order in which they were first.
    var active: [StreamKey] { state.withLock { $0.order } }

    /// The streams that are held, with what each of their handles asked for, the oldest first.
    var wishes: [(key: StreamKey, wishes: [Wish])] {
        state.withLock { state in
            state.order.map { key in (key, state.handles[key, default: []].map(\.wish)) }
        }
    }

    /// Counts a new handle of an instance.
    ///
    /// - Returns: its number, to release it with.
    func retain(_ key: StreamKey, wish: Wish, of instance: Int) -> Int {
        state.withLock { state in
            if state.handles[key] == nil { state.order.append(key) }
            state.lastNumber += 1
            state.handles[key, default: []].append(
                Handle(number: state.lastNumber, instance: instance, wish: wish))
            return state.lastNumber
        }
    }

    /// Gives a handle up; one that is inert already is none.
    ///
    /// - Returns: whether it was the last one of its stream.
    func release(_ key: StreamKey, handle number: Int) -> Bool {
        state.withLock { $0.remove(key) { $0.number == number } }
    }

    /// Gives up all handles of an instance.
    ///
    /// - Returns: whether one of them was the last of its stream.
    func releaseAll(of instance: Int) -> Bool {
        state.withLock { state in
            var hasEnded = false
            for key in state.order where state.remove(key, where: { $0.instance == instance }) {
                hasEnded = true
            }
            return hasEnded
        }
    }

    /// Makes all handles of a stream inert.
    func releaseAll(_ key: StreamKey) {
        state.withLock { $0.remove(key) }
    }
}
