import PowerSyncSystem
import PowerSyncWire

/// What has come of one sync stream, and when.
final class ReadStream: Sendable {
    /// What is known by now.
    struct Progress: Sendable {
        /// When the reader began to connect.
        var opened: ContinuousClock.Instant?
        /// When the first `checkpoint` line came.
        var checkpoint: ContinuousClock.Instant?
        /// When the first `checkpoint_complete` line came.
        var complete: ContinuousClock.Instant?
        /// How many operations came before that.
        var operations = 0
        /// Why nothing more comes.
        var failure: String?

        /// How long it took from connecting to the first complete line; nil before that.
        var firstSync: Duration? {
            guard let opened, let complete else { return nil }
            return complete - opened
        }
    }

    private struct State {
        var progress = Progress()
        /// The id of a row that is awaited, and when its operation came.
        var awaited: [UInt8] = []
        var arrival: ContinuousClock.Instant?
        /// When each write checkpoint came first.
        var writeCheckpoints: [Int64: ContinuousClock.Instant] = [:]

        mutating func note(_ writeCheckpoint: Int64?, _ moment: ContinuousClock.Instant) {
            guard let writeCheckpoint, writeCheckpoints[writeCheckpoint] == nil else { return }
            writeCheckpoints[writeCheckpoint] = moment
        }
    }

    /// What was asked for.
    let request: StreamRequest
    private let state = Lock(State())

    /// Describes a stream; a reader opens it.
    init(_ request: StreamRequest) { self.request = request }

    /// What is known by now.
    var progress: Progress { state.withLock { $0.progress } }

    /// Looks out for an operation from now on, in place of the one before.
    ///
    /// - Parameter objectID: the id of its row.
    func expect(_ objectID: String) {
        let bytes = Array(objectID.utf8)
        state.withLock { state in
            state.awaited = bytes
            state.arrival = nil
        }
    }

    /// When the operation came that is looked out for.
    var arrival: ContinuousClock.Instant? { state.withLock { $0.arrival } }

    /// When a line came that has a write checkpoint.
    func arrival(ofWriteCheckpoint id: Int64) -> ContinuousClock.Instant? {
        state.withLock { $0.writeCheckpoints[id] }
    }

    // MARK: For the reader

    /// Notes that the reader begins to connect.
    func begin() { state.withLock { $0.progress.opened = .now } }

    /// Notes why nothing more comes; the first reason counts.
    func fail(_ reason: String) {
        state.withLock { $0.progress.failure = $0.progress.failure ?? reason }
    }

    /// Notes a line.
    ///
    /// - Parameters:
    ///   - line: the line.
    ///   - moment: when its last bytes came.
    func take(_ line: SyncLine, at moment: ContinuousClock.Instant) {
        state.withLock { state in
            switch line {
            case .checkpoint(let checkpoint):
                state.progress.checkpoint = state.progress.checkpoint ?? moment
                state.note(checkpoint.writeCheckpoint, moment)
            case .checkpointDiff(let diff): state.note(diff.writeCheckpoint, moment)
            case .checkpointComplete: state.progress.complete = state.progress.complete ?? moment
            case .data(let data):
                if state.progress.complete == nil { state.progress.operations += data.operations.count }
                guard state.arrival == nil, !state.awaited.isEmpty else { return }
                if Self.has(state.awaited, data.operations) { state.arrival = moment }
            case .partialCheckpointComplete, .tokenExpiresIn, .unknown: break
            }
        }
    }

    private static func has(_ objectID: [UInt8], _ operations: OperationList) -> Bool {
        operations.entries.contains { entry in
            entry.objectID.count == objectID.count
                && operations.bytes[entry.objectID.range].elementsEqual(objectID)
        }
    }
}
