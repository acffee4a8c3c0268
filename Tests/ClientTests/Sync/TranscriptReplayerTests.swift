import PowerSync
import PowerSyncConformance
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

    private func failures(_ steps: [String], _ way: TranscriptWay) throws -> [TranscriptDifference] {
        let text = "{\"name\":\"own\",\"client_id\":\"c\",\"steps\":[\(steps.joined(separator: ","))]}"
        let folder = try TemporaryDirectory(prefix: "powersync-replay-")
        defer { folder.remove() }
        return try TranscriptRun(
            Transcript(parsing: Array(text.utf8)), path: folder.path + "/replay.db", way: way
        ).failures
    }

    @Test(
        arguments: [
            #"{"do":"sql","statements":[["INSERT INTO nothing VALUES (1)"]],"expect_error":true}"#,
            #"{"do":"query","sql":"SELECT nothing","expect_error":true}"#,
            #"{"do":"subscriptions","payload":{},"expect_error":true}"#,
            #"{"do":"update_subscriptions","active":[1],"expect_error":true}"#,
            #"{"do":"clear","flags":2,"expect_error":true}"#,
        ], TranscriptWay.allCases)
    func aFailureBesideTheStreamLeavesTheIteration(_ step: String, way: TranscriptWay) throws {
        let rows = #"{"do":"query","sql":"SELECT id FROM items","expect":[["r"]]}"#
        #expect(try failures(Self.head + [step, Self.complete, rows], way).isEmpty)
    }

    @Test(arguments: TranscriptWay.allCases)
    func aBadLineEndsTheIterationAndKeepsTheLinesBeforeIt(way: TranscriptWay) throws {
        let steps = [
            #"{"do":"line_text","text":"{","expect_error":true}"#,
            "{\"do\":\"line\",\"line\":\(SyncLines.complete(1)),\"expect_error\":true}",
            #"{"do":"query","sql":"SELECT last_op FROM ps_buckets","expect":[[1]]}"#,
        ]
        #expect(try failures(Self.head + steps, way).isEmpty)
    }

    private static func status(_ downloaded: Int) -> String {
        """
        {"UpdateSyncStatus":{"status":{"connected":true,"connecting":false,"priority_status":[],"downloading":\
        {"buckets":{"prio_3":{"priority":3,"at_last":0,"since_last":\(downloaded),"target_count":1}}},"streams":[]}}}
        """
    }

    /// Of the answers to lines that are stored together only the last one is compared.
    @Test(arguments: TranscriptWay.allCases) func aWrongAnswerToADataLineIsSeen(way: TranscriptWay) throws {
        let line = SyncLines.data("b", SyncLines.put(2, "s", checksum: 7))
        func step(_ line: String, _ answer: String) -> String {
            "{\"do\":\"line\",\"line\":\(line),\"expect\":[\(answer)]}"
        }
        let first = step(SyncLines.data("b", SyncLines.put(1, "r", checksum: 5)), Self.status(1))
        let head = Array(Self.head.dropLast()) + [first]
        #expect(try failures(head + [step(line, Self.status(2))], way).isEmpty)
        let found = try failures(head + [step(line, Self.status(1))], way)
        #expect(found.map(\.step) == [5])
        #expect(found.map(\.subject) == ["instructions"])
    }
}
