import PowerSyncSystem

/// Counts bytes that are held until they have been sent, on behalf of whoever has room for them: nobody at first.
package final class LineAccount: Sendable {
    private enum Payer {
        case nobody
        case total(Lock<Int>)
        case room(LineBudget.Room)
    }

    private struct State {
        var bytes = 0
        var payer = Payer.nobody
    }

    private let state = Lock(State())

    /// Makes an account of nothing.
    package init() {}

    /// How many bytes are held.
    package var bytes: Int { state.withLock { $0.bytes } }

    /// Counts more bytes, or fewer.
    package func add(_ count: Int) {
        state.withLock { state in
            state.bytes += count
            // Within the lock, so that of two changes at a time the later one is told last.
            switch state.payer {
            case .nobody: break
            case .total(let total): total.withLock { $0 += count }
            case .room(let room): room.resize(to: state.bytes)
            }
        }
    }

    /// Has a sum over several accounts count the bytes from now on, in the place of what did so before.
    func charge(to total: Lock<Int>) { charge(.total(total)) }

    /// Has a room of the budget count the bytes from now on, in the place of what did so before.
    package func charge(to room: LineBudget.Room) { charge(.room(room)) }

    private func charge(_ payer: Payer) {
        state.withLock { state in
            if case .total(let total) = state.payer { total.withLock { $0 -= state.bytes } }
            switch payer {
            case .nobody: break
            case .total(let total): total.withLock { $0 += state.bytes }
            case .room(let room): room.resize(to: state.bytes)
            }
            state.payer = payer
        }
    }
}
