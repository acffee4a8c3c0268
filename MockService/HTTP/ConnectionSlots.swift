import PowerSyncSystem

/// Counts open streams, refuses more than a limit (service 3.11), and knows which of them are behind.
final class ConnectionSlots: Sendable {
    /// The right to one stream; given back when the last reference goes, however the stream ends.
    final class Slot: Sendable {
        private let slots: ConnectionSlots
        private let id: UInt64

        fileprivate init(_ slots: ConnectionSlots, _ id: UInt64) {
            self.slots = slots
            self.id = id
        }

        deinit { slots.state.withLock { $0.reached[id] = nil } }

        /// Notes that everything up to a publication has been sent.
        func reached(_ sequence: UInt64) { slots.state.withLock { $0.reached[id] = sequence } }
    }

    private struct State {
        var next: UInt64 = 0
        /// The publication that each open stream has sent everything of; 0 before the first.
        var reached: [UInt64: UInt64] = [:]
    }

    private let limit: Int
    private let state = Lock(State())

    init(limit: Int) { self.limit = limit }

    /// Takes a slot; nil if all are taken.
    func take() -> Slot? {
        let id: UInt64? = state.withLock { state in
            guard state.reached.count < limit else { return nil }
            state.next += 1
            state.reached[state.next] = 0
            return state.next
        }
        return id.map { Slot(self, $0) }
    }

    /// How many streams are open.
    var count: Int { state.withLock { $0.reached.count } }

    /// How many streams have yet to send something of a publication or one before it.
    func behind(_ sequence: UInt64) -> Int { state.withLock { $0.reached.values.count { $0 < sequence } } }
}
