import PowerSyncBackend
import PowerSyncHTTP
import PowerSyncHTTPTestSupport
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresTestSupport
import PowerSyncTestSupport
import PowerSyncWire
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What clients and balancers are told while the database is busy, stands still or is off (backend 8.2, 8.3).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct SilentDatabaseTests {
    /// With `POWERSYNC_REAL_TIMES=1` a statement may take as long as by default.
    private static let isReal = TestOptions.number("POWERSYNC_REAL_TIMES", standard: 0) == 1

    private static func put(_ number: Int) -> String {
        let operation =
            #"{"op_id":\#(number),"op":"PUT","table":"lists","id":"r\#(number)","data":{"name":"n"}}"#
        return
            #"{"v":1,"client_id":"c","transactions":[{"tx_id":\#(number),"crud":[\#(operation)]}]}"#
    }

    /// A backend that is asked over a socket.
    private struct Peer {
        let backend: TestBackend
        let client: JSONClient
        let token: String

        init(_ backend: TestBackend, user: String = "u1") async throws {
            self.backend = backend
            client = try JSONClient("http://127.0.0.1:\(backend.backend.port)")
            token = try await backend.token(user)
        }

        func readiness() async throws -> (status: Int, time: Duration) {
            let start = ContinuousClock.now
            let status = try await client.send("GET", "/readyz").status
            return (status, ContinuousClock.now - start)
        }

        func upload(_ number: Int) async throws -> (answer: JSONClient.Answer, time: Duration) {
            let start = ContinuousClock.now
            let answer = try await client.send(
                "POST", "/api/data", SilentDatabaseTests.put(number), token: token)
            return (answer, ContinuousClock.now - start)
        }

        /// Expects 503 and that the client is asked to come again.
        func expectRefusal(_ number: Int, within limit: Duration) async throws {
            let (answer, time) = try await upload(number)
            #expect(answer.status == 503)
            #expect(answer.fields["retry-after"] != nil)
            #expect(try answer.json["retryable"]?.boolValue == true)
            #expect(!SilentDatabaseTests.isReal || time < limit * TestOptions.patience)
        }

        /// Uploads what is taken: on a busy machine not at once, within the short times of these tests.
        func expectUpload(_ number: Int) async throws {
            try await wait(
                for: "the upload to be taken", read: { try await upload(number).answer.status },
                until: { $0 == 200 })
        }

        /// Expects that the probe is green, as soon as the database answers within its time.
        func expectReadiness() async throws {
            try await wait(
                for: "the probe to be green", read: { try await readiness().status }, until: { $0 == 200 })
        }

        /// Expects that uploads are taken soon after the server takes connections, and the probe is green.
        func expectRecovery(_ server: PostgresServer, _ number: Int) async throws {
            try await server.waitForConnections(backend.poller)
            let start = ContinuousClock.now
            try await expectUpload(number)
            #expect(
                !SilentDatabaseTests.isReal
                    || ContinuousClock.now - start < Duration.seconds(2) * TestOptions.patience)
            try await expectReadiness()
            #expect(
                !SilentDatabaseTests.isReal
                    || ContinuousClock.now - start < Duration.seconds(2.5) * TestOptions.patience)
        }
    }

    private func onAServerOfItsOwn(
        _ change: (inout BackendConfiguration) -> Void = { _ in },
        _ body: (PostgresServer, Peer) async throws -> Void
    ) async throws {
        try await TestCluster.withServer { server in
            try await TestBackend.with(
                schema: TestBackend.demoTables + TestBackend.counted, uri: server.uri(),
                {
                    $0.retries.budget = .seconds(2)
                    $0.uploadTimes = UploadApplier.Times()
                    $0.acquireTimeout = .seconds(2)
                    $0.connectTimeout = .seconds(5)
                    $0.probeTimeout = .seconds(1)
                    $0.quotaTimeout = .seconds(1)
                    change(&$0)
                }
            ) { try await body(server, try await Peer($0)) }
        }
    }

    // MARK: The probe

    @Test func theProbeIsGreenWhileAllUploadsWait() async throws {
        try await TestBackend.with({ $0.poolSize = 2 }) { backend in
            let peer = try await Peer(backend)
            let holder = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
            try await holder.script("BEGIN; LOCK TABLE lists")
            async let first = peer.upload(1)
            async let second = peer.upload(2)
            try await backend.waitForLocked(2)
            let (status, time) = try await peer.readiness()
            #expect(status == 200)
            #expect(!SilentDatabaseTests.isReal || time < .seconds(1))
            try await holder.script("ROLLBACK")
            #expect(try await first.answer.status == 200)
            #expect(try await second.answer.status == 200)
            await holder.close()
        }
    }

    /// An answer of less than two seconds ago is given at once; each that is asked for comes in a second.
    @Test func aStoppedServerIsRedWithinASecond() async throws {
        try await onAServerOfItsOwn { server, peer in
            try await peer.expectReadiness()
            server.kill()
            try await wait(for: "the server to be gone") { !server.isRunning }
            try await wait(
                for: "the probe to be red",
                read: { () async throws -> Int in
                    let (status, time) = try await peer.readiness()
                    #expect(!SilentDatabaseTests.isReal || time < Duration.seconds(1) * TestOptions.patience)
                    return status
                }, until: { $0 == 503 })
            try await server.restart()
            try await peer.expectRecovery(server, 1)
        }
    }

    @Test func aSessionThatWasEndedDoesNotMakeTheProbeRed() async throws {
        try await TestBackend.with { backend in
            let peer = try await Peer(backend)
            // Each answer holds for two seconds.
            for _ in 0..<2 {
                let cut = try await backend.scalar(
                    """
                    SELECT count(pg_terminate_backend(pid, 60000)) FROM pg_stat_activity
                    WHERE application_name = 'powersync-backend' AND datname = current_database()
                    """)
                #expect(cut != "0")
                let asked = ContinuousClock.now
                try await wait(
                    for: "another question",
                    read: { () async throws -> Duration in
                        #expect(try await peer.readiness().status == 200)
                        return ContinuousClock.now - asked
                    }, until: { $0 > .milliseconds(2_500) })
            }
        }
    }

    @Test(.enabled(if: PostgresServer.canStandStill))
    func theProbeAnswersInTimeWhileTheServerStandsStill() async throws {
        try await onAServerOfItsOwn { server, peer in
            try await peer.expectReadiness()
            try await server.whileStandingStill {
                var asked = 0
                // The first over the connection that there is, the second over one that does not come about.
                while asked < 2 {
                    let answer = try await wait(
                        for: "a question", read: { try await peer.readiness() },
                        until: { $0.status == 503 && $0.time > .milliseconds(500) })
                    #expect(
                        !SilentDatabaseTests.isReal
                            || answer.time < Duration.seconds(1.5) * TestOptions.patience)
                    asked += 1
                }
                #expect(try await peer.client.send("GET", "/healthz").status == 200)
            }
            try await peer.expectRecovery(server, 1)
        }
    }

    // MARK: Uploads

    @Test(.enabled(if: PostgresServer.canStandStill))
    func uploadsAreAnsweredWhileTheServerStandsStill() async throws {
        try await onAServerOfItsOwn({
            $0.statementTimeout = Self.isReal ? .seconds(10) : .seconds(2)
        }) { server, peer in
            try await peer.expectUpload(1)
            let stranger = try await Peer(peer.backend, user: "u2")
            try await server.whileStandingStill {
                // What a statement may take, and a second and a half.
                try await peer.expectRefusal(2, within: Self.isReal ? .seconds(12) : .seconds(4))
                // Without a connection: two tries of five seconds.
                try await peer.expectRefusal(3, within: .seconds(12))
                // The same, and a second for how many letters there are.
                if Self.isReal { try await stranger.expectRefusal(4, within: .seconds(12)) }
            }
            try await peer.expectRecovery(server, 2)
            try await peer.expectUpload(3)
            #expect(try await peer.backend.scalar("SELECT count(*) FROM lists") == "3")
            #expect(try await peer.backend.scalar("SELECT count(*) FROM writes") == "3", "nothing twice")
        }
    }

    @Test func uploadsAreAnsweredWhileTheServerIsOff() async throws {
        try await onAServerOfItsOwn { server, peer in
            try await peer.expectUpload(1)
            server.kill()
            try await wait(for: "the server to be gone") { !server.isRunning }
            for number in 2...3 { try await peer.expectRefusal(number, within: .seconds(5)) }
            try await server.restart()
            try await peer.expectRecovery(server, 2)
            try await peer.expectUpload(3)
            #expect(try await peer.backend.scalar("SELECT count(*) FROM writes") == "3")
        }
    }

    #if os(Linux)
        @Test func aFirstHostThatIsOffIsPassedOver() async throws {
            let off = try FullPort()
            let server = try await TestPostgres.server()
            try await TestBackend.with({
                let database = $0.databaseURI.split(separator: "/").last ?? ""
                $0.databaseURI =
                    "host=127.0.0.1,127.0.0.1 port=\(off.number),\(server.port) user=postgres "
                    + "password=\(server.password) "
                    + "dbname=\(database) target_session_attrs=read-write"
                // A half is for the host that is off; where the rest does not do, it is tried again.
                $0.connectTimeout = .seconds(5)
                $0.probeTimeout = .seconds(12)
            }) { backend in
                let peer = try await Peer(backend)
                #expect(try await peer.upload(1).answer.status == 200)
                _ = try await backend.scalar(
                    """
                    SELECT count(pg_terminate_backend(pid, 60000)) FROM pg_stat_activity
                    WHERE application_name = 'powersync-backend' AND datname = current_database()
                    """)
                let (answer, time) = try await peer.upload(2)
                #expect(answer.status == 200)
                #expect(!SilentDatabaseTests.isReal || time < Duration.seconds(5) * TestOptions.patience)
                try await peer.expectReadiness()
            }
        }
    #endif

    // MARK: The link

    #if os(Linux)
        @Test func theSocketsHaveTheOptionsOfTheContract() async throws {
            try await TestBackend.with { backend in
                let peer = try await Peer(backend)
                #expect(try await peer.upload(1).answer.status == 200)
                #expect(try await peer.readiness().status == 200)
                let ports = try await backend.query(
                    """
                    SELECT client_port FROM pg_stat_activity
                    WHERE application_name = 'powersync-backend' AND datname = current_database()
                    """)
                #expect(ports.count >= 2, "one of the pool, and the probe's")
                for row in ports {
                    let port = try #require(row[0].flatMap { Int($0) })
                    let socket = try #require(SocketOfPort(port))
                    let tcp = Int32(IPPROTO_TCP)
                    #expect(socket.option(SOL_SOCKET, SO_KEEPALIVE) == 1)
                    #expect(socket.option(tcp, TCP_KEEPIDLE) == 30)
                    #expect(socket.option(tcp, TCP_KEEPINTVL) == 10)
                    #expect(socket.option(tcp, TCP_KEEPCNT) == 3)
                    #expect(socket.option(tcp, TCP_USER_TIMEOUT) == 10_000)
                }
            }
        }
    #endif

    @Test func whatTheURISaysOfTheLinkHolds() {
        let parameters = BackendConfiguration.development(
            databaseURI: "postgres://h/d?keepalives_idle=5&tcp_user_timeout=0"
        ).connectionParameters
        #expect(parameters["keepalives_idle"] == nil && parameters["tcp_user_timeout"] == nil)
        #expect(parameters["keepalives_interval"] == "10" && parameters["keepalives_count"] == "3")
        let malformed = BackendConfiguration.development(databaseURI: "no")
        #expect(malformed.connectionParameters["tcp_user_timeout"] == "10000")
    }

    @Test func theURIMayAllowMoreThanFiveSecondsForConnecting() {
        for (uri, seconds) in [
            ("postgres://h/d", 5), ("postgres://h/d?connect_timeout=3", 5),
            ("postgres://h/d?connect_timeout=60", 60), ("no", 5),
        ] {
            let limits = BackendConfiguration.development(databaseURI: uri).poolLimits
            #expect(limits.connectTimeout == .seconds(seconds), "\(uri)")
        }
    }

    @Test func aServerThatDoesNotAnswerIsAwayAndNotOverloaded() {
        let verdict = DatabaseVerdict(PostgresError(.connectTimedOut, "did not answer in time"))
        #expect(verdict.kind == .retry && verdict.code == "DATABASE_UNAVAILABLE")
        #expect(DatabaseVerdict(PostgresError(.overloaded, "all are in use")).code == "DATABASE_OVERLOADED")
    }
}
