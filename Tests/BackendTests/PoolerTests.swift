import PowerSyncBackend
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What lies between the backend and the database may drop what a session was asked to be (backend 8.2).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct PoolerTests {
    private static let schema = """
        CREATE TABLE events (id text PRIMARY KEY, at timestamptz, label text);
        CREATE TABLE seen (name text, setting text);
        CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO seen SELECT s.name, s.setting FROM pg_settings s WHERE s.name IN ('TimeZone', 'DateStyle',
                'IntervalStyle', 'extra_float_digits', 'standard_conforming_strings', 'search_path',
                'synchronous_commit', 'statement_timeout', 'lock_timeout', 'array_nulls',
                'idle_in_transaction_session_timeout', 'client_encoding');
            RETURN NULL; END $$;
        CREATE TRIGGER sees AFTER INSERT ON events FOR EACH STATEMENT EXECUTE FUNCTION see();
        """
    /// A database that stores other values unless it is told not to.
    private static let adverse = [
        "TimeZone": "'America/New_York'", "DateStyle": "'SQL, DMY'", "IntervalStyle": "'postgres_verbose'",
        "array_nulls": "off", "synchronous_commit": "off", "search_path": "'psb, elsewhere'",
        "extra_float_digits": "0", "standard_conforming_strings": "off", "client_encoding": "'LATIN1'",
    ]
    private static let expected = [
        "DateStyle": "ISO, MDY", "IntervalStyle": "iso_8601", "TimeZone": "UTC", "array_nulls": "on",
        "client_encoding": "UTF8", "extra_float_digits": "1", "idle_in_transaction_session_timeout": "15000",
        "lock_timeout": "4000", "search_path": "pg_catalog,public,pg_temp",
        "standard_conforming_strings": "on", "statement_timeout": "9000", "synchronous_commit": "on",
    ]

    @Test(arguments: [["options"], ["options", "client_encoding"], []] as [Set<String>], [true, false])
    func anUploadIsAppliedUnderItsOwnSettings(dropped: Set<String>, prepares: Bool) async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let server = try await TestPostgres.server()
        let uri = try await TestPostgres.database(poller)
        let name = try #require(uri.split(separator: "/").last)
        let owner = try await PostgresConnection.connect(uri, poller: poller)
        try await owner.script(Self.schema)
        for (setting, value) in Self.adverse {
            try await owner.script("ALTER DATABASE \(name) SET \(setting) = \(value)")
        }
        let relay = try PostgresRelay(to: server.port, dropping: dropped)
        let through = uri.replacing(":\(server.port)/", with: ":\(relay.port)/")
        try #require(through != uri)
        try await TestBackend.with(
            schema: "SELECT 1", uri: through, map: "tables: { events: }",
            {
                $0.statementTimeout = .seconds(9)
                $0.lockTimeout = .seconds(4)
                $0.links.preparesStatements = prepares
            }
        ) { backend in
            let operations = [("a", #""é""#), ("b", "null")].map {
                #"{"op":"PUT","table":"events","id":"\#($0.0)","data":{"at":"2026-01-01 10:00:00","label":\#($0.1)}}"#
            }
            let answer = try await backend.upload("{\"batch\":[\(operations.joined(separator: ","))]}")
            #expect(answer.states == ["applied", "applied"], "\(answer.json.text)")
            let isWarned = backend.lines.withLock {
                $0.contains { $0.contains("other settings than were asked") }
            }
            #expect(isWarned == (dropped.contains("options") && prepares), "nobody asked for them")
        }
        let stored = try await owner.query(
            "SELECT label, (at AT TIME ZONE 'UTC')::text FROM public.events ORDER BY id")
        #expect((0..<stored.rowCount).map { stored[$0, 0] } == ["é", nil])
        #expect(
            (0..<stored.rowCount).map { stored[$0, 1] } == ["2026-01-01 10:00:00", "2026-01-01 10:00:00"])
        let seen = try await owner.query("SELECT name, setting FROM public.seen")
        let settings = Dictionary(
            (0..<seen.rowCount).map { (seen[$0, 0] ?? "", seen[$0, 1] ?? "") }, uniquingKeysWith: { $1 })
        for (name, value) in Self.expected { #expect(settings[name] == value, "\(name)") }
        await owner.close()
    }

    /// As behind a pooler that does not know of them, and as after `DISCARD ALL`.
    @Test func whatASessionHasForgottenIsPreparedAnew() async throws {
        let schema = """
            CREATE TABLE events (id text PRIMARY KEY, label text);
            CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DEALLOCATE ALL; RETURN NULL; END $$;
            CREATE TRIGGER forgets AFTER INSERT ON events FOR EACH STATEMENT EXECUTE FUNCTION forget();
            """
        try await TestBackend.with(
            schema: schema, map: "tables: { events: }", { $0.poolSize = 1 }
        ) { backend in
            for number in 1...3 {
                let answer = try await backend.upload(
                    #"{"batch":[{"op":"PUT","table":"events","id":"\#(number)","data":{"label":"x"}}]}"#)
                #expect(answer.states == ["applied"], "\(answer.json.text)")
            }
            let told = backend.lines.withLock { $0.contains { $0.contains("26000") } }
            #expect(told, "a name was missing")
        }
    }

    @Test(arguments: [true, false])
    func statementsHaveNamesUnlessThePoolerLosesThem(prepares: Bool) async throws {
        let schema = """
            CREATE TABLE events (id text PRIMARY KEY, label text);
            CREATE TABLE seen (names bigint, settings bigint);
            CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                INSERT INTO seen SELECT count(*), count(*) FILTER (WHERE statement LIKE '%set_config(''TimeZone''%')
                    FROM pg_prepared_statements;
                RETURN NULL;
            END $$;
            CREATE TRIGGER sees AFTER INSERT ON events FOR EACH STATEMENT EXECUTE FUNCTION see();
            """
        try await TestBackend.with(
            schema: schema, map: "tables: { events: }", { $0.links.preparesStatements = prepares }
        ) { backend in
            let answer = try await backend.upload(
                #"{"batch":[{"op":"PUT","table":"events","id":"1","data":{"label":"x"}}]}"#)
            #expect(answer.states == ["applied"], "\(answer.json.text)")
            let seen = try await backend.query("SELECT max(names) > 0, max(settings) FROM seen")
            #expect(seen == [[prepares ? "t" : "f", prepares ? "1" : "0"]])
        }
    }
}
