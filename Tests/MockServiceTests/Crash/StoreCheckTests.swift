import PowerSyncPostgres
import PowerSyncServiceEngine
import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// That the check of a state passes what is right, and nothing that is wrong.
@Suite(.patient())
struct StoreCheckTests {
    private static let script = StoreScript(seed: 3)

    /// Calls a body with a state of some transactions that is closed, and what was told of it.
    private func withState(_ body: (String, StorePromises) async throws -> Void) async throws {
        let folder = try TemporaryDirectory(prefix: "store-check-")
        defer { folder.remove() }
        let path = folder.path + "/state.db"
        var session = try await StoreSession(path: path, script: Self.script)
        var promises = StorePromises()
        for _ in 0..<12 {
            let checkpoint = try await session.applyNext()
            promises.acknowledged[session.stream.number] = checkpoint.lsn
            promises.published[session.stream.number, default: []].append(checkpoint)
        }
        let key = ExactText(StoreSession.writeCheckpointKey)
        promises.writeCheckpoints[key] = try await session.takeWriteCheckpoint()
        await session.store.close()
        try await body(path, promises)
    }

    @Test func aStateThatWasClosedIsRight() async throws {
        try await withState { path, promises in
            let check = try StoreCheck(ofSession: path, keeps: promises)
            #expect(check.problems == [])
            #expect(check.differences(from: Self.script) == [])
            #expect(check.streams.count == 1 && check.rows.count > 1)
            // What it goes on with is what another process would have done.
            var session = try await StoreSession(path: path, script: Self.script)
            #expect(session.last == 12)
            _ = try await session.applyNext()
            await session.store.close()
            let next = try StoreCheck(ofSession: path, keeps: promises)
            #expect(next.problems + next.differences(from: Self.script) == [])
        }
    }

    /// A process was killed in a transaction: nobody sees the piece that is stored, and the next one goes on behind it.
    @Test func aPieceOfATransactionIsNotSeenAndNotAppliedAgain() async throws {
        try await withState { path, promises in
            let session = try await StoreSession(path: path, script: Self.script)
            let position = StoreScript.position(of: 13)
            let table = try await session.store.resolve(
                StoreScript.table, types: TypeCatalog(), try Self.context(session))
            let first = Self.script.changes(of: 13).prefix(1).map { $0.event(of: table) }
            let progress = TransactionProgress(finalLSN: position, position: position, changes: 1)
            _ = try await session.store.apply(
                first + [ReplicationEvent.told(progress)], try Self.context(session))
            await session.store.close()
            let check = try StoreCheck(ofSession: path, keeps: promises)
            #expect(check.problems + check.differences(from: Self.script) == [])
            var next = try await StoreSession(path: path, script: Self.script)
            _ = try await next.applyNext()
            await next.store.close()
            let whole = try StoreCheck(ofSession: path, keeps: promises)
            #expect(whole.problems + whole.differences(from: Self.script) == [])
        }
    }

    private static func context(_ session: StoreSession) throws -> EvaluationContext {
        EvaluationContext(
            stream: session.stream.number, plan: try SyncPlan.compiled(StoreScript.config))
    }

    @Test(arguments: [
        "UPDATE counter SET last_op = last_op - 1",
        "UPDATE replication_stream SET last_op = last_op + 1",
        "UPDATE replication_stream SET applied_lsn = applied_lsn - 16, checkpoint_lsn = checkpoint_lsn - 16",
        "UPDATE replication_stream SET applied_lsn = applied_lsn - 1",
        "UPDATE replication_stream SET checkpoint_op = checkpoint_op - 1",
        "DELETE FROM replication_stream",
        "UPDATE write_checkpoint SET id = id - 1",
        "UPDATE segment SET checksum = checksum + 1 WHERE id = 1",
        "UPDATE segment SET first_op = first_op - 1 WHERE id = 1",
        "UPDATE segment SET max_target = 1 WHERE id = 1",
        "UPDATE segment SET bucket = 99 WHERE id = 1",
        "UPDATE segment SET body = (SELECT body FROM segment WHERE id = 2) WHERE id = 1",
        "DELETE FROM segment WHERE id = 1",
        "UPDATE bucket SET count = count + 1",
        "UPDATE bucket SET checksum = (checksum + 1) & 4294967295",
        "UPDATE bucket SET tail_count = tail_count + 1",
        "UPDATE bucket SET tail_op = tail_op + 1",
        "UPDATE bucket SET small = small + 1",
        "DELETE FROM bucket WHERE id = 1",
        "DELETE FROM source_row WHERE key = (SELECT min(key) FROM source_row)",
        "DELETE FROM large_value",
        "INSERT INTO custom_write_checkpoint VALUES (1, 'k', 1, 5), (1, 'k', 2, 4)",
        "INSERT INTO custom_write_checkpoint SELECT 1, 'k', last_op + 1, 5 FROM counter",
        "PRAGMA user_version = 5",
    ])
    func aStateThatWasTamperedWithIsNot(statement: String) async throws {
        try await withState { path, promises in
            let connection = try SQLiteConnection(path: path)
            try connection.execute(statement)
            connection.close()
            #expect(try !StoreCheck(ofSession: path, keeps: promises).problems.isEmpty)
        }
    }

    @Test func rowsOfAnotherCommitAreADifference() async throws {
        try await withState { path, promises in
            let connection = try SQLiteConnection(path: path)
            // In each row another column has the value.
            try connection.execute(
                "UPDATE segment SET body = CAST(replace(CAST(body AS TEXT), '\"owner\"', '\"other\"') AS BLOB)"
            )
            connection.close()
            #expect(try !StoreCheck(ofSession: path, keeps: promises).differences(from: Self.script).isEmpty)
        }
    }

    @Test func whatWasPublishedDoesNotGoBack() async throws {
        try await withState { path, promises in
            var promises = promises
            for (stream, checkpoints) in promises.published {
                promises.published[stream] = checkpoints.reversed()
            }
            let problems = try StoreCheck(ofSession: path, keeps: promises).problems
            #expect(!problems.isEmpty && problems.allSatisfy { $0.hasPrefix("went back: ") })
        }
    }

    /// A process that was killed before it had made a table had told nothing.
    @Test func aFileWithoutTablesHoldsNothing() async throws {
        try await withState { path, promises in
            #expect(try StoreCheck(ofSession: path + ".none").problems == [])
            let problems = try StoreCheck(ofSession: path + ".none", keeps: promises).problems
            #expect(problems.contains { $0.hasPrefix("lost: ") })
        }
    }
}
