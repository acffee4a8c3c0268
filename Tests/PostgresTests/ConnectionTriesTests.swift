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
        return "host=127.0.0.1,127.0.0.1 port=\(port),\(server.port) user=postgres "
            + "password=\(server.password) dbname=postgres \(rest)"
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

    /// Connects where a part of the time is for a host that does not answer, with times that double until the rest is enough.
    private func portInTheEnd(_ uri: String, _ poller: Poller? = nil) async throws -> Int? {
        var time = Duration.seconds(2)
        while true {
            do {
                return try await port(uri, within: time, poller)
            } catch let error as PostgresError where error.code == .connectTimedOut {
                guard time < TestOptions.deadline else { throw error }
            }
            time *= 2
        }
    }

    private func failure(
        _ uri: String, within deadline: Duration = TestOptions.deadline
    ) async -> PostgresError? {
        await #expect(throws: PostgresError.self) { _ = try await port(uri, within: deadline) }
    }

    /// Fails to connect, with times that double until each host had its part: on a busy machine that may be over before.
    private func failure(
        _ uri: String, until isRight: (PostgresError) -> Bool
    ) async -> PostgresError? {
        var time = Duration.seconds(2)
        while true {
            let found = await failure(uri, within: time)
            guard let error = found, !isRight(error), time < TestOptions.deadline else { return found }
            time *= 2
        }
    }

    #if os(Linux)
        @Test func aHostThatIsOffLeavesTimeForTheNext() async throws {
            let off = try FullPort()
            let server = try await TestPostgres.server()
            let found = try await portInTheEnd(try await text(first: off.number))
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
            let uri = "postgres://postgres:\(server.password)@db.test:\(off.number)/postgres"
            #expect(try await portInTheEnd(uri, poller) == server.port)
        }
    #endif

    @Test func aHostThatSaysNothingLeavesTimeForTheNext() async throws {
        let silent = try RawServer { $0.waitForHangUp() }
        let server = try await TestPostgres.server()
        let found = try await portInTheEnd(try await text(first: silent.port))
        #expect(found == server.port)
        try await wait(for: "the first to be tried: they are in their order") { silent.connections >= 1 }
    }

    @Test func aHostThatHangsUpIsPassedOver() async throws {
        let broken = try RawServer { _ = $0.receive() }
        let server = try await TestPostgres.server()
        #expect(try await port(try await text(first: broken.port)) == server.port)
        let refusing = try RefusingPort()
        #expect(try await port(try await text(first: refusing.number)) == server.port)
    }

    @Test func ifNobodyAnswersThatIsSaidInTime() async throws {
        let silent = try (0..<3).map { _ in try RawServer { $0.waitForHangUp() } }
        let ports = silent.map { String($0.port) }
        let uri =
            "host=127.0.0.1,127.0.0.1,127.0.0.1 port=\(ports.joined(separator: ",")) user=u sslmode=disable"
        let error = await failure(uri) { error in
            ports.allSatisfy { error.message.contains("port \($0), did not answer in time") }
        }
        #expect(error?.code == .connectTimedOut)
        #expect(error?.isConnectionLost == true && error?.isOutcomeUnknown == false)
        for port in ports {
            #expect(error?.message.contains("port \(port), did not answer in time") == true)
        }
        let refusing = try RefusingPort()
        let mixed = "host=127.0.0.1,127.0.0.1 port=\(ports[0]),\(refusing.number) user=u sslmode=disable"
        let both = await failure(mixed) { error in
            error.code == .unavailable && error.message.contains("did not answer in time")
        }
        #expect(both?.code == .unavailable)
        #expect(both?.message.contains("did not answer in time") == true)
        #expect(both?.message.contains("refused") == true)
        withExtendedLifetime(silent) {}
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
            let server = try await TestPostgres.server()
            let connection = try await PostgresConnection.connect(standby.uri(), poller: poller)
            // A text has one password for all of its hosts.
            try await connection.script("ALTER ROLE postgres PASSWORD '\(server.password)'")
            let uri = standby.uri().replacing(standby.password, with: server.password)
            try await connection.script("ALTER SYSTEM SET default_transaction_read_only = on")
            try await connection.script("SELECT pg_reload_conf()")
            await connection.close()
            try await wait(for: "the server to be read-only") {
                try await readOnly(uri) == "on"
            }
            #expect(try await port(try await text(first: standby.port)) == server.port)
            let alone = await failure(uri + "?target_session_attrs=read-write")
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
            "host=127.0.0.1,127.0.0.1 port=\(server.port),\(next.port) user=postgres "
                + "password=\(server.password) dbname=nowhere")
        #expect(error?.sqlstate == "3D000")
        #expect(next.connections == 0)
    }
}
