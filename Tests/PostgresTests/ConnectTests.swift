import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.patient())
struct ConnectTests {
    let poller: Poller

    init() throws {
        poller = try Poller()
    }

    @Test func aMalformedURIIsNotQuoted() async throws {
        for uri in ["postgres://user:secret@[host/db", "secret", "postgres://u:secret@h/db?sslmod=x", "a\0b"]
        {
            let error = await #expect(throws: PostgresError.self) {
                _ = try await PostgresConnection.connect(uri, poller: poller)
            }
            #expect(error?.code == .invalidInput)
            #expect(error?.description.contains("secret") == false)
        }
    }

    @Test func aServerThatSaysNothingTimesOut() async throws {
        let server = try RawServer { $0.waitForHangUp() }
        let error = await #expect(throws: PostgresError.self) {
            _ = try await PostgresConnection.connect(
                "postgres://u@127.0.0.1:\(server.port)/d", poller: poller, deadline: .milliseconds(100))
        }
        #expect(error?.code == .timedOut)
    }

    @Test func connectingCanBeCancelled() async throws {
        let (asked, left) = (Lock(false), Lock(false))
        let server = try RawServer { connection in
            asked.withLock { $0 = connection.receive() != nil }
            connection.waitForHangUp()
            left.withLock { $0 = true }
        }
        let task = Task {
            _ = try await PostgresConnection.connect(
                "postgres://u@127.0.0.1:\(server.port)/d", poller: poller, deadline: .seconds(3600))
        }
        try await wait(for: "the first message") { asked.withLock { $0 } }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await wait(for: "the connection to be closed") { left.withLock { $0 } }
    }

    @Test(.enabled(if: TestOptions.hasDatabase))
    func saysWhatTheServerRefused() async throws {
        let server = try await TestPostgres.server()
        let database = await #expect(throws: PostgresError.self) {
            _ = try await PostgresConnection.connect(server.uri(database: "nowhere"), poller: poller)
        }
        #expect(database?.code == .unavailable)
        #expect(database?.sqlstate == "3D000")
        #expect(database?.isConnectionLost == false)
        #expect(database?.message.contains(#"database "nowhere" does not exist"#) == true)
        #expect(database?.message.contains("LOCATION") == false)
        let user = await #expect(throws: PostgresError.self) {
            _ = try await PostgresConnection.connect(
                server.uri(), parameters: ["user": "nobody_here"], poller: poller)
        }
        #expect(user?.sqlstate == "28000")
        let option = await #expect(throws: PostgresError.self) {
            _ = try await PostgresConnection.connect(
                server.uri(), parameters: ["no_such": "1"], poller: poller)
        }
        #expect(option?.code == .unavailable)
    }
}
