import PowerSync
import PowerSyncSystem
import Testing

/// What the recordings do not show: failures in the middle of an iteration.
@Suite struct TranscriptReplayerTests {
    private static let head = [
        """
        {"do":"replace_schema","schema":{"tables":[{"name":"items","columns":[{"name":"col","type":"text"}]}]}}
        """,
        #"{"do":"start"}"#, #"{"do":"connection","event":"established"}"#,
        "{\"do\":\"line\",\"line\":\(SyncLines.checkpoint(1, [.init("b", checksum: 5)]))}",
        "{\"do\":\"line\",\"line\":\(SyncLines.data("b", SyncLines.put(1, "r", checksum: 5)))}",
    ]
    private static let complete = "{\"do\":\"line\",\"line\":\(SyncLines.complete(1))}"

    private func failures(_ steps: [String], _ tuning: SyncTuning?) throws -> [TranscriptDifference] {
        let text = "{\"name\":\"own\",\"client_id\":\"c\",\"steps\":[\(steps.joined(separator: ","))]}"
        let folder = try TemporaryDirectory(prefix: "powersync-replay-")
        defer { folder.remove() }
        return try TranscriptRun(
            Transcript(parsing: Array(text.utf8)), path: folder.path + "/replay.db",
            tuning: tuning ?? .plain, usesFunctions: tuning == nil
        ).failures
    }

    /// With waiting lines, line by line, and through `powersync_control`.
    private static let ways: [SyncTuning?] = [.standard, .plain, nil]

    @Test(
        arguments: [
            #"{"do":"sql","statements":[["INSERT INTO nothing VALUES (1)"]],"expect_error":true}"#,
            #"{"do":"query","sql":"SELECT nothing","expect_error":true}"#,
            #"{"do":"subscriptions","payload":{},"expect_error":true}"#,
            #"{"do":"update_subscriptions","active":[1],"expect_error":true}"#,
            #"{"do":"clear","flags":2,"expect_error":true}"#,
        ], ways.indices)
    func aFailureBesideTheStreamLeavesTheIteration(_ step: String, way: Int) throws {
        let rows = #"{"do":"query","sql":"SELECT id FROM items","expect":[["r"]]}"#
        #expect(try failures(Self.head + [step, Self.complete, rows], Self.ways[way]).isEmpty)
    }

    @Test(arguments: ways.indices) func aBadLineEndsTheIterationAndKeepsTheLinesBeforeIt(way: Int) throws {
        let steps = [
            #"{"do":"line_text","text":"{","expect_error":true}"#,
            "{\"do\":\"line\",\"line\":\(SyncLines.complete(1)),\"expect_error\":true}",
            #"{"do":"query","sql":"SELECT last_op FROM ps_buckets","expect":[[1]]}"#,
        ]
        #expect(try failures(Self.head + steps, Self.ways[way]).isEmpty)
    }
}
