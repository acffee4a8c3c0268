import Foundation
import PowerSyncMockService
import PowerSyncServiceEngine
import PowerSyncSQLite
import PowerSyncTestSupport
import Testing

/// The service keeps its state small beside all else (DESIGN.md, 1).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct StoreUpkeepServiceTests {
    private static let schema = ReplicationServiceTests.schema
    private static let config = ReplicationServiceTests.config

    private static func number(_ sql: String, _ service: TestService) throws -> Int64 {
        let state = try SQLiteConnection(path: service.statePath, flags: .readOnly)
        defer { state.close() }
        state.setBusyTimeout(TestOptions.deadline)
        return try state.one(sql) { $0.int64(0) } ?? 0
    }

    /// The bytes of the state's write-ahead log.
    private static func log(_ service: TestService) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: service.statePath + "-wal")
        return (attributes[.size] as? NSNumber)?.intValue ?? 0
    }

    @Test func aStateIsMergedAndItsLogEmptiedWhileStreamsGoOn() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config) {
                $0.storeLimits.upkeepPause = .milliseconds(5)
                $0.storeLimits.logRest = .milliseconds(200)
            }
            let stream = try await service.open()
            try await stream.holds(["lists/l1"])
            var rows: Set<String> = ["lists/l1"]
            for number in 0..<40 {
                try await service.tx("INSERT INTO lists VALUES ('n\(number)', 'u1', 'x')")
                rows.insert("lists/n\(number)")
            }
            try await stream.holds(rows.sorted())
            try await wait(for: "the segments to be merged") {
                try Self.number("SELECT count(*) FROM segment", service)
            } until: {
                $0 < 20
            }
            try await wait(for: "the log to be emptied") {
                try Self.log(service)
            } until: {
                $0 == 0
            }
            // Who comes now gets the same, and who is there what comes next.
            let next = try await service.open()
            try await next.holds(rows.sorted())
            try await service.tx("DELETE FROM lists WHERE id = 'n3'")
            rows.remove("lists/n3")
            for stream in [stream, next] { try await stream.holds(rows.sorted()) }
            await service.stop()
            #expect(try StoreCheck(path: service.statePath).problems == [])
        }
    }

    /// Upkeep is in the midst of its work, or waits, when the service ends: both come to an end before the file is closed.
    @Test func aServiceEndsWhateverItsUpkeepDoes() async throws {
        try await TestService.run(Self.schema) { service in
            for pause in [1, 20, 3_600_000] {
                try await service.start(Self.config) {
                    $0.storeLimits.upkeepPause = .milliseconds(pause)
                    $0.storeLimits.logRest = .milliseconds(pause)
                }
                for number in 0..<5 {
                    try await service.tx("UPDATE lists SET name = '\(pause) \(number)' WHERE id = 'l1'")
                }
                try await service.open().holds("the last value") {
                    $0.data(of: "lists/l1")?.contains("\(pause) 4") == true
                }
                await service.stop()
                #expect(try StoreCheck(path: service.statePath).problems == [])
            }
            #expect(service.log.allSatisfy { !$0.contains("is not kept small") })
        }
    }
}
