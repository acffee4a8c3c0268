import PowerSyncSystem

/// What the signals of a terminal do to a prompt.
package final class PromptSignals: Sendable {
    private struct State {
        /// Ends what is going on; returns whether anything is.
        var interrupt: (@Sendable () -> Bool)?
        /// How often that has changed.
        var turn = 0
        /// Whether Ctrl-C came at a moment between two things.
        var isPending = false
        var renew: (@Sendable () -> Void)?
    }

    private let state = Lock(State())

    /// Makes signals that nobody wants to know of.
    package init() {}

    /// Sets what Ctrl-C does while a line is typed.
    ///
    /// - Parameter giveUp: gives the line up; returns false once it has been read.
    package func onInterrupt(whileTyping giveUp: @escaping @Sendable () -> Bool) {
        // One that came before was for what is over.
        state.withLock { state in
            state.interrupt = giveUp
            state.turn += 1
            state.isPending = false
        }
    }

    /// Sets what Ctrl-C does while something runs that was typed; one that came since it was typed counts.
    ///
    /// - Parameter cancel: ends it.
    package func onInterrupt(whileRunning cancel: @escaping @Sendable () -> Void) {
        let isPending = state.withLock { state in
            state.interrupt = {
                cancel()
                return true
            }
            state.turn += 1
            defer { state.isPending = false }
            return state.isPending
        }
        if isPending { cancel() }
    }

    /// Sets what happens when the terminal has another size or another owner.
    package func onRenewal(_ renew: @escaping @Sendable () -> Void) { state.withLock { $0.renew = renew } }

    /// Says that the prompt is over.
    package func end() { state.withLock { $0 = State() } }

    /// Does what Ctrl-C does.
    ///
    /// - Returns: whether there is a prompt; else it asks the program to end, like any other signal.
    package func interrupt() -> Bool {
        while true {
            let (interrupt, turn) = state.withLock { ($0.interrupt, $0.turn) }
            guard let interrupt else { return false }
            if interrupt() { return true }
            // What was typed may have begun to run meanwhile: then it is for that.
            let isPending = state.withLock { state in
                if state.turn == turn { state.isPending = true }
                return state.turn == turn
            }
            if isPending { return true }
        }
    }

    /// Does what a new size asks for.
    package func renew() { state.withLock { $0.renew }?() }
}
