import PowerSyncSQLite
import PowerSyncWire
import Testing

@testable import PowerSync

/// Client-core 9.11.
@Suite struct CheckpointRequestVectorTests {
    private static let requests = #"{"checkpoint_mode":"requests"}"#

    /// Begins anew and returns the checkpoint request that is to be sent.
    private func request(_ bench: ControlBench) throws -> String? {
        let request = try bench.begin(Self.requests).first("EstablishSyncStream")?["checkpoint_request"]
        #expect(request?["client_id"] == "test-test-test-test")
        return request?["checkpoint_request_id"]?.stringValue
    }

    @Test("106: the first id is the greatest that is known") func firstID() throws {
        let bench = try ControlBench()
        #expect(try request(bench) == "1")
        try bench.value("target_checkpoint_request_id", 4)
        #expect(try request(bench) == "4")
        try bench.value("seed_checkpoint_request_id", 7)
        #expect(try request(bench) == "7")
        try bench.value("target_checkpoint_request_id", .integer(.max))
        #expect(try request(bench) == "7")
    }

    @Test("107, 108: ids count from the seed") func idsCountFromTheSeed() throws {
        let bench = try ControlBench()
        _ = try request(bench)
        #expect(try bench.value("current_checkpoint_request_id") == .null)
        #expect(try bench.value("seed_checkpoint_request_id", 1) == 1)
        #expect(try bench.value("next_checkpoint_request_id") == 2)
        #expect(try bench.value("next_checkpoint_request_id") == 3)
        #expect(try bench.value("current_checkpoint_request_id") == 3)
        try bench.run(
            "INSERT INTO ps_kv VALUES ('last_applied_checkpoint_request_id', 3)")
        try bench.insertLocally()
        #expect(try bench.gate() == ["target": .max, "last_requested": 3])

        #expect(try bench.value("seed_checkpoint_request_id", "41") == 41)
        #expect(try bench.value("next_checkpoint_request_id") == 42)
        #expect(try request(bench) == "42")
        try bench.value("seed_checkpoint_request_id", 100)
        #expect(try bench.value("next_checkpoint_request_id") == 101)
        try bench.value("seed_checkpoint_request_id", 5)
        #expect(try bench.value("next_checkpoint_request_id") == 6)
    }

    @Test(
        "109: a seed must be a positive integer",
        arguments: [
            (.null, "checkpoint request id must be an integer or integer string"),
            ("x", "checkpoint request id must be an integer or integer string"),
            (1.5, "checkpoint request id must be an integer or integer string"),
            (0, "checkpoint request id must be a positive integer"),
            (-1, "checkpoint request id must be a non-negative integer"),
        ] as [(SQLiteValue, String)]) func wrongSeed(_ seed: SQLiteValue, _ message: String) throws
    {
        let bench = try ControlBench()
        _ = try request(bench)
        let error = bench.failure { try bench.value("seed_checkpoint_request_id", seed) }
        #expect(error?.extendedCode == 3091)
        #expect(error?.message == "powersync_control: \(message)")
        #expect(try bench.gate().isEmpty)
    }

    @Test("110: an id needs an iteration and a seed") func needsASeed() throws {
        let bench = try ControlBench()
        let idle = bench.failure { try bench.value("seed_checkpoint_request_id", 1) }
        #expect(idle?.extendedCode == 21)
        #expect(idle?.message.hasSuffix("No iteration is active") == true)
        _ = try request(bench)
        let unseeded = bench.failure { try bench.value("next_checkpoint_request_id") }
        #expect(unseeded?.extendedCode == 21)
        #expect(unseeded?.message.hasSuffix("Checkpoint request state has not been seeded") == true)
        // Neither ends the iteration.
        #expect(try bench.value("seed_checkpoint_request_id", 1) == 1)
    }

    @Test("8.4: the last of all ids has no successor") func lastOfAllIDs() throws {
        let bench = try ControlBench()
        _ = try request(bench)
        try bench.value("seed_checkpoint_request_id", .integer(.max))
        #expect(bench.failure { try bench.value("next_checkpoint_request_id") }?.extendedCode == 21)
    }

    @Test("111: the target is read, set and cleared") func target() throws {
        let bench = try ControlBench()
        func target(_ value: SQLiteValue) throws -> SQLiteValue {
            try bench.value("target_checkpoint_request_id", value)
        }
        #expect(try target(.null) == .null)
        #expect(try target(1) == .null)
        #expect(try target(2) == 1)
        #expect(try target("1") == 2)
        #expect(try target(.integer(.max)) == 1)
        #expect(try target(0) == .integer(.max))
        #expect(try target(.null) == .null)
        for (value, message) in [
            (-1, "target checkpoint request id must be a non-negative integer"),
            (.blob([1]), "target checkpoint request id must be an integer, integer string, or null"),
        ] as [(SQLiteValue, String)] {
            let error = bench.failure { _ = try target(value) }
            #expect(error?.extendedCode == 3091)
            #expect(error?.message == "powersync_control: \(message)")
        }
        #expect(try bench.gate().isEmpty)
    }

    @Test("112: only a complete checkpoint applies a request", arguments: LineEncoding.allCases)
    func appliesARequest(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        let key = "internal_last_applied_checkpoint_request_id"
        try bench.begin()
        let partial = try bench.line(
            SyncLines.checkpoint(1, [.init("a")], writeCheckpoint: 1), SyncLines.partial(2))
        #expect(partial.lastStatus?[key] == nil)
        #expect(try bench.gate().isEmpty)
        let applied = try bench.line(
            SyncLines.checkpoint(1, [.init("a")], writeCheckpoint: 1), SyncLines.complete())
        #expect(applied.first("DidCompleteSync")?.equals(#"{"applied_checkpoint_request_id":"1"}"#) == true)
        #expect(applied.logLines.last == "DEBUG Applied checkpoint request id 1")
        #expect(applied.lastStatus?[key] == "1")
        #expect(try bench.gate() == ["last_seen": 1, "last_applied": 1])
        let without = try bench.line(SyncLines.checkpoint(1, [.init("a")]), SyncLines.complete())
        #expect(without.first("DidCompleteSync") == .object([]))
        #expect(without.lastStatus?[key] == nil)
        #expect(try bench.offlineStatus()[key] == nil)
        #expect(try bench.rows("SELECT 1 FROM ps_buckets WHERE name = '$local'").isEmpty)
    }

    @Test("113: stopping takes the applied id from the status", arguments: LineEncoding.allCases)
    func stoppingTakesTheID(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.begin()
        try bench.line(SyncLines.checkpoint(1, [], writeCheckpoint: 1), SyncLines.complete())
        let status = try bench.control("stop").lastStatus
        #expect(status?["connected"] == .bool(false))
        #expect(status?["internal_last_applied_checkpoint_request_id"] == nil)
    }

    @Test("114: a local write closes the gate", arguments: LineEncoding.allCases)
    func localWriteClosesTheGate(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.begin()
        try bench.line(SyncLines.checkpoint(1, [], writeCheckpoint: 5), SyncLines.complete())
        #expect(try bench.gate() == ["last_seen": 5, "last_applied": 5])
        try bench.insertLocally()
        #expect(try bench.gate() == ["target": .max])
    }

    @Test("115: no checkpoint request in legacy mode") func legacyMode() throws {
        for payload in [nil, "{}", #"{"checkpoint_mode":"legacy"}"#] {
            let opening = try ControlBench().begin(payload).first("EstablishSyncStream")
            #expect(opening?["request"] != nil)
            #expect(opening?["checkpoint_request"] == nil)
        }
    }
}
