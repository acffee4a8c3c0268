import PowerSyncSystem
import PowerSyncWire

/// Where everything that happens to a sync iteration queues up for the one loop that handles it.
///
/// The reader of the stream hands over one piece at a time and is held until that piece is stored: this is the
/// back-pressure. Controls only set a mark, whoever sends them goes on at once, and a mark set twice counts once.
final class SyncMailbox: Sendable {
    /// What the reader of the stream brings.
    enum Input: Sendable {
        /// The service answered as expected, with lines in this format.
        case opened(SyncLineFormat)
        /// Bytes of the stream.
        case chunk([UInt8])
        /// The orderly end of the stream.
        case ended
        /// The stream could not be opened, or broke.
        case failed(any Error)
    }

    /// What others bring.
    enum Control: Sendable, Hashable, CaseIterable {
        /// Fresh credentials are there.
        case tokenRefreshed
        /// The app holds other streams than before.
        case subscriptionsChanged
        /// An upload round ended.
        case uploadCompleted
        /// A pause is over.
        case pauseEnded
        /// Lines wait since a moment ago.
        case batchPauseEnded
    }

    enum Item: Sendable {
        case input(Input)
        case control(Control)
    }

    /// The reader's side of one stream; what a reader of an earlier stream still brings is dropped.
    final class Inlet: Sendable {
        private let mailbox: SyncMailbox
        fileprivate let handled = AsyncFlag()

        fileprivate init(_ mailbox: SyncMailbox) { self.mailbox = mailbox }

        /// Hands over one piece and waits until it is handled; for one task at a time.
        func put(_ input: Input) async throws {
            mailbox.state.withLock { state in
                if state.inlet === self { state.input = input }
            }
            mailbox.arrived.raise()
            try await handled.wait()
        }

        /// Ends the stream with an error, whatever the reader brings; never blocks.
        func fail(_ error: any Error) {
            mailbox.state.withLock { state in
                if state.inlet === self { state.failure = error }
            }
            mailbox.arrived.raise()
        }

        /// Says that the last piece is handled.
        func finish() { handled.raise() }
    }

    private struct State {
        var inlet: Inlet?
        var input: Input?
        var failure: (any Error)?
        var controls: Set<Control> = []
    }

    private let state = Lock(State())
    private let arrived = AsyncFlag()

    /// Begins a stream and forgets what belongs to earlier ones.
    func open() -> Inlet {
        let inlet = Inlet(self)
        state.withLock { state in
            state.inlet = inlet
            state.input = nil
            state.failure = nil
            state.controls.subtract([.tokenRefreshed, .pauseEnded, .batchPauseEnded])
        }
        return inlet
    }

    /// Ends the stream.
    func close() {
        state.withLock { state in
            state.inlet = nil
            state.input = nil
            state.failure = nil
        }
    }

    /// Leaves a mark; never blocks.
    func post(_ control: Control) {
        state.withLock { _ = $0.controls.insert(control) }
        arrived.raise()
    }

    /// Takes a mark away that says nothing any more; never blocks.
    func withdraw(_ control: Control) { state.withLock { _ = $0.controls.remove(control) } }

    /// Returns what comes next, an error first, then controls; for one task at a time.
    func next() async throws -> Item {
        while true {
            let item = state.withLock { state -> Item? in
                if let failure = state.failure.take() { return .input(.failed(failure)) }
                if let control = Control.allCases.first(where: state.controls.contains) {
                    state.controls.remove(control)
                    return .control(control)
                }
                defer { state.input = nil }
                return state.input.map { .input($0) }
            }
            if let item { return item }
            try await arrived.wait()
        }
    }
}
