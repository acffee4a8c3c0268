import PowerSyncServiceEngine
import PowerSyncSystem
import PowerSyncTestSupport

/// Takes lines, and waits at a gate in front of each that has operations; it keeps the pieces of those.
final class SteppingSink: LineSink {
    private struct State {
        var dataLines = 0
        var operations = 0
        var pieces: [LinePiece] = []
    }

    private let gates: [Gate]
    private let state = Lock(State())

    /// Makes a sink.
    ///
    /// - Parameter gates: Where it waits in front of the first line with operations, the second, and so on; in front of
    ///   further ones it does not.
    init(_ gates: [Gate] = []) { self.gates = gates }

    /// How many operations were taken.
    var operations: Int { state.withLock { $0.operations } }

    /// The pieces of the last line with operations.
    var dataPieces: [LinePiece] { state.withLock { $0.pieces } }

    func send(_ lines: [EncodedLine]) async throws {
        for line in lines {
            guard line.operations > 0 else {
                _ = line.next(.max)
                continue
            }
            let number = state.withLock { state in
                state.dataLines += 1
                return state.dataLines - 1
            }
            if number < gates.count { await gates[number].pass() }
            let pieces = line.next(.max)
            state.withLock { state in
                state.operations += line.operations
                // Without gates there is one line to be looked at; with them nothing is held back.
                state.pieces = gates.isEmpty ? pieces : []
            }
        }
    }

    func cut() {}
}
