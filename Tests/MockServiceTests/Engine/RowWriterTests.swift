import PowerSyncPostgres
import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncServiceEngine

/// Rows as operations on disk (DESIGN.md, 1; service 4.6).
@Suite(.patient(), .namesSeed)
struct RowWriterTests {
    /// Each row is in its owner's bucket, and in one of all.
    private static let config = """
        config: {edition: 3}
        streams:
          s: {auto_subscribe: true, query: SELECT * FROM t WHERE owner = auth.user_id()}
          all: {auto_subscribe: true, query: "SELECT id, big FROM t"}
        """

    /// All operations of a file in the order of their ids, as `PUT bucket id data`.
    private static func operations(_ fixture: StoreFixture) async throws -> [String] {
        let names = try await fixture.store.pool.write { connection in
            try connection.query("SELECT name FROM bucket") { $0.string(0) }
        }
        var found: [(id: OperationID, text: String)] = []
        for name in names {
            let operations = try await fixture.operations(of: "\(fixture.stream.number)#\(name)")
            found += operations.map { operation in
                let data = operation.data ?? "-"
                let words = [
                    operation.kind.rawValue, name, operation.objectID ?? "", data, "\(operation.checksum)",
                ]
                return (id: operation.id, text: words.joined(separator: " "))
            }
        }
        return found.sorted { $0.id < $1.id }.map(\.text)
    }

    @Test func putsComeBeforeTheRemovesOfPlacesThatWereLeft() async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await StoreFixture(path: path, Self.config)
            _ = try await fixture.apply([.insert(StoreFixture.row("a", "u1"))], commit: nil)
            _ = try await fixture.apply([.update(old: nil, new: StoreFixture.row("a", "u2"))], commit: nil)
            _ = try await fixture.apply([.delete([.text("a"), .null, .null])], commit: 1)
            let operations = try await Self.operations(fixture).map { operation in
                operation.split(separator: " ").prefix(3).joined(separator: " ")
            }
            #expect(
                operations == [
                    #"PUT s|0["u1"] a"#, "PUT all|0[] a", #"PUT s|0["u2"] a"#, "PUT all|0[] a",
                    #"REMOVE s|0["u1"] a"#, #"REMOVE s|0["u2"] a"#, "REMOVE all|0[] a",
                ])
            try await fixture.close()
        }
    }

    /// The tree of source rows is as large as that of the source: it is left alone where nothing moves.
    @Test func anUpdateThatMovesNothingLeavesItsRowAlone() async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await StoreFixture(path: path, Self.config)
            _ = try await fixture.apply([.insert(StoreFixture.row("a", "u1"))], commit: nil)
            try await fixture.store.pool.write { connection in
                for event in ["UPDATE", "INSERT", "DELETE"] {
                    try connection.execute(
                        "CREATE TEMP TRIGGER on_\(event) BEFORE \(event) ON source_row "
                            + "BEGIN SELECT RAISE(ABORT, 'written'); END")
                }
            }
            _ = try await fixture.apply(
                [.update(old: nil, new: StoreFixture.row("a", "u1", .text("y")))], commit: nil)
            #expect(try await fixture.operations("u1").count == 2)
            for change in [
                RowChange.update(old: nil, new: StoreFixture.row("a", "u2")),
                .insert(StoreFixture.row("b", "u1")), .delete([.text("a"), .null, .null]),
            ] {
                await #expect(throws: SQLiteError.self) { try await fixture.apply([change], commit: nil) }
            }
            try await fixture.close()
        }
    }

    /// A transaction leaves one segment for each bucket, unless it has more than fits into one.
    @Test func operationsArePackedIntoSegmentsOfABoundedLength() async throws {
        try await StoreFixture.withFolder { path in
            var limits = StoreLimits()
            limits.segmentBytes = 1000
            let fixture = try await StoreFixture(path: path, limits: limits)
            let sizes = [10, 10, 300, 300, 300, 5000, 10]
            let rows = sizes.enumerated().map { index, size in
                RowChange.insert(
                    StoreFixture.row("r\(index)", "u1", .text(String(repeating: "x", count: size))))
            }
            _ = try await fixture.apply(rows, commit: 1)
            _ = try await fixture.apply([.insert(StoreFixture.row("last", "u1"))], commit: 2)
            let segments = try await fixture.store.pool.write { connection in
                try connection.query("SELECT count, length(body) FROM segment ORDER BY id") {
                    (count: $0.int64(0), bytes: $0.int64(1))
                }
            }
            #expect(segments.map(\.count) == [4, 1, 1, 1, 1])
            #expect(segments.allSatisfy { $0.bytes <= 1000 || $0.count == 1 })
            #expect(try await fixture.operations("u1").count == 8)
            try await fixture.close()
        }
    }

    /// One row may be in a bucket for each element of an array: what the transaction has begun is bounded all the same.
    @Test func whatIsBegunOfManySegmentsIsBounded() async throws {
        try await StoreFixture.withFolder { path in
            var limits = StoreLimits()
            limits.begunSegmentBytes = 50_000
            let fixture = try await StoreFixture(path: path, Self.config, limits: limits)
            let (store, table, stream) = (fixture.store, fixture.table, fixture.stream.number)
            let (recordBytes, places) = (5000, 200)
            let (most, segments, isWritten) = try await store.pool.write { connection in
                try connection.transaction {
                    var writer: RowWriter?
                    var (stored, most) = (0, 0)
                    // Asked once for each bucket, when its only segment has been stored.
                    let asked = try RowWriter(
                        connection, stream: stream, checkpoint: 0, limits: store.limits
                    ) { _ in
                        most = max(most, Int(writer?.lastOperation ?? 0) - stored)
                        stored += 1
                        return false
                    }
                    writer = asked
                    defer { writer = nil }
                    let type = try asked.outputType(named: "t")
                    let buckets = try (0..<places).map { try asked.bucket(named: "s|0[\"u\($0)\"]") }
                    let operations = buckets.indices.map { bucket in
                        EvaluatedBatch.Operation(
                            bucket: bucket, type: type, id: 0..<1, record: 1..<1 + recordBytes,
                            checksum: .zero)
                    }
                    let row = RowWriter.Row(
                        table: table, key: RowKey([.text("a")], of: ReplicaID.random()),
                        operations: operations[...], buckets: buckets, large: .nothing,
                        bytes: [UInt8](repeating: 0x61, count: 1 + recordBytes))
                    let isWritten = try asked.insert(row)
                    try asked.finish()
                    let segments = try connection.one("SELECT count(*) FROM segment") { $0.int64(0) }
                    return (most, segments, isWritten)
                }
            }
            #expect(isWritten && most > 1 && most * recordBytes <= 50_000 + recordBytes)
            #expect(segments == Int64(places))
            // Not looked over: its records are no operations.
            await store.close()
        }
    }

    // MARK: Evaluated batches

    /// Random changes, as the stream tells them.
    private static func changes(_ random: inout SeededRandom) -> [RowChange] {
        (0..<1 + random.below(20)).map { _ in
            let id = "r\(random.below(12))"
            let size = random.once(in: 4) ? 1000 + random.below(200) : random.below(20)
            let row = StoreFixture.row(
                id, "u\(random.below(3))", .text(String(repeating: "y", count: size)))
            switch random.below(8) {
            case 0: return .delete([.text(id), .null, .null])
            case 1: return .update(old: [.text("r\(random.below(12))"), .null, .null], new: row)
            case 2: return .snapshot(row)
            case 3: return .readAgain(row)
            case 4, 5: return .insert(row)
            default: return .update(old: nil, new: row)
            }
        }
    }

    private static func add(_ change: RowChange, to builder: inout BatchBuilder) {
        switch change {
        case .snapshot(let tuple): builder.add(.snapshot, new: tuple)
        case .insert(let tuple): builder.add(.insert, new: tuple)
        case .readAgain(let tuple): builder.add(.readAgain, new: tuple)
        case .update(let old, let new): builder.add(.update, new: new, old: old)
        case .delete(let tuple): builder.add(.delete, old: tuple)
        }
    }

    /// Writes changes by way of an evaluated batch: what is read of rows is in the batch, what was is in the store.
    private static func write(_ changes: [RowChange], to fixture: StoreFixture) async throws {
        let config = try SyncPlan.compiled(Self.config)
        let (table, stream) = (fixture.table, fixture.stream.number)
        try await fixture.store.pool.write { connection in
            try connection.transaction {
                let writer = try RowWriter(connection, stream: stream, checkpoint: 0)
                let plan = try TablePlan(table, ServedPlan(stream: stream, plan: config)) {
                    try writer.outputType(named: $0)
                }
                var builder = BatchBuilder([plan])
                for change in changes { add(change, to: &builder) }
                let batch = RowEvaluation.evaluateAtOnce(
                    builder.batch, SlotConverter(options: config.options))
                let buckets = try batch.buckets.map {
                    try writer.bucket(named: String(decoding: batch.bytes[$0], as: UTF8.self))
                }
                for row in batch.rows { try write(row, of: batch, table, buckets, writer) }
                try writer.finish()
            }
        }
    }

    private static func write(
        _ row: EvaluatedBatch.Row, of batch: EvaluatedBatch, _ table: SourceTable, _ buckets: [Int64],
        _ writer: RowWriter
    ) throws {
        func key(_ range: Range<Int>) throws -> RowKey { try RowKey(stored: Array(batch.bytes[range])) }
        if let old = row.oldKey { try writer.remove(try key(old), from: table) }
        guard let range = row.key else { return }
        let now = RowWriter.Row(
            table: table, key: try key(range), operations: batch.operations[row.operations],
            buckets: buckets, large: row.large.map { RowWriter.LargeValues.cells($0) } ?? .nothing,
            bytes: batch.bytes)
        if row.kind == .snapshot || row.kind == .insert {
            guard try !writer.insert(now), row.kind == .insert else { return }
        }
        try writer.write(now, replacing: try writer.places(of: now.key, in: table))
    }

    @Test func evaluatedBatchesBecomeTheOperationsOfTheirChanges() async throws {
        try await forEachSeed(20) { random in
            var chance = random
            try await StoreFixture.withFolder { path in
                let one = try await StoreFixture(path: path, Self.config)
                let other = try await StoreFixture(path: path + ".other", Self.config)
                for _ in 0..<5 {
                    let changes = Self.changes(&chance)
                    _ = try await one.apply(changes, commit: nil)
                    try await Self.write(changes, to: other)
                }
                // Those of a REMOVE count the table's uuid.
                func compared(_ operations: [String]) -> [String] {
                    operations.map { operation in
                        let words = operation.split(separator: " ")
                        return (words[0] == "REMOVE" ? words.dropLast() : words[...]).joined(separator: " ")
                    }
                }
                let expected = try await Self.operations(one)
                let found = try await Self.operations(other)
                #expect(!expected.isEmpty)
                #expect(compared(found) == compared(expected))
                let rows = try await one.count("source_row")
                #expect(try await other.count("source_row") == rows)
                try await one.close()
                try await other.close()
            }
            random = chance
        }
    }

    @Test func whatATransactionHasChangedIsKnown() async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await StoreFixture(path: path, Self.config)
            _ = try await fixture.apply([.insert(StoreFixture.row("a", "u1"))], commit: nil)
            let (table, stream) = (fixture.table, fixture.stream.number)
            let (before, changed) = try await fixture.store.pool.write { connection in
                try connection.transaction {
                    let writer = try RowWriter(connection, stream: stream, checkpoint: 0)
                    _ = try writer.bucket(named: "s|0[\"u2\"]")
                    let before = writer.changed
                    try writer.remove(RowKey([.text("a")], of: ReplicaID.random()), from: table)
                    try writer.finish()
                    return (before, writer.changed.mapValues { $0.totals(at: .max) })
                }
            }
            #expect(before.isEmpty)
            #expect(Set(changed.keys) == Set(["1#s|0[\"u1\"]", "1#all|0[]"].map { ExactText($0) }))
            #expect(changed.values.allSatisfy { $0.count == 2 })
            try await fixture.close()
        }
    }
}
