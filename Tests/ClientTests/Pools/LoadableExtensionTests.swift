import CPowerSyncSQLite
import Foundation
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// Each in a process of its own: what is registered is so for all connections of a process.
@Suite(.patient())
struct LoadableExtensionTests {
    @Test func connectionsOfOthersHaveTheCore() async {
        await #expect(processExitsWith: .success) {
            var handle: OpaquePointer?
            #expect(sqlite3_open(":memory:", &handle) == SQLITE_OK)
            #expect(sqlite3_exec(handle, "SELECT powersync_rs_version()", nil, nil, nil) == SQLITE_ERROR)
            #expect(sqlite3_close(handle) == SQLITE_OK)
            // It is no file, and twice is as good as once.
            for _ in 0..<2 {
                let path = try resolvePowerSyncLoadableExtensionPath()
                #expect(path == nil)
            }
            #expect(sqlite3_open(":memory:", &handle) == SQLITE_OK)
            let schema = #"{"tables":[{"name":"users","columns":[{"name":"name","type":"text"}]}]}"#
            for sql in [
                "SELECT powersync_rs_version()", "BEGIN", "SELECT powersync_init()",
                "SELECT powersync_replace_schema('\(schema)')", "COMMIT",
                "INSERT INTO users (id, name) VALUES (uuid(), 'A')", "SELECT powersync_offline_sync_status()",
            ] {
                #expect(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK, "\(sql)")
            }
            #expect(sqlite3_total_changes(handle) > 0)
            // No statement of ours is left.
            #expect(sqlite3_close(handle) == SQLITE_OK)
        }
    }

    /// It may be encrypted, and wait for its key.
    @Test func openingDoesNotReadTheFile() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryDirectory()
            try String(repeating: "no database", count: 100)
                .write(toFile: folder.file(), atomically: true, encoding: .utf8)
            _ = try resolvePowerSyncLoadableExtensionPath()
            let connection = try SQLiteConnection(path: folder.file())
            #expect(try connection.one("SELECT powersync_rs_version()") { $0.string(0) } != nil)
            let error = #expect(throws: SQLiteError.self) { try connection.execute("SELECT * FROM t") }
            #expect(error?.code == .notADatabase)
        }
    }

    @Test func databasesOfTheSDKAndOnPoolsWorkAsBefore() async {
        await #expect(processExitsWith: .success) {
            _ = try resolvePowerSyncLoadableExtensionPath()
            let test = try TestDatabase()
            try await test.insertUser("A")
            #expect(try await test.count("users") == 1)
            #expect(try await test.database.getNextCrudTransaction()?.crud.count == 1)
            try await test.database.close()
            let folder = try TemporaryDirectory()
            let pool = try OwnPool(path: folder.file())
            #expect(try await pool.ownTexts("SELECT powersync_rs_version()").count == 1)
            let bench = ConnectedBench(on: pool, in: folder)
            try await bench.database.execute("INSERT INTO users (id, name) VALUES ('a', 'A')")
            #expect(try await bench.users() == ["A"])
            #expect(try await bench.database.getNextCrudTransaction()?.crud.count == 1)
            try await bench.database.close()
            #expect(pool.areAllClosed)
        }
    }
}
