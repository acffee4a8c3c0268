import PowerSyncPostgres
import PowerSyncPostgresValues
import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncServiceEngine

/// What stopped streams hold goes in pieces (DESIGN.md, 1 and 6).
@Suite(.patient())
struct StoppedStreamsTests {
    /// The tables that hold something of a stream, and how many rows each has.
    private static let tables = [
        "bucket", "segment", "source_row", "large_value", "source_table", "lookup", "lookup_definition",
        "custom_write_checkpoint",
    ]

    /// Which tables have a column that names rows of another one.
    private static let names = [
        ("segment", "bucket", "bucket"), ("source_row", "source_table", "source_table"),
        ("large_value", "source_table", "source_table"), ("lookup", "definition", "lookup_definition"),
    ]

    private static func counts(_ connection: SQLiteConnection) throws -> [String: Int64] {
        var counts: [String: Int64] = [:]
        for table in tables {
            counts[table] = try connection.one("SELECT count(*) FROM \(table)") { $0.int64(0) }
        }
        return counts
    }

    /// A store with rows of two streams, of which the first has more; some values are kept apart.
    private static func withStreams(
        _ limits: StoreLimits, _ body: (StoreFixture, _ next: StreamRecord) async throws -> Void
    ) async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await StoreFixture(path: path, limits: limits)
            let store = fixture.store
            let next = try await store.addStream(config: "", configHash: "next", publication: 1) {
                "slot_\($0)"
            }
            try await store.holdCheckpoint(next.number, until: .zero, isSnapshotDone: true)
            let context = EvaluationContext(
                stream: next.number, plan: try SyncPlan.compiled(StoreFixture.config))
            let table = try await store.resolve(fixture.table.description, types: TypeCatalog(), context)
            let large = PgOutputValue.text(String(repeating: "x", count: 1500))
            for number in 0..<10 {
                let changes = (0..<4).map { index in
                    let (id, owner) = ("r\(number)-\(index)", "u\(index)")
                    return RowChange.insert(
                        StoreFixture.row(id, owner, index == 0 ? large : .text("small")))
                }
                _ = try await fixture.apply(changes, commit: UInt64(number + 1))
            }
            _ = try await store.apply(
                [
                    .change(table, .insert(StoreFixture.row("next", "u1", large))),
                    .committed(LSN(rawValue: 20)),
                ], context)
            try await store.pool.write { connection in
                for stream in [fixture.stream.number, next.number] {
                    try connection.run(
                        "INSERT INTO lookup_definition(stream, name) VALUES (?, 'l')", [.integer(stream)])
                    let definition = connection.lastInsertRowID
                    for key in 0..<(stream == next.number ? 1 : 12) {
                        try connection.execute("UPDATE counter SET last_op = last_op + 1")
                        try connection.run(
                            "INSERT INTO lookup SELECT ?, ?, 1, x'01', last_op, x'' FROM counter",
                            [.integer(definition), .blob([UInt8(key)])])
                        try connection.execute("UPDATE counter SET last_op = last_op + 1")
                        try connection.run(
                            "INSERT INTO custom_write_checkpoint SELECT ?, ?, last_op, 1 FROM counter",
                            [.integer(stream), .text("u\(key)")])
                    }
                }
            }
            try await body(fixture, next)
        }
    }

    @Test func ofEachTableNoMoreGoesAtOnceThanOneTransactionRemoves() async throws {
        var limits = StoreLimits()
        limits.truncatedRows = 5
        limits.removedBytes = 4000
        let stopped = StoppedStreams(limits: limits)
        try await Self.withStreams(limits) { fixture, next in
            try await fixture.store.activate(next.number)
            try await fixture.store.pool.write { connection in
                var before = try Self.counts(connection)
                #expect(before["segment"] == 41 && before["source_row"] == 41 && before["large_value"] == 11)
                #expect(before["bucket"] == 5 && before["lookup"] == 13)
                var pieces = 0
                while try stopped.removePiece(but: nil, connection) {
                    #expect(!connection.isInTransaction)
                    let after = try Self.counts(connection)
                    let removed = Self.tables.map { (before[$0] ?? 0) - (after[$0] ?? 0) }.reduce(0, +)
                    #expect((1...5).contains(removed))
                    // Whoever looks at what is left finds what it names.
                    for (table, column, named) in Self.names {
                        let sql =
                            "SELECT count(*) FROM \(table) "
                            + "WHERE \(table).\(column) NOT IN (SELECT id FROM \(named))"
                        #expect(try connection.one(sql) { $0.int64(0) } == 0, "\(table)")
                    }
                    before = after
                    pieces += 1
                }
                #expect(pieces > 20)
                // What is left is of the other stream.
                #expect(before.count == Self.tables.count && before.values.allSatisfy { $0 == 1 })
                let streams = try connection.query("SELECT id FROM replication_stream ORDER BY id") {
                    $0.int64(0)
                }
                #expect(streams == [fixture.stream.number, next.number])
            }
            try await fixture.close()
        }
    }

    /// Of values that are kept apart, and of segments, bytes count too.
    @Test func longSegmentsGoOneByOne() async throws {
        var limits = StoreLimits()
        limits.removedBytes = 1000
        let stopped = StoppedStreams(limits: limits)
        try await Self.withStreams(limits) { fixture, next in
            try await fixture.store.activate(next.number)
            try await fixture.store.pool.write { connection in
                func long(_ table: String, _ column: String) throws -> Int64 {
                    let sql = "SELECT count(*) FROM \(table) WHERE length(\(column)) > 1000"
                    return try connection.one(sql) { $0.int64(0) } ?? 0
                }
                var before = [try long("segment", "body"), try long("large_value", "cells")]
                #expect(before == [11, 11])
                while try stopped.removePiece(but: nil, connection) {
                    let after = [try long("segment", "body"), try long("large_value", "cells")]
                    #expect(before[0] - after[0] + before[1] - after[1] <= 1)
                    before = after
                }
                #expect(before == [1, 1])
            }
            try await fixture.close()
        }
    }

    /// So they do of rows in many places, and of what finds rows.
    @Test func rowsInManyPlacesGoAFewAtATime() async throws {
        var limits = StoreLimits()
        limits.removedBytes = 1000
        let stopped = StoppedStreams(limits: limits)
        try await Self.withStreams(limits) { fixture, next in
            try await fixture.store.activate(next.number)
            try await fixture.store.pool.write { connection in
                let stream = SQLiteValue.integer(fixture.stream.number)
                try connection.run(
                    "UPDATE source_row SET places = zeroblob(600) "
                        + "WHERE source_table IN (SELECT id FROM source_table WHERE stream = ?)", [stream])
                try connection.run(
                    "UPDATE lookup SET value = zeroblob(600) "
                        + "WHERE definition IN (SELECT id FROM lookup_definition WHERE stream = ?)", [stream])
                var before = try Self.counts(connection)
                var pieces: [String: Int] = [:]
                while try stopped.removePiece(but: nil, connection) {
                    let after = try Self.counts(connection)
                    for table in ["source_row", "lookup"] {
                        let removed = (before[table] ?? 0) - (after[table] ?? 0)
                        #expect((0...2).contains(removed), "\(table)")
                        if removed > 0 { pieces[table, default: 0] += 1 }
                    }
                    before = after
                }
                #expect(pieces == ["source_row": 20, "lookup": 6])
                #expect(before.values.allSatisfy { $0 == 1 })
            }
            try await fixture.close()
        }
    }

    /// Between the commit that stops a stream and the word to those who are served from it.
    @Test func nothingGoesOfTheStreamThatIsServed() async throws {
        try await Self.withStreams(StoreLimits()) { fixture, next in
            try await fixture.store.activate(next.number)
            try await fixture.store.pool.write { connection in
                let stopped = StoppedStreams()
                let before = try Self.counts(connection)
                let isRemoved = try stopped.removePiece(but: fixture.stream.number, connection)
                #expect(!isRemoved)
                #expect(try Self.counts(connection) == before)
                #expect(try stopped.removePiece(but: next.number, connection))
                #expect(try Self.counts(connection) != before)
            }
            try await fixture.close()
        }
    }

    /// The records of streams stay, however many there were: each is asked for until nothing is left.
    @Test func aStreamThatHasNothingLeftIsNotLookedAtAgain() async throws {
        try await Self.withStreams(StoreLimits()) { fixture, next in
            try await fixture.store.activate(next.number)
            try await fixture.store.pool.write { connection in
                let stopped = StoppedStreams()
                while try stopped.removePiece(but: nil, connection) {}
                // Nobody does that any more: it shows who looks.
                try connection.run(
                    "INSERT INTO bucket(stream, name) VALUES (?, 'b')", [.integer(fixture.stream.number)])
                let isRemoved = try stopped.removePiece(but: nil, connection)
                #expect(!isRemoved)
                let isFound = try StoppedStreams().removePiece(but: nil, connection)
                #expect(isFound)
            }
            try await fixture.close()
        }
    }

    @Test func nothingGoesWhileNoStreamIsStopped() async throws {
        try await Self.withStreams(StoreLimits()) { fixture, _ in
            try await fixture.store.pool.write { connection in
                let isRemoved = try StoppedStreams().removePiece(but: nil, connection)
                #expect(!isRemoved)
            }
            try await fixture.close()
        }
    }
}
