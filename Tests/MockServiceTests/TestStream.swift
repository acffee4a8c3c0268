import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncSystem
import PowerSyncWire

/// A client of the stream that keeps every line.
final class TestStream: Sendable {
    /// How a stream ended.
    enum End: Equatable { case clean, cut }

    private struct State {
        var lines: [String] = []
        var end: End?
        var seen = 0
    }

    let status: Int
    let fields: HTTPFields
    private let state = Lock(State())
    private let task: Lock<Task<Void, Never>?>

    init(_ stream: HTTPClientStream) {
        status = stream.status
        fields = stream.fields
        task = Lock(nil)
        let reading = Task { [state] in
            var splitter = LineSplitter(limit: 1 << 26)
            do {
                while let bytes = try await stream.next() {
                    splitter.append(bytes)
                    while let line = try splitter.next() {
                        state.withLock { $0.lines.append(String(decoding: line, as: UTF8.self)) }
                    }
                }
                state.withLock { $0.end = .clean }
            } catch {
                state.withLock { $0.end = .cut }
            }
        }
        task.withLock { $0 = reading }
    }

    /// The text of every line so far.
    var texts: [String] { state.withLock { $0.lines } }

    /// Every line so far.
    var lines: [SyncLine] { texts.map { (try? SyncLine(parsing: Array($0.utf8))) ?? .unknown(key: $0) } }

    /// How the stream ended, nil while it goes on.
    var end: End? { state.withLock { $0.end } }

    /// The lines since the last call.
    func takeTexts() -> [String] {
        state.withLock { state in
            defer { state.seen = state.lines.count }
            return Array(state.lines[state.seen...])
        }
    }

    /// Closes the connection.
    func close() { task.withLock { $0 }?.cancel() }

    /// What a client holds after these lines: rows by type and id, and whether the last checkpoint is complete.
    var model: StreamModel {
        var model = StreamModel()
        for line in lines { model.take(line) }
        return model
    }
}

/// What a client makes of lines.
struct StreamModel {
    private(set) var listed: [String: BucketChecksum] = [:]
    private(set) var operations: [String: [Operation]] = [:]
    private(set) var lastOpID: OperationID = 0
    private(set) var writeCheckpoint: Int64?
    private(set) var isComplete = false
    private(set) var streams: [StreamDescription] = []
    /// Rules of the protocol that were broken (service 3.3).
    private(set) var broken: [String] = []

    mutating func take(_ line: SyncLine) {
        switch line {
        case .checkpoint(let checkpoint):
            listed = Dictionary(uniqueKeysWithValues: checkpoint.buckets.map { ($0.bucket, $0) })
            streams = checkpoint.streams
            begin(checkpoint.lastOpID, checkpoint.writeCheckpoint)
        case .checkpointDiff(let diff):
            for name in diff.removedBuckets { listed[name] = nil; operations[name] = nil }
            for bucket in diff.updatedBuckets { listed[bucket.bucket] = bucket }
            begin(diff.lastOpID, diff.writeCheckpoint)
        case .data(let data):
            if listed[data.bucket] == nil { broken.append("data of an unlisted bucket \(data.bucket)") }
            if let last = operations[data.bucket]?.last?.id, last != data.after {
                broken.append("positions do not chain")
            }
            if data.operations.contains(where: { $0.id > lastOpID }) {
                broken.append("data beyond the checkpoint")
            }
            operations[data.bucket, default: []] += data.operations
        case .checkpointComplete(let id):
            if let id, id != lastOpID { broken.append("another checkpoint is completed") }
            isComplete = true
        case .partialCheckpointComplete, .tokenExpiresIn, .unknown: break
        }
    }

    private mutating func begin(_ id: OperationID, _ writeCheckpoint: Int64?) {
        lastOpID = id
        self.writeCheckpoint = writeCheckpoint
        isComplete = false
    }

    /// The rows as `type/id` with their data.
    var rows: [String: String] {
        var rows: [String: (id: OperationID, data: String)] = [:]
        for bucket in operations.values {
            var live: [String: Operation] = [:]
            for operation in bucket {
                let key =
                    "\(operation.objectType ?? "")/\(operation.objectID ?? "")/\(operation.subkey ?? "")"
                live[key] = operation.kind == .put ? operation : nil
            }
            for operation in live.values {
                let key = "\(operation.objectType ?? "")/\(operation.objectID ?? "")"
                if let known = rows[key], known.id > operation.id { continue }
                rows[key] = (operation.id, operation.data ?? "")
            }
        }
        return rows.mapValues(\.data)
    }

    /// Whether the checksums of all buckets fit the operations, for a client that began with nothing.
    var checksumsFit: Bool {
        listed.allSatisfy { name, bucket in
            let sum = (operations[name] ?? []).reduce(Checksum.zero) { $0 + $1.checksum }
            return sum == bucket.checksum
        }
    }

    /// The last operation of each bucket.
    var positions: [BucketRequest] {
        operations.sorted { $0.key < $1.key }.map {
            BucketRequest(name: $0.key, after: $0.value.last?.id ?? 0)
        }
    }
}
