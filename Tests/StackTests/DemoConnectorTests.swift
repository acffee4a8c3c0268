import Foundation
import PowerSync
import PowerSyncHTTPClient
import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// What the demo's connector makes of the verdicts of a backend.
@Suite(.patient())
struct DemoConnectorTests {
    /// A backend that mints a token and gives every uploaded transaction the same result.
    private static func backend(result: String) throws -> RawServer {
        try RawServer { connection in
            while let request = connection.request() {
                var body = #"{"token":"t","powersync_url":"http://127.0.0.1:1"}"#
                if request.hasPrefix("POST /api/data ") {
                    let count = request.components(separatedBy: "\"tx_id\"").count - 1
                    body = "{\"results\":[\(Array(repeating: result, count: count).joined(separator: ","))]}"
                }
                connection.send(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: \(body.utf8.count)\r\n\r\n"
                        + body)
            }
        }
    }

    private func with(
        result: String, transactions: Int,
        _ body: (DemoConnector, any PowerSyncDatabaseProtocol) async throws -> Void
    ) async throws {
        let server = try Self.backend(result: result)
        let folder = try TemporaryDirectory(prefix: "connector-")
        let client = try HTTPClient()
        defer { client.close() }
        let connector = DemoConnector(
            backend: "http://127.0.0.1:\(server.port)", endpoint: nil, user: "u", client: client)
        let database = PowerSyncDatabase(
            schema: Schema(Table(name: "items", columns: [.text("name")])), dbFilename: folder.path + "/c.db")
        for number in 0..<transactions {
            try await database.execute(
                sql: "INSERT INTO items (id, name) VALUES (uuid(), ?)", parameters: ["\(number)"])
        }
        try await body(connector, database)
        try await database.close()
        folder.remove()
    }

    private func queued(_ database: any PowerSyncDatabaseProtocol) async throws -> Int {
        try await database.get("SELECT count(*) FROM ps_crud") { try $0.getInt(index: 0) }
    }

    @Test func whatTheAppMustDecideStaysAndSaysSo() async throws {
        let result = """
            {"status":"fatal_error","requires_client_handling":true,\
            "failed_operation":{"error_code":"CONFLICT","message":"m"}}
            """
        try await with(result: result, transactions: 2) { connector, database in
            let error = await #expect(throws: StackError.self) {
                try await connector.uploadData(database: database)
            }
            #expect(error?.message.contains("leaves it to this app") == true)
            #expect(error?.message.contains("CONFLICT") == true)
            let left = try await queued(database)
            #expect(left == 2)
        }
    }

    @Test func whatShallComeAgainStaysAndSaysSo() async throws {
        try await with(result: #"{"status":"retryable_error"}"#, transactions: 1) { connector, database in
            let error = await #expect(throws: StackError.self) {
                try await connector.uploadData(database: database)
            }
            #expect(error?.message == "the backend asks to try again later")
            let left = try await queued(database)
            #expect(left == 1)
        }
    }

    @Test func refusalsAreCompletedAndTheLastHundredRemembered() async throws {
        let result = """
            {"status":"fatal_error","requires_client_handling":false,\
            "failed_operation":{"error_code":"CHECK_VIOLATION","message":"m"}}
            """
        try await with(result: result, transactions: 130) { connector, database in
            while try await queued(database) > 0 { try await connector.uploadData(database: database) }
            #expect(connector.refusals.count == 100)
            #expect(connector.refusals.allSatisfy { $0.code == "CHECK_VIOLATION" && $0.httpStatus == 200 })
        }
    }
}
