import PowerSyncSystem

/// The stream subscriptions that handles of the app keep alive, counted for all instances of a file.
final class StreamRegistry: Sendable {
    /// What the app asked for when it subscribed last.
    struct Wish: Sendable, Equatable {
        var timeToLive: Int64?
        var priority: Int?
    }

    private struct Entry {
        var handles: Int
        var wish: Wish
        /// Tells handles of a subscription from those of an earlier one that was ended for all.
        var generation: Int
    }

    private struct State {
        var entries: [StreamKey: Entry] = [:]
        var order: [StreamKey] = []
        var generation = 0
    }

    private let state = Lock(State())

    /// The streams that are held, in the order in which they were first.
    var active: [StreamKey] { state.withLock { $0.order } }

    /// The streams that are held, with what was asked for.
    var wishes: [(key: StreamKey, wish: Wish)] {
        state.withLock { state in state.order.compactMap { key in state.entries[key].map { (key, $0.wish) } }
        }
    }

    /// Counts a new handle; returns the generation to release it with.
    func retain(_ key: StreamKey, wish: Wish) -> Int {
        state.withLock { state in
            if var entry = state.entries[key] {
                entry.handles += 1
                entry.wish = wish
                state.entries[key] = entry
                return entry.generation
            }
            state.generation += 1
            state.entries[key] = Entry(handles: 1, wish: wish, generation: state.generation)
            state.order.append(key)
            return state.generation
        }
    }

    /// Gives a handle up; returns whether it was the last one.
    func release(_ key: StreamKey, generation: Int) -> Bool {
        state.withLock { state in
            guard let entry = state.entries[key], entry.generation == generation else { return false }
            state.entries[key]?.handles -= 1
            guard entry.handles == 1 else { return false }
            state.entries[key] = nil
            state.order.removeAll { $0 == key }
            return true
        }
    }

    /// Makes all handles of a stream inert.
    func releaseAll(_ key: StreamKey) {
        state.withLock { state in
            state.entries[key] = nil
            state.order.removeAll { $0 == key }
        }
    }
}
