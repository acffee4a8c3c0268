import PowerSyncPostgres
import PowerSyncServiceEngine
import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What rows are found by, as their writer keeps it (DESIGN.md, 1; service 4.6).
@Suite(.patient(), .namesSeed)
struct RowWriterLookupTests {
    /// A row as it is now.
    private struct Change {
        var id = "a"
        /// Nil for a row that is in no bucket.
        var owner: String? = "u1"
        /// By which keys the row is found, and the number that is found; nil for a row that is gone.
        var finds: [(key: Int64, number: Int64)]?
    }

    /// Writes changes in one transaction, of which the last one is visible.
    ///
    /// - Parameters:
    ///   - changes: Rows as they are now.
    ///   - isVisible: Whether a commit follows that becomes visible.
    ///   - fixture: The store.
    /// - Returns: The keys that find something else.
    /// - Throws: What the store throws.
    @discardableResult
    private static func write(
        _ changes: [Change], isVisible: Bool = true, to fixture: StoreFixture
    ) async throws -> Set<LookupKey> {
        let config = try SyncPlan.compiled(StoreFixture.config)
        let (table, stream) = (fixture.table, fixture.stream.number)
        return try await fixture.store.pool.write { connection in
            try connection.transaction {
                let checkpoint = try connection.one("SELECT checkpoint_op FROM replication_stream") {
                    $0.int64(0)
                }
                let writer = try RowWriter(connection, stream: stream, checkpoint: checkpoint ?? 0)
                let plan = try TablePlan(table, ServedPlan(stream: stream, plan: config)) {
                    try writer.outputType(named: $0)
                }
                let definition = try LookupVersions(connection).definition(
                    named: LookupHistory.names[0], of: stream)
                for change in changes {
                    guard let finds = change.finds else {
                        try writer.remove(LookupHistory.rowKey(change.id), from: table)
                        continue
                    }
                    let row = try Self.row(change, finds, of: plan, definition, config, writer)
                    if try writer.insert(row) { continue }
                    try writer.write(row, replacing: try writer.places(of: row.key, in: table))
                }
                try writer.finish()
                if isVisible {
                    try connection.run(
                        "UPDATE replication_stream SET checkpoint_op = ?", [.integer(writer.lastOperation)])
                }
                return try #require(writer.changedLookups)
            }
        }
    }

    private static func row(
        _ change: Change, _ finds: [(key: Int64, number: Int64)], of plan: TablePlan, _ definition: Int64,
        _ config: SyncPlan, _ writer: RowWriter
    ) throws -> RowWriter.Row {
        var builder = BatchBuilder([plan])
        let owner = change.owner.map { PgOutputValue.text($0) } ?? .null
        builder.add(.insert, new: [.text(change.id), owner, .text("x")])
        let batch = RowEvaluation.evaluateAtOnce(builder.batch, SlotConverter(options: config.options))
        let key = try #require(batch.rows[0].key)
        var bytes = batch.bytes
        func append(_ part: [UInt8]) -> Range<Int> {
            bytes += part
            return bytes.count - part.count..<bytes.count
        }
        let lookups = finds.map { found in
            EvaluatedBatch.Lookup(
                definition: definition, key: append(LookupHistory.key(found.key)),
                value: append(LookupHistory.value(found.number)))
        }
        return RowWriter.Row(
            table: plan.table, key: try RowKey(stored: Array(bytes[key])),
            operations: batch.operations[batch.rows[0].operations],
            buckets: try batch.buckets.map {
                try writer.bucket(named: String(decoding: bytes[$0], as: UTF8.self))
            }, large: .nothing, bytes: bytes, lookups: lookups[...])
    }

    private static func withFixture(_ body: (StoreFixture) async throws -> Void) async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await StoreFixture(path: path)
            try await body(fixture)
            try await fixture.close()
        }
    }

    /// What keys find at the checkpoint.
    private static func found(_ fixture: StoreFixture) async throws -> LookupHistory.Found {
        let stream = fixture.stream.number
        return try await fixture.store.pool.read { connection in
            try StoreSnapshot.read(of: stream, connection) { try LookupHistory.found(of: 1, $0) }
        }
    }

    /// `id key op` of all versions, those without a value with a minus.
    private static func versions(_ fixture: StoreFixture) async throws -> [String] {
        try await fixture.store.pool.write { connection in
            try connection.query(
                "SELECT substr(CAST(row AS TEXT), 2), hex(key), op_id, length(value) FROM lookup "
                    + "ORDER BY op_id"
            ) { row in
                "\(row.string(0)) \(row.string(1)) \(row.int64(2))" + (row.int64(3) > 0 ? "" : " -")
            }
        }
    }

    // MARK: Rows

    @Test func versionsFollowTheOperationsOfTheirRow() async throws {
        try await Self.withFixture { fixture in
            try await Self.write([Change(finds: [(1, 10), (2, 20)])], to: fixture)
            #expect(try await Self.versions(fixture) == ["a 1101 2", "a 1102 3"])
            try await Self.write([Change(owner: "u2", finds: [(2, 21), (3, 30)])], to: fixture)
            // The PUT is 4, the REMOVE 5.
            #expect(
                try await Self.versions(fixture) == [
                    "a 1101 2", "a 1102 3", "a 1102 6", "a 1103 7", "a 1101 8 -",
                ])
            let operations = try await fixture.operations(of: fixture.bucket("u2"))
            #expect(operations.map(\.id) == [4])
            try await Self.write([Change(finds: nil)], to: fixture)
            let last = Array(try await Self.versions(fixture).suffix(2))
            #expect(last == ["a 1102 10 -", "a 1103 11 -"])
            #expect(try await Self.found(fixture) == [:])
            #expect(try await fixture.count("source_row") == 0)
        }
    }

    @Test func whatIsBehindTheCheckpointIsNotFound() async throws {
        try await Self.withFixture { fixture in
            try await Self.write([Change(finds: [(1, 10)])], to: fixture)
            try await Self.write([Change(finds: [(1, 11), (2, 20)])], isVisible: false, to: fixture)
            #expect(try await Self.found(fixture) == [[0x11, 1]: [10]])
            try await Self.write([], to: fixture)
            #expect(try await Self.found(fixture) == [[0x11, 1]: [11], [0x11, 2]: [20]])
        }
    }

    /// It has no operation, and its lookups must go with it.
    @Test func aRowInNoBucketIsKeptForWhatFindsIt() async throws {
        try await Self.withFixture { fixture in
            try await Self.write([Change(owner: nil, finds: [(1, 10)])], to: fixture)
            #expect(try await fixture.count("source_row") == 1)
            #expect(try await fixture.count("segment") == 0)
            #expect(try await Self.found(fixture) == [[0x11, 1]: [10]])
            // It goes into a bucket, and is found no more; then it is in none.
            try await Self.write([Change(finds: [])], to: fixture)
            #expect(try await Self.found(fixture) == [:])
            #expect(try await fixture.count("source_row") == 1)
            try await Self.write([Change(owner: nil, finds: [])], to: fixture)
            #expect(try await fixture.count("source_row") == 0)
        }
    }

    /// Most updates change nothing of what is found.
    @Test func anUpdateThatIsFoundAsBeforeWritesNoVersion() async throws {
        try await Self.withFixture { fixture in
            try await Self.write([Change(finds: [(1, 10)])], to: fixture)
            let changed = try await Self.write([Change(finds: [(1, 10)])], to: fixture)
            #expect(changed == [])
            #expect(try await Self.versions(fixture) == ["a 1101 2"])
            // The next operation has the next id.
            #expect(try await fixture.operations(of: fixture.bucket("u1")).map(\.id) == [1, 3])
        }
    }

    @Test func changedKeysAreThoseThatFindSomethingElse() async throws {
        func key(_ number: Int64) -> LookupKey {
            LookupKey(definition: 1, key: LookupHistory.key(number))
        }
        try await Self.withFixture { fixture in
            let first = try await Self.write(
                [Change(finds: [(1, 10), (2, 20)]), Change(id: "b", finds: [(2, 21)])], to: fixture)
            #expect(first == [key(1), key(2)])
            let second = try await Self.write([Change(finds: [(1, 10), (3, 20)])], to: fixture)
            #expect(second == [key(2), key(3)])
            let third = try await Self.write([Change(id: "b", finds: nil)], to: fixture)
            #expect(third == [key(2)])
        }
    }

    @Test func aTableThatIsEmptiedIsFoundNoMore() async throws {
        try await Self.withFixture { fixture in
            try await Self.write(
                (0..<5).map { Change(id: "r\($0)", finds: [(1, Int64($0)), (2, 1)]) }, to: fixture)
            let (table, stream) = (fixture.table, fixture.stream.number)
            for expected in [2, 2, 1] {
                try await fixture.store.pool.write { connection in
                    try connection.transaction {
                        let writer = try RowWriter(connection, stream: stream, checkpoint: 15)
                        #expect(try writer.removeRows(of: table, limit: 2).count == expected)
                        try writer.finish()
                    }
                }
            }
            // Nobody sees it before the commit.
            #expect(try await Self.found(fixture)[[0x11, 1]] == [0, 1, 2, 3, 4])
            try await fixture.store.pool.write { connection in
                try connection.execute("UPDATE replication_stream SET checkpoint_op = last_op")
            }
            #expect(try await Self.found(fixture) == [:])
            #expect(try await fixture.count("source_row") == 0)
        }
    }

    /// Random rows, in transactions of which some wait for their checkpoint.
    @Test func keysFindTheRowsThatSaySo() async throws {
        try await forEachSeed(15) { random in
            var chance = random
            try await Self.withFixture { fixture in
                var rows: [String: [Int64: Int64]] = [:]
                var visible = rows
                for _ in 0..<12 {
                    var changed = rows
                    let changes = (0..<chance.below(6)).map { _ -> Change in
                        let id = chance.pick(["a", "b", "c", "d"])
                        guard !chance.once(in: 4) else {
                            changed[id] = nil
                            return Change(id: id, finds: nil)
                        }
                        var finds: [Int64: Int64] = [:]
                        for key in Int64(0)..<3 where chance.once(in: 2) {
                            finds[key] = Int64(chance.below(3))
                        }
                        changed[id] = finds
                        let owner = chance.pick(["u1", "u2", nil])
                        return Change(
                            id: id, owner: owner,
                            finds: finds.sorted { $0.key < $1.key }.map { (key: $0.key, number: $0.value) })
                    }
                    let isVisible = !chance.once(in: 3)
                    try await Self.write(changes, isVisible: isVisible, to: fixture)
                    rows = changed
                    if isVisible { visible = rows }
                    var expected: LookupHistory.Found = [:]
                    for (_, finds) in visible.sorted(by: { $0.key < $1.key }) {
                        for (key, number) in finds {
                            expected[LookupHistory.key(key), default: []].append(number)
                        }
                    }
                    let found = try await Self.found(fixture)
                    try #require(found == expected)
                }
            }
            random = chance
        }
    }

    // MARK: What a check finds

    @Test(arguments: [
        "DELETE FROM lookup WHERE op_id = 2",
        "UPDATE lookup SET value = x'' WHERE op_id = 2",
        "UPDATE lookup SET row = x'3063' WHERE op_id = 2",
        "UPDATE lookup SET key = x'1109' WHERE op_id = 2",
        "UPDATE lookup SET definition = 9 WHERE op_id = 2",
        "UPDATE lookup SET op_id = 3 WHERE op_id = 2",
        "UPDATE lookup SET op_id = 99 WHERE op_id = 2",
        "DELETE FROM source_row WHERE key = x'3062'",
    ])
    func lookupsThatWereTamperedWithAreFound(statement: String) async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await StoreFixture(path: path)
            try await Self.write(
                [Change(finds: [(1, 10), (2, 20)]), Change(id: "b", owner: nil, finds: [(1, 11)])],
                to: fixture)
            await fixture.store.close()
            #expect(try StoreCheck(path: path).problems == [])
            let connection = try SQLiteConnection(path: path)
            try connection.execute(statement)
            connection.close()
            #expect(try !StoreCheck(path: path).problems.isEmpty)
        }
    }
}
