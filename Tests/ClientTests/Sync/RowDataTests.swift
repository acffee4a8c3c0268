import PowerSync
import PowerSyncSQLite
import PowerSyncTestSupport
import Testing

/// Row data stays out of what is logged and shown, whatever fails.
@Suite(.patient()) struct RowDataTests {
    private static let schema = """
        {"tables":[],"raw_tables":[{"name":"users","table_name":"users"}]}
        """

    @Test func aRowThatARawTableRefusesIsNotLogged() async throws {
        try await SyncRig.run(try await SyncRig(schema: Self.schema)) { rig in
            try await rig.pool.write {
                try $0.execute("CREATE TABLE users(id TEXT PRIMARY KEY, name TEXT CHECK (length(name) < 3))")
            }
            let stream = try await rig.stream(0)
            stream.send(
                SyncLines.checkpoint(1, [.init("b")]),
                SyncLines.data(
                    "b", SyncLines.put(1, "my_user", type: "users", data: #"{"name":"secret"}"#)),
                SyncLines.complete(1))
            try await wait(for: "the iteration to fail") { await rig.status.downloadError != nil }
            let log = rig.log.joined(separator: "\n")
            #expect(log.contains("Sync iteration failed"))
            #expect(!log.contains("my_user"))
            #expect(!log.contains("secret"))
            let error = try #require(await rig.status.downloadError)
            #expect(!"\(error)".contains("secret"))
            #expect(String(reflecting: error).contains(#"id = my_user, data = {"name":"secret"}"#))
        }
    }

    @Test func anErrorOfTheSDKShowsOfOneBelowItWhatMayBeLogged() {
        let below = SQLiteError(extendedCode: 19, message: "constraint", context: "data = secret")
        let error = PowerSyncError.operationFailed(message: "Upload", underlyingError: below)
        #expect("\(error)" == "Upload: SQLite error 19: constraint")
        #expect("\(PowerSyncError.operationFailed(message: "x"))" == "x")
        #expect("\(PowerSyncError.operationFailed())" == "An unknown error occurred.")
    }
}
