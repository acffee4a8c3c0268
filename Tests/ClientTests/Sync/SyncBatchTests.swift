import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSync

/// Data lines that are one event (SPEC.md, "Batches").
@Suite struct SyncBatchTests {
    private let checkpoint = SyncLines.checkpoint(3, [.init("b", checksum: 6, count: 3)])
    private let first = SyncLines.data("b", SyncLines.put(1, "r1", checksum: 1))
    private let second = SyncLines.data(
        "b", SyncLines.put(1, "r1", checksum: 1), SyncLines.put(2, "r2", checksum: 2),
        SyncLines.put(3, "r3", checksum: 3))

    /// A database file with a second connection, and an iteration that has begun.
    private final class Bench {
        let folder: TemporaryDirectory
        let sync: SyncBench
        let other: SQLiteConnection

        init() throws {
            folder = try TemporaryDirectory(prefix: "powersync-batch-")
            let connection = try SQLiteConnection(path: folder.path + "/test.db")
            try connection.execute("PRAGMA journal_mode = WAL")
            try SyncBench.prepare(connection)
            sync = SyncBench(prepared: connection)
            other = try SQLiteConnection(path: folder.path + "/test.db")
            try sync.start()
            try sync.feed(.connectionEstablished)
        }

        deinit {
            sync.connection.close()
            other.close()
            folder.remove()
        }

        /// What another connection sees.
        var operations: [Int64] {
            get throws { try other.query("SELECT op_id FROM ps_oplog ORDER BY op_id") { $0.int64(0) } }
        }
    }

    @Test func aBatchIsOneTransactionAndOneStatus() throws {
        let bench = try Bench()
        try bench.sync.line(checkpoint)
        let commits = Lock(0)
        bench.sync.connection.onCommit { commits.withLock { $0 += 1 } }
        let elsewhere = SyncLines.data("c", SyncLines.put(7, "r7"))
        let effects = try bench.sync.data([first, elsewhere, second])
        #expect(commits.withLock { $0 } == 1)
        #expect(try bench.operations == [1, 2, 3, 7])
        // The operation that came twice is counted once, and that of a bucket elsewhere not at all.
        #expect(effects.names == ["status"])
        #expect(effects.status?.downloading?.first?.downloadedOperations == 3)
        #expect(
            try bench.sync.rows(
                "SELECT name, count_since_last, downloaded_size FROM ps_buckets ORDER BY name")
                == [
                    ["b", 3, .integer(Int64(first.utf8.count + second.utf8.count))],
                    ["c", 1, .integer(Int64(elsewhere.utf8.count))],
                ])
        #expect(try bench.sync.line(SyncLines.complete(3)).names.contains("completed"))
    }

    @Test func bucketsAreMadeInTheOrderInWhichTheyCome() throws {
        let bench = try Bench()
        let empty = ["z", "a", "m"].map { SyncLines.data($0) }
        try bench.sync.data([
            empty[0], SyncLines.data("y", SyncLines.put(1, "r")), empty[1], empty[2], empty[0],
        ])
        #expect(
            try bench.sync.rows(
                "SELECT name, count_since_last, downloaded_size > 0 FROM ps_buckets ORDER BY id")
                == [["z", 0, 0], ["y", 1, 1], ["a", 0, 0], ["m", 0, 0]])
    }

    /// 10,000 lines had 10,000 statuses, each with a copy of all subscriptions.
    @Test func manyLinesOfManySubscriptionsAreTwoEffects() throws {
        var state = try SyncReducerTests.state(.before)
        let streams = (1...500).map { StreamSyncState(id: Int64($0), name: "s\($0)") }
        let listed = (0..<500).map { "{\"default\":\($0)}" }.joined(separator: ",")
        let bucket = SyncLines.Bucket("b", count: 10_000, subscriptions: "[\(listed)]")
        _ = try SyncReducer.reduce(&state, SyncReducerTests.line(SyncLines.checkpoint(1, [bucket])))
        let rows = Dictionary(uniqueKeysWithValues: (0..<500).map { ($0, Int64($0 + 1)) })
        _ = try SyncReducer.reduce(
            &state, .tracked(TrackOutcome(counters: [:], subscriptions: streams, defaultRows: rows)))
        let lines = try (1...10_000).map { number in
            let operation = Operation(id: Int64(number), kind: .move, checksum: .zero)
            return try StorableLine(DataLine(bucket: "b", operations: [operation]), size: 100)
        }
        let asked = try SyncReducer.reduce(&state, .data(lines))
        #expect(asked.names == ["perform save"])
        let told = try SyncReducer.reduce(&state, .saved([ExactText("b"): lines.count]))
        #expect(told.names == ["status"])
        #expect(told.status?.streams.map(\.downloadedOperations) == [Int64](repeating: 10_000, count: 500))
    }

    @Test func aBusyDatabaseStoresNothingAndTheSameBatchMayComeAgain() throws {
        let bench = try Bench()
        try bench.sync.line(checkpoint)
        try bench.other.execute("BEGIN IMMEDIATE")
        let error = #expect(throws: SQLiteError.self) { try bench.sync.data([first, second]) }
        #expect(error?.code == .busy)
        try bench.other.execute("ROLLBACK")
        #expect(try bench.operations.isEmpty)
        #expect(
            try bench.sync.data([first, second]).status?.downloading?.first?.downloadedOperations == 3)
        #expect(try bench.operations == [1, 2, 3])
    }

    @Test func aCommitThatFailsStoresNothing() throws {
        let bench = try Bench()
        // Fails when it is committed, not before.
        try bench.sync.connection.execute(
            """
            PRAGMA foreign_keys = ON;
            CREATE TABLE parent(id INTEGER PRIMARY KEY);
            CREATE TABLE child(id INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
            CREATE TRIGGER late AFTER INSERT ON ps_oplog WHEN new.row_id = 'r3'
            BEGIN INSERT INTO child VALUES (1); END;
            """)
        let elsewhere = SyncLines.data("c", SyncLines.put(7, "r7"))
        #expect(throws: SQLiteError.self) { try bench.sync.data([elsewhere, first, second]) }
        #expect(try bench.operations.isEmpty)
        #expect(try bench.other.query("SELECT name FROM ps_buckets") { $0.string(0) }.isEmpty)
        try bench.sync.connection.execute("DROP TRIGGER late")
        try bench.sync.data([elsewhere, first, second])
        #expect(try bench.operations == [1, 2, 3, 7])
    }

    @Test func aRowWithoutNameMakesNoBatch() throws {
        let nameless = "{\"data\":{\"bucket\":\"b\",\"data\":[\(SyncLines.bare(2, "PUT", checksum: 1))]}}"
        let error = #expect(throws: SyncError.self) { try SyncLines.storable(nameless) }
        #expect(error?.code == .protocolViolation)
    }

    @Test func whatIsWithinABatchFollowsFromTheOrderOfTheStream() throws {
        let sync = try SyncBench()
        try sync.start()
        let store = SyncStore(connection: sync.connection, now: sync.now)
        let lines = try [
            SyncLines.data("b", SyncLines.put(1, "r1", checksum: 1), SyncLines.put(2, "r2", checksum: 2)),
            SyncLines.data("b", SyncLines.put(3, "r1", checksum: 4)),
            SyncLines.data("b", SyncLines.remove(4, "r2", checksum: 8), SyncLines.put(5, "r1", checksum: 16)),
        ].map(SyncLines.storable)
        let counts = try sync.connection.transaction { try store.save(lines) }
        #expect(counts == [ExactText("b"): 5])
        #expect(
            try sync.rows("SELECT op_id, row_id, data FROM ps_oplog")
                == [[5, "r1", "{\"col\":\"r1-5\"}"]])
        #expect(try sync.buckets() == [["b", 0, 5, 15, 16]])
        #expect(try sync.brokenInvariants().isEmpty)
    }

    /// A statement that was left in use is never used again: the next one is prepared anew.
    @Test func statementsAreGivenBackWhenOneOfThemCannotBeHad() throws {
        let sync = try SyncBench()
        try sync.start()
        // There is no rowid to find.
        try sync.connection.execute(
            """
            DROP TABLE ps_oplog;
            CREATE TABLE ps_oplog(
                bucket, op_id, row_type, row_id, key, data, hash, PRIMARY KEY(bucket, op_id)) WITHOUT ROWID;
            """)
        let statement = try sync.connection.borrow(SegmentWriter.insertOperation)
        sync.connection.giveBack(statement)
        #expect(throws: SQLiteError.self) { try sync.data([second]) }
        let again = try sync.connection.borrow(SegmentWriter.insertOperation)
        #expect(again === statement)
    }
}
