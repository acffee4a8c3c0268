import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncMockService
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

/// Links to the source that are open and dead (service 7.8, 1.9).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct LinkTests {
    private static let schema = ReplicationServiceTests.schema
    private static let config = ReplicationServiceTests.config

    /// With `POWERSYNC_REAL_TIMES=1` the times are those of production, and everything has to be back as soon after healing as
    /// is promised; else only that it comes back counts.
    private static let isReal = TestOptions.number("POWERSYNC_REAL_TIMES", standard: 0) == 1

    private static func soon(_ seconds: Int = 5) -> Duration {
        isReal ? .seconds(seconds) : TestOptions.deadline
    }

    private static func shorten(_ configuration: inout MockServiceConfiguration) {
        guard !isReal else { return }
        configuration.linkTimes.statement = .milliseconds(500)
        configuration.linkTimes.status = .milliseconds(100)
        configuration.linkTimes.silence = .milliseconds(500)
    }

    private static func readiness(_ service: TestService) async throws -> Int {
        try await service.send("GET", "/probes/readiness", token: "").status
    }

    @Test func patienceDoublesWhileLinksThatWereMadeAgainBringNoCommit() {
        var patience = LinkPatience(from: .seconds(15), to: .seconds(100))
        var seen: [Duration] = []
        for _ in 0..<5 {
            seen.append(patience.current)
            patience.wasSilent()
        }
        #expect(seen == [15, 15, 30, 60, 100].map { .seconds($0) })
        patience.arrived()
        #expect(patience == LinkPatience(from: .seconds(15), to: .seconds(100)))
    }

    @Test func aFailureThatLastsIsToldNowAndThen() {
        var failures = RepeatedFailures()
        let now = ContinuousClock.now
        let told = [("one", 0), ("one", 29), ("two", 29), ("one", 29), ("one", 59)].map { text, seconds in
            failures.isNew(text, at: now + .seconds(seconds))
        }
        #expect(told == [true, false, true, true, true])
    }

    /// What a service knows from before is served at once; that nobody has heard the source yet is for the probe.
    @Test func aStateIsServedAndNotReadyBeforeTheSourceIsHeard() async throws {
        try await TestCluster.withServer { server in
            let proxy = try PostgresProxy(to: server.port)
            try await TestService.run(Self.schema, uri: server.uri()) { service in
                @Sendable func change(_ configuration: inout MockServiceConfiguration) {
                    Self.shorten(&configuration)
                    configuration.source = SourceDatabase(
                        uri: service.uri, parameters: ["host": "127.0.0.1", "port": "\(proxy.port)"])
                }
                try await service.start(Self.config, change: change)
                try await service.open().holds(["lists/l1"])
                await service.stop()
                proxy.becomeHole()
                try await service.start(Self.config, change: change)
                let stream = try await service.open()
                try await stream.holds(["lists/l1"])
                #expect(try await Self.readiness(service) == 400)
                #expect(try await service.send("GET", "/probes/liveness", token: "").status == 200)
                try await service.tx("INSERT INTO lists VALUES ('l3', 'u1', '')")
                proxy.heal()
                try await stream.holds(["lists/l1", "lists/l3"])
                try await wait(for: "the probe to be green") {
                    try await Self.readiness(service)
                } until: {
                    $0 == 200
                }
            }
        }
    }

    /// The server says nothing for longer than a statement may take: each row costs it much before it is sent.
    @Test(arguments: ["text PRIMARY KEY", "text"])
    func aTableWhoseFirstRowTakesLongIsReadInTheEnd(id: String) async throws {
        let rows = 40
        try await TestService.run(
            [
                "CREATE TABLE lists(id \(id), owner_id text, name text)",
                "INSERT INTO lists SELECT 'l' || n, 'u1', '' FROM generate_series(1, \(rows)) n",
            ], publication: "FOR TABLE lists WHERE (length(repeat(id, 10000000)) > 0)"
        ) { service in
            try await service.start(Self.config) { $0.linkTimes.statement = .milliseconds(100) }
            try await service.open().holds("all rows") { $0.rowCount == rows }
        }
    }

    /// Postgres refuses statements that write, as with a disk that is full; what this service needs goes on.
    @Test func aSourceThatIsReadOnlyIsReplicatedAllTheSame() async throws {
        try await TestService.run(Self.schema) { service in
            let database = service.uri.split(separator: "/").last ?? ""
            try await service.source.query(
                "ALTER DATABASE \(database) SET default_transaction_read_only = on")
            try await service.start(Self.config)
            let stream = try await service.open(SyncStreamRequest(clientID: "c"))
            try await stream.holds(["lists/l1"])
            #expect(try await service.writeCheckpoint(client: "c") == 1)
            try await stream.holds("the write checkpoint") { $0.writeCheckpoint == 1 }
            #expect(try await Self.readiness(service) == 200)
            // The connection of the test is from before.
            try await service.tx("INSERT INTO lists VALUES ('l3', 'u1', '')")
            try await stream.holds(["lists/l1", "lists/l3"])
        }
    }

    /// Every slot is in use when the service comes, and again when a new configuration does.
    @Test func withoutAFreeSlotTheServiceWaitsAndServesWhatItHas() async throws {
        try await TestCluster.withServer { server in
            try await TestService.run(Self.schema, uri: server.uri()) { service in
                func takeAll() async throws {
                    try await service.source.query(
                        "SELECT pg_create_physical_replication_slot('taken_' || n) FROM generate_series(1, "
                            + "current_setting('max_replication_slots')::int - (SELECT count(*) FROM "
                            + "pg_replication_slots)::int) n")
                }
                try await takeAll()
                let starting = Task { try await service.start(Self.config) }
                func complaints() -> Int {
                    service.log.count { $0.contains("all replication slots are in use") }
                }
                try await wait(for: "the reason in the log") { complaints() > 0 }
                try await service.source.query("SELECT pg_drop_replication_slot('taken_1')")
                try await starting.value
                try await service.open().holds(["lists/l1"])
                await service.stop()
                let before = complaints()
                try await service.start(Self.config + "\n# another text\n")
                try await wait(for: "the reason in the log") { complaints() > before }
                let former = try await service.open()
                try await former.holds(["lists/l1"])
                try await service.tx("INSERT INTO lists VALUES ('l3', 'u1', '')")
                try await former.holds(["lists/l1", "lists/l3"])
                #expect(former.end == nil)
                #expect(try await Self.readiness(service) == 400)
                try await service.source.query("SELECT pg_drop_replication_slot('taken_2')")
                try await former.waitForEnd()
                try await wait(for: "the new configuration") {
                    let stream = try await service.open()
                    defer { stream.close() }
                    try await stream.holds(["lists/l1", "lists/l3"])
                    return stream.model.listed.keys.contains { $0.hasPrefix("2#") }
                }
            }
        }
    }

    /// The link passes nothing any more: everybody keeps what there is, the probe tells, and what came meanwhile arrives.
    @Test func aBlackHoleIsNoticedAndNothingIsMissed() async throws {
        try await TestCluster.withServer { server in
            let proxy = try PostgresProxy(to: server.port)
            try await TestService.run(Self.schema, uri: server.uri()) { service in
                try await service.start(Self.config) { configuration in
                    Self.shorten(&configuration)
                    configuration.source = SourceDatabase(
                        uri: service.uri, parameters: ["host": "127.0.0.1", "port": "\(proxy.port)"])
                }
                let stream = try await service.open()
                try await stream.holds(["lists/l1"])
                #expect(try await Self.readiness(service) == 200)
                proxy.becomeHole()
                try await service.tx("INSERT INTO lists VALUES ('l3', 'u1', '')")
                try await wait(for: "the probe to tell") {
                    try await Self.readiness(service)
                } until: {
                    $0 == 400
                }
                #expect(try await service.send("GET", "/probes/liveness", token: "").status == 200)
                // Nobody waits for ever: neither a request nor the service.
                let answer = try await service.send("GET", "/write-checkpoint2.json?client_id=c")
                #expect(answer.status == 500)
                let meanwhile = try await service.open()
                try await meanwhile.holds(["lists/l1"])
                proxy.heal()
                try await stream.holds(["lists/l1", "lists/l3"], within: Self.soon(20))
                try await meanwhile.holds(["lists/l1", "lists/l3"])
                try await wait(for: "the probe to be green", within: Self.soon()) {
                    try await Self.readiness(service)
                } until: {
                    $0 == 200
                }
                #expect(stream.end == nil)
            }
        }
    }

    /// The connection is fine, and the process behind it stands still.
    @Test func aWalsenderThatStandsStillIsNoticed() async throws {
        try await TestCluster.withServer { server in
            try await TestService.run(Self.schema, uri: server.uri()) { service in
                try await service.start(Self.config, change: Self.shorten)
                let stream = try await service.open()
                try await stream.holds(["lists/l1"])
                let sender = try await service.source.query("SELECT active_pid FROM pg_replication_slots")
                    .scalar
                let process = try #require(sender.flatMap { Int32($0) })
                try #require(kill(process, SIGSTOP) == 0)
                defer { kill(process, SIGCONT) }
                try await service.tx("INSERT INTO lists VALUES ('l3', 'u1', '')")
                try await wait(for: "the probe to tell") {
                    try await Self.readiness(service)
                } until: {
                    $0 == 400
                }
                kill(process, SIGCONT)
                try await stream.holds(["lists/l1", "lists/l3"], within: Self.soon())
                try await wait(for: "the probe to be green", within: Self.soon()) {
                    try await Self.readiness(service)
                } until: {
                    $0 == 200
                }
            }
        }
    }

    @Test func aServerThatWasKilledIsTakenUpAgain() async throws {
        try await TestCluster.withServer { server in
            try await TestService.run(Self.schema, uri: server.uri()) { service in
                try await service.start(Self.config, change: Self.shorten)
                let stream = try await service.open()
                try await stream.holds(["lists/l1"])
                server.kill()
                try await wait(for: "the probe to tell") {
                    try await Self.readiness(service)
                } until: {
                    $0 == 400
                }
                try await service.open().holds(["lists/l1"])
                try await server.restart()
                let connection = try await PostgresConnection.connect(service.uri, poller: service.poller)
                try await connection.query("INSERT INTO lists VALUES ('l3', 'u1', '')")
                await connection.close()
                try await stream.holds(["lists/l1", "lists/l3"], within: Self.soon())
                #expect(stream.end == nil)
                try await wait(for: "the probe to be green", within: Self.soon()) {
                    try await Self.readiness(service)
                } until: {
                    $0 == 200
                }
            }
        }
    }

    /// Its decoding takes long and brings nothing, and a link that is made again begins with it anew.
    @Test func aLongTransactionOfATableThatIsNotPublishedIsWaitedFor() async throws {
        let rows = TestOptions.number("POWERSYNC_UNPUBLISHED_ROWS", standard: 300_000)
        try await TestCluster.withServer { server in
            try await TestService.run(
                Self.schema + ["CREATE TABLE unpublished(n int)"], uri: server.uri(),
                publication: "FOR TABLE lists"
            ) { service in
                try await service.start(Self.config) { configuration in
                    guard !Self.isReal else { return }
                    // So short that the link is made again some times.
                    configuration.linkTimes.silence = .milliseconds(50)
                    configuration.linkTimes.status = .milliseconds(20)
                }
                let stream = try await service.open()
                try await stream.holds(["lists/l1"])
                try await service.tx(
                    "INSERT INTO unpublished SELECT generate_series(1, \(rows))",
                    "INSERT INTO lists VALUES ('l3', 'u1', '')")
                try await service.tx("INSERT INTO lists VALUES ('l4', 'u1', '')")
                try await stream.holds(["lists/l1", "lists/l3", "lists/l4"])
                #expect(stream.end == nil)
                try await wait(for: "the probe to be green") {
                    try await Self.readiness(service)
                } until: {
                    $0 == 200
                }
                try await service.tx("DROP TABLE unpublished")
            }
        }
    }
}
