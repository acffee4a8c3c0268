import PowerSyncBackend
import PowerSyncCommandLine
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// How backends hear that tables have changed (backend 8.5).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct CatalogAnnouncementTests {
    private static let map = "tables: { lists: , todos: }\n"
    private static let triggers = "SELECT count(*) FROM pg_event_trigger"

    /// Changes that no reading but one that was asked for can have seen, as the next is not due for a day.
    private static func never(_ configuration: inout BackendConfiguration) {
        configuration.catalogInterval = .seconds(86_400)
    }

    /// Waits until the backend has noticed so many changes since its start.
    private func waitForChanges(_ count: Int, _ backend: TestBackend) async throws {
        try await wait(
            for: "\(count) changes to be noticed",
            read: { backend.lines.withLock { $0.filter { $0.contains("the catalog has changed") }.count } },
            until: { $0 == count })
    }

    private func waitForListener(_ backend: TestBackend) async throws {
        try await wait(
            for: "somebody to listen",
            read: {
                try await backend.scalar(
                    """
                    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                        AND application_name = 'powersync-backend' AND query LIKE 'LISTEN%'
                    """)
            }, until: { $0 == "1" })
    }

    @Test(arguments: [nil, map]) func aChangedTableIsSeenWithoutThePoll(map: String?) async throws {
        try await TestBackend.with(map: map, Self.never) { backend in
            #expect(try await backend.scalar(Self.triggers) == "2")
            try await waitForListener(backend)
            // The first may have been seen when the listening began, the others can only have been heard of.
            let changes = [
                "ALTER TABLE lists ADD COLUMN one text", "ALTER TABLE lists DROP COLUMN one",
                "CREATE UNIQUE INDEX by_description ON todos (description)", "DROP INDEX by_description",
                "DROP TABLE lists CASCADE",
            ]
            for (index, change) in changes.enumerated() {
                _ = try await backend.query(change)
                try await waitForChanges(index + 1, backend)
            }
        }
    }

    /// As a migration that says nothing of itself, in a database whose owner may not make event triggers.
    @Test func withoutTheTriggerThePollSeesIt() async throws {
        try await TwoRoles.with { two in
            try await two.migrate {
                $0.roles = [two.backendRole]
                $0.hasTrigger = true
            }
            #expect(try await two.asSuperuser(Self.triggers) == "0")
            try await TestBackend.with(
                schema: "SELECT 1", uri: two.backend, map: TwoRoles.map,
                { $0.catalogInterval = .milliseconds(20) }
            ) { backend in
                for number in 1...2 {
                    try await two.asOwner("ALTER TABLE lists ADD COLUMN c\(number) text")
                    try await waitForChanges(number, backend)
                }
                #expect(
                    try await backend.apply(#"{"op":"PUT","table":"lists","id":"a","data":{"c1":"x"}}"#)
                        == "applied")
            }
            try await TestBackend.with(schema: "SELECT 1", uri: two.backend, map: TwoRoles.map, Self.never) {
                backend in
                try await waitForListener(backend)
                for number in 3...4 {
                    try await two.asOwner(
                        "ALTER TABLE lists ADD COLUMN c\(number) text; NOTIFY psb_catalog")
                    try await waitForChanges(number - 2, backend)
                }
            }
        }
    }

    @Test func whatWasMissedIsSeenWhenTheConnectionIsThereAgain() async throws {
        try await TestBackend.with(Self.never) { backend in
            try await waitForListener(backend)
            _ = try await backend.query("ALTER TABLE lists ADD COLUMN heard text")
            try await waitForChanges(1, backend)
            _ = try await backend.query("ALTER EVENT TRIGGER psb_catalog DISABLE")
            for number in 1...2 {
                _ = try await backend.query("ALTER TABLE lists ADD COLUMN c\(number) text")
                _ = try await backend.query(
                    """
                    SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = current_database()
                        AND application_name = 'powersync-backend' AND query LIKE 'LISTEN%'
                    """)
                try await waitForChanges(number + 1, backend)
                try await waitForListener(backend)
            }
        }
    }

    @Test func theTriggersGoWithTheSchema() async throws {
        try await TestBackend.with { backend in
            _ = try await backend.query("DROP SCHEMA psb CASCADE")
            #expect(try await backend.scalar(Self.triggers) == "0")
            _ = try await backend.query("CREATE TABLE more (id text PRIMARY KEY)")
            _ = try await backend.query("DROP TABLE more")
        }
    }

    /// The function runs as whoever changes a table, so the schema's owner must not be able to replace it.
    @Test func theFunctionBelongsToWhoeverMadeTheTriggers() async throws {
        try await TwoRoles.with { two in
            try await two.migrate()
            try await two.asOwner(
                """
                CREATE FUNCTION psb.announce_catalog() RETURNS event_trigger LANGUAGE plpgsql AS
                    $$ BEGIN ALTER ROLE \(two.backendRole) SUPERUSER; END $$
                """)
            let outcome = try await two.migrate(as: two.superuser) { $0.hasTrigger = true }
            #expect(outcome.trigger == .made)
            let trusted = "SELECT rolsuper FROM pg_roles r JOIN pg_proc p ON p.proowner = r.oid"
            #expect(try await two.asSuperuser("\(trusted) WHERE p.proname = 'announce_catalog'") == "t")
            try await two.asSuperuser("CREATE TABLE more (id text)")
            #expect(
                try await two.asSuperuser(
                    "SELECT rolsuper FROM pg_roles WHERE rolname = '\(two.backendRole)'")
                    == "f")
            // Whoever changes tables needs no right on psb.
            try await two.asSuperuser("GRANT CREATE ON SCHEMA public TO \(two.backendRole)")
            try await two.asBackend("CREATE TABLE public.theirs (id text); DROP TABLE public.theirs")
        }
    }

    @Test func temporaryTablesAndOtherCommandsSayNothing() async throws {
        try await TestBackend.with { backend in
            let connection = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
            try await connection.script("LISTEN psb_catalog")
            for command in [
                "CREATE TEMP TABLE t (a int); ALTER TABLE t ADD b int; DROP TABLE t",
                "CREATE TEMP TABLE u ON COMMIT DROP AS SELECT 1 AS a", "COMMENT ON TABLE lists IS 'x'",
                "CREATE MATERIALIZED VIEW m AS SELECT 1 AS a; REFRESH MATERIALIZED VIEW m",
                "GRANT SELECT ON lists TO PUBLIC", "NOTIFY psb_catalog, 'the end'",
            ] {
                try await connection.script(command)
            }
            let told = try await connection.notifications(until: .now + TestOptions.deadline)
            #expect(told.map(\.payload) == ["the end"])
            await connection.close()
        }
    }

    /// A transaction that has notified cannot be prepared.
    @Test func aTransactionThatChangesATableCanStillBePrepared() async throws {
        try await TestCluster.withServer { server in
            try await TestBackend.with(uri: server.uri()) { backend in
                #expect(try await backend.scalar(Self.triggers) == "2")
                _ = try await backend.query("ALTER SYSTEM SET max_prepared_transactions = 2")
                try await server.restart()
                let connection = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
                try await connection.script("BEGIN; CREATE TABLE more (id text); PREPARE TRANSACTION 'x'")
                try await connection.script("COMMIT PREPARED 'x'")
                var migration = SchemaMigration()
                migration.hasTrigger = true
                #expect(try await migration.run(on: connection).trigger == .twoPhase)
                await connection.close()
            }
        }
    }

    // MARK: The listener

    private func listener(
        _ uri: String, _ poller: Poller, log: Log = Log(label: "x", sink: { _ in })
    ) -> CatalogListener {
        CatalogListener(uri: uri, parameters: [:], poller: poller, log: log, random: { 0 })
    }

    /// As many as have come while one reading was under way, which only a server of the test's own can tell.
    @Test func manyChangesAreOneReading() async throws {
        // NotificationResponse of the process 7, without a payload.
        let head: [UInt8] = [0x41, 0, 0, 0, 21, 0, 0, 0, 7]
        let change: [UInt8] = head + Array("psb_catalog\0\0".utf8)
        let (isSaid, goesOn) = (Lock(0), BlockingGate())
        defer { goesOn.open() }
        let server = try RawServer { connection in
            guard connection.receive() != nil else { return }
            // AuthenticationOk and ReadyForQuery.
            let welcome: [UInt8] = [0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5A, 0, 0, 0, 5, 0x49]
            connection.send(welcome)
            guard connection.receive() != nil else { return }
            // CommandComplete and ReadyForQuery.
            let taken: [UInt8] = [0x43, 0, 0, 0, 11] + Array("LISTEN\0".utf8)
            let answer: [UInt8] = taken + [0x5A, 0, 0, 0, 5, 0x49]
            if isSaid.withLock({ $0 }) == 0 {
                let changes: [UInt8] = Array(Array(repeating: change, count: 100).joined())
                connection.send(answer + changes)
                isSaid.withLock { $0 = 1 }
                goesOn.wait()
                connection.send(change)
            } else {
                connection.send(answer)
                isSaid.withLock { $0 = 2 }
                connection.waitForHangUp()
            }
        }
        let poller = try Poller()
        defer { poller.stop() }
        let gate = Gate()
        let listener = listener(
            "postgres://user@127.0.0.1:\(server.port)/x?sslmode=disable&gssencmode=disable", poller)
        let listening = Task { await listener.run { await gate.pass() } }
        try await wait(for: "the first reading, and a hundred changes") {
            gate.arrivals == 1 && isSaid.withLock { $0 } == 1
        }
        gate.open()
        try await wait(for: "a reading of all of it") { gate.arrivals > 1 }
        goesOn.open()
        // Everything that was said on the first connection has been read when there is another.
        try await wait(for: "another connection") { isSaid.withLock { $0 } == 2 }
        try await wait(for: "its reading") { gate.arrivals > 3 }
        // One of each connection, one of the hundred and one of the last; more where a connection was given up as silent.
        #expect(gate.arrivals < 10)
        listening.cancel()
        await listening.value
    }

    /// As a pooler does that lends a session for each transaction.
    @Test func whereNobodyCanListenItIsTriedAgainAndNothingElseHappens() async throws {
        let server = try RawServer { connection in
            guard connection.receive() != nil else { return }
            // AuthenticationOk and ReadyForQuery.
            let welcome: [UInt8] = [0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5A, 0, 0, 0, 5, 0x49]
            connection.send(welcome)
            guard connection.receive() != nil else { return }
            let error = Array("SERROR\0C0A000\0MLISTEN is not supported\0\0".utf8)
            connection.send([0x45, 0, 0, 0, UInt8(error.count + 4)] + error + [0x5A, 0, 0, 0, 5, 0x49])
            connection.waitForHangUp()
        }
        let poller = try Poller()
        defer { poller.stop() }
        let listener = listener(
            "postgres://user@127.0.0.1:\(server.port)/x?sslmode=disable&gssencmode=disable", poller)
        let readings = Lock(0)
        let listening = Task { await listener.run { readings.withLock { $0 += 1 } } }
        try await wait(for: "another try") { server.connections > 2 }
        listening.cancel()
        await listening.value
        #expect(readings.withLock { $0 } == 0)
    }

    /// As behind a pooler that takes LISTEN and ends what is idle: the pauses grow, and one line of the log says why.
    @Test func aConnectionThatEndsBehindListenIsMadeAgainLaterAndLater() async throws {
        let server = try RawServer { connection in
            guard connection.receive() != nil else { return }
            // AuthenticationOk and ReadyForQuery.
            let welcome: [UInt8] = [0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5A, 0, 0, 0, 5, 0x49]
            connection.send(welcome)
            guard connection.receive() != nil else { return }
            // CommandComplete and ReadyForQuery.
            connection.send([0x43, 0, 0, 0, 11] + Array("LISTEN\0".utf8) + [0x5A, 0, 0, 0, 5, 0x49])
        }
        let poller = try Poller()
        defer { poller.stop() }
        let warnings = Lock<[String]>([])
        let log = Log(label: "x", level: .warning) { line in warnings.withLock { $0.append(line) } }
        let listener = listener(
            "postgres://user@127.0.0.1:\(server.port)/x?sslmode=disable&gssencmode=disable", poller, log: log)
        let readings = Lock(0)
        let listening = Task { await listener.run { readings.withLock { $0 += 1 } } }
        try await wait(for: "connections that LISTEN", read: { readings.withLock { $0 } }, until: { $0 > 3 })
        listening.cancel()
        await listening.value
        // A pause as short as the first one is said.
        #expect(warnings.withLock { $0.count } == 1, "\(warnings.withLock { $0 })")
    }
}
