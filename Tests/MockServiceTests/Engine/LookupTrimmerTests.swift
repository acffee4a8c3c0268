import PowerSyncSQLite
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncServiceEngine

/// DESIGN.md, 1: versions that nobody asks for.
@Suite(.patient(), .namesSeed)
struct LookupTrimmerTests {
    private typealias Place = LookupHistory.Place

    /// Limits with which a walk begins behind each operation.
    private static func limits(at most: Int, behind operations: Int64 = 1) -> StoreLimits {
        var limits = StoreLimits()
        limits.trimmedVersions = most
        limits.trimmedOperations = operations
        limits.trimmedParts = 1000
        return limits
    }

    private static func withFile(_ body: (StoreFile, inout LookupHistory) throws -> Void) throws {
        let file = try StoreFile()
        defer { file.close() }
        var history = try LookupHistory(file)
        try body(file, &history)
    }

    /// Trims until nothing is to be looked at; returns how many versions went in each step.
    private static func trim(_ file: StoreFile, _ trimmer: LookupTrimmer) throws -> [Int64] {
        var removed: [Int64] = []
        while let count = try trimmer.trim(file.connection) { removed.append(count) }
        return removed
    }

    private static func expectFound(_ history: LookupHistory, _ connection: SQLiteConnection) throws {
        for definition in Int64(1)...2 {
            let found = try LookupHistory.found(of: definition, connection)
            try #require(found == history.expected(of: definition))
        }
    }

    // MARK: What streams see

    /// Random transactions and steps, the service being killed between two of them at times: keys find the same, and will
    /// find the same at the next checkpoint.
    @Test func nothingThatStreamsSeeChanges() async throws {
        var removed: Int64 = 0
        try await forEachSeed(40) { random in
            let limits = Self.limits(at: 1 + random.below(6))
            var trimmer = LookupTrimmer(limits: limits)
            let file = try StoreFile()
            defer { file.close() }
            var history = try LookupHistory(file)
            for _ in 0..<25 {
                try history.writeSome(&random, to: file)
                for _ in 0..<random.below(6) {
                    removed += try trimmer.trim(file.connection) ?? 0
                    #expect(!file.connection.isInTransaction)
                    try Self.expectFound(history, file.reader)
                }
                // It begins anew with nothing in memory.
                if random.once(in: 5) { trimmer = LookupTrimmer(limits: limits) }
            }
            try history.write([], visible: 0, to: file)
            try Self.expectFound(history, file.reader)
            _ = try Self.trim(file, LookupTrimmer(limits: limits))
            try Self.expectFound(history, file.reader)
            // Nothing is left but what is found.
            let rows = (Int64(1)...2).map { history.expected(of: $0).values.reduce(0) { $0 + $1.count } }
            let left = try file.reader.one("SELECT count(*) FROM lookup") { $0.int64(0) }
            #expect(left == Int64(rows.reduce(0, +)))
        }
        #expect(removed > 100 || TestOptions.number("POWERSYNC_SEED", standard: -1) >= 0)
    }

    @Test func whatIsBehindTheCheckpointStays() throws {
        try Self.withFile { file, history in
            try history.write([(Place(), 1), (Place(row: "b"), 2)], visible: 2, to: file)
            try history.write([(Place(), 3), (Place(row: "b"), nil)], to: file)
            let before = try LookupHistory.versions(file.reader)
            #expect(before.count == 4)
            let trimmer = LookupTrimmer(limits: Self.limits(at: 100))
            // One step for each definition.
            #expect(try Self.trim(file, trimmer) == [0, 0])
            #expect(try LookupHistory.versions(file.reader) == before)
            try history.write([], visible: 0, to: file)
            #expect(try Self.trim(file, trimmer) == [3, 0])
            #expect(try LookupHistory.versions(file.reader) == ["1 10 3061 3 020106"])
            #expect(try Self.trim(file, trimmer) == [])
        }
    }

    /// A walk stands between a version and its tombstone, which a checkpoint covers only then.
    @Test func whatATombstoneHidesDoesNotComeToLight() throws {
        try Self.withFile { file, history in
            try history.write([(Place(), 1), (Place(row: "b"), 2)], visible: 2, to: file)
            try history.write([(Place(), nil)], to: file)
            let trimmer = LookupTrimmer(limits: Self.limits(at: 1))
            let first = try trimmer.trim(file.connection)
            #expect(first == 0)
            try history.write([], visible: 0, to: file)
            let second = try trimmer.trim(file.connection)
            #expect(second == 2)
            try Self.expectFound(history, file.reader)
            #expect(try LookupHistory.versions(file.reader).count == 1)
        }
    }

    // MARK: Steps

    @Test func aStepLooksAtNoMoreThanItsNumber() throws {
        try Self.withFile { file, history in
            let places = (0..<95).map { Place(definition: $0 < 60 ? 1 : 2, key: Int64($0), row: "r\($0)") }
            try history.write(places.map { ($0, 1) }, visible: 95, to: file)
            try history.write(places.map { ($0, nil) }, visible: 95, to: file)
            let trimmer = LookupTrimmer(limits: Self.limits(at: 20))
            // 120 and 70 versions, of which each piece of twenty has ten places.
            let removed = try Self.trim(file, trimmer)
            #expect(removed == [20, 20, 20, 20, 20, 20, 20, 20, 20, 10])
            #expect(try LookupHistory.versions(file.reader) == [])
        }
    }

    @Test func aStepThatFailsIsTakenAgain() throws {
        try Self.withFile { file, history in
            let places = ["a", "b", "c"].map { Place(row: $0) }
            try history.write(places.map { ($0, 1) }, visible: 3, to: file)
            try history.write(places.map { ($0, 2) }, visible: 3, to: file)
            try file.connection.execute(
                "CREATE TEMP TRIGGER fails BEFORE DELETE ON lookup WHEN OLD.row = x'3062' "
                    + "BEGIN SELECT RAISE(ABORT, 'full'); END")
            let trimmer = LookupTrimmer(limits: Self.limits(at: 100))
            let before = try LookupHistory.versions(file.reader)
            #expect(throws: SQLiteError.self) { try trimmer.trim(file.connection) }
            #expect(!file.connection.isInTransaction)
            #expect(try LookupHistory.versions(file.reader) == before)
            try file.connection.execute("DROP TRIGGER fails")
            #expect(try Self.trim(file, trimmer) == [3, 0])
            try Self.expectFound(history, file.reader)
        }
    }

    // MARK: When

    @Test func aWalkBeginsBehindSoManyOperations() throws {
        try Self.withFile { file, history in
            var limits = Self.limits(at: 100, behind: 10)
            limits.trimmedParts = 2
            let trimmer = LookupTrimmer(limits: limits)
            // There is no checkpoint yet.
            try history.write([(Place(), 0)], to: file)
            #expect(try Self.trim(file, trimmer) == [])
            // The first one that a process sees.
            try history.write([], visible: 0, to: file)
            #expect(try Self.trim(file, trimmer) == [0, 0])
            var number: Int64 = 0
            func change(_ places: Int) throws {
                number += 1
                let writes = (0..<places).map { (place: Place(row: "r\($0)"), number: Optional(number)) }
                try history.write(writes, visible: places, to: file)
            }
            for _ in 0..<9 { try change(1) }
            #expect(try Self.trim(file, trimmer) == [])
            try change(1)
            #expect(try Self.trim(file, trimmer) == [1, 0])
            // Of forty-one that stay, twenty are waited for.
            try change(40)
            #expect(try Self.trim(file, trimmer) == [1, 0])
            try change(19)
            #expect(try Self.trim(file, trimmer) == [])
            try change(1)
            #expect(try Self.trim(file, trimmer) == [19, 0])
            #expect(StoreLimits().trimmedVersions == 2000)
            #expect(StoreLimits().trimmedOperations == 1000 && StoreLimits().trimmedParts == 4)
        }
    }

    @Test func whatAStoppedStreamHoldsIsNotLookedAt() throws {
        try Self.withFile { file, history in
            try history.write([(Place(), 1)], visible: 1, to: file)
            try history.write([(Place(), nil)], visible: 1, to: file)
            let trimmer = LookupTrimmer(limits: Self.limits(at: 1))
            let first = try trimmer.trim(file.connection)
            #expect(first == 1)
            // In the midst of a walk.
            try file.connection.execute("UPDATE replication_stream SET state = 'stopped'")
            #expect(try Self.trim(file, trimmer) == [])
            #expect(try LookupHistory.versions(file.reader).count == 1)
            try file.connection.execute("UPDATE replication_stream SET state = 'active'")
            #expect(try Self.trim(file, trimmer) == [1, 0])
        }
    }

    // MARK: Upkeep and cost

    /// Upkeep trims where there is time for it, and is at its end then.
    @Test func upkeepTrimsLookups() async throws {
        var limits = UpkeepRig.limits
        limits.trimmedOperations = 1
        try await UpkeepRig.run(limits) { rig in
            try await rig.commit(1...2)
            let stream = rig.fixture.stream.number
            try await rig.store.pool.write { connection in
                try connection.execute(
                    """
                    INSERT INTO lookup_definition(stream, name) VALUES (\(stream), 'lookup|0');
                    UPDATE counter SET last_op = 4;
                    UPDATE replication_stream SET last_op = 4, checkpoint_op = 4 WHERE id = \(stream);
                    INSERT INTO lookup VALUES
                        (1, x'10', 1, x'3061', 3, x'02'), (1, x'10', 1, x'3061', 4, x'');
                    """)
            }
            #expect(try await rig.upkeep.step() == .trimmed)
            #expect(try await rig.upkeep.step() == .nothing)
            #expect(try await rig.fixture.count("lookup") == 0)
        }
    }

    @Test func versionsAreFoundByTheTree() throws {
        let file = try StoreFile()
        defer { file.close() }
        func plan(_ sql: String, _ values: [SQLiteValue]) throws -> [String] {
            try file.connection.query("EXPLAIN QUERY PLAN \(sql)", values) { $0.string(3) }
        }
        let walk = try plan(LookupTrimmer.versions, [1, .blob([]), 0, .blob([]), 0, 5])
        #expect(walk.count == 1)
        let range = "PRIMARY KEY (definition=? AND (key,source_table,row,op_id)>"
        #expect(walk.first?.contains(range) == true, "\(walk)")
        let reading = try plan(StoreSnapshot.versions, [1, .blob([]), 5])
        #expect(reading.count == 1)
        #expect(reading.first?.contains("PRIMARY KEY (definition=? AND key=?)") == true, "\(reading)")
    }
}
