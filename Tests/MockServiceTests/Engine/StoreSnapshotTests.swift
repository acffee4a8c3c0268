import PowerSyncPostgresValues
import PowerSyncServiceEngine
import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// DESIGN.md, 2: what a stream reads at one moment.
@Suite(.namesSeed)
struct StoreSnapshotTests {
    private typealias Place = LookupHistory.Place

    private static func withFile(_ body: (StoreFile, inout LookupHistory) throws -> Void) throws {
        let file = try StoreFile()
        defer { file.close() }
        var history = try LookupHistory(file)
        try body(file, &history)
    }

    /// All stages of a request and its buckets are of one checkpoint, whatever is written and removed meanwhile.
    @Test func allThatIsReadIsOfOneMoment() async throws {
        var removed: Int64 = 0
        try await forEachSeed(20) { random in
            var limits = StoreLimits()
            limits.trimmedOperations = 1
            let trimmer = LookupTrimmer(limits: limits)
            let file = try StoreFile()
            defer { file.close() }
            var history = try LookupHistory(file)
            let put = StoreFile.Write(
                bucket: "b[]", operation: SampleOperation(id: 0, checksum: Checksum(3), data: "{}"))
            try file.store([put], visible: 1)
            try file.connection.execute("UPDATE counter SET last_op = 100")
            for _ in 0..<10 { try history.writeSome(&random, to: file) }
            let expected = [history.expected(of: 1), history.expected(of: 2)]
            var chance = random
            try StoreSnapshot.read(of: StoreFile.stream, file.reader) { snapshot in
                for _ in 0..<10 {
                    try history.writeSome(&chance, to: file)
                    while let count = try trimmer.trim(file.connection) { removed += count }
                    let found = try LookupHistory.found(of: 1, snapshot)
                    try #require(found == expected[0])
                }
                let found = try LookupHistory.found(of: 2, snapshot)
                try #require(found == expected[1])
                let totals = try snapshot.totals(of: ["1#b[]", "1#c[]", "2#b[]"])
                #expect(totals.keys.map(\.text) == ["1#b[]"])
                #expect(totals[ExactText("1#b[]")]?.count == 1)
            }
            random = chance
            #expect(try LookupHistory.found(of: 1, file.reader) == history.expected(of: 1))
        }
        #expect(removed > 0 || TestOptions.number("POWERSYNC_SEED", standard: -1) >= 0)
    }

    @Test func theCheckpointIsTheNewestOfTheStream() throws {
        try Self.withFile { file, history in
            try history.write([(Place(), 1), (Place(row: "b"), 2)], visible: 1, to: file)
            try file.connection.execute("UPDATE replication_stream SET checkpoint_lsn = 77")
            let checkpoint = try StoreSnapshot.read(of: StoreFile.stream, file.reader) { $0.checkpoint }
            #expect(checkpoint.operation == 1 && checkpoint.lsn.rawValue == 77)
            #expect(throws: StoreError.self) { try StoreSnapshot.read(of: 9, file.reader) { _ in } }
            // No transaction is left behind.
            #expect(!file.reader.isInTransaction)
        }
    }

    @Test func aLookupIsFoundByItsName() throws {
        try Self.withFile { file, _ in
            try StoreSnapshot.read(of: StoreFile.stream, file.reader) { snapshot in
                let ids = try ["lookup|1", "lookup|2"].map { try snapshot.definition(named: ExactText($0)) }
                #expect(ids == [2, nil])
            }
            try file.connection.execute("UPDATE lookup_definition SET stream = 2")
            try StoreSnapshot.read(of: StoreFile.stream, file.reader) { snapshot in
                let id = try snapshot.definition(named: ExactText("lookup|1"))
                #expect(id == nil)
            }
        }
    }

    @Test func rowsOfAKeyAreThoseOfAllSourceRows() throws {
        try Self.withFile { file, _ in
            // Of two tables, and of one row two.
            let arena = Array("xyz".utf8)
            let rows = [Slot(text: 0..<1), Slot(text: 1..<3), .null].map { [$0, Slot(integer: 5)] }
            var id: OperationID = 0
            for (table, rows) in [(Int64(2), [rows[0]]), (1, [rows[1], rows[2]])] {
                var value: [UInt8] = []
                LookupValues.append(rows: rows, in: arena, to: &value)
                let place = LookupVersions.Place(
                    definition: 1, key: 0..<0, sourceTable: table, row: LookupHistory.rowKey("a"))
                let isWritten = try LookupVersions(file.connection).write(
                    0..<value.count, at: place, in: value, checkpoint: 0,
                    id: {
                        id += 1
                        return id
                    })
                #expect(isWritten)
            }
            try file.connection.execute("UPDATE replication_stream SET checkpoint_op = 2")
            try StoreSnapshot.read(of: StoreFile.stream, file.reader) { snapshot in
                var room = LookupRoom(rows: 10)
                let keys: [[UInt8]] = [[], [9]]
                let found = try snapshot.rows(of: 1, keys: keys, width: 2, &room)
                #expect(found.count == 1)
                let rows = try #require(found[keys[0]])
                let values = rows.rows.map { row in row.map { $0.value(in: rows.arena) } }
                #expect(values == [["yz", 5], [nil, 5], ["x", 5]])
                #expect(room.rows == 7 && !room.isOver)
            }
        }
    }

    /// A key can find every row of a table: what is over the limit is not read.
    @Test func readingEndsWhereThereIsNoRoom() throws {
        try Self.withFile { file, history in
            let writes = (0..<20).map { number in
                (place: Place(key: Int64(number / 10), row: "r\(number)"), number: Optional(Int64(number)))
            }
            try history.write(writes, visible: 20, to: file)
            let keys = [LookupHistory.key(0), LookupHistory.key(1)]
            func read(rows: Int, bytes: Int) throws -> (count: Int, room: LookupRoom) {
                try StoreSnapshot.read(of: StoreFile.stream, file.reader) { snapshot in
                    var room = LookupRoom(rows: rows, bytes: bytes)
                    let found = try snapshot.rows(of: 1, keys: keys, width: 1, &room)
                    return (found.values.reduce(0) { $0 + $1.rows.count }, room)
                }
            }
            let size = try file.reader.one("SELECT sum(length(value)) FROM lookup") { Int($0.int64(0)) } ?? 0
            let all = try read(rows: 20, bytes: size)
            #expect(all.count == 20 && !all.room.isOver && all.room.rows == 0 && all.room.bytes == 0)
            let fewer = try read(rows: 13, bytes: size)
            #expect(fewer.count == 13 && fewer.room.isOver)
            let shorter = try read(rows: 20, bytes: size - 1)
            #expect(shorter.count == 19 && shorter.room.isOver)
            #expect(StoreLimits().lookupBytes == 16 << 20)
        }
    }

    @Test func aDamagedValueIsAnError() throws {
        try Self.withFile { file, history in
            try history.write([(Place(), 1)], visible: 1, to: file)
            try file.connection.execute("UPDATE lookup SET value = x'0106'")
            #expect(throws: StoreError.self) { try LookupHistory.found(of: 1, file.reader) }
            #expect(!file.reader.isInTransaction)
        }
    }
}
