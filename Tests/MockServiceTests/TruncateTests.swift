import PowerSyncPostgres
import PowerSyncPostgresValues
import PowerSyncServiceEngine
import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// A table is emptied, or replaced, a bounded number of rows and places at a time, and a group that comes to much is stored in
/// pieces (DESIGN.md, 1 and 3; service 4.6, 4.8).
@Suite(.patient())
struct TruncateTests {
    private static func limits(_ rows: Int) -> StoreLimits {
        var limits = StoreLimits()
        limits.truncatedRows = rows
        return limits
    }

    private static func limits(operations: Int64) -> StoreLimits {
        var limits = StoreLimits()
        limits.groupOperations = operations
        return limits
    }

    private static func inserts(_ count: Int) -> [RowChange] {
        (0..<count).map { .insert(StoreFixture.row("r\($0)", "u1")) }
    }

    /// Each row is in the bucket of each name in its list.
    private static let listed = """
        config: {edition: 3}
        streams:
          s: {auto_subscribe: true, query: SELECT id FROM t WHERE auth.user_id() IN big}
        """

    /// Rows in a hundred places.
    private static func listedRows(_ count: Int) -> [PgOutputTuple] {
        let names = (0..<100).map { "\"m\($0)\"" }.joined(separator: ",")
        return (0..<count).map { StoreFixture.row("r\($0)", "u1", .text("[\(names)]")) }
    }

    /// What bounds the pieces of a truncate.
    enum Bound: CaseIterable {
        case rows, operations, bytes
    }

    /// B20: it was one transaction of SQLite, however large, for which all write checkpoints waited.
    @Test(arguments: Bound.allCases)
    func aWriteCheckpointDoesNotWaitForATruncate(_ bound: Bound) async throws {
        var limits = StoreLimits()
        switch bound {
        case .rows: limits.truncatedRows = 100
        case .operations: limits.groupOperations = 200
        // The places of a row have two or three bytes each.
        case .bytes: limits.removedBytes = 350
        }
        let isListed = bound != .rows
        try await StoreFixture.withFolder { [limits] path in
            let progress = Lock(0)
            let fixture = try await StoreFixture(
                path: path, isListed ? Self.listed : StoreFixture.config, limits: limits,
                progress: { progress.withLock { $0 += 1 } })
            let store = fixture.store
            let rows: [RowChange] = isListed ? Self.listedRows(10).map { .insert($0) } : Self.inserts(1000)
            let expected: (left: Int64, progress: Int) = isListed ? (8, 5) : (900, 10)
            _ = try await fixture.apply(rows, commit: 1)
            let before = progress.withLock { $0 }
            // As long as the writer is in use, who wants it waits in the order in which they came.
            let gate = BlockingGate()
            defer { gate.open() }
            let busy = Task { try await store.pool.write { _ in gate.wait() } }
            try await wait(for: "the writer to be in use") { gate.arrivals == 1 }
            let truncating = Task {
                try await store.apply(
                    [.truncate(fixture.table), .committed(LSN(rawValue: 2))], fixture.context)
            }
            try await wait(for: "the truncate to wait") { store.pool.waitingWrites == 1 }
            let given = Task {
                try await store.nextWriteCheckpoint(key: "u1/c", head: .zero, published: .zero)
            }
            try await wait(for: "the write checkpoint to wait behind it") { store.pool.waitingWrites == 2 }
            let left = Task { try await fixture.count("source_row") }
            try await wait(for: "the look at what is left by then to wait") { store.pool.waitingWrites == 3 }
            gate.open()
            #expect(try await wait(forEndOf: given).id == 1)
            #expect(try await wait(forEndOf: left) == expected.left)
            let result = try await wait(forEndOf: truncating)
            #expect(result.checkpoint == StoredCheckpoint(operation: 2000, lsn: LSN(rawValue: 2)))
            #expect(try await fixture.count("source_row") == 0)
            // Nobody knows that a piece was the last one before the next has found nothing.
            #expect(progress.withLock { $0 } - before == expected.progress)
            try await wait(forEndOf: busy)
            try await fixture.close()
        }
    }

    @Test func nobodySeesAPieceBeforeTheCommit() async throws {
        try await StoreFixture.withFolder { path in
            let pieces = Lock(0)
            let fixture = try await StoreFixture(
                path: path, limits: Self.limits(3), progress: { pieces.withLock { $0 += 1 } })
            _ = try await fixture.apply(Self.inserts(10), commit: 1)
            let result = try await fixture.store.apply([.truncate(fixture.table)], fixture.context)
            #expect(result.checkpoint == nil)
            #expect(pieces.withLock { $0 } == 3)
            let record = try await fixture.store.stream(fixture.stream.number)
            #expect(record.checkpoint.operation == 10 && record.lastOperation == 20)
            #expect(try await fixture.operations("u1", upTo: 10).count == 10)
            #expect(try await fixture.apply([], commit: 2).checkpoint?.operation == 20)
            let name = fixture.bucket("u1")
            let removes = try await fixture.operations(of: name, upTo: 20).dropFirst(10)
            #expect(removes.allSatisfy { $0.kind == .remove })
            #expect(Set(removes.compactMap(\.objectID)) == Set((0..<10).map { "r\($0)" }))
            // Those of a piece in the order of their replica ids.
            let subkeys = removes.map { $0.subkey ?? "" }
            for start in stride(from: 0, to: 10, by: 3) {
                let piece = Array(subkeys[start..<min(start + 3, 10)])
                #expect(piece == piece.sorted())
            }
            try await fixture.close()
        }
    }

    /// What one truncate names counts together.
    @Test func tablesThatAreEmptiedTogetherShareThePieces() async throws {
        try await StoreFixture.withFolder { path in
            let pieces = Lock(0)
            let fixture = try await StoreFixture(
                path: path, limits: Self.limits(4), progress: { pieces.withLock { $0 += 1 } })
            var other = fixture.table.description
            other.oid = 8
            other.name = "u"
            let config = StoreFixture.config + "\n  u: {query: SELECT * FROM u}"
            let context = EvaluationContext(
                stream: fixture.stream.number, plan: try SyncPlan.compiled(config),
                progress: { pieces.withLock { $0 += 1 } })
            let second = try await fixture.store.resolve(other, types: TypeCatalog(), context)
            var events: [ReplicationEvent] = []
            for id in 0..<3 {
                for table in [fixture.table, second] {
                    events.append(.change(table, .insert(StoreFixture.row("\(id)", "u1"))))
                }
            }
            _ = try await fixture.store.apply(events, context)
            #expect(try await fixture.count("source_row") == 6)
            let result = try await fixture.store.apply(
                [.truncate(fixture.table), .truncate(second), .committed(LSN(rawValue: 1))], context)
            // Three and one, then two.
            #expect(pieces.withLock { $0 } == 1)
            #expect(result.checkpoint?.operation == 12)
            #expect(try await fixture.count("source_row") == 0)
            try await fixture.close()
        }
    }

    /// Begins something that is cancelled behind its first piece: what a service leaves that ends there.
    private static func breakOff(
        _ path: String, _ config: String = StoreFixture.config, _ limits: StoreLimits = Self.limits(3),
        _ body: @escaping @Sendable (StoreFixture) async throws -> Void
    ) async throws {
        let task = Lock<Task<Void, any Error>?>(nil)
        let fixture = try await StoreFixture(
            path: path, config, limits: limits, progress: { task.withLock { $0 }?.cancel() })
        let gate = Gate()
        let working = Task {
            await gate.pass()
            try await body(fixture)
        }
        task.withLock { $0 = working }
        gate.open()
        await #expect(throws: CancellationError.self) { try await wait(forEndOf: working) }
        try await fixture.close()
    }

    @Test func aTruncateThatWasBrokenOffIsCompletedWhenItIsToldAgain() async throws {
        try await StoreFixture.withFolder { path in
            let first = try await StoreFixture(path: path)
            _ = try await first.apply(Self.inserts(10), commit: 10)
            try await first.close()
            let progress = TransactionProgress(
                finalLSN: LSN(rawValue: 20), position: LSN(rawValue: 15), changes: 1)
            let rest: @Sendable (SourceTable) -> [ReplicationEvent] = { table in
                [
                    .truncate(table), .change(table, .insert(StoreFixture.row("behind", "u1"))),
                    .committed(LSN(rawValue: 22)),
                ]
            }
            try await Self.breakOff(path) { fixture in
                let table = fixture.table
                let front: [ReplicationEvent] = [
                    .change(table, .insert(StoreFixture.row("front", "u1"))), .told(progress),
                ]
                _ = try await fixture.store.apply(front + rest(table), fixture.context)
            }
            let second = try await StoreFixture(path: path)
            let record = try await second.store.stream(second.stream.number)
            #expect(record.partial == progress && record.appliedLSN == LSN(rawValue: 10))
            #expect(record.checkpoint.operation == 10)
            #expect(try await second.count("source_row") == 8)
            // Behind what was told.
            let result = try await second.store.apply(rest(second.table), second.context)
            // Eleven rows and as many that were removed, and the last one.
            #expect(result.checkpoint == StoredCheckpoint(operation: 23, lsn: LSN(rawValue: 22)))
            let operations = try await second.operations(of: second.bucket("u1"))
            #expect(operations.filter { $0.kind == .remove }.count == 11)
            #expect(operations.last?.objectID == "behind")
            #expect(try await second.count("source_row") == 1)
            try await second.close()
        }
    }

    /// The rows that are left are none of a table that could go on.
    @Test func aTableThatWasBeingRemovedIsNotTakenForWhole() async throws {
        try await StoreFixture.withFolder { path in
            let first = try await StoreFixture(path: path)
            _ = try await first.apply(Self.inserts(10), commit: 10)
            var read = first.table
            read.isSnapshotDone = true
            try await first.store.noteSnapshot(read)
            let (id, description) = (first.table.id, first.table.description)
            try await first.close()
            try await Self.breakOff(path) { try await $0.store.forget(oid: 7, $0.context) }
            let store = try await ServiceStore.open(path: path)
            let context = first.context
            #expect(try await store.table(matching: description, types: TypeCatalog(), context) == nil)
            // Whoever looks for the table again removes the rest.
            let anew = try await store.resolve(description, types: TypeCatalog(), context)
            #expect(anew.id != id && !anew.isSnapshotDone)
            let left = try await store.pool.write { connection in
                try connection.one("SELECT count(*) FROM source_row") { $0.int64(0) }
            }
            #expect(left == 0)
            await store.close()
            #expect(try StoreCheck(path: path).problems == [])
        }
    }

    // MARK: Groups that come to much

    /// The delete of a row is as many operations as it had places, of which its source says nothing.
    @Test func deletesOfRowsInManyPlacesAreStoredWithTheirProgress() async throws {
        try await StoreFixture.withFolder { path in
            let first = try await StoreFixture(path: path, Self.listed)
            _ = try await first.apply(Self.listedRows(6).map { .insert($0) }, commit: 10)
            try await first.close()
            let progress = (0...6).map { told in
                TransactionProgress(finalLSN: LSN(rawValue: 20), position: LSN(rawValue: 15), changes: told)
            }
            let deletes: @Sendable (SourceTable, Range<Int>) -> [ReplicationEvent] = { table, rows in
                var events: [ReplicationEvent] = [.begun(LSN(rawValue: 20))]
                for row in rows {
                    events.append(.told(progress[row]))
                    events.append(.change(table, .delete([.text("r\(row)"), .null, .null])))
                }
                events.append(.committed(LSN(rawValue: 22)))
                return events
            }
            try await Self.breakOff(path, Self.listed, Self.limits(operations: 200)) { fixture in
                _ = try await fixture.store.apply(deletes(fixture.table, 0..<6), fixture.context)
            }
            let second = try await StoreFixture(path: path, Self.listed)
            let record = try await second.store.stream(second.stream.number)
            #expect(record.partial == progress[2] && record.appliedLSN == LSN(rawValue: 10))
            #expect(record.checkpoint.operation == 600 && record.lastOperation == 800)
            #expect(try await second.count("source_row") == 4)
            // Behind what was told.
            let result = try await second.store.apply(deletes(second.table, 2..<6), second.context)
            #expect(result.checkpoint == StoredCheckpoint(operation: 1200, lsn: LSN(rawValue: 22)))
            #expect(try await second.count("source_row") == 0)
            #expect(try await second.operations("m99").count == 12)
            try await second.close()
        }
    }

    /// Each checkpoint is a commit of the source.
    @Test func aGroupThatComesToMuchEndsBehindACommit() async throws {
        try await StoreFixture.withFolder { path in
            let first = try await StoreFixture(path: path, Self.listed)
            _ = try await first.apply(Self.listedRows(6).map { .insert($0) }, commit: 10)
            try await first.close()
            try await Self.breakOff(path, Self.listed, Self.limits(operations: 150)) { fixture in
                let events = (0..<6).flatMap { row -> [ReplicationEvent] in
                    let position = UInt64(20 + 10 * row)
                    return [
                        .begun(LSN(rawValue: position)),
                        .change(fixture.table, .delete([.text("r\(row)"), .null, .null])),
                        .committed(LSN(rawValue: position + 2)),
                    ]
                }
                _ = try await fixture.store.apply(events, fixture.context)
            }
            let second = try await StoreFixture(path: path, Self.listed)
            let record = try await second.store.stream(second.stream.number)
            #expect(record.checkpoint == StoredCheckpoint(operation: 800, lsn: LSN(rawValue: 32)))
            #expect(record.appliedLSN == LSN(rawValue: 32) && record.lastOperation == 800)
            #expect(try await second.count("source_row") == 4)
            try await second.close()
        }
    }

    /// By their operations, or by the bytes of these.
    @Test(arguments: [false, true])
    func rowsThatAreReadAndComeToMuchAreStoredInPieces(isOfBytes: Bool) async throws {
        try await StoreFixture.withFolder { path in
            let rows = Self.listedRows(6)
            var limits = Self.limits(operations: isOfBytes ? 50_000 : 200)
            // A record has some forty bytes.
            if isOfBytes { limits.groupRecordBytes = 5000 }
            try await Self.breakOff(path, Self.listed, limits) { fixture in
                let events = rows.map { ReplicationEvent.change(fixture.table, .snapshot($0)) }
                _ = try await fixture.store.apply(events, fixture.context, isAhead: true)
            }
            let second = try await StoreFixture(path: path, Self.listed)
            let record = try await second.store.stream(second.stream.number)
            #expect(record.isAhead && record.checkpoint.operation == 0 && record.lastOperation == 200)
            #expect(try await second.count("source_row") == 2)
            // They are read again.
            let events = rows.map { ReplicationEvent.change(second.table, .snapshot($0)) }
            _ = try await second.store.apply(events, second.context, isAhead: true)
            #expect(try await second.count("source_row") == 6)
            #expect(try await second.operations("m99").count == 6)
            try await second.close()
        }
    }

    /// A row alone can be in so many places that its transaction takes long.
    @Test func aLongTransactionSaysThatItGoesOn() async throws {
        try await StoreFixture.withFolder { path in
            let progress = Lock(0)
            var limits = StoreLimits()
            limits.progressSegments = 30
            let fixture = try await StoreFixture(
                path: path, Self.listed, limits: limits, progress: { progress.withLock { $0 += 1 } })
            _ = try await fixture.apply(Self.listedRows(1).map { .insert($0) }, commit: 1)
            // One for each of a hundred buckets.
            #expect(try await fixture.count("segment") == 100)
            #expect(progress.withLock { $0 } == 3)
            try await fixture.close()
        }
    }
}
