import PowerSyncPostgres
import PowerSyncPostgresValues
import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncServiceEngine

/// Rows that are in no bucket, and of which large values are kept, or their lengths (DESIGN.md, 1; service 7.5).
@Suite(.patient())
struct KeptRowTests {
    /// A large value decides whether a row is in its owner's bucket.
    private static let config = """
        config: {edition: 3}
        streams:
          s: {auto_subscribe: true, query: "SELECT * FROM t WHERE owner = auth.user_id() AND big < 'm'"}
        """
    /// A value of a row that is in no bucket.
    private static let out = PgOutputValue.text("z")
    /// A value of a row that is too large.
    private static let long = PgOutputValue.text(String(repeating: "a", count: 200))
    /// What an operator is told of it.
    private static let warning = "[PSYNC_S1002] A row of public.t is larger than 15 MiB and is not synced."

    private static func fixture(_ path: String) async throws -> StoreFixture {
        var limits = StoreLimits()
        limits.rowBytes = 100
        return try await StoreFixture(path: path, config, limits: limits)
    }

    private static func update(
        _ id: String, _ owner: String = "u1", _ big: PgOutputValue = .unchangedToast, from old: String? = nil
    ) -> RowChange {
        .update(old: old.map { [.text($0), .null, .null] }, new: StoreFixture.row(id, owner, big))
    }

    /// How many rows there are, how many with large values, and how many buckets.
    private static func counts(_ fixture: StoreFixture) async throws -> [Int64] {
        var counts: [Int64] = []
        for table in ["source_row", "large_value", "bucket"] {
            counts.append(try #require(try await fixture.count(table)))
        }
        return counts
    }

    /// Has two rows kept that are in no bucket: `a` for its value, `b` for its lengths.
    private static func keepTwo(_ fixture: StoreFixture) async throws {
        let rows = [("a", out), ("b", long)].map { RowChange.readAgain(StoreFixture.row($0, "u1", $1)) }
        _ = try await fixture.apply(rows, commit: nil)
        #expect(try await counts(fixture) == [2, 2, 0])
    }

    @Test func aRowThatAQueryLeavesOutIsReadAgainOnce() async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await Self.fixture(path)
            _ = try await fixture.apply([.insert(StoreFixture.row("a", "u1", Self.out))], commit: nil)
            #expect(try await Self.counts(fixture) == [0, 0, 0])
            #expect(try await fixture.apply([Self.update("a")], commit: nil).incomplete.count == 1)
            _ = try await fixture.apply([.readAgain(StoreFixture.row("a", "u1", Self.out))], commit: nil)
            for _ in 0..<3 {
                #expect(try await fixture.apply([Self.update("a")], commit: nil).incomplete.isEmpty)
            }
            // Told whole, it is known as well as before.
            let told = [Self.update("a", "u1", .text("y")), Self.update("a")]
            #expect(try await fixture.apply(told, commit: nil).incomplete.isEmpty)
            #expect(try await Self.counts(fixture) == [1, 1, 0])
            // What a snapshot has read is older.
            _ = try await fixture.apply([.snapshot(StoreFixture.row("a", "u1", .text("b")))], commit: nil)
            #expect(try await fixture.count("segment") == 0)
            // It is synced whole once the value is another one, and from then on.
            _ = try await fixture.apply([Self.update("a", "u1", .text("c"))], commit: nil)
            let next = try await fixture.apply([Self.update("a", "u2")], commit: nil)
            #expect(next.incomplete.isEmpty)
            let puts = ["u1", "u2"].map { #"PUT a {"id":"a","owner":"\#($0)","big":"c"}"# }
            #expect(try await fixture.operations("u1") == [puts[0], "REMOVE a -"])
            #expect(try await fixture.operations("u2") == [puts[1]])
            try await fixture.close()
        }
    }

    @Test func aRowThatIsTooLargeIsSoUntilItsValueIsTold() async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await Self.fixture(path)
            let long = ["s", "i", "r", "u"].map { StoreFixture.row($0, "u1", Self.long) }
            let changes = [
                RowChange.snapshot(long[0]), .insert(long[1]), .readAgain(long[2]),
                .update(old: nil, new: long[3]),
            ]
            _ = try await fixture.apply(changes, commit: nil)
            #expect(try await Self.counts(fixture) == [4, 4, 0])
            for row in ["s", "i", "r", "u"] {
                let outcome = try await fixture.apply([Self.update(row)], commit: nil)
                #expect(outcome.incomplete.isEmpty && outcome.warnings.counts == [Self.warning: 1], "\(row)")
            }
            #expect(try await Self.counts(fixture) == [4, 4, 0])
            // Then it is a row as any other.
            let sixty = String(repeating: "b", count: 60)
            _ = try await fixture.apply([Self.update("s", "u1", .text(sixty))], commit: nil)
            let put = #"PUT s {"id":"s","owner":"u1","big":"\#(sixty)"}"#
            #expect(try await fixture.operations("u1") == [put])
            // Another value makes it too large; without that it fits, but this one is not known any more.
            let owner = String(repeating: "o", count: 50)
            #expect(try await fixture.apply([Self.update("s", owner)], commit: nil).incomplete.isEmpty)
            #expect(try await fixture.operations("u1").last == "REMOVE s -")
            #expect(try await fixture.apply([Self.update("s", owner)], commit: nil).incomplete.isEmpty)
            #expect(try await fixture.apply([Self.update("s")], commit: nil).incomplete.count == 1)
            try await fixture.close()
        }
    }

    /// A column that is gone may have been what was too long.
    @Test func lengthsAreThoseOfOneLayout() async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await Self.fixture(path)
            try await Self.keepTwo(fixture)
            let layout = TableLayout(text: "another", seenAt: LSN(rawValue: 5))
            let table = try await fixture.store.note(layout, of: fixture.table)
            let updates = ["a", "b"].map { ReplicationEvent.change(table, Self.update($0)) }
            let outcome = try await fixture.store.apply(updates, fixture.context)
            #expect(outcome.incomplete.map(\.values) == [["a", "u1", nil], ["b", "u1", nil]])
            try await fixture.close()
        }
    }

    // MARK: How they go

    @Test func aRowThatIsGoneLeavesNothing() async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await Self.fixture(path)
            try await Self.keepTwo(fixture)
            let deletes = ["a", "b"].map { RowChange.delete([.text($0), .null, .null]) }
            _ = try await fixture.apply(deletes, commit: nil)
            #expect(try await Self.counts(fixture) == [0, 0, 0])
            try await fixture.close()
        }
    }

    @Test func whatIsKeptGoesAlongToAnotherKey() async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await Self.fixture(path)
            try await Self.keepTwo(fixture)
            let moves = [Self.update("c", from: "a"), Self.update("d", from: "b")]
            #expect(try await fixture.apply(moves, commit: nil).incomplete.isEmpty)
            #expect(try await Self.counts(fixture) == [2, 2, 0])
            let updates = [Self.update("c"), Self.update("d")]
            #expect(try await fixture.apply(updates, commit: nil).incomplete.isEmpty)
            let deletes = ["c", "d"].map { RowChange.delete([.text($0), .null, .null]) }
            _ = try await fixture.apply(deletes, commit: nil)
            #expect(try await Self.counts(fixture) == [0, 0, 0])
            try await fixture.close()
        }
    }

    @Test func aTableThatIsEmptiedLeavesNothing() async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await Self.fixture(path)
            try await Self.keepTwo(fixture)
            _ = try await fixture.store.apply([.truncate(fixture.table)], fixture.context)
            #expect(try await Self.counts(fixture) == [0, 0, 0])
            #expect(try await fixture.count("segment") == 0)
            try await fixture.close()
        }
    }

    @Test func anotherConfigurationLeavesNothing() async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await Self.fixture(path)
            try await Self.keepTwo(fixture)
            let next = try await fixture.store.addStream(config: "", configHash: "next", publication: 1) {
                "slot_\($0)"
            }
            try await fixture.store.activate(next.number)
            try await fixture.store.pool.write { connection in
                var limits = StoreLimits()
                limits.truncatedRows = 1
                let stopped = StoppedStreams(limits: limits)
                var pieces = 0
                while try stopped.removePiece(but: next.number, connection) { pieces += 1 }
                // Two rows, what is kept of each, and the record of their table.
                #expect(pieces == 5)
            }
            #expect(try await Self.counts(fixture) == [0, 0, 0])
            try await fixture.close()
        }
    }

    /// A service that ends before a row is read again reads all of its table anew.
    @Test func aTableThatIsReadAnewLeavesNothing() async throws {
        try await StoreFixture.withFolder { path in
            let first = try await Self.fixture(path)
            try await Self.keepTwo(first)
            #expect(try await first.apply([Self.update("x")], commit: 10).incomplete.count == 1)
            try await first.close()
            let second = try await Self.fixture(path)
            #expect(try await second.store.stream(second.stream.number).isAhead)
            #expect(try await second.store.incompleteTables(second.context).map(\.oid) == [7])
            #expect(try await Self.counts(second) == [2, 2, 0])
            _ = try await second.store.resolve(
                second.table.description, types: TypeCatalog(), second.context, anew: true)
            #expect(try await Self.counts(second) == [0, 0, 0])
            try await second.close()
        }
    }
}
