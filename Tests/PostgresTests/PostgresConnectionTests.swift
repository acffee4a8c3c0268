import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct PostgresConnectionTests {
    let poller: Poller

    init() throws {
        poller = try Poller()
    }

    @Test func sendsParametersAndReadsRows() async throws {
        let connection = try await TestPostgres.connection(poller)
        let result = try await connection.query(
            "SELECT $1::text AS a, $2::int + 1 AS b, $3::text IS NULL AS c, $4::text AS d",
            ["é🙂'", "41", nil, ""])
        #expect(result.columns.map(\.name) == ["a", "b", "c", "d"])
        #expect(result.columns.map(\.typeOID) == [25, 23, 16, 25])
        #expect(result.row(0) == ["é🙂'", "42", "t", ""])
        #expect(result[0, "b"] == "42")
        #expect(result.commandTag == "SELECT 1")
        let none = try await connection.query("SELECT $1::int WHERE false", [nil])
        #expect(none.rowCount == 0)
        #expect(none.scalar == nil)
        await connection.close()
    }

    @Test func countsAffectedRowsAndShowsTheTransaction() async throws {
        let connection = try await TestPostgres.connection(poller)
        try await connection.script("CREATE TABLE t (x int); INSERT INTO t SELECT generate_series(1, 5)")
        let update = try await connection.query("UPDATE t SET x = x + 1 WHERE x > $1", ["2"])
        #expect(update.affectedRows == 3)
        #expect(update.commandTag == "UPDATE 3")
        #expect(await connection.transactionStatus == .idle)
        try await connection.query("BEGIN")
        #expect(await connection.transactionStatus == .inTransaction)
        await #expect(throws: PostgresError.self) { try await connection.query("SELECT 1/0") }
        #expect(await connection.transactionStatus == .inError)
        #expect(try await connection.query("COMMIT").commandTag == "ROLLBACK")
        #expect(await connection.transactionStatus == .idle)
        #expect(await connection.serverVersion >= 110_000)
        await connection.close()
    }

    @Test func readsAResultLargerThanAnyBuffer() async throws {
        let connection = try await TestPostgres.connection(poller)
        let result = try await connection.query(
            "SELECT i, repeat('x', 1000) FROM generate_series(1, 20000) AS i")
        #expect(result.rowCount == 20000)
        #expect(result[19999, 0] == "20000")
        #expect(result[19999, 1]?.utf8.count == 1000)
        let echo = try await connection.query(
            "SELECT length($1)", [String(repeating: "y", count: 20_000_000)])
        #expect(echo.scalar == "20000000")
        await connection.close()
    }

    @Test func tellsWhichRuleARowBroke() async throws {
        let connection = try await TestPostgres.connection(poller)
        try await connection.script(
            """
            CREATE TABLE users (id int PRIMARY KEY, email text NOT NULL, CONSTRAINT users_email_key UNIQUE (email));
            INSERT INTO users VALUES (1, 'secret@example.com')
            """)
        let duplicate = await #expect(throws: PostgresError.self) {
            try await connection.query("INSERT INTO users VALUES (2, $1)", ["secret@example.com"])
        }
        #expect(duplicate?.code == .server)
        #expect(duplicate?.sqlstate == "23505")
        #expect(duplicate?.severity == "ERROR")
        #expect(duplicate?.schema == "public")
        #expect(duplicate?.table == "users")
        #expect(duplicate?.constraint == "users_email_key")
        #expect(duplicate?.description.contains("secret") == false)
        #expect(duplicate?.debugDescription.contains("secret") == true)
        let null = await #expect(throws: PostgresError.self) {
            try await connection.query("INSERT INTO users VALUES (3, NULL)")
        }
        #expect(null?.sqlstate == "23502")
        #expect(null?.column == "email")
        #expect(null?.description.contains("Failing row") == false)
        #expect(null?.isConnectionLost == false)
        #expect(try await connection.query("SELECT count(*) FROM users").scalar == "1")
        await connection.close()
    }

    @Test func refusesWhatTextCannotCarry() async throws {
        let connection = try await TestPostgres.connection(poller)
        let cut = await #expect(throws: PostgresError.self) {
            try await connection.query("SELECT $1", ["a\0b"])
        }
        #expect(cut?.code == .invalidInput)
        #expect(cut?.sqlstate == "22021")
        await #expect(throws: PostgresError.self) { try await connection.script("SELECT 1\0; DROP") }
        let many = await #expect(throws: PostgresError.self) {
            try await connection.query("SELECT 1", Array(repeating: "1", count: 70_000))
        }
        #expect(many?.code == .invalidInput)
        let copy = await #expect(throws: PostgresError.self) {
            try await connection.script("COPY (SELECT 1) TO STDOUT")
        }
        #expect(copy?.code == .invalidInput)
        try await connection.script("CREATE TABLE t (x int)")
        await #expect(throws: PostgresError.self) { try await connection.script("COPY t FROM STDIN") }
        #expect(try await connection.query("SELECT 1").scalar == "1", "it is usable after all of these")
        await connection.close()
    }

    @Test func runsAScriptAsOneTransaction() async throws {
        let connection = try await TestPostgres.connection(poller)
        let results = try await connection.script("SELECT 1; SELECT 2")
        #expect(results.map(\.scalar) == ["1", "2"])
        await #expect(throws: PostgresError.self) {
            try await connection.script("CREATE TABLE half (x int); SELECT 1/0; CREATE TABLE rest (x int)")
        }
        #expect(try await connection.query("SELECT to_regclass('half')").scalar == nil)
        // A notice comes before the result and is no error; on standard error nobody wants it.
        try await connection.script("DO $$ BEGIN RAISE NOTICE 'noise'; END $$")
        await connection.close()
    }

    @Test func pinsTheSettingsOfTheSession() async throws {
        let uri = try await TestPostgres.database(poller)
        let connection = try await PostgresConnection.connect(
            uri, parameters: ["options": PostgresSession.options(), "application_name": "pinned"],
            poller: poller)
        let settings = try await connection.query(
            """
            SELECT current_setting('TimeZone'), current_setting('DateStyle'), current_setting('IntervalStyle'),
                current_setting('search_path'), current_setting('client_encoding'),
                current_setting('application_name'), '2024-05-01 12:00:00+02'::timestamptz
            """)
        #expect(
            settings.row(0) == [
                "UTC", "ISO, MDY", "iso_8601", "", "UTF8", "pinned", "2024-05-01 10:00:00+00",
            ])
        await connection.close()
    }

    @Test func refusesASecondStatementWhileOneRuns() async throws {
        let uri = try await TestPostgres.database(poller)
        let gate = try await DatabaseGate(uri, poller)
        let connection = try await PostgresConnection.connect(uri, poller: poller)
        async let slow = connection.query("SELECT \(DatabaseGate.passage)")
        try await gate.waitForArrivals()
        let error = await #expect(throws: PostgresError.self) { try await connection.query("SELECT 1") }
        #expect(error?.code == .busy)
        try await gate.open()
        #expect(try await slow.rowCount == 1, "the first one is not disturbed")
        await connection.close()
    }

    @Test func copiesRowsOut() async throws {
        let connection = try await TestPostgres.connection(poller)
        let counter = Lock((rows: 0, last: [String?]()))
        try await connection.copyOut(
            "COPY (SELECT i, CASE WHEN i % 2 = 0 THEN NULL ELSE E'a\\tb' END FROM generate_series(1, 200001) i) TO STDOUT"
        ) { rows in
            counter.withLock { counter in
                counter.rows += rows.count
                if let row = rows.last { counter.last = PostgresCopyRow.fields(of: row) }
            }
        }
        #expect(counter.withLock { $0.rows } == 200_001)
        #expect(counter.withLock { $0.last } == ["200001", "a\tb"])
        #expect(try await connection.query("SELECT 1").scalar == "1")
        await connection.close()
    }

    @Test func aReaderThatDoesNotGoOnStopsTheServer() async throws {
        struct Enough: Error {}
        let uri = try await TestPostgres.database(poller)
        let connection = try await PostgresConnection.connect(uri, poller: poller)
        let other = try await PostgresConnection.connect(uri, poller: poller)
        let process = "\(await connection.backendProcessID)"
        let gate = Gate()
        let copy = Task {
            // Much more than the buffers of two sockets hold.
            try await connection.copyOut(
                "COPY (SELECT generate_series(1, 100000), repeat('x', 1000)) TO STDOUT"
            ) { _ in
                await gate.pass()
                throw Enough()
            }
        }
        var before: [String?] = []
        try await wait(
            for: "the server to wait for its client, without sending more",
            read: {
                let copies = try await other.query(
                    """
                    SELECT wait_event, bytes_processed FROM pg_stat_activity
                    JOIN pg_stat_progress_copy USING (pid) WHERE pid = $1
                    """, [process])
                return copies.rowCount == 1 ? copies.row(0) : []
            },
            until: { now in
                defer { before = now }
                return now.first == "ClientWrite" && now == before
            })
        #expect(gate.arrivals == 1)
        gate.open()
        await #expect(throws: Enough.self) { try await copy.value }
        #expect(try await connection.query("SELECT 1").scalar == "1")
        await connection.close()
        await other.close()
    }

    @Test func aCopyThatNobodyWantsLeavesTheConnectionUsable() async throws {
        struct Enough: Error {}
        let connection = try await TestPostgres.connection(poller)
        await #expect(throws: Enough.self) {
            try await connection.copyOut("COPY (SELECT generate_series(1, 10000000)) TO STDOUT") { _ in
                throw Enough()
            }
        }
        #expect(try await connection.query("SELECT 1").scalar == "1")
        let failed = await #expect(throws: PostgresError.self) {
            try await connection.copyOut("COPY (SELECT 1 / (3 - i) FROM generate_series(1, 5) i) TO STDOUT") {
                _ in
            }
        }
        #expect(failed?.sqlstate == "22012")
        let missing = await #expect(throws: PostgresError.self) {
            try await connection.copyOut("COPY missing TO STDOUT") { _ in }
        }
        #expect(missing?.sqlstate == "42P01")
        let other = await #expect(throws: PostgresError.self) {
            try await connection.copyOut("SELECT 1") { _ in }
        }
        #expect(other?.code == .invalidInput)
        #expect(try await connection.query("SELECT 1").scalar == "1")
        await connection.close()
    }

    /// What refuses a row and what refuses a table have the same SQLSTATE, and messages that a server may translate.
    @Test func anErrorNamesTheFunctionThatRaisedIt() async throws {
        let connection = try await TestPostgres.connection(poller)
        let role = "reader_\(await connection.backendProcessID)"
        try await connection.script(
            """
            CREATE TABLE allowed (x int); ALTER TABLE allowed ENABLE ROW LEVEL SECURITY;
            CREATE POLICY only_one ON allowed WITH CHECK (x = 1); CREATE TABLE forbidden (x int);
            CREATE FUNCTION fails() RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
            CREATE ROLE \(role); GRANT INSERT ON allowed TO \(role); SET ROLE \(role)
            """)
        func failure(_ sql: String) async -> PostgresError? {
            await #expect(throws: PostgresError.self) { try await connection.query(sql) }
        }
        let row = await failure("INSERT INTO allowed VALUES (2)")
        #expect(row?.sqlstate == "42501" && row?.function == "ExecWithCheckOptions")
        let table = await failure("INSERT INTO forbidden VALUES (2)")
        #expect(table?.sqlstate == "42501" && table?.function == "aclcheck_error")
        try await connection.script("RESET ROLE; DROP OWNED BY \(role); DROP ROLE \(role)")
        let raised = await failure("SELECT fails()")
        #expect(raised?.context?.contains("PL/pgSQL function fails()") == true)
        #expect(raised?.description == "no (SQLSTATE P0001)")
        await connection.close()
    }
}
