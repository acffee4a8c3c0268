import Foundation
import PowerSyncPostgres
import PowerSyncPostgresValues
import PowerSyncServiceEngine
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@Suite(.patient())
struct ServiceStoreTests {
    private typealias Fixture = StoreFixture

    private func row(_ id: String, _ owner: String, _ big: PgOutputValue = .text("x")) -> PgOutputTuple {
        Fixture.row(id, owner, big)
    }

    private func withFolder(_ body: (String) async throws -> Void) async throws {
        try await Fixture.withFolder(body)
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
            try await fixture.close()
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
            try await fixture.close()
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
            try await fixture.close()
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
            try await fixture.close()
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
            try await fixture.close()
        }
    }

    @Test func aLargeValueThatWasLeftOutIsTheStoredOne() async throws {
        try await withFolder { path in
            let fixture = try await Fixture(path: path)
            let large = String(repeating: "large", count: 300)
            _ = try await fixture.apply([.insert(row("a", "u1", .text(large)))], commit: 1)
            _ = try await fixture.apply([.update(old: nil, new: row("a", "u2", .unchangedToast))], commit: 2)
            #expect(
                try await fixture.operations("u2") == [#"PUT a {"id":"a","owner":"u2","big":"\#(large)"}"#])
            try await fixture.close()
        }
    }

    /// A row that is in too many places is in none of that query, and leaves no bucket behind where it was evaluated with
    /// what is kept of it.
    @Test func aQueryWithoutAValueMakesNoBuckets() async throws {
        try await withFolder { path in
            let config = """
                config: {edition: 3}
                streams:
                  s: {auto_subscribe: true, query: SELECT * FROM t WHERE owner = auth.user_id()}
                  all: {query: SELECT * FROM t WHERE auth.user_id() IN big}
                """
            var limits = StoreLimits()
            limits.rowPlaces = 10
            let fixture = try await Fixture(path: path, config, limits: limits)
            let readers = (0..<500).map { "\"u\($0)\"" }
            let list = "[\(readers.joined(separator: ","))]"
            _ = try await fixture.apply([.insert(row("a", "u1", .text(list)))], commit: 1)
            #expect(try await fixture.count("bucket") == 1)
            let update = RowChange.update(old: nil, new: row("a", "u2", .unchangedToast))
            let result = try await fixture.apply([update], commit: 2)
            #expect(result.warnings.counts.keys.allSatisfy { $0.hasSuffix("more than 10 places.") })
            #expect(result.warnings.counts.values.reduce(0, +) == 1)
            #expect(try await fixture.operations("u2").count == 1)
            #expect(try await fixture.count("bucket") == 2)
            try await fixture.close()
        }
    }

    /// Of a short row nothing is kept, until a value of it was missing.
    @Test func aRowThatWasReadAgainIsKnownFromThenOn() async throws {
        try await withFolder { path in
            let fixture = try await Fixture(path: path)
            _ = try await fixture.apply([.insert(row("a", "u1", .text("short")))], commit: 1)
            #expect(try await fixture.count("large_value") == 0)
            let update = RowChange.update(old: nil, new: row("a", "u2", .unchangedToast))
            #expect(try await fixture.apply([update], commit: nil).incomplete.count == 1)
            _ = try await fixture.apply([.readAgain(row("a", "u2", .text("short")))], commit: nil)
            #expect(try await fixture.count("large_value") == 1)
            #expect(try await fixture.apply([update], commit: nil).incomplete.isEmpty)
            let put = #"PUT a {"id":"a","owner":"u2","big":"short"}"#
            #expect(try await fixture.operations("u2") == [put, put])
            // As long as it is there.
            _ = try await fixture.apply([.update(old: nil, new: row("a", "u2", .text("x")))], commit: nil)
            #expect(try await fixture.count("large_value") == 1)
            _ = try await fixture.apply([.delete([.text("a"), .null, .null])], commit: nil)
            #expect(try await fixture.count("large_value") == 0)
            try await fixture.close()
        }
    }

    /// Nothing is read again for rows that are in no bucket, or show other columns there.
    @Test func aValueThatNoQueryReadsMayBeMissing() async throws {
        try await withFolder { path in
            let config = """
                config: {edition: 3}
                streams:
                  s: {auto_subscribe: true, query: "SELECT id, owner FROM t WHERE owner = auth.user_id()"}
                  all: {query: SELECT * FROM t WHERE owner = 'nobody'}
                """
            let fixture = try await Fixture(path: path, config)
            let large = PgOutputValue.text(String(repeating: "x", count: 2000))
            let result = try await fixture.apply(
                [
                    .update(old: nil, new: row("short", "u1", .unchangedToast)),
                    .insert(row("large", "u1", large)),
                    .update(old: nil, new: row("large", "u2", .unchangedToast)),
                ], commit: 1)
            #expect(result.incomplete.isEmpty && result.checkpoint?.operation == 4)
            #expect(try await fixture.operations("u1").last == "REMOVE large -")
            // What was told with it is known, too.
            _ = try await fixture.apply(
                [.update(old: nil, new: [.text("large"), .unchangedToast, .unchangedToast])], commit: nil)
            let put = #"PUT large {"id":"large","owner":"u2"}"#
            #expect(try await fixture.operations("u2") == [put, put])
            #expect(try await fixture.count("large_value") == 1)
            // It goes along to another key.
            _ = try await fixture.apply(
                [.update(old: [.text("large"), .null, .null], new: row("moved", "u2", .unchangedToast))],
                commit: nil)
            #expect(try await fixture.count("large_value") == 1)
            let needed = try await fixture.apply(
                [.update(old: nil, new: row("short", "nobody", .unchangedToast))], commit: nil)
            #expect(needed.incomplete.count == 1)
            try await fixture.close()
        }
    }

    /// With identity FULL the old row has all values.
    @Test func ofRowsThatAreToldInFullNoValuesAreKept() async throws {
        try await withFolder { path in
            let fixture = try await Fixture(path: path, identity: ["id", "owner", "big"])
            let large = PgOutputValue.text(String(repeating: "x", count: 2000))
            let old = row("a", "u1", large)
            _ = try await fixture.apply([.insert(old)], commit: nil)
            let result = try await fixture.apply(
                [.update(old: old, new: row("a", "u2", .unchangedToast))], commit: nil)
            #expect(result.incomplete.isEmpty)
            #expect(try await fixture.operations("u1").map { $0.prefix(3) } == ["PUT", "REM"])
            #expect(try await fixture.operations("u2").map { $0.prefix(3) } == ["PUT"])
            #expect(try await fixture.count("large_value") == 0)
            try await fixture.close()
        }
    }

    /// A row that is in no bucket leaves nothing behind.
    @Test func nothingIsStoredOfARowThatIsNotSynced() async throws {
        try await withFolder { path in
            let fixture = try await Fixture(path: path)
            let large = PgOutputValue.text(String(repeating: "x", count: 2000))
            let unsynced: PgOutputTuple = [.text("a"), .null, large]
            let result = try await fixture.apply([.insert(unsynced), .snapshot(unsynced)], commit: 1)
            #expect(result.checkpoint?.operation == 0)
            for table in ["source_row", "large_value", "segment", "bucket"] {
                #expect(try await fixture.count(table) == 0)
            }
            _ = try await fixture.apply([.insert(row("a", "u1", large))], commit: 2)
            #expect(try await fixture.count("source_row") == 1)
            #expect(try await fixture.count("large_value") == 1)
            _ = try await fixture.apply([.update(old: nil, new: unsynced)], commit: 3)
            #expect(try await fixture.operations("u1").last == "REMOVE a -")
            #expect(try await fixture.count("source_row") == 0)
            #expect(try await fixture.count("large_value") == 0)
            try await fixture.close()
        }
    }

    @Test func aRowWithAnUnknownValueHoldsTheCheckpoint() async throws {
        try await withFolder { path in
            let fixture = try await Fixture(path: path)
            _ = try await fixture.apply([.insert(row("z", "u1"))], commit: 1)
            let result = try await fixture.apply(
                [.update(old: nil, new: row("a", "u1", .unchangedToast))], commit: 2)
            #expect(result.incomplete.map(\.values) == [["a", "u1", nil]])
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
            try await fixture.close()
        }
    }

    /// Two transactions in one batch: what is stored of the second, a row of which is missing, is not published with the
    /// first, and not when that comes again.
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
            // The first has all of its rows.
            #expect(result.incomplete.count == 1)
            #expect(result.checkpoint == StoredCheckpoint(operation: 1, lsn: LSN(rawValue: 1)))
            #expect(try await fixture.operations("u1", upTo: 1).count == 1)
            // Reading the row again has failed, and the log comes again.
            #expect(try await fixture.store.apply(first, fixture.context).checkpoint == nil)
            try await fixture.store.holdCheckpoint(fixture.stream.number, until: LSN(rawValue: 2))
            #expect(
                try await fixture.apply([.insert(row("a", "u1"))], commit: 2).checkpoint?.lsn
                    == LSN(rawValue: 2))
            try await fixture.close()
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
            try await fixture.close()
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
            try await fixture.close()
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
            try await fixture.close()
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
            try await fixture.close()
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
            try await fixture.close()
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
            // It has as many bytes until something else is told of it: nobody reads it again.
            let next = try await fixture.apply(
                [.update(old: nil, new: row("a", "u1", .unchangedToast))], commit: nil)
            #expect(next.incomplete.isEmpty)
            #expect(try await fixture.operations("u1").isEmpty)
            _ = try await fixture.apply([.update(old: nil, new: row("a", "u1"))], commit: 2)
            #expect(try await fixture.operations("u1").count == 1)
            try await fixture.close()
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

    /// Each piece goes on where the one before has ended, whatever stays.
    @Test func idsAreDeletedInOneWalk() async throws {
        try await withFolder { path in
            let store = try await ServiceStore.open(path: path)
            for number in 0..<8 {
                let key = "u/\(number)"
                if number.isMultiple(of: 2) {
                    _ = try await store.nextWriteCheckpoint(key: key, head: .zero, published: .zero)
                } else {
                    _ = try await store.requestWriteCheckpoint(
                        key: key, requested: 7, head: .zero, published: .zero, at: 100)
                }
            }
            var ends: [String] = []
            var removed: [Int64] = []
            var last: String? = ""
            while let key = last {
                let piece = try await store.pool.write { connection in
                    try ServiceStore.removePiece(
                        behind: key, clients: 3, requestedBefore: 150, published: .zero, connection)
                }
                removed.append(piece.removed)
                last = piece.last
                ends += [piece.last].compactMap { $0 }
            }
            #expect(ends == ["u/2", "u/5"] && removed == [1, 2, 1])
            #expect(try await store.writeCheckpoint(key: "u/7") == nil)
            #expect(try await store.writeCheckpoint(key: "u/6")?.id == 1)
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
            let stopped = StoppedStreams()
            while try await fixture.store.pool.write({ try stopped.removePiece(but: nil, $0) }) {}
            #expect(try await fixture.operations("u1").isEmpty)
            try await fixture.store.forgetSlot("slot_1")
            #expect(try await fixture.store.stoppedSlots().isEmpty)
            #expect(try await fixture.store.stream(configHash: "hash") == nil)
            #expect(try await fixture.store.activeStream()?.number == next.number)
            try await fixture.close()
        }
    }
}
