import PowerSyncSystem

/// Tells an app how far a transfer is: at first, then at most ten times a second, and at its end.
///
/// What is told is told in its order, by whichever thread found it out.
final class TransferMeter: Sendable {
    /// The least time between two reports.
    static let pause = Duration.milliseconds(100)

    private struct State {
        var done: Int64 = 0
        var told: Int64?
        /// When it was told last, as `SyncEnvironment.uptime` tells.
        var moment = Duration.zero
        var isFinished = false
        var isTelling = false
    }

    private let total: Int64
    private let uptime: @Sendable () -> Duration
    private let report: @Sendable (AttachmentBytes) -> Void
    private let state = Lock(State())

    /// Makes a meter that has told nothing yet.
    ///
    /// - Parameters:
    ///   - total: how many bytes there are.
    ///   - uptime: the time since some moment.
    ///   - report: is told how far the transfer is.
    init(
        total: Int64, uptime: @escaping @Sendable () -> Duration,
        report: @escaping @Sendable (AttachmentBytes) -> Void
    ) {
        self.total = total
        self.uptime = uptime
        self.report = report
    }

    /// Notes how many bytes have gone or come.
    func advance(to done: Int64) {
        state.withLock { state in
            if !state.isFinished { state.done = done }
        }
        tell()
    }

    /// Notes that all bytes have gone or come.
    func finish() {
        state.withLock { state in
            state.done = total
            state.isFinished = true
        }
        tell()
    }

    /// Tells what is due; where another thread tells, that one looks again afterwards.
    private func tell() {
        let isMine = state.withLock { state in
            defer { state.isTelling = true }
            return !state.isTelling
        }
        guard isMine else { return }
        while let done = next() { report(AttachmentBytes(done: done, total: total)) }
    }

    /// Takes what is due; where nothing is, another thread may tell.
    private func next() -> Int64? {
        let now = uptime()
        return state.withLock { state in
            let isDue = state.told == nil || state.isFinished || now - state.moment >= Self.pause
            guard isDue, state.done != state.told else {
                state.isTelling = false
                return nil
            }
            state.told = state.done
            state.moment = now
            return state.done
        }
    }
}
