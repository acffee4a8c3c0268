import CPowerSyncLossyFiles
import PowerSyncCommandLine
import PowerSyncPostgresSource
import PowerSyncSQLite
import PowerSyncServiceEngine
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncMockService

/// A log that cannot be copied into the file of the state, in a process of its own with a full disk.
@Suite(.patient())
struct CheckpointFailureTests {
    /// Commits succeed as long as the log has room, so that nobody else would hear of it.
    @Test func aFullDiskIsToldBeforeTheLogHasFilledIt() async throws {
        let folder = try TemporaryDirectory(prefix: "full-disk-")
        defer { folder.remove() }
        let path = folder.path + "/state.db"
        await #expect(processExitsWith: .success) { [path = path as String] in
            try await CheckpointFailureTests.fillLog(path)
        }
    }

    static func fillLog(_ path: String) async throws {
        #expect(powersync_lossy_files_register(1, 0, true) == 0)
        let poller = try Poller()
        defer { poller.stop() }
        let told = Lock<[String]>([])
        var configuration = MockServiceConfiguration(
            source: SourceDatabase(uri: "postgresql://127.0.0.1/none"), statePath: path, syncConfig: "")
        // It is copied behind every few pages.
        configuration.storeLimits.logBytes = 64 << 10
        let opener = StateOpener(
            configuration: configuration, poller: poller,
            log: Log(label: "state", level: .warning) { line in told.withLock { $0.append(line) } },
            clock: .system(poller))
        let store = try await opener.open(try StateFile(path)).store
        try await store.pool.write { try $0.execute("CREATE TABLE pages(content)") }
        #expect(powersync_lossy_files_refuse_database_writes(true) == 0)
        var commits = 0
        func commit() async throws {
            commits += 1
            try await store.pool.write { try $0.execute("INSERT INTO pages VALUES (zeroblob(40000))") }
        }
        let first = try await wait(for: "the warning") {
            try await commit()
            return told.withLock { $0.first }
        } until: {
            $0 != nil
        }
        #expect(first?.contains("the log of the state does not become shorter") == true)
        #expect(first?.contains("keeps growing") == true)
        // The writer tries by itself where the log is long.
        for _ in 0..<50 { try await commit() }
        let refused = Int(powersync_lossy_files_refuse_database_writes(false))
        #expect(refused > 20)
        #expect(told.withLock { $0.count } < refused / 2, "it is told once in half a minute")
        await store.close()
        let connection = try SQLiteConnection(path: path)
        #expect(try connection.one("SELECT count(*) FROM pages") { $0.int64(0) } == Int64(commits))
        connection.close()
    }
}
