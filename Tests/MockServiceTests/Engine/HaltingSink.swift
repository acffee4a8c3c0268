import PowerSyncServiceEngine
import PowerSyncSystem
import PowerSyncTestSupport

/// Takes and records lines for a client that reads as far as a test says.
final class HaltingSink: LineSink {
    private struct State {
        var taken: [UInt8] = []
        /// How many pieces are still taken.
        var places: Int
        var isCut = false
    }

    private let state: Lock<State>
    /// Where it waits that has taken as many pieces as it may.
    private let gate = Gate()

    /// Makes a sink.
    ///
    /// - Parameter pieces: How many pieces it takes before it stands still.
    init(taking pieces: Int = .max) { state = Lock(State(places: pieces)) }

    /// All that was taken.
    var taken: [UInt8] { state.withLock { $0.taken } }

    /// Whether it was cut.
    var isCut: Bool { state.withLock { $0.isCut } }

    /// Whether it stands still.
    var isFull: Bool { gate.arrivals > 0 }

    /// Takes the rest.
    func goOn() {
        state.withLock { $0.places = .max }
        gate.open()
    }

    func cut() {
        state.withLock { $0.isCut = true }
        gate.open()
    }

    func send(_ lines: [EncodedLine]) async throws {
        for line in lines {
            while true {
                let pieces = line.next(1)
                guard let piece = pieces.first else { break }
                try await take(piece)
            }
        }
    }

    private func take(_ piece: LinePiece) async throws {
        if state.withLock({ $0.places == 0 }) { await gate.pass() }
        try state.withLock { state in
            if state.isCut { throw LinesWereCut() }
            if state.places < .max { state.places -= 1 }
            state.taken += piece.bytes
        }
    }
}
