import PowerSyncBackend
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// A PUT that leaves out columns which a new row must have (backend 2.2, case 45).
///
/// Postgres checks the proposed row before it finds that there is one, so the row's own values stand in for them.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct PartialPutTests {
    private static let schema = """
        CREATE TABLE tasks (id text PRIMARY KEY, owner_id text NOT NULL DEFAULT 'u1', title text NOT NULL, done boolean,
            rank int NOT NULL, kind text NOT NULL DEFAULT 'plain', CHECK (length(title) > 1));
        INSERT INTO tasks VALUES ('a', 'u1', 'one', false, 1, 'old'), ('b', 'u1', 'two', false, 2, 'old'),
            ('c', 'u2', 'three', false, 3, 'old');
        CREATE PUBLICATION powersync FOR TABLES IN SCHEMA public;
        """

    private func put(_ ids: [String], _ data: String) -> String {
        let operations = ids.map { "{\"op\":\"PUT\",\"table\":\"tasks\",\"id\":\"\($0)\",\"data\":\(data)}" }
        return "{\"batch\":[\(operations.joined(separator: ","))]}"
    }

    private func rows(_ backend: TestBackend) async throws -> [String] {
        try await backend.query("SELECT concat_ws(' ', id, title, done, rank, kind) FROM tasks ORDER BY id")
            .map {
                $0[0] ?? ""
            }
    }

    @Test func aRowThatIsThereKeepsWhatIsNotSent() async throws {
        try await TestBackend.with(schema: Self.schema) { backend in
            let one = try await backend.upload(put(["a"], #"{"done":1}"#))
            #expect(one.states == ["applied"], "\(one.json.text)")
            let many = try await backend.upload(put(["b", "a", "c"], #"{"done":true,"rank":7}"#))
            #expect(many.states == ["applied", "applied", "applied"])
            let expected = ["a one t 7 old", "b two t 7 old", "c three t 7 old"]
            #expect(try await rows(backend) == expected)
            let only = try await backend.upload(put(["a"], "{}"))
            #expect(only.states == ["noop"])
            let onlyMany = try await backend.upload(put(["a", "b"], "{}"))
            #expect(onlyMany.states == ["noop", "noop"])
            #expect(try await rows(backend) == expected)
        }
    }

    @Test func aNewRowStillNeedsThem() async throws {
        try await TestBackend.with(schema: Self.schema) { backend in
            for data in [#"{"done":1}"#, "{}", #"{"title":"new"}"#] {
                let one = try await backend.upload(put(["n"], data))
                #expect(one.errorCodes == ["NOT_NULL_VIOLATION"])
                let many = try await backend.upload(put(["a", "n", "b"], data))
                #expect(many.errorCodes == ["NOT_NULL_VIOLATION"])
                #expect(many.states == ["skipped", "rejected", "skipped"])
            }
            #expect(try await rows(backend) == ["a one f 1 old", "b two f 2 old", "c three f 3 old"])
            // Defaults are those of the table.
            let full = try await backend.upload(put(["n", "m"], #"{"title":"new","rank":9}"#))
            #expect(full.states == ["applied", "applied"])
            #expect(try await backend.scalar("SELECT kind FROM tasks WHERE id = 'm'") == "plain")
        }
    }

    @Test func whatIsSentIsJudgedAsBefore() async throws {
        try await TestBackend.with(schema: Self.schema) { backend in
            let null = try await backend.upload(put(["a"], #"{"title":null}"#))
            #expect(null.errorCodes == ["NOT_NULL_VIOLATION"])
            let short = try await backend.upload(put(["a", "b"], #"{"title":"x"}"#))
            #expect(short.errorCodes == ["CHECK_VIOLATION"])
        }
    }

    @Test func anothersRowStandsInForNothing() async throws {
        let map = "tables: { tasks: { owner: owner_id } }"
        try await TestBackend.with(schema: Self.schema, map: map) { backend in
            for ids in [["c"], ["a", "c"]] {
                let foreign = try await backend.upload(put(ids, #"{"done":1}"#))
                #expect(foreign.errorCodes == ["NOT_NULL_VIOLATION"], "as for a row that is missing")
                let full = try await backend.upload(put(ids, #"{"title":"new","rank":9}"#))
                #expect(full.errorCodes == ["UNAUTHORIZED"])
            }
            let own = try await backend.upload(put(["a", "b"], #"{"done":1}"#))
            #expect(own.states == ["applied", "applied"])
            #expect(try await rows(backend).last == "c three f 3 old")
        }
    }

    /// A trigger that fills a column may fill it still; it sees the row's own value where there is a row.
    @Test func triggersSeeTheRowThatWillBe() async throws {
        let trigger = """
            CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                NEW.title = coalesce(NEW.title, 'filled'); NEW.rank = coalesce(NEW.rank, 0);
                IF NEW.id = 'quiet' THEN RETURN NULL; END IF; RETURN NEW; END $$;
            CREATE TRIGGER fills BEFORE INSERT ON tasks FOR EACH ROW EXECUTE FUNCTION fill();
            CREATE TABLE log (what text);
            CREATE FUNCTION log() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN INSERT INTO log VALUES (TG_OP || ' ' || NEW.id); RETURN NEW; END $$;
            CREATE TRIGGER logs AFTER INSERT OR UPDATE ON tasks FOR EACH ROW EXECUTE FUNCTION log();
            """
        try await TestBackend.with(schema: Self.schema + trigger) { backend in
            let answer = try await backend.upload(put(["n", "b", "quiet", "a"], #"{"done":1}"#))
            #expect(answer.states == ["applied", "applied", "noop", "applied"])
            #expect(
                try await rows(backend) == [
                    "a one t 1 old", "b two t 2 old", "c three f 3 old", "n filled t 0 plain",
                ])
            // In the client's order, each once.
            #expect(
                try await backend.query("SELECT what FROM log").map { $0[0] } == [
                    "INSERT n", "UPDATE b", "UPDATE a",
                ])
        }
    }

    /// Nothing of a row that another transaction deletes meanwhile becomes part of a new one.
    @Test func aRowThatIsBeingDeletedIsWaitedForAndThenMissing() async throws {
        try await TestBackend.with(schema: Self.schema) { backend in
            for ids in [["a"], ["b", "c"]] {
                let other = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
                try await other.script("BEGIN; DELETE FROM tasks WHERE id IN ('a', 'b')")
                async let answer = backend.upload(put(ids, #"{"done":1}"#))
                try await backend.waitForLocked(1)
                try await other.script("COMMIT")
                await other.close()
                #expect(try await answer.errorCodes == ["NOT_NULL_VIOLATION"])
                _ = try await backend.query(
                    "INSERT INTO tasks VALUES ('b', 'u1', 'two', false, 2, 'old') ON CONFLICT DO NOTHING")
            }
            #expect(try await rows(backend) == ["b two f 2 old", "c three f 3 old"])
        }
    }

    /// A row that another transaction inserts meanwhile came after the PUT, or before it.
    @Test func aRowThatIsBeingInsertedIsLeftWhole() async throws {
        try await TestBackend.with(schema: Self.schema) { backend in
            let other = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
            try await other.script("BEGIN; INSERT INTO tasks VALUES ('n', 'u1', 'new', false, 4, 'old')")
            let early = try await backend.upload(put(["n"], #"{"done":1}"#))
            #expect(early.errorCodes == ["NOT_NULL_VIOLATION"])
            try await other.script("COMMIT")
            await other.close()
            let late = try await backend.upload(put(["n"], #"{"done":1}"#))
            #expect(late.states == ["applied"])
            #expect(try await rows(backend).last == "n new t 4 old")
        }
    }

    /// Policies hide other users' rows, for which there is nothing to stand in, and judge the row that will be.
    @Test func policiesJudgeTheRowThatWillBe() async throws {
        let database = try Poller()
        defer { database.stop() }
        let uri = try await TestPostgres.database(database)
        let role = "role_of_\(uri.split(separator: "/").last ?? "")"
        let login = try TestRole.login(uri)
        let policy = """
            CREATE ROLE \(role) \(login); GRANT ALL ON SCHEMA public TO \(role);
            GRANT SELECT, INSERT, UPDATE, DELETE ON tasks TO \(role);
            ALTER TABLE tasks ENABLE ROW LEVEL SECURITY;
            CREATE POLICY own ON tasks USING (owner_id = current_setting('app.user_id'))
                WITH CHECK (owner_id = current_setting('app.user_id') AND title IS NOT NULL);
            DO $$ BEGIN EXECUTE format('GRANT ALL ON DATABASE %I TO \(role)', current_database()); END $$;
            """
        let connection = try await PostgresConnection.connect(uri, poller: database)
        try await connection.script(Self.schema + policy)
        await connection.close()
        let asRole = TestRole.uri(uri, as: role)
        try #require(asRole != uri)
        try await TestBackend.with(schema: "SELECT 1", uri: asRole) { backend in
            let own = try await backend.upload(put(["a", "b"], #"{"done":1}"#))
            #expect(own.states == ["applied", "applied"], "\(own.json.text)")
            // Neither says whether there is such a row.
            for id in ["c", "none"] {
                let hidden = try await backend.upload(put([id], #"{"done":1}"#))
                #expect(hidden.errorCodes == ["UNAUTHORIZED"], "\(id)")
            }
        }
        let check = try await PostgresConnection.connect(uri, poller: database)
        let stored = try await check.query("SELECT done::text FROM tasks ORDER BY id")
        #expect((0..<stored.rowCount).map { stored[$0, 0] } == ["true", "true", "false"])
        try await check.script("DROP OWNED BY \(role) CASCADE; DROP ROLE \(role)")
        await check.close()
    }
}
