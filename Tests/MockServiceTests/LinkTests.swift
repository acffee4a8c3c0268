import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncMockService
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresSource
import PowerSyncPostgresTestSupport
import PowerSyncSystem
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

    /// Sets the times of production where these are meant.
    private static func isMade(real configuration: inout MockServiceConfiguration) -> Bool {
        guard isReal else { return false }
        let source = configuration.source
        configuration.source = SourceDatabase(uri: source.uri, parameters: source.parameters)
        configuration.linkTimes = LinkTimes()
        return true
    }

    private static func shorten(_ configuration: inout MockServiceConfiguration) {
        guard !isMade(real: &configuration) else { return }
        configuration.linkTimes.statement = .milliseconds(500)
        configuration.linkTimes.reading = .milliseconds(500)
        configuration.linkTimes.status = .milliseconds(100)
        configuration.linkTimes.silence = .milliseconds(500)
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

    /// What comes behind them fails at each attempt: one table may not be read, then another.
    @Test func whatEachAttemptFindsAgainIsToldNowAndThen() async throws {
        let config = """
            config: {edition: 3}
            streams:
              missing: {auto_subscribe: true, query: SELECT * FROM a_missing}
              b: {auto_subscribe: true, query: SELECT * FROM b}
              c: {auto_subscribe: true, query: SELECT * FROM c}
            """
        try await TestService.run(
            ["CREATE TABLE b(id text PRIMARY KEY)", "CREATE TABLE c(id text PRIMARY KEY)"]
        ) { service in
            let database = service.uri.split(separator: "/").last ?? ""
            let role = "replicator_\(database)"
            try await service.tx("CREATE ROLE \(role) \(try TestRole.login(service.uri)) REPLICATION")
            try await service.source.query(
                "SELECT pg_create_logical_replication_slot('powersync_\(database)_stray', 'pgoutput')")
            let begun = ContinuousClock.now
            let start = Task {
                try await service.start(config) {
                    $0.source = .patient(service.uri, parameters: ["user": role])
                }
            }
            for table in ["b", "c"] {
                try await wait(for: "an attempt to fail with \(table)") {
                    service.log.contains { $0.contains("permission denied for table \(table)") }
                }
                try await service.tx("GRANT SELECT ON \(table) TO \(role)")
            }
            try await start.value
            let most = 1 + Int((ContinuousClock.now - begun) / .seconds(30))
            for text in [
                "a table of the configuration does not exist", "a replication slot that nobody uses",
            ] {
                let count = service.log.count { $0.contains(text) }
                #expect((1...most).contains(count), "\(text)")
            }
            await service.stop()
            try await service.tx("DROP OWNED BY \(role)", "DROP ROLE \(role)")
        }
    }

    /// While a standby is away the source is asked for ten seconds at a time.
    @Test func aTransactionThatStaysUnseenIsLookedForLessAndLessOften() {
        var delay = SightDelay()
        let waits = (0..<300).map { _ in delay.next() }
        #expect(waits.prefix(50).allSatisfy { $0 == .milliseconds(1) })
        #expect(Array(waits[50..<56]) == [2, 4, 8, 16, 32, 50].map { .milliseconds($0) })
        #expect(waits.suffix(244).allSatisfy { $0 == .milliseconds(50) })
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
                #expect(try await service.readiness() == 400)
                #expect(try await service.send("GET", "/probes/liveness", token: "").status == 200)
                try await service.tx("INSERT INTO lists VALUES ('l3', 'u1', '')")
                proxy.heal()
                try await stream.holds(["lists/l1", "lists/l3"])
                try await wait(for: "the probe to be green") {
                    try await service.readiness()
                } until: {
                    $0 == 200
                }
            }
        }
    }

    /// The server says nothing for longer than the reading of a table may bring nothing: each row costs it much before it is sent.
    @Test(arguments: ["text PRIMARY KEY", "text"])
    func aTableWhoseFirstRowTakesLongIsReadInTheEnd(id: String) async throws {
        let rows = 40
        try await TestService.run(
            [
                "CREATE TABLE lists(id \(id), owner_id text, name text)",
                "INSERT INTO lists SELECT 'l' || n, 'u1', '' FROM generate_series(1, \(rows)) n",
            ], publication: "FOR TABLE lists WHERE (length(repeat(id, 10000000)) > 0)"
        ) { service in
            try await service.start(Self.config) { $0.linkTimes.reading = .milliseconds(100) }
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
            #expect(try await service.readiness() == 200)
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
                #expect(try await service.readiness() == 400)
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
                try await wait(for: "the probe to be green") {
                    try await service.readiness()
                } until: {
                    $0 == 200
                }
                proxy.becomeHole()
                try await service.tx("INSERT INTO lists VALUES ('l3', 'u1', '')")
                try await wait(for: "the probe to tell") {
                    try await service.readiness()
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
                    try await service.readiness()
                } until: {
                    $0 == 200
                }
                #expect(stream.end == nil)
            }
        }
    }

    /// Connecting may take longer than anything else, if the configuration says so, and is no standstill.
    @Test func whoConnectsIsAliveAsLongAsTheConfigurationAllows() async throws {
        try await TestService.run(Self.schema) { service in
            let proxy = try PostgresProxy(to: try await TestPostgres.server().port)
            @Sendable func change(_ configuration: inout MockServiceConfiguration) {
                configuration.source = SourceDatabase(
                    uri: service.uri, parameters: ["host": "127.0.0.1", "port": "\(proxy.port)"])
                // A machine that stands still for longer than liveness is not alive.
                configuration.source.connectTimeout = .seconds(20)
                configuration.linkTimes.statement = .milliseconds(500)
                configuration.linkTimes.liveness = .seconds(18)
            }
            try await service.start(Self.config, change: change)
            try await service.open().holds(["lists/l1"])
            await service.stop()
            proxy.becomeHole()
            try await service.start(Self.config, change: change)
            try await wait(for: "the connection to be given up") {
                let liveness = try await service.send("GET", "/probes/liveness", token: "").status
                #expect(liveness == 200)
                return service.log.contains {
                    $0.contains("replication failed") && $0.contains("did not answer in time")
                }
            }
            proxy.heal()
        }
    }

    /// As many requests ask the source at once as the configuration has connections for them.
    @Test func thePoolForClientsIsAsLargeAsTheConfigurationSays() async throws {
        try await TestService.run(Self.schema) { service in
            let proxy = try PostgresProxy(to: try await TestPostgres.server().port)
            let count = 8
            try await service.start(Self.config) { configuration in
                // Nobody gives up and asks once more.
                configuration.source = .patient(
                    service.uri, parameters: ["host": "127.0.0.1", "port": "\(proxy.port)"])
                configuration.source.poolSize = count
                configuration.linkTimes.silence = .seconds(600)
            }
            try await service.open().holds(["lists/l1"])
            proxy.becomeHole()
            let before = proxy.accepted
            let requests = (1...count).map { number in
                Task { try await service.send("GET", "/write-checkpoint2.json?client_id=\(number)") }
            }
            try await wait(for: "a connection for each") {
                proxy.accepted - before
            } until: {
                $0 == count
            }
            for request in requests { request.cancel() }
            proxy.heal()
        }
    }

    /// What goes takes nothing with it that has come since, such as the number of its socket.
    @Test func theProxyServesWhoComesWhileAnotherGoes() async throws {
        let server = try await TestPostgres.server()
        let proxy = try PostgresProxy(to: server.port)
        let poller = try Poller()
        defer { poller.stop() }
        let uri = server.uri().replacing(":\(server.port)/", with: ":\(proxy.port)/")
        for _ in 0..<300 {
            let connection = try await PostgresConnection.connect(uri, poller: poller)
            #expect(try await connection.query("SELECT 1").scalar == "1")
            await connection.close()
        }
    }

    /// Two primaries of one system answer for one address, as with a former one that nobody has stopped yet.
    @Test func nothingIsTakenFromAnotherServerThanTheStream() async throws {
        try await TestCluster.withServer { server in
            try await TestCluster.withServer { other in
                // The one for statements, the other for replication, again and again.
                let proxy = try PostgresProxy(to: server.port, other.port)
                try await TestService.run(Self.schema, uri: server.uri()) { service in
                    let connection = try await PostgresConnection.connect(
                        other.uri(), poller: service.poller)
                    for statement in Self.schema + ["CREATE PUBLICATION powersync FOR ALL TABLES"] {
                        try await connection.query(statement)
                    }
                    let starting = Task {
                        try await service.start(Self.config) {
                            $0.source = .patient(
                                service.uri, parameters: ["host": "127.0.0.1", "port": "\(proxy.port)"])
                            $0.linkTimes.silence = .seconds(600)
                        }
                    }
                    try await wait(for: "the reason in the log") {
                        service.log.contains { $0.contains("leads to different servers") }
                    }
                    let slots = try await connection.query("SELECT count(*) FROM pg_replication_slots").scalar
                    #expect(slots == "0")
                    await connection.close()
                    proxy.lead(to: server.port)
                    try await wait(forEndOf: starting)
                    let stream = try await service.open(SyncStreamRequest(clientID: "c"))
                    try await stream.holds(["lists/l1"])
                    proxy.lead(to: other.port)
                    let path = "/write-checkpoint2.json?client_id=c"
                    #expect(try await service.send("GET", path).status == 500)
                    proxy.lead(to: server.port)
                    #expect(try await service.writeCheckpoint(client: "c") == 1)
                    try await stream.holds("the write checkpoint") { $0.writeCheckpoint == 1 }
                }
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
                    try await service.readiness()
                } until: {
                    $0 == 400
                }
                kill(process, SIGCONT)
                try await stream.holds(["lists/l1", "lists/l3"], within: Self.soon())
                try await wait(for: "the probe to be green", within: Self.soon()) {
                    try await service.readiness()
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
                    try await service.readiness()
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
                    try await service.readiness()
                } until: {
                    $0 == 200
                }
            }
        }
    }

    // MARK: Taken away at the source

    /// Returns once a client that comes now gets all rows and the probe is green, as soon as is promised.
    private static func everythingIsBack(_ service: TestService, _ rows: [String]) async throws {
        let healed = ContinuousClock.now
        let seen = try await wait(for: "all rows", within: soon()) {
            try await service.served()
        } until: {
            $0.rowNames == rows
        }
        #expect(seen.broken == [])
        try await wait(for: "the probe to be green", within: soon() - healed.duration(to: .now)) {
            try await service.readiness()
        } until: {
            $0 == 200
        }
        if isReal { print("links: everything is back after \(healed.duration(to: .now))") }
    }

    /// Until somebody makes it again, clients keep what they have; what was changed meanwhile is in no stream.
    @Test func aPublicationThatWasDroppedIsBackSoonAfterItWasMadeAgain() async throws {
        try await TestCluster.withServer { server in
            try await TestService.run(Self.schema, uri: server.uri()) { service in
                try await service.start(Self.config, change: Self.shorten)
                try await service.open().holds(["lists/l1"])
                try await service.tx("DROP PUBLICATION powersync")
                try await service.tx("INSERT INTO lists VALUES ('between', 'u1', '')")
                try await wait(for: "the probe to tell") {
                    try await service.readiness()
                } until: {
                    $0 == 400
                }
                try await service.open().holds(["lists/l1"])
                try await service.tx("CREATE PUBLICATION powersync FOR ALL TABLES")
                try await Self.everythingIsBack(service, ["lists/between", "lists/l1"])
            }
        }
    }

    /// What is committed between one slot and the next is in no stream.
    @Test func aSlotThatWasDroppedIsReplacedAsSoonAsPostgresMakesOne() async throws {
        // An open transaction holds up the slots of the whole cluster.
        try await TestCluster.withServer { server in
            try await TestService.run(Self.schema, uri: server.uri()) { service in
                try await service.start(Self.config, change: Self.shorten)
                try await service.open().holds(["lists/l1"])
                let slot = try #require(try await service.slots().first)
                let writer = try await PostgresConnection.connect(service.uri, poller: service.poller)
                try await writer.query("BEGIN")
                try await writer.query("INSERT INTO lists VALUES ('between', 'u1', '')")
                try await wait(for: "the slot to be dropped") { try await Self.isDropped(slot, service) }
                try await wait(for: "the probe to tell") {
                    try await service.readiness()
                } until: {
                    $0 == 400
                }
                try await service.open().holds(["lists/l1"])
                try await writer.query("COMMIT")
                try await Self.everythingIsBack(service, ["lists/between", "lists/l1"])
                #expect(service.log.contains { $0.contains("Replication slot \(slot) is gone.") })
                await writer.close()
            }
        }
    }

    /// Ends the walsender of a slot, which comes back as often, and drops the slot if it was faster.
    private static func isDropped(_ slot: String, _ service: TestService) async throws -> Bool {
        let its = "FROM pg_replication_slots WHERE slot_name = '\(slot)'"
        try await service.source.query("SELECT pg_terminate_backend(active_pid) \(its) AND active")
        do {
            try await service.source.query("SELECT pg_drop_replication_slot(slot_name) \(its) AND NOT active")
        } catch let error as PostgresError where error.sqlstate == "55006" {
            return false
        }
        return try await service.slots().contains(slot) == false
    }

    /// Its decoding takes long and brings nothing, and a link that is made again begins with it anew.
    @Test func aLongTransactionOfATableThatIsNotPublishedIsWaitedFor() async throws {
        let rows = TestOptions.number("POWERSYNC_UNPUBLISHED_ROWS", standard: 100_000)
        try await TestCluster.withServer { server in
            try await TestService.run(
                Self.schema + ["CREATE TABLE unpublished(n int)"], uri: server.uri(),
                publication: "FOR TABLE lists"
            ) { service in
                try await service.start(Self.config) { configuration in
                    guard !Self.isMade(real: &configuration) else { return }
                    // So short that the link is made again some times.
                    configuration.linkTimes.silence = .milliseconds(50)
                    configuration.linkTimes.status = .milliseconds(20)
                }
                let stream = try await service.open()
                try await stream.holds(["lists/l1"])
                var hasLostPatience = false
                var expected = ["lists/l1"]
                // A fast machine decodes the first of them before patience ends, and needs longer ones. The patience of
                // production would take more rows than a disk may have room for.
                for round in 0..<(Self.isReal ? 1 : 6) where !hasLostPatience {
                    let (large, small) = ("m\(round)", "n\(round)")
                    try await service.tx(
                        "INSERT INTO unpublished SELECT generate_series(1, \(rows << round))",
                        "INSERT INTO lists VALUES ('\(large)', 'u1', '')")
                    try await service.tx("INSERT INTO lists VALUES ('\(small)', 'u1', '')")
                    expected += ["lists/\(large)", "lists/\(small)"]
                    try await stream.holds(expected.sorted())
                    hasLostPatience = service.log.contains { $0.contains("has said nothing for") }
                }
                #expect((hasLostPatience || Self.isReal) && stream.end == nil)
                try await wait(for: "the probe to be green") {
                    try await service.readiness()
                } until: {
                    $0 == 200
                }
                try await service.tx("DROP TABLE unpublished")
            }
        }
    }
}
