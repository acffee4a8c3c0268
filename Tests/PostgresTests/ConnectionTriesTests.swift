@testable import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// Several places where the server may be, some of which do not do their part.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct ConnectionTriesTests {
    let poller: Poller

    init() throws {
        poller = try Poller()
    }

    /// The text for two hosts of this machine, of which the second is the shared server.
    private func text(first port: Int, _ rest: String = "target_session_attrs=read-write") async throws
        -> String
    {
        let server = try await TestPostgres.server()
        return "host=127.0.0.1,127.0.0.1 port=\(port),\(server.port) user=postgres dbname=postgres \(rest)"
    }

    /// Connects, and returns the port that the server says it is reached at.
    private func port(
        _ uri: String, within deadline: Duration = TestOptions.deadline, _ poller: Poller? = nil
    ) async throws -> Int? {
        let connection = try await PostgresConnection.connect(
            uri, poller: poller ?? self.poller, deadline: deadline)
        let port = try await connection.query("SELECT inet_server_port()").scalar
        await connection.close()
        return port.flatMap { Int($0) }
    }

    private func failure(
        _ uri: String, within deadline: Duration = TestOptions.deadline
    ) async -> PostgresError? {
        await #expect(throws: PostgresError.self) { _ = try await port(uri, within: deadline) }
    }

    #if os(Linux)
        @Test func aHostThatIsOffLeavesTimeForTheNext() async throws {
            let off = try FullPort()
            let server = try await TestPostgres.server()
            let found = try await port(try await text(first: off.number), within: .seconds(12))
            #expect(found == server.port)
        }

        /// The port is the same, so it is the address that does not answer.
        @Test func anAddressThatIsOffLeavesTimeForTheNext() async throws {
            let server = try await TestPostgres.server()
            let off = try FullPort(host: "127.0.0.2", port: server.port)
            let names = NameLookup { _ in
                .success(["127.0.0.2", "127.0.0.1"].compactMap { IPAddress($0) })
            }
            let poller = try Poller(names: names)
            defer { poller.stop() }
            let uri = "postgres://postgres@db.test:\(off.number)/postgres"
            #expect(try await port(uri, within: .seconds(12), poller) == server.port)
        }
    #endif

    @Test func aHostThatSaysNothingLeavesTimeForTheNext() async throws {
        let silent = try RawServer { $0.waitForHangUp() }
        let server = try await TestPostgres.server()
        let found = try await port(try await text(first: silent.port), within: .seconds(12))
        #expect(found == server.port)
        #expect(silent.connections >= 1, "they are tried in their order")
    }

    @Test func aHostThatHangsUpIsPassedOver() async throws {
        let broken = try RawServer { _ = $0.receive() }
        let server = try await TestPostgres.server()
        #expect(try await port(try await text(first: broken.port)) == server.port)
        let refusing = try RefusingPort()
        #expect(try await port(try await text(first: refusing.number)) == server.port)
    }

    @Test func ifNobodyAnswersThatIsSaidInTime() async throws {
        let silent = try RawServer { $0.waitForHangUp() }
        let uri = "host=127.0.0.1,127.0.0.1,127.0.0.1 port=\(silent.port) user=u sslmode=disable"
        // A second for each would be over while a busy machine does something else.
        let error = await failure(uri, within: .seconds(10))
        #expect(error?.code == .connectTimedOut)
        #expect(error?.isConnectionLost == true && error?.isOutcomeUnknown == false)
        #expect(error?.message.contains("port \(silent.port), did not answer in time") == true)
        try await wait(for: "each to be tried once", read: { silent.connections }, until: { $0 == 3 })
        let refusing = try RefusingPort()
        let mixed = "host=127.0.0.1,127.0.0.1 port=\(silent.port),\(refusing.number) user=u sslmode=disable"
        let both = await failure(mixed, within: .seconds(8))
        #expect(both?.code == .unavailable)
        #expect(both?.message.contains("did not answer in time") == true)
        #expect(both?.message.contains("refused") == true)
    }

    @Test func theTextMayAllowMoreThanTheUsualTime() {
        #expect(ConnectionTries.allowed(nil, tries: 3, timeout: nil) == .seconds(10))
        #expect(ConnectionTries.allowed(nil, tries: 3, timeout: .seconds(2)) == .seconds(10))
        #expect(ConnectionTries.allowed(nil, tries: 3, timeout: .seconds(20)) == .seconds(60))
        #expect(ConnectionTries.allowed(.seconds(5), tries: 3, timeout: .seconds(20)) == .seconds(5))
    }

    @Test func theTextMayAllowLessForEachHost() async throws {
        let silent = try RawServer { $0.waitForHangUp() }
        let start = ContinuousClock.now
        let uri = "postgres://u@127.0.0.1:\(silent.port)/d?connect_timeout=1&sslmode=disable"
        #expect(await failure(uri, within: .seconds(3600))?.code == .connectTimedOut)
        #expect(ContinuousClock.now - start < TestOptions.deadline)
    }

    @Test func aServerOfTheOtherKindIsPassedOver() async throws {
        try await TestCluster.withServer { standby in
            let connection = try await PostgresConnection.connect(standby.uri(), poller: poller)
            try await connection.script("ALTER SYSTEM SET default_transaction_read_only = on")
            try await connection.script("SELECT pg_reload_conf()")
            await connection.close()
            try await wait(for: "the server to be read-only") {
                try await readOnly(standby.uri()) == "on"
            }
            let server = try await TestPostgres.server()
            #expect(try await port(try await text(first: standby.port)) == server.port)
            let alone = await failure(standby.uri() + "?target_session_attrs=read-write")
            #expect(alone?.code == .unavailable && alone?.isConnectionLost == true)
            // What is preferred is nowhere: then it is the first, whatever it is.
            let preferred = try await text(first: standby.port, "target_session_attrs=prefer-standby")
            #expect(try await port(preferred) == standby.port)
        }
    }

    private func readOnly(_ uri: String) async throws -> String? {
        let connection = try await PostgresConnection.connect(uri, poller: poller)
        let value = try await connection.query("SHOW default_transaction_read_only").scalar
        await connection.close()
        return value
    }

    /// As libpq has it: the next host would refuse it too, and might be one that nobody expects.
    @Test func aRefusedLoginIsNotTriedElsewhere() async throws {
        let server = try await TestPostgres.server()
        let next = try RawServer { $0.waitForHangUp() }
        let error = await failure(
            "host=127.0.0.1,127.0.0.1 port=\(server.port),\(next.port) user=postgres dbname=nowhere")
        #expect(error?.sqlstate == "3D000")
        #expect(next.connections == 0)
    }
}
