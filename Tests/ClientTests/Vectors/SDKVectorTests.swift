import PowerSync
import PowerSyncTestSupport
import Testing

/// Vectors of client-core 9 that only the SDK can show.
@Suite(.patient()) struct SDKVectorTests {
    @Test("92: each priority is shown when it is complete, and the whole at the end", .behaviour(81))
    func prioritiesOneByOne() async throws {
        let bench = try ConnectedBench()
        try await bench.connect()
        let stream = try await bench.stream()
        stream.send(
            SyncLines.checkpoint(
                4, (0...3).map { .init("prio\($0)", checksum: Int64(10 + $0), priority: $0) }))
        func put(_ priority: Int) -> String {
            SyncLines.data(
                "prio\(priority)",
                SyncLines.put(
                    priority + 1, "\(priority)", checksum: Int64(10 + priority), type: "users",
                    data: #"{"name":"user"}"#))
        }
        func users() async throws -> Int {
            try await bench.database.get("SELECT count(*) FROM users") { try $0.getInt(index: 0) }
        }
        for priority in 0...2 {
            stream.send(put(priority), SyncLines.partial(priority, 4))
            try await bench.database.waitForFirstSync(priority: Int32(priority))
            #expect(try await users() == priority + 1)
            #expect(bench.status.statusForPriority(BucketPriority(Int32(priority))).hasSynced == true)
            #expect(bench.status.statusForPriority(BucketPriority(3)).hasSynced == false)
            #expect(bench.status.hasSynced == false)
        }
        stream.send(put(3), SyncLines.complete(4))
        try await bench.database.waitForFirstSync()
        #expect(try await users() == 4)
        try await bench.database.close()
    }
}
