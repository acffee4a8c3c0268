import Foundation
import PowerSyncMockService
import PowerSyncPostgres
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@Suite(.patient())
struct ServiceStoreTests {
    private static let config = """
        config: {edition: 3}
        streams:
          s: {auto_subscribe: true, query: SELECT * FROM t WHERE owner = auth.user_id()}
        """

    /// A store on a file with one stream whose snapshot is complete, and its table.
    private struct Fixture {
        let store: ServiceStore
        let stream: StreamRecord
        let context: EvaluationContext
        let table: SourceTable

        init(path: String) async throws {
            store = try await ServiceStore.open(path: path)
            let config = try SyncConfigReader.compile(ServiceStoreTests.config)
            if let known = try await store.stream(configHash: "hash") {
                stream = known
            } else {
                stream = try await store.addStream(config: "", configHash: "hash", publication: 1) {
                    "slot_\($0)"
                }
                try await store.holdCheckpoint(stream.number, until: .zero, isSnapshotDone: true)
            }
            context = EvaluationContext(stream: stream.number, config: config)
            table = try await store.resolve(
                TableDescription(
                    oid: 7, schema: "public", name: "t",
                    columns: [
                        SourceColumn(name: "id", typeOID: 25, isIdentity: true),
                        SourceColumn(name: "owner", typeOID: 25, isIdentity: false),
                        SourceColumn(name: "big", typeOID: 25, isIdentity: false),
                    ]), types: TypeCatalog(), context)
        }

        func apply(_ changes: [RowChange], commit lsn: UInt64?) async throws -> ApplyResult {
            var events = changes.map { ReplicationEvent.change(table, $0) }
            if let lsn { events.append(.committed(LSN(rawValue: lsn))) }
            return try await store.apply(events, context)
        }

        /// `op id data` of the operations of a bucket up to a checkpoint.
        func operations(_ owner: String, upTo last: Int64 = .max) async throws -> [String] {
            let name = "\(stream.number)#s|0[\"\(owner)\"]"
            let states = try await store.states(of: [name], stream: stream.number, at: last)
            guard let state = states[ExactText(name)], let id = state.id else { return [] }
            let chunk = try await store.chunk(bucket: id, after: 0, upTo: last, rows: 1000, bytes: 1 << 20)
            let sum = chunk.operations.reduce(Checksum.zero) { $0 + $1.checksum }
            #expect(sum == state.checksum)
            #expect(Int64(chunk.operations.count) == state.count)
            return chunk.operations.map { "\($0.kind.rawValue) \($0.objectID ?? "") \($0.data ?? "-")" }
        }
    }

    private func row(_ id: String, _ owner: String, _ big: PgOutputValue = .text("x")) -> PgOutputTuple {
        [.text(id), .text(owner), big]
    }

    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = try TemporaryDirectory(prefix: "store-")
        defer { folder.remove() }
        try await body("\(folder.path)/state.db")
    }

    @Test func countersAndRowsGoOnAfterReopening() async throws {
        try await withFolder { path in
            let first = try await Fixture(path: path)
            let result = try await first.apply(
                [.insert(row("a", "u1")), .insert(row("b", "u1"))], commit: 100)
            #expect(result.checkpoint == StoredCheckpoint(operation: 2, lsn: LSN(rawValue: 100)))
            let zero = LSN.zero
            #expect(
                try await first.store.nextWriteCheckpoint(key: "u1/c", head: zero, published: zero).id == 1)
            // Nothing is closed in order: what was answered is on the disk.
            let second = try await Fixture(path: path)
            #expect(second.stream.number == first.stream.number)
            #expect(second.table.uuid == first.table.uuid)
            let record = try await second.store.stream(second.stream.number)
            #expect(record.appliedLSN == LSN(rawValue: 100))
            #expect(record.checkpoint == StoredCheckpoint(operation: 2, lsn: LSN(rawValue: 100)))
            let next = try await second.apply([.insert(row("c", "u1"))], commit: 200)
            #expect(next.checkpoint?.operation == 3)
            #expect(
                try await second.store.nextWriteCheckpoint(key: "u1/c", head: zero, published: zero).id == 2)
            await second.store.close()
            await first.store.close()
        }
    }

    @Test(arguments: [2, 3]) func aStateOfAFormerVersionGoesOn(version: Int) async throws {
        try await withFolder { path in
            let first = try await Fixture(path: path)
            _ = try await first.apply([.insert(row("a", "u1"))], commit: 100)
            let key = "u1/c"
            #expect(
                try await first.store.nextWriteCheckpoint(
                    key: key, head: LSN(rawValue: 90), published: .zero
                ).id == 1)
            await first.store.close()
            let state = try SQLiteConnection(path: path)
            try state.execute(FormerVersions.statements(to: version))
            state.close()
            let second = try await Fixture(path: path)
            // What Postgres was told was not noted.
            #expect(second.stream.number == first.stream.number && second.stream.publication == 0)
            #expect(second.stream.reportedLSN == LSN(rawValue: UInt64(Int64.max)))
            let next = try await second.apply([.insert(row("b", "u1"))], commit: 200)
            #expect(next.checkpoint == StoredCheckpoint(operation: 2, lsn: LSN(rawValue: 200)))
            #expect(try await second.operations("u1").count == 2)
            #expect(try await second.store.writeCheckpoint(key: key)?.reached(at: LSN(rawValue: 200)) == 1)
            await second.store.close()
        }
    }

    /// Postgres was told that everything is stored, and it was not.
    @Test func aPromiseOfAFormerVersionIsNotKept() async throws {
        try await withFolder { path in
            let first = try await Fixture(path: path)
            await first.store.close()
            let state = try SQLiteConnection(path: path)
            try state.execute(FormerVersions.statements(to: 3))
            try state.execute("UPDATE replication_stream SET promised_lsn = 7")
            state.close()
            let second = try await Fixture(path: path)
            #expect(second.stream.reportedLSN == LSN(rawValue: 1))
            await second.store.close()
        }
    }

    /// A table that is not finished may hold rows that a crash of the source has taken back.
    @Test func afterACrashOfTheSourceUnfinishedTablesAreReadAnew() async throws {
        try await withFolder { path in
            let fixture = try await Fixture(path: path)
            let store = fixture.store
            let seen = try #require(SeenTransactions(text: "10:10:"))
            let unfinished = try await store.note(seen, of: fixture.table)
            let source = SourceIdentity(systemID: "7", timeline: 1, databaseOID: 5, address: "")
            try await store.note(source)
            let description = unfinished.description
            func resolved() async throws -> SourceTable {
                try await store.resolve(description, types: TypeCatalog(), fixture.context)
            }
            #expect(try await resolved().id == unfinished.id)
            try await store.note(source, hasCrashed: true)
            let anew = try await resolved()
            #expect(anew.id != unfinished.id && anew.seen == nil)
            var done = try await store.note(seen, of: anew)
            done.isSnapshotDone = true
            try await store.noteSnapshot(done)
            try await store.note(source, hasCrashed: true)
            #expect(try await resolved().id == anew.id)
            await store.close()
        }
    }

    /// Who wrote to a table before it was published is waited for, also if it has to be read anew meanwhile.
    @Test func formerWritersAreWaitedForUntilTheTableIsReadBehindThem() async throws {
        try await withFolder { path in
            let fixture = try await Fixture(path: path)
            let store = fixture.store
            #expect(try await store.tablesWithWriters(fixture.context).isEmpty)
            try await store.note(OpenTransactions(ids: "{5}"), of: fixture.table)
            let anew = try await store.resolve(
                fixture.table.description, types: TypeCatalog(), fixture.context, anew: true)
            #expect(anew.id != fixture.table.id)
            try await store.note(OpenTransactions(ids: "{7,8}"), of: anew)
            let found = try await store.tablesWithWriters(fixture.context)
            #expect(found.map(\.oid) == [7] && found.map(\.writers.ids) == ["{5,7,8}"])
            try await store.forgetWriters(oid: 7, fixture.context)
            #expect(try await store.tablesWithWriters(fixture.context).isEmpty)
            await store.close()
        }
    }

    /// It holds the rows of every user, and lies where a configuration does.
    @Test(arguments: [false, true]) func theStateIsForItsOwnerAlone(isThere: Bool) async throws {
        try await withFolder { path in
            if isThere {
                // As a former version made it.
                try SQLiteConnection(path: path).close()
                try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
            }
            let fixture = try await Fixture(path: path)
            _ = try await fixture.apply([.insert(row("a", "u1"))], commit: 1)
            for suffix in ["", "-wal", "-shm"] {
                let attributes = try FileManager.default.attributesOfItem(atPath: path + suffix)
                let mode = try #require(attributes[.posixPermissions] as? NSNumber).intValue
                #expect(mode & 0o077 == 0, "\(suffix): \(String(mode, radix: 8))")
            }
            await fixture.store.close()
        }
    }

    /// Another configuration has taken its place, and its data is being deleted.
    @Test func nothingIsWrittenForAStreamThatWasStopped() async throws {
        try await withFolder { path in
            let fixture = try await Fixture(path: path)
            _ = try await fixture.apply([.insert(row("a", "u1"))], commit: 1)
            try await fixture.store.stop(fixture.stream.number)
            await #expect(throws: StoreError.self) {
                try await fixture.apply([.insert(row("b", "u1"))], commit: 2)
            }
            #expect(try await fixture.operations("u1").count == 1)
            await fixture.store.close()
        }
    }

    @Test func changesBecomeOperationsAsTheRealServiceOrdersThem() async throws {
        try await withFolder { path in
            let fixture = try await Fixture(path: path)
            // R22: insert, update, update, delete, insert.
            _ = try await fixture.apply(
                [
                    .insert(row("m", "u1", .text("1"))), .update(old: nil, new: row("m", "u1", .text("2"))),
                    .update(old: nil, new: row("m", "u1", .text("3"))), .delete([.text("m"), .null, .null]),
                    .insert(row("m", "u1", .text("4"))), .delete([.text("unknown"), .null, .null]),
                ], commit: 1)
            #expect(
                try await fixture.operations("u1").map { $0.prefix(3) } == [
                    "PUT", "PUT", "PUT", "REM", "PUT",
                ])
            // The row moves to another bucket and gets another key.
            _ = try await fixture.apply([.update(old: nil, new: row("m", "u2"))], commit: 2)
            _ = try await fixture.apply(
                [.update(old: [.text("m"), .null, .null], new: row("n", "u2"))], commit: 3)
            #expect(try await fixture.operations("u1").last == "REMOVE m -")
            #expect(
                try await fixture.operations("u2") == [
                    #"PUT m {"id":"m","owner":"u2","big":"x"}"#, "REMOVE m -",
                    #"PUT n {"id":"n","owner":"u2","big":"x"}"#,
                ])
            _ = try await fixture.store.apply(
                [.truncate(fixture.table), .committed(LSN(rawValue: 4))], fixture.context)
            #expect(try await fixture.operations("u2").last == "REMOVE n -")
            await fixture.store.close()
        }
    }

    /// A value of another form than its type promised is a value all the same.
    @Test func aValueThatCannotBeTakenApartIsSpelledAsPostgresDoes() async throws {
        try await withFolder { path in
            let fixture = try await Fixture(path: path)
            var type = TypeCatalog.Entry(oid: 9000, name: "", kind: "c")
            type.fields = [(name: "a", oid: 25), (name: "b", oid: 25)]
            let columns = [("id", 25), ("owner", 25), ("big", 9000)] as [(String, UInt32)]
            let table = try await fixture.store.resolve(
                TableDescription(
                    oid: 7, schema: "public", name: "t",
                    columns: columns.map {
                        SourceColumn(name: $0.0, typeOID: $0.1, isIdentity: $0.0 == "id")
                    }), types: TypeCatalog([type]), fixture.context)
            let rows = [row("1", "u1", .text("(x,y)")), row("2", "u1", .text("(x,y,z)"))]
            let result = try await fixture.store.apply(
                rows.map { .change(table, .insert($0)) }, fixture.context)
            #expect(
                try await fixture.operations("u1") == [
                    #"PUT 1 {"id":"1","owner":"u1","big":"{\"a\":\"x\",\"b\":\"y\"}"}"#,
                    #"PUT 2 {"id":"2","owner":"u1","big":"(x,y,z)"}"#,
                ])
            #expect(
                result.warnings.counts.count == 1
                    && result.warnings.counts.keys.contains {
                        $0.hasPrefix("The column big of public.t is synced as Postgres spells it: ")
                    })
            await fixture.store.close()
        }
    }

    @Test func aSnapshotDoesNotOverwriteWhatWasStreamed() async throws {
        try await withFolder { path in
            let fixture = try await Fixture(path: path)
            _ = try await fixture.apply([.insert(row("a", "u1", .text("new")))], commit: 1)
            _ = try await fixture.apply(
                [.snapshot(row("a", "u1", .text("old"))), .snapshot(row("b", "u1"))], commit: nil)
            #expect(
                try await fixture.operations("u1") == [
                    #"PUT a {"id":"a","owner":"u1","big":"new"}"#,
                    #"PUT b {"id":"b","owner":"u1","big":"x"}"#,
                ])
            await fixture.store.close()
        }
    }

    @Test func aLargeValueThatWasLeftOutIsTheStoredOne() async throws {
        try await withFolder { path in
            let fixture = try await Fixture(path: path)
            _ = try await fixture.apply([.insert(row("a", "u1", .text("large")))], commit: 1)
            _ = try await fixture.apply([.update(old: nil, new: row("a", "u2", .unchangedToast))], commit: 2)
            #expect(try await fixture.operations("u2") == [#"PUT a {"id":"a","owner":"u2","big":"large"}"#])
            await fixture.store.close()
        }
    }

    @Test func aRowWithAnUnknownValueHoldsTheCheckpoint() async throws {
        try await withFolder { path in
            let fixture = try await Fixture(path: path)
            _ = try await fixture.apply([.insert(row("z", "u1"))], commit: 1)
            let result = try await fixture.apply(
                [.update(old: nil, new: row("a", "u1", .unchangedToast))], commit: 2)
            #expect(result.incomplete.map { $0.tuple.first } == [.text("a")])
            #expect(result.checkpoint == nil)
            // It is stored and does not come again; after a crash its table has to be read anew.
            #expect(try await fixture.store.stream(fixture.stream.number).appliedLSN == LSN(rawValue: 2))
            let incomplete = try await fixture.store.incompleteTables(fixture.context)
            #expect(incomplete.map(\.oid) == [7] && incomplete.map(\.isAnew) == [false])
            #expect(try await fixture.apply([.insert(row("y", "u1"))], commit: 3).checkpoint == nil)
            try await fixture.store.noteComplete([fixture.table])
            try await fixture.store.holdCheckpoint(fixture.stream.number, until: LSN(rawValue: 4))
            #expect(try await fixture.store.incompleteTables(fixture.context).isEmpty)
            #expect(try await fixture.apply([], commit: 4).checkpoint?.operation == 2)
            await fixture.store.close()
        }
    }

    /// Two transactions in one batch: what is stored of the second, a row of which is missing, is not published with the
    /// first when that comes again.
    @Test func whatIsStoredOfATransactionWithAnUnknownValueIsNotPublishedWithTheOneBefore() async throws {
        try await withFolder { path in
            let fixture = try await Fixture(path: path)
            let first = [
                ReplicationEvent.change(fixture.table, .insert(row("z", "u1"))), .committed(LSN(rawValue: 1)),
            ]
            let second: [ReplicationEvent] = [
                .change(fixture.table, .insert(row("x", "u1"))),
                .change(fixture.table, .update(old: nil, new: row("a", "u1", .unchangedToast))),
                .committed(LSN(rawValue: 2)),
            ]
            let result = try await fixture.store.apply(first + second, fixture.context)
            #expect(result.incomplete.count == 1 && result.checkpoint == nil)
            // Reading the row again has failed, and the log comes again.
            #expect(try await fixture.store.apply(first, fixture.context).checkpoint == nil)
            try await fixture.store.holdCheckpoint(fixture.stream.number, until: LSN(rawValue: 2))
            #expect(
                try await fixture.apply([.insert(row("a", "u1"))], commit: 2).checkpoint?.lsn
                    == LSN(rawValue: 2))
            await fixture.store.close()
        }
    }

    /// The service can end at any moment while a table takes the place of another.
    @Test func aTableThatIsReadAnewIsIncompleteUntilItIsRead() async throws {
        try await withFolder { path in
            let fixture = try await Fixture(path: path)
            let store = fixture.store
            _ = try await fixture.apply([.insert(row("a", "u1"))], commit: 1)
            var table = try await store.resolve(
                fixture.table.description, types: TypeCatalog(), fixture.context, anew: true)
            #expect(table.id != fixture.table.id)
            #expect(try await fixture.operations("u1").last == "REMOVE a -")
            #expect(try await store.incompleteTables(fixture.context).map(\.oid) == [7])
            table.isSnapshotDone = true
            try await store.noteSnapshot(table)
            #expect(try await store.incompleteTables(fixture.context).isEmpty)
            let seen = try #require(SeenTransactions(text: "5:9:5"))
            let position = LSN(rawValue: 5)
            #expect(try await store.note(seen, of: table, until: position).seen == seen)
            // Reading goes on, and what was seen at its beginning counts.
            let later = try #require(SeenTransactions(text: "9:9:"))
            #expect(try await store.note(later, of: table, until: LSN(rawValue: 9)).seen == seen)
            let known = try await store.table(
                matching: table.description, types: TypeCatalog(), fixture.context)
            #expect(known?.seen == seen && known?.readUntil == position)
            await store.close()
        }
    }

    @Test func howMuchIsStoredOfATransactionIsStoredWithIt() async throws {
        try await withFolder { path in
            let fixture = try await Fixture(path: path)
            let progress = TransactionProgress(finalLSN: LSN(rawValue: 9), changes: 1)
            _ = try await fixture.store.apply(
                [.change(fixture.table, .insert(row("a", "u1"))), .told(progress)], fixture.context)
            #expect(try await fixture.store.stream(fixture.stream.number).partial == progress)
            await fixture.store.close()
        }
    }

    /// A source whose log ends before the commit never tells the rest, and what is stored would be published with the next.
    @Test func whatIsStoredOfATransactionIsOfALogThatHasItsCommit() async throws {
        try await withFolder { path in
            let fixture = try await Fixture(path: path)
            _ = try await fixture.apply([.insert(row("a", "u1"))], commit: 100)
            let progress = TransactionProgress(
                finalLSN: LSN(rawValue: 180), position: LSN(rawValue: 110), changes: 1)
            _ = try await fixture.store.apply(
                [.change(fixture.table, .insert(row("b", "u1"))), .told(progress)], fixture.context)
            // At 180 the commit begins.
            #expect(try await fixture.store.furthestLSN() == LSN(rawValue: 181))
            _ = try await fixture.apply([], commit: 190)
            #expect(try await fixture.store.furthestLSN() == LSN(rawValue: 190))
            await fixture.store.close()
        }
    }

    @Test func aTransactionThatGoesOnIsNotVisible() async throws {
        try await withFolder { path in
            let fixture = try await Fixture(path: path)
            let events: [ReplicationEvent] = [
                .change(fixture.table, .insert(row("a", "u1"))), .committed(LSN(rawValue: 1)),
                .change(fixture.table, .insert(row("b", "u1"))),
            ]
            let result = try await fixture.store.apply(events, fixture.context)
            #expect(result.checkpoint == StoredCheckpoint(operation: 1, lsn: LSN(rawValue: 1)))
            #expect(try await fixture.operations("u1", upTo: 1).count == 1)
            let more = try await fixture.apply([.insert(row("c", "u1"))], commit: nil)
            #expect(more.checkpoint == nil)
            let end = try await fixture.apply([], commit: 2)
            #expect(end.checkpoint == StoredCheckpoint(operation: 3, lsn: LSN(rawValue: 2)))
            #expect(try await fixture.operations("u1", upTo: 3).count == 3)
            await fixture.store.close()
        }
    }

    /// R21.
    @Test func nothingIsPublishedBeforeTheSnapshotIsCoveredByTheLog() async throws {
        try await withFolder { path in
            let fixture = try await Fixture(path: path)
            // From the first row on that is newer than the log, also if the service ends before it knows how much newer.
            let ahead = [ReplicationEvent.change(fixture.table, .insert(row("b", "u2")))]
            _ = try await fixture.store.apply(ahead, fixture.context, isAhead: true)
            #expect(try await fixture.apply([], commit: 50).checkpoint == nil)
            let crashed = try await fixture.store.stream(fixture.stream.number)
            #expect(crashed.isAhead && crashed.appliedLSN == LSN(rawValue: 50))
            try await fixture.store.holdCheckpoint(fixture.stream.number, until: LSN(rawValue: 300))
            #expect(try await fixture.apply([.insert(row("a", "u1"))], commit: 100).checkpoint == nil)
            #expect(try await fixture.apply([], commit: 299).checkpoint == nil)
            #expect(try await fixture.apply([], commit: 300).checkpoint?.operation == 2)
            await fixture.store.close()
        }
    }

    @Test func linesAreCutByBytesAndOneLargeRowGoesAlone() async throws {
        try await withFolder { path in
            let fixture = try await Fixture(path: path)
            let large = PgOutputValue.text(String(repeating: "x", count: 400_000))
            _ = try await fixture.apply((1...5).map { .insert(row("\($0)", "u1", large)) }, commit: 1)
            let states = try await fixture.store.states(of: ["1#s|0[\"u1\"]"], stream: 1, at: 5)
            let id = try #require(states.values.first?.id)
            let first = try await fixture.store.chunk(
                bucket: id, after: 0, upTo: 5, rows: 1000, bytes: 1 << 20)
            #expect(first.operations.map(\.id) == [1, 2] && first.isCut)
            let alone = try await fixture.store.chunk(bucket: id, after: 2, upTo: 5, rows: 1000, bytes: 1000)
            #expect(alone.operations.map(\.id) == [3] && alone.isCut)
            let last = try await fixture.store.chunk(
                bucket: id, after: 3, upTo: 5, rows: 1000, bytes: 1 << 20)
            #expect(last.operations.map(\.id) == [4, 5] && !last.isCut)
            await fixture.store.close()
        }
    }

    @Test func aRowOverFifteenMebibytesIsLeftOutUntilItShrinks() async throws {
        try await withFolder { path in
            let fixture = try await Fixture(path: path)
            let huge = PgOutputValue.text(String(repeating: "x", count: 16 << 20))
            let result = try await fixture.apply([.insert(row("a", "u1", huge))], commit: 1)
            #expect(result.warnings.counts.values.map { $0 } == [1])
            #expect(try await fixture.operations("u1").isEmpty)
            // Nothing of it is kept: escaped, a larger one would be more than SQLite takes.
            #expect(fixture.store.size() < 1 << 20)
            let next = try await fixture.apply(
                [.update(old: nil, new: row("a", "u1", .unchangedToast))], commit: nil)
            #expect(next.incomplete.count == 1)
            _ = try await fixture.apply([.update(old: nil, new: row("a", "u1"))], commit: 2)
            #expect(try await fixture.operations("u1").count == 1)
            await fixture.store.close()
        }
    }

    /// R1 to R5, and two in a row of which only the first is reached.
    @Test func writeCheckpointsAreSeenOnceTheLogHasPassedTheirHead() async throws {
        try await withFolder { path in
            let store = try await ServiceStore.open(path: path)
            func lsn(_ value: UInt64) -> LSN { LSN(rawValue: value) }
            func seen(_ at: UInt64) async throws -> Int64? {
                try await store.writeCheckpoint(key: "k")?.reached(at: lsn(at))
            }
            #expect(try await store.nextWriteCheckpoint(key: "k", head: lsn(5), published: lsn(1)).id == 1)
            #expect(try await seen(4) == nil)
            #expect(try await seen(5) == 1)
            #expect(try await store.nextWriteCheckpoint(key: "k", head: lsn(8), published: lsn(6)).id == 2)
            #expect(try await seen(7) == 1)
            #expect(try await seen(8) == 2)
            #expect(
                try await store.requestWriteCheckpoint(
                    key: "k", requested: 42, head: lsn(9), published: lsn(8), at: 0
                ).id == 42)
            #expect(
                try await store.requestWriteCheckpoint(
                    key: "k", requested: 41, head: lsn(10), published: lsn(8), at: 0
                ).id == 42)
            #expect(
                try await store.requestWriteCheckpoint(
                    key: "k", requested: 42, head: lsn(11), published: lsn(8), at: 0
                ).id == 42)
            #expect(try await seen(8) == 2)
            #expect(try await seen(9) == 42)
            #expect(try await store.nextWriteCheckpoint(key: "k", head: lsn(12), published: lsn(9)).id == 43)
            #expect(try await store.writeCheckpoint(key: "other")?.reached(at: lsn(99)) == nil)
            await store.close()
        }
    }

    /// A stream that is late tells what its checkpoint has, not what a later one has.
    @Test func aWriteCheckpointThatWasReachedLaterIsNotToldEarlier() async throws {
        try await withFolder { path in
            let store = try await ServiceStore.open(path: path)
            let key = "u1/c"
            func lsn(_ value: UInt64) -> LSN { LSN(rawValue: value) }
            _ = try await store.nextWriteCheckpoint(key: key, head: lsn(98), published: lsn(90))
            _ = try await store.nextWriteCheckpoint(key: key, head: lsn(110), published: lsn(100))
            #expect(try await store.writeCheckpoint(key: key)?.reached(at: lsn(95)) == nil)
            #expect(try await store.writeCheckpoint(key: key)?.reached(at: lsn(98)) == 1)
            #expect(try await store.writeCheckpoint(key: key)?.reached(at: lsn(110)) == 2)
            await store.close()
        }
    }

    /// Of two devices with one key the later one read its head earlier: both wait for what the first one has written.
    @Test(arguments: [nil, 2] as [Int64?])
    func aWriteCheckpointIsNotToldBeforeTheOnesThatItFollows(requested: Int64?) async throws {
        try await withFolder { path in
            let store = try await ServiceStore.open(path: path)
            let key = "u1"
            func lsn(_ value: UInt64) -> LSN { LSN(rawValue: value) }
            _ = try await store.nextWriteCheckpoint(key: key, head: lsn(120), published: lsn(90))
            if let requested {
                _ = try await store.requestWriteCheckpoint(
                    key: key, requested: requested, head: lsn(100), published: lsn(90), at: 0)
            } else {
                _ = try await store.nextWriteCheckpoint(key: key, head: lsn(100), published: lsn(90))
            }
            #expect(try await store.writeCheckpoint(key: key)?.reached(at: lsn(110)) == nil)
            #expect(try await store.writeCheckpoint(key: key)?.reached(at: lsn(120)) == 2)
            await store.close()
        }
    }

    @Test func idsThatClientsNamedLongAgoAreDeletedAndThoseThatWereGivenAreNot() async throws {
        try await withFolder { path in
            let store = try await ServiceStore.open(path: path)
            let (near, far) = (LSN(rawValue: 5), LSN(rawValue: 9))
            func request(_ key: String, _ id: Int64, at time: Double, head: LSN = LSN(rawValue: 5))
                async throws
            {
                _ = try await store.requestWriteCheckpoint(
                    key: key, requested: id, head: head, published: .zero, at: time)
            }
            try await request("u/old", 7, at: 100)
            try await request("u/again", 7, at: 100)
            try await request("u/again", 7, at: 200)
            try await request("u/ahead", 7, at: 100, head: far)
            try await request("u/first", 7, at: 100)
            #expect(try await store.nextWriteCheckpoint(key: "u/first", head: near, published: .zero).id == 8)
            #expect(try await store.nextWriteCheckpoint(key: "u/given", head: near, published: .zero).id == 1)
            try await request("u/given", 7, at: 100)
            #expect(try await store.removeWriteCheckpoints(requestedBefore: 150, published: near) == 1)
            func known(_ key: String) async throws -> Int64? {
                try await store.writeCheckpoint(key: key)?.reached(at: far)
            }
            #expect(try await known("u/old") == nil)
            #expect(try await known("u/first") == 8)
            for key in ["u/again", "u/ahead", "u/given"] { #expect(try await known(key) == 7) }
            await store.close()
        }
    }

    @Test func aUserHasNoMoreClientsThanAllowed() async throws {
        try await withFolder { path in
            let store = try await ServiceStore.open(path: path)
            func next(_ key: String) async throws -> Int64 {
                try await store.nextWriteCheckpoint(key: key, head: .zero, published: .zero, clients: 2).id
            }
            #expect(try await next("u/a") == 1)
            #expect(try await next("u/b") == 1)
            await #expect(throws: TooManyClients(limit: 2)) { try await next("u/c") }
            await #expect(throws: TooManyClients(limit: 2)) {
                try await store.requestWriteCheckpoint(
                    key: "u/c", requested: 1, head: .zero, published: .zero, clients: 2, at: 0
                ).id
            }
            #expect(try await next("u/a") == 2)
            for other in ["u2/a", "u2/b", "v/a"] { #expect(try await next(other) == 1) }
            await store.close()
        }
    }

    @Test func dataOfStoppedStreamsIsRemoved() async throws {
        try await withFolder { path in
            let fixture = try await Fixture(path: path)
            _ = try await fixture.apply([.insert(row("a", "u1"))], commit: 1)
            let next = try await fixture.store.addStream(config: "", configHash: "other", publication: 1) {
                "slot_\($0)"
            }
            try await fixture.store.activate(next.number)
            #expect(try await fixture.store.stoppedSlots() == ["slot_1"])
            try await fixture.store.removeStoppedData()
            #expect(try await fixture.operations("u1").isEmpty)
            try await fixture.store.forgetSlot("slot_1")
            #expect(try await fixture.store.stoppedSlots().isEmpty)
            #expect(try await fixture.store.stream(configHash: "hash") == nil)
            #expect(try await fixture.store.activeStream()?.number == next.number)
            await fixture.store.close()
        }
    }
}
