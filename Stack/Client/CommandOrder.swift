import PowerSync

/// The order in which commands take effect: that of their arrival.
///
/// What changes something takes a turn, and is done when all earlier turns are over. What only looks waits for the turns
/// that were taken before it came, and then works beside everything else.
package final class CommandOrder: Sendable {
    private struct State {
        var last = 0
        /// This turn and all before it are over.
        var done = 0
        /// Later turns that are over, since they were given up.
        var over: Set<Int> = []
    }

    private let state = AsyncValue(State())

    /// Makes an order in which nobody has taken a turn.
    package init() {}

    /// The turn that was taken last; 0 before the first.
    package var last: Int { state.current.last }

    /// Takes the next turn, which has to be ended.
    package func take() -> Int {
        state.change { state in
            state.last += 1
            return state.last
        }
    }

    /// Waits until a turn and all before it are over.
    ///
    /// - Throws: `CancellationError`.
    package func wait(for turn: Int) async throws { _ = try await state.wait { turn <= $0.done } }

    /// Ends a turn, also one that never came.
    package func end(_ turn: Int) {
        state.change { state in
            state.over.insert(turn)
            while state.over.remove(state.done + 1) != nil { state.done += 1 }
        }
    }
}
