import PowerSyncServiceEngine
import PowerSyncSQLite
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// DESIGN.md, 1: versions of lookups.
@Suite(.namesSeed)
struct LookupVersionsTests {
    private typealias Place = LookupHistory.Place

    private static func withFile(
        _ body: (StoreFile, inout LookupHistory) throws -> Void
    ) throws {
        let file = try StoreFile()
        defer { file.close() }
        var history = try LookupHistory(file)
        try body(file, &history)
    }

    /// The ids of all versions, in the order of the tree.
    private static func ids(_ file: StoreFile) throws -> [OperationID] {
        try file.connection.query("SELECT op_id FROM lookup ORDER BY key, row, op_id") { $0.int64(0) }
    }

    @Test func aKeyFindsTheNewestVersionThatTheCheckpointCovers() throws {
        try Self.withFile { file, history in
            try history.write([(Place(), 7)], visible: 1, to: file)
            #expect(try LookupHistory.found(of: 1, file.reader) == [[0x10]: [7]])
            // Behind the checkpoint.
            try history.write([(Place(), 8), (Place(row: "b"), 9)], to: file)
            #expect(try LookupHistory.found(of: 1, file.reader) == [[0x10]: [7]])
            try history.write([], visible: 0, to: file)
            #expect(try LookupHistory.found(of: 1, file.reader) == [[0x10]: [8, 9]])
            #expect(try LookupHistory.found(of: 2, file.reader) == [:])
        }
    }

    @Test func aTombstoneHidesWhatIsOlder() throws {
        try Self.withFile { file, history in
            try history.write([(Place(), 7), (Place(row: "b"), 8)], visible: 2, to: file)
            try history.write([(Place(), nil)], to: file)
            #expect(try LookupHistory.found(of: 1, file.reader) == [[0x10]: [7, 8]])
            try history.write([], visible: 0, to: file)
            #expect(try LookupHistory.found(of: 1, file.reader) == [[0x10]: [8]])
            #expect(try Self.ids(file) == [1, 3, 2])
        }
    }

    /// Whoever uses the key would look for what has changed.
    @Test func whatIsFoundAlreadyIsNotWritten() throws {
        try Self.withFile { file, history in
            func expect(_ writes: [(Place, Int64?)], visible: Int? = nil, areWritten: [Bool]) throws {
                let written = try history.write(
                    writes.map { (place: $0, number: $1) }, visible: visible, to: file)
                #expect(written == areWritten)
            }
            try expect([(Place(), nil)], visible: 1, areWritten: [false])
            try expect([(Place(), 7)], visible: 1, areWritten: [true])
            try expect([(Place(), 7)], visible: 1, areWritten: [false])
            // There and back behind the checkpoint.
            try expect([(Place(), 8), (Place(), 7)], areWritten: [true, false])
            #expect(try Self.ids(file) == [1])
            try expect([(Place(), nil), (Place(), 7)], areWritten: [true, false])
            #expect(try Self.ids(file) == [1])
            // A row that came and went before anybody could see it.
            let other = Place(key: 1, row: "b")
            try expect([(other, 1), (other, nil)], areWritten: [true, false])
            #expect(try Self.ids(file) == [1])
        }
    }

    @Test func noIdIsAskedForInVain() throws {
        try Self.withFile { file, history in
            try history.write([(Place(), 7)], visible: 1, to: file)
            try history.write([(Place(), 7), (Place(row: "b"), nil), (Place(), 8)], visible: 3, to: file)
            #expect(try Self.ids(file) == [1, 2])
        }
    }

    @Test func aWriteLeavesTheVersionThatIsSeenAndTheOneThatWillBe() throws {
        try Self.withFile { file, history in
            let writes = (Int64(0)..<20).map { (place: Place(), number: Optional($0)) }
            try history.write(writes, to: file)
            #expect(try Self.ids(file) == [20])
            // A commit in the midst becomes visible.
            try history.write(writes, visible: 10, to: file)
            #expect(try Self.ids(file) == [30, 40])
            #expect(try LookupHistory.found(of: 1, file.reader) == [[0x10]: [9]])
            // What is seen may be a tombstone, below which nothing is needed.
            try history.write([(Place(), nil)], visible: 1, to: file)
            #expect(try Self.ids(file) == [30, 41])
            try history.write([(Place(), 5)], to: file)
            #expect(try Self.ids(file) == [42])
            #expect(try LookupHistory.found(of: 1, file.reader) == [:])
        }
    }

    /// Random transactions: at each moment keys find what the checkpoint says, and at the next one what was written last.
    @Test func keysFindWhatWasWrittenUpToTheCheckpoint() async throws {
        var written = 0
        try await forEachSeed(40) { random in
            let file = try StoreFile()
            defer { file.close() }
            var history = try LookupHistory(file)
            for _ in 0..<20 {
                try history.writeSome(&random, to: file)
                for definition in Int64(1)...2 {
                    let found = try LookupHistory.found(of: definition, file.reader)
                    try #require(found == history.expected(of: definition))
                }
                // The one that is seen, or was, and the one that will be.
                let most = try file.reader.one(
                    "SELECT max(n) FROM (SELECT count(*) AS n FROM lookup "
                        + "GROUP BY definition, key, source_table, row)"
                ) { $0.int64(0) }
                #expect(most ?? 0 <= 2)
            }
            try history.write([], visible: 0, to: file)
            for definition in Int64(1)...2 {
                let found = try LookupHistory.found(of: definition, file.reader)
                #expect(found == history.coming(of: definition))
            }
            written += history.written
        }
        #expect(written > 500 || TestOptions.number("POWERSYNC_SEED", standard: -1) >= 0)
    }

    @Test func aTransactionThatFailsLeavesEverythingAsItWas() throws {
        try Self.withFile { file, history in
            try history.write([(Place(), 7), (Place(row: "b"), 8)], visible: 2, to: file)
            try history.write([(Place(), 9)], to: file)
            let before = try LookupHistory.versions(file.reader)
            #expect(before.count == 3)
            try file.connection.execute(
                "CREATE TEMP TRIGGER fails BEFORE INSERT ON lookup WHEN NEW.row = x'3063' "
                    + "BEGIN SELECT RAISE(ABORT, 'full'); END")
            var copy = history
            #expect(throws: SQLiteError.self) {
                try copy.write([(Place(), 10), (Place(row: "b"), nil), (Place(row: "c"), 1)], to: file)
            }
            #expect(try LookupHistory.versions(file.reader) == before)
            #expect(try LookupHistory.found(of: 1, file.reader) == history.expected(of: 1))
        }
    }

    @Test func definitionsHaveAnIdForEachStreamAndName() throws {
        try Self.withFile { file, _ in
            let versions = LookupVersions(file.connection)
            // Names are compared by bytes.
            let names: [(String, StreamNumber)] = [
                ("lookup|0", 1), ("lookup|1", 1), ("lookup|0", 2), ("é", 1), ("e\u{301}", 1), ("é", 1),
            ]
            let ids = try names.map { try versions.definition(named: ExactText($0.0), of: $0.1) }
            #expect(ids == [1, 2, 3, 4, 5, 4])
        }
    }
}
