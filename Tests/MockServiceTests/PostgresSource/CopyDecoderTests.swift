import PowerSyncPostgres
import PowerSyncSyncRules
import PowerSyncTestSupport
import Testing

@testable import PowerSyncPostgresSource
@testable import PowerSyncServiceEngine

@Suite(.namesSeed)
struct CopyDecoderTests {
    private static func plan() async throws -> TablePlan {
        let plan = try SyncPlan.compiled(
            "config: {edition: 3}\nstreams: {s: {query: SELECT * FROM t}}")
        let table = try await EvaluatedTable(
            plan,
            TableDescription(
                oid: 7, schema: "public", name: "t",
                columns: ["id", "a", "b"].map {
                    SourceColumn(name: $0, typeOID: 25, isIdentity: $0 == "id")
                }),
            TypeCatalog())
        return table.plan
    }

    private static func frames(_ rows: [String]) -> PostgresFrames {
        var frames = PostgresFrames()
        for row in rows { Array((row + "\n").utf8).withUnsafeBytes { frames.append($0) } }
        return frames
    }

    private static func texts(_ batch: ChangeBatch) -> [[String?]] {
        batch.changes.map { change in
            (0..<3).map { column in
                batch.cells[change.new + column].range.map {
                    String(decoding: batch.bytes[$0], as: UTF8.self)
                }
            }
        }
    }

    @Test func rowsAreThoseOfTheCopy() async throws {
        let plan = try await Self.plan()
        try await forEachSeed(100) { random in
            var decoder = CopyDecoder(plan, key: random.once(in: 2) ? 0 : nil)
            let parts = ["", "a", "é", "\\t", "\\\\", "\\n", "\\N", "long text of several words"]
            var rows: [String] = []
            for _ in 0..<1 + random.below(6) {
                rows.append((0..<3).map { _ in random.pick(parts) }.joined(separator: "\t"))
            }
            var frames = Self.frames(rows)
            let batch = decoder.batch(&frames)
            #expect(frames.isEmpty && batch.isAhead && !batch.mayBeIncomplete)
            #expect(batch.changes.allSatisfy { $0.kind == .snapshot && $0.old == -1 })
            #expect(Self.texts(batch) == rows.map { PostgresCopyRow.fields(of: Array($0.utf8)) })
        }
    }

    @Test func alongAKeyItIsSaidUpToWhereATableWasRead() async throws {
        let plan = try await Self.plan()
        var frames = Self.frames(["1\ta\tb", "2\\t\t\\N\tb"])
        var decoder = CopyDecoder(plan, key: 0)
        let batch = decoder.batch(&frames)
        #expect(batch.marks.map { $0.before } == [2])
        #expect(batch.marks.map { $0.mark } == [.readUpTo(0, key: "2\t")])
        frames = Self.frames(["1\ta\tb"])
        var other = CopyDecoder(plan, key: nil)
        #expect(other.batch(&frames).marks.isEmpty)
    }

    /// One decoder reads all buffers of a statement.
    @Test func aRowThatHasOtherColumnsThanItsTableHasTheFirstOfThem() async throws {
        let plan = try await Self.plan()
        var decoder = CopyDecoder(plan, key: nil)
        var frames = Self.frames(["1", "2\ta\tb\tc"])
        #expect(Self.texts(decoder.batch(&frames)) == [["1", nil, nil], ["2", "a", "b"]])
        frames = Self.frames(["3\ta\tb"])
        #expect(Self.texts(decoder.batch(&frames)) == [["3", "a", "b"]])
    }
}
