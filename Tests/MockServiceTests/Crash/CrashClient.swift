import PowerSyncHTTPClient
import PowerSyncPostgresValues
import PowerSyncSystem
import PowerSyncWire

@testable import PowerSyncServiceEngine

/// A client that comes again whenever its stream ends, with all that it holds, and compares each whole checkpoint with
/// the source.
final class CrashClient: Sendable {
    /// What it has seen.
    private struct State {
        var model = StreamModel()
        var source: ScriptRows
        var stream: StreamNumber = 0
        var shown: [StreamNumber: [StoredCheckpoint]] = [:]
        /// What each operation was that it got.
        var operations: [OperationID: String] = [:]
        var problems: [String] = []
        var checkpoints = 0

        /// Takes a line.
        mutating func take(_ line: SyncLine, of user: String, written: Int) {
            switch line {
            case .checkpoint(let checkpoint):
                let number = checkpoint.buckets.first?.bucket.prefix { $0 != "#" }
                stream = number.flatMap { StreamNumber($0) } ?? 0
                show(checkpoint.lastOpID)
            case .checkpointDiff(let diff): show(diff.lastOpID)
            case .data(let data): for operation in data.operations { take(operation, of: data.bucket) }
            case .checkpointComplete, .partialCheckpointComplete, .tokenExpiresIn, .unknown: break
            }
            model.take(line)
            guard case .checkpointComplete = line else { return }
            checkpoints += 1
            if let problem = difference(of: user, written: written) { problems.append(problem) }
        }

        private mutating func show(_ operation: OperationID) {
            if let last = shown[stream]?.last, operation < last.operation {
                problems.append("went back: operation \(last.operation) was shown, then comes \(operation)")
            }
            shown[stream, default: []].append(StoredCheckpoint(operation: operation, lsn: .zero))
        }

        private mutating func take(_ operation: Operation, of bucket: String) {
            let text = "\(operation.checksum) of \(bucket)"
            if let known = operations[operation.id], known != text {
                problems.append("operation \(operation.id) was \(known), and is \(text)")
            }
            operations[operation.id] = text
        }

        /// What of a whole checkpoint is not as at a commit of the source.
        private mutating func difference(of user: String, written: Int) -> String? {
            guard let number = Self.commit(in: model.data(of: ScriptWriter.marker)) else {
                return "a checkpoint has no commit of the source"
            }
            guard number <= written else { return "commit \(number) was shown, \(written) is the last" }
            guard number >= source.last else {
                return "went back: commit \(source.last) was shown, then comes \(number)"
            }
            source.advance(through: number)
            let wanted = source.rows.values.filter { $0.owner == user }
            let isHeld = wanted.allSatisfy { model.data(of: "t/\($0.id)") == $0.data }
            guard isHeld, model.rowCount == wanted.count + 1 else {
                return "\(user) has the rows \(model.rowNames), which are not those of commit \(number)"
            }
            return nil
        }

        private static func commit(in marker: String?) -> Int? {
            guard let marker, let json = try? JSON.parse(marker) else { return nil }
            return json["number"]?.int64Value.map { Int($0) }
        }
    }

    /// Whose rows it has.
    let user: String
    private let writer: ScriptWriter
    private let state: Lock<State>

    /// Makes a client that holds nothing.
    init(_ user: String, of writer: ScriptWriter) {
        self.user = user
        self.writer = writer
        state = Lock(State(source: ScriptRows(writer.script)))
    }

    /// What was wrong so far.
    var problems: [String] { state.withLock { $0.problems + $0.model.broken } }

    /// How many whole checkpoints it has got.
    var checkpoints: Int { state.withLock { $0.checkpoints } }

    /// The commit of the source that it has got last.
    var commit: Int { state.withLock { $0.source.last } }

    /// The operations up to which it was shown each replication stream, in order.
    var shown: [StreamNumber: [StoredCheckpoint]] { state.withLock { $0.shown } }

    /// Reads streams of the service until the task is cancelled.
    func run(_ service: TestService) async throws {
        while true {
            do {
                try await read(service)
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                // The service was killed, or is away yet.
                try Task.checkCancellation()
            }
            try await service.poller.sleep(until: .now + .milliseconds(10))
        }
    }

    private func read(_ service: TestService) async throws {
        var request = SyncStreamRequest(buckets: state.withLock { $0.model.positions }, clientID: "c")
        request.parameters = .object([])
        let stream = try await service.openUnread(user: user, body: request.json.utf8)
        guard stream.status == 200 else { return }
        var splitter = LineSplitter(limit: 1 << 26)
        while let bytes = try await stream.next() {
            splitter.append(bytes)
            while let line = try splitter.next() {
                let parsed = try? SyncLine(parsing: Array(line))
                let written = writer.last
                state.withLock { state in
                    guard let parsed else { return state.problems.append("there is a line that is none") }
                    state.take(parsed, of: user, written: written)
                }
            }
        }
    }
}
