import PowerSync
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncWire
import Testing

/// Data lines that wait to be stored together (SPEC.md, "Coalescing").
@Suite struct SyncIterationTests {
    private let checkpoint = SyncLines.checkpoint(3, [.init("b", checksum: 6, count: 3)])
    private let first = SyncLines.data("b", SyncLines.put(1, "r1", checksum: 1))
    private let second = SyncLines.data(
        "b", SyncLines.put(1, "r1", checksum: 1), SyncLines.put(2, "r2", checksum: 2),
        SyncLines.put(3, "r3", checksum: 3))

    /// A database file with a second connection, and an iteration that has begun.
    private final class Bench {
        let folder: TemporaryDirectory
        let connection: SQLiteConnection
        let other: SQLiteConnection
        var iteration: SyncIteration

        init(_ tuning: SyncTuning = .standard) throws {
            folder = try TemporaryDirectory(prefix: "powersync-iteration-")
            connection = try SQLiteConnection(path: folder.path + "/test.db")
            try connection.execute("PRAGMA journal_mode = WAL")
            try SyncBench.prepare(connection)
            other = try SQLiteConnection(path: folder.path + "/test.db")
            iteration = SyncIteration(tuning: tuning)
            _ = try feed(.start(SyncStart()))
            _ = try feed(.connectionEstablished)
        }

        deinit {
            connection.close()
            other.close()
            folder.remove()
        }

        func feed(_ event: SyncEvent) throws -> [SyncEffect] {
            try iteration.feed(event, on: connection, now: 1)
        }

        @discardableResult
        func line(_ text: String) throws -> [SyncEffect] {
            try feed(.line(try SyncLine(parsing: Array(text.utf8)), size: text.utf8.count))
        }

        func flush() throws { try iteration.flush(on: connection, now: 1) }

        /// What another connection sees.
        var operations: [Int64] {
            get throws { try other.query("SELECT op_id FROM ps_oplog ORDER BY op_id") { $0.int64(0) } }
        }
    }

    @Test func aDataLineWaitsAndTellsItsNewOperationsAtOnce() throws {
        let bench = try Bench()
        try bench.line(checkpoint)
        #expect(try bench.line(first).status?.downloading?.first?.downloadedOperations == 1)
        #expect(try bench.line(second).status?.downloading?.first?.downloadedOperations == 3)
        #expect(bench.iteration.isWaiting)
        #expect(bench.iteration.waitingBytes == first.utf8.count + second.utf8.count)
        #expect(try bench.operations.isEmpty)
        #expect(!bench.connection.isInTransaction)
        try bench.flush()
        #expect(!bench.iteration.isWaiting)
        #expect(try bench.operations == [1, 2, 3])
    }

    @Test func everyOtherLineStoresThoseThatWaitInATransactionBeforeItsOwn() throws {
        let bench = try Bench()
        try bench.line(checkpoint)
        try bench.line(second)
        let commits = Lock(0)
        bench.connection.onCommit { commits.withLock { $0 += 1 } }
        #expect(try bench.line(SyncLines.complete(3)).names.contains("completed"))
        #expect(commits.withLock { $0 } == 2)
        #expect(
            try bench.other.query("SELECT id FROM ps_data__items") { $0.string(0) } == ["r1", "r2", "r3"])
    }

    @Test func linesAreStoredWhenTheyReachTheLimit() throws {
        let bench = try Bench(SyncTuning(coalescedBytes: first.utf8.count + 1, usesFastPaths: true))
        try bench.line(first)
        #expect(try bench.operations.isEmpty)
        try bench.line(second)
        #expect(try bench.operations == [1, 2, 3])
        #expect(bench.iteration.waitingBytes == 0)
    }

    @Test func withoutCoalescingEachLineIsStoredAtOnce() throws {
        let bench = try Bench(.plain)
        try bench.line(first)
        #expect(try bench.operations == [1])
    }

    @Test func aLocalWriteIsNotHeldUpByLinesThatWait() throws {
        let bench = try Bench()
        try bench.line(second)
        try bench.other.transaction { try bench.other.run("INSERT INTO ps_untyped VALUES ('t', 'i', '{}')") }
        try bench.flush()
        #expect(try bench.operations == [1, 2, 3])
    }

    @Test func aBusyDatabaseLeavesTheLinesWaiting() throws {
        let bench = try Bench()
        try bench.line(checkpoint)
        try bench.line(second)
        try bench.other.execute("BEGIN IMMEDIATE")
        let error = #expect(throws: SQLiteError.self) { try bench.line(SyncLines.complete(3)) }
        #expect(error?.code == .busy)
        #expect(bench.iteration.isWaiting)
        try bench.other.execute("ROLLBACK")
        #expect(try bench.operations.isEmpty)
        #expect(try bench.line(SyncLines.complete(3)).names.contains("completed"))
        #expect(try bench.operations == [1, 2, 3])
    }

    @Test func aCommitThatFailsStoresNothing() throws {
        let bench = try Bench()
        // Fails when it is committed, not before.
        try bench.connection.execute(
            """
            PRAGMA foreign_keys = ON;
            CREATE TABLE parent(id INTEGER PRIMARY KEY);
            CREATE TABLE child(id INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
            CREATE TRIGGER late AFTER INSERT ON ps_oplog WHEN new.row_id = 'r3'
            BEGIN INSERT INTO child VALUES (1); END;
            """)
        try bench.line(second)
        #expect(throws: SQLiteError.self) { try bench.flush() }
        #expect(try bench.operations.isEmpty)
        #expect(try bench.other.query("SELECT name FROM ps_buckets") { $0.string(0) }.isEmpty)
        try bench.connection.execute("DROP TRIGGER late")
        try bench.flush()
        #expect(try bench.operations == [1, 2, 3])
    }

    @Test func whatWasStoredMeanwhileByOthersEndsTheIteration() throws {
        let bench = try Bench()
        try bench.line(first)
        try bench.flush()
        try bench.line(second)
        try bench.other.execute("UPDATE ps_buckets SET last_op = 2")
        let error = #expect(throws: SyncError.self) { try bench.flush() }
        #expect(error?.code == .storedElsewhere)
        #expect(try bench.operations == [1])
    }

    @Test func aRowWithoutNameIsRefusedAndWhatWaitsGoesOn() throws {
        let bench = try Bench()
        try bench.line(first)
        let nameless = "{\"data\":{\"bucket\":\"b\",\"data\":[\(SyncLines.bare(2, "PUT", checksum: 1))]}}"
        #expect(throws: SyncError.self) { try bench.line(nameless) }
        #expect(bench.iteration.waitingBytes == first.utf8.count)
        try bench.flush()
        #expect(try bench.operations == [1])
    }
}
