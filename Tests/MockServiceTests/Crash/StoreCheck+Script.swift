import PowerSyncPostgres
import PowerSyncSQLite
import PowerSyncWire

@testable import PowerSyncServiceEngine

extension StoreCheck {
    /// Looks at the file of a session, which has limits of its own.
    init(ofSession path: String, keeps promises: StorePromises = StorePromises()) throws {
        try self.init(path: path, keeps: promises, limits: StoreSession.limits)
    }

    /// How what clients hold differs from what the source had at the commit that was published last.
    func differences(from script: StoreScript) -> [String] {
        var problems: [String] = []
        var expected: [ExactText: Set<HeldRow>] = [:]
        for (_, stream) in streams where !stream.isStopped {
            guard let last = StoreScript.number(at: stream.checkpoint.lsn) else {
                problems.append("no transaction is committed at the checkpoint \(stream.checkpoint.lsn)")
                continue
            }
            expected.merge(StoreScript.held(script.rows(through: last), of: stream)) { $1 }
        }
        return problems + Self.differences(rows, expected)
    }

    /// How what clients held at checkpoints that were published differs from what the source had at some commit.
    ///
    /// - Parameters:
    ///   - published: The checkpoints of each stream, in order; those of streams that have been stopped are left out.
    ///   - path: The file that was looked at.
    ///   - script: The source.
    /// - Returns: The differences.
    /// - Throws: As reading the file.
    func differences(
        of published: [StreamNumber: [StoredCheckpoint]], in path: String, from script: StoreScript
    ) throws -> [String] {
        let live = published.filter { streams[$0.key]?.isStopped == false }
        guard !live.isEmpty else { return [] }
        var problems: [String] = []
        let operations = try Self.operations(in: path)
        for (number, checkpoints) in live {
            guard let stream = streams[number] else { continue }
            var source = ScriptRows(script)
            var clients = ScriptClients()
            var rest = (operations[number] ?? [])[...]
            for checkpoint in checkpoints {
                guard let commit = StoreScript.number(at: checkpoint.lsn) else {
                    problems.append("no transaction is committed at \(checkpoint.lsn), which was published")
                    continue
                }
                source.advance(through: commit)
                while let next = rest.first, next.operation.id <= checkpoint.operation {
                    clients.take(next.operation, of: next.bucket)
                    rest.removeFirst()
                }
                // What goes back is told by the check itself.
                guard source.last == commit else { continue }
                let found = Self.differences(clients.held, StoreScript.held(source.rows, of: stream))
                problems += found.map { "at checkpoint \(checkpoint.operation): \($0)" }
            }
        }
        return problems
    }

    /// What of the operations that clients were shown is not stored, or goes back.
    func differences(ofShown shown: [StreamNumber: [StoredCheckpoint]]) -> [String] {
        var problems: [String] = []
        for (number, checkpoints) in shown {
            let operations = checkpoints.map(\.operation)
            let stored = streams[number]?.checkpoint.operation ?? 0
            for (before, next) in zip(operations, operations.dropFirst() + [stored]) where next < before {
                problems.append(
                    "went back: operation \(before) of stream \(number) was shown, then comes \(next)")
            }
        }
        return problems
    }

    /// How rows of buckets differ from those that they should have.
    static func differences(
        _ held: [ExactText: Set<HeldRow>], _ expected: [ExactText: Set<HeldRow>]
    ) -> [String] {
        Set(held.keys).union(expected.keys).sorted().compactMap { name in
            guard held[name] != expected[name] else { return nil }
            let ids = (held[name] ?? []).symmetricDifference(expected[name] ?? []).map(\.id).sorted()
            return "\(name.text) has not what the source had of the rows \(ids)"
        }
    }

    /// The operations of each stream by ascending id, with the whole names of their buckets.
    private static func operations(
        in path: String
    ) throws -> [StreamNumber: [(bucket: String, operation: Operation)]] {
        let connection = try SQLiteConnection(path: path)
        defer { connection.close() }
        let stored = StoredOperations(connection)
        let buckets = try stored.buckets()
        var operations: [StreamNumber: [(bucket: String, operation: Operation)]] = [:]
        try stored.forEachSegment { segment in
            guard let bucket = buckets[segment.bucket] else { return }
            operations[bucket.stream, default: []] += segment.operations.map {
                (bucket: bucket.name, operation: $0)
            }
        }
        return operations.mapValues { $0.sorted { $0.operation.id < $1.operation.id } }
    }
}

/// What clients hold of all buckets of a stream.
private struct ScriptClients {
    private var rows: [ExactText: [[ExactText]: StoreCheck.HeldRow]] = [:]

    /// The rows of each bucket; those without rows are left out.
    var held: [ExactText: Set<StoreCheck.HeldRow>] {
        rows.filter { !$0.value.isEmpty }.mapValues { Set($0.values) }
    }

    /// Takes the next operation, a PUT or a REMOVE: nothing is compacted here.
    mutating func take(_ operation: Operation, of bucket: String) {
        let (type, id) = (operation.objectType ?? "", operation.objectID ?? "")
        let key = [type, id, operation.subkey ?? ""].map { ExactText($0) }
        let row = StoreCheck.HeldRow(type: type, id: id, data: operation.data ?? "")
        rows[ExactText(bucket), default: [:]][key] = operation.kind == .put ? row : nil
    }
}
