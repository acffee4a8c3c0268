import PowerSyncBackend
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Uploads while the database is being changed under the backend: no doubt becomes a rejection (backend 3.1, 8.5).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct CatalogChangeTests {
    private static let map = "tables: { lists: , todos: }\n"

    private func put(_ data: String, table: String = "lists", id: String = "a") -> String {
        #"{"batch":[{"op":"PUT","table":"\#(table)","id":"\#(id)","data":\#(data)}]}"#
    }

    private func letters(_ backend: TestBackend) async throws -> String? {
        try await backend.scalar("SELECT count(*) FROM psb.dead_letters")
    }

    @Test(arguments: [nil, map]) func aRenamedColumnIsKnownByItsNewName(map: String?) async throws {
        try await TestBackend.with(map: map) { backend in
            #expect(try await backend.upload(put(#"{"name":"1"}"#)).states == ["applied"])
            _ = try await backend.query("ALTER TABLE lists RENAME name TO title")
            #expect(try await backend.upload(put(#"{"title":"2"}"#)).states == ["applied"])
            // Apps of before wait for as long as this may be a migration on its way.
            let old = try await backend.upload(put(#"{"name":"3"}"#))
            #expect(old.status == 503)
            #expect(old.json["code"]?.stringValue == "SCHEMA_MISMATCH")
            // And once more: further changes are taken over, too.
            _ = try await backend.query("ALTER TABLE lists ADD COLUMN name text DEFAULT ''")
            #expect(try await backend.upload(put(#"{"name":"4","title":"4"}"#)).states == ["applied"])
            #expect(try await letters(backend) == "0")
        }
    }

    @Test(arguments: [nil, map]) func aRetypedColumnTakesWhatItsTypeTakes(map: String?) async throws {
        try await TestBackend.with(map: map) { backend in
            let large = #"{"position":3000000000}"#
            #expect(try await backend.upload(put(large, table: "todos")).errorCodes == ["INVALID_DATA"])
            _ = try await backend.query("ALTER TABLE todos ALTER position TYPE bigint")
            #expect(try await backend.upload(put(large, table: "todos")).states == ["applied"])
            _ = try await backend.query("ALTER TABLE todos ALTER position TYPE smallint USING 1")
            #expect(try await backend.upload(put(large, table: "todos")).errorCodes == ["INVALID_DATA"])
        }
    }

    /// Statements spell the names of types; the type itself is the same.
    @Test(arguments: [nil, map]) func aTypeThatIsRenamedOrMovedIsKnownByItsNewName(map: String?) async throws
    {
        let schema =
            TestBackend.demoTables + """
                CREATE TYPE mood AS ENUM ('good', 'bad');
                ALTER TABLE todos ADD COLUMN mood mood, ADD COLUMN moods mood[];
                CREATE SCHEMA types;
                """
        try await TestBackend.with(schema: schema, map: map) { backend in
            let moods = #"{"mood":"good","moods":["good","bad"]}"#
            #expect(try await backend.upload(put(moods, table: "todos")).states == ["applied"])
            for change in ["RENAME TO feeling", "SET SCHEMA types"] {
                let name = change.hasPrefix("RENAME") ? "mood" : "feeling"
                _ = try await backend.query("ALTER TYPE \(name) \(change)")
                #expect(try await backend.upload(put(moods, table: "todos")).states == ["applied"])
            }
            let wrong = try await backend.upload(put(#"{"mood":"none"}"#, table: "todos"))
            #expect(wrong.errorCodes == ["INVALID_DATA"])
        }
    }

    /// A PUT of a row that is there takes what it leaves out from the row where a new one must name it.
    @Test func whatANewRowMustNameIsKnownOfTheMomentItself() async throws {
        let schema = """
            CREATE DOMAIN label AS text DEFAULT 'none';
            CREATE TABLE lists (id text PRIMARY KEY, label label NOT NULL, name text);
            CREATE PUBLICATION powersync FOR TABLES IN SCHEMA public;
            INSERT INTO lists VALUES ('a', 'mine', '1');
            """
        try await TestBackend.with(schema: schema, map: "tables: { lists: }\n") { backend in
            #expect(try await backend.upload(put(#"{"name":"2"}"#, id: "b")).states == ["applied"])
            _ = try await backend.query("ALTER DOMAIN label DROP DEFAULT")
            #expect(try await backend.upload(put(#"{"name":"3"}"#)).states == ["applied"])
            #expect(try await letters(backend) == "0")
            _ = try await backend.query("ALTER DOMAIN label SET DEFAULT 'new'")
            #expect(try await backend.upload(put(#"{"name":"4"}"#, id: "c")).states == ["applied"])
            let rows = try await backend.query("SELECT id, label::text FROM lists ORDER BY id")
            #expect(rows == [["a", "mine"], ["b", "none"], ["c", "new"]])
        }
    }

    /// Postgres reads it into a statement that it prepares, and never again; the digest of a table tells nothing of it.
    ///
    /// The default of a column, which wins, is read anew.
    @Test(arguments: ["lists", "seen"]) func theDefaultOfADomainIsNotKept(table: String) async throws {
        let schema = """
            CREATE DOMAIN label AS text DEFAULT 'old';
            CREATE TABLE lists (id text PRIMARY KEY, label label, own label DEFAULT 'old', name text);
            CREATE VIEW seen AS SELECT id, name FROM lists;
            CREATE PUBLICATION powersync FOR TABLES IN SCHEMA public;
            """
        try await TestBackend.with(
            schema: schema, map: "tables: { \(table): }\n", { $0.poolSize = 1 }
        ) { backend in
            func upload(_ id: String) async throws {
                let one = try await backend.upload(put(#"{"name":"1"}"#, table: table, id: id))
                #expect(one.states == ["applied"])
                // Several rows are another statement.
                let rows = ["2", "3"].map {
                    #"{"op":"PUT","table":"\#(table)","id":"\#(id)\#($0)","data":{"name":"1"}}"#
                }
                let several = try await backend.upload(#"{"batch":[\#(rows.joined(separator: ","))]}"#)
                #expect(several.states == ["applied", "applied"])
            }
            try await upload("a")
            _ = try await backend.query("ALTER DOMAIN label SET DEFAULT 'new'")
            _ = try await backend.query("ALTER TABLE lists ALTER own SET DEFAULT 'new'")
            try await upload("b")
            _ = try await backend.query("ALTER DOMAIN label SET DEFAULT 'newer'")
            try await upload("c")
            let rows = try await backend.query(
                "SELECT label, own, count(*) FROM lists GROUP BY 1, 2 ORDER BY 1")
            #expect(rows == [["new", "new", "3"], ["newer", "new", "3"], ["old", "old", "3"]])
        }
    }

    /// The columns of the index are the same, but no longer its key.
    @Test func aUniqueKeyIsKnownByItsColumns() async throws {
        let schema = """
            CREATE TABLE lists (id text, name text);
            CREATE UNIQUE INDEX lists_id ON lists (id) INCLUDE (name);
            ALTER TABLE lists REPLICA IDENTITY FULL;
            CREATE PUBLICATION powersync FOR TABLES IN SCHEMA public;
            """
        try await TestBackend.with(schema: schema, map: "tables: { lists: }\n") { backend in
            #expect(try await backend.upload(put(#"{"name":"1"}"#)).states == ["applied"])
            _ = try await backend.query("DROP INDEX lists_id")
            _ = try await backend.query("CREATE UNIQUE INDEX lists_id ON lists (id, name)")
            #expect(try await backend.upload(put(#"{"name":"2"}"#)).status == 503)
            _ = try await backend.query("CREATE UNIQUE INDEX lists_key ON lists (id)")
            #expect(try await backend.upload(put(#"{"name":"2"}"#)).states == ["applied"])
        }
    }

    /// Cast to the type of before, a text would be stored as the number that it spells.
    @Test func aValueIsNeverReadAsTheTypeOfBefore() async throws {
        try await TestBackend.with { backend in
            #expect(try await backend.upload(put(#"{"position":1}"#, table: "todos")).states == ["applied"])
            _ = try await backend.query("ALTER TABLE todos ALTER position TYPE text")
            let text = #"{"position":"007"}"#
            #expect(try await backend.upload(put(text, table: "todos")).states == ["applied"])
            #expect(try await backend.scalar("SELECT position FROM todos") == "007")
        }
    }

    @Test func aCatalogThatCannotBeReadRejectsNothing() async throws {
        try await TestBackend.with { backend in
            _ = try await backend.query("ALTER FUNCTION psb.table_digest(text, text, name) RENAME TO away")
            let answer = try await backend.upload(put(#"{"name":"1","nothing":2}"#))
            #expect(answer.status == 503)
            _ = try await backend.query("ALTER FUNCTION psb.away(text, text, name) RENAME TO table_digest")
            #expect(
                try await backend.upload(put(#"{"name":"1","nothing":2}"#)).errorCodes == ["UNKNOWN_COLUMN"])
            #expect(try await letters(backend) == "1")
        }
    }

    /// Whoever broke the schema psb, no upload of a client is to blame, however often it comes.
    @Test func aSchemaThatIsBrokenRejectsNothing() async throws {
        try await TestBackend.with({ $0.retries.driftGrace = .zero }) { backend in
            _ = try await backend.query("ALTER TABLE psb.commits RENAME TO away")
            for _ in 0..<3 {
                let answer = try await backend.upload(put(#"{"name":"1"}"#))
                #expect(answer.status == 503)
                #expect(answer.json["code"]?.stringValue == "DATABASE_MISCONFIGURED")
            }
            #expect(try await letters(backend) == "0")
        }
    }

    @Test func aTableOfTheMapThatIsAwayForAWhileRejectsNothing() async throws {
        try await TestBackend.with(map: Self.map) { backend in
            _ = try await backend.query("ALTER TABLE lists RENAME TO away")
            #expect(try await backend.upload(put(#"{"name":"1"}"#)).status == 503)
            #expect(
                try await backend.upload(put(#"{"description":"1"}"#, table: "todos")).states == ["applied"])
            _ = try await backend.query("ALTER TABLE away RENAME TO lists")
            #expect(try await backend.upload(put(#"{"name":"1"}"#)).states == ["applied"])
            #expect(try await letters(backend) == "0")
        }
    }

    /// A reading that began before an upload arrived may end behind its plan: it is newer, and still too old to judge by.
    @Test func anUploadLooksNoFurtherThanAtAReadingOfItsOwn() async throws {
        try await TestBackend.with({ $0.uploadTimes.transaction = TestOptions.deadline / 3 }) { backend in
            // The last question of a reading waits for the one, every write of the table for the other.
            let reading = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
            let writing = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
            let looking = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
            // A backend begins to prune when it starts, and a DELETE asks whether its table is published: that waits, too.
            let pruning = try await PostgresConnection.connect(
                backend.uri, parameters: ["application_name": "powersync-backend"], poller: backend.poller)
            try await reading.script("BEGIN; LOCK TABLE pg_catalog.pg_publication")
            async let pruned = pruning.script("DELETE FROM psb.dead_letters WHERE user_id = 'nobody'")
            try await backend.waitForLocked(1, in: "psb.dead_letters WHERE user_id", asking: looking)
            // Behind the lock, since the backend reads the catalog again as soon as it hears of this.
            try await writing.script("ALTER TABLE lists RENAME name TO title")
            async let new = backend.upload(put(#"{"title":"1"}"#, id: "new"))
            // A session that begins now may wait for the lock, too: where the server keeps no copy of the catalog's
            // descriptions, it reads all of them.
            try await backend.waitForLocked(1, in: "pg_publication_tables", asking: looking)
            try await writing.script("BEGIN; LOCK TABLE lists")
            async let old = backend.upload(put(#"{"name":"1"}"#, id: "old"))
            try await backend.waitForLocked(1, in: "LOCK TABLE ONLY", asking: looking)
            try await reading.script("COMMIT")
            _ = try await pruned
            try await wait(for: "the reading to end") {
                backend.lines.withLock { $0.contains { $0.contains("the catalog has changed") } }
            }
            try await writing.script("COMMIT")
            #expect(try await old.json["code"] == .string("SCHEMA_MISMATCH"))
            #expect(try await new.states == ["applied"])
            await reading.close()
            await writing.close()
            await looking.close()
            await pruning.close()
        }
    }

    @Test func aNameThatNeverWasThereIsRejectedAtOnce() async throws {
        try await TestBackend.with(map: Self.map) { backend in
            let column = try await backend.upload(put(#"{"nothing":"1"}"#))
            #expect(column.errorCodes == ["UNKNOWN_COLUMN"])
            #expect(try await backend.upload(put("{}", table: "nothing")).errorCodes == ["UNKNOWN_TABLE"])
            #expect(try await letters(backend) == "2")
        }
    }

    /// The trigger is broken by the migration, not the write.
    @Test func aTriggerThatMissesANameIsWaitedForUntilItLasts() async throws {
        let schema =
            TestBackend.demoTables + """
                CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN PERFORM nothing FROM lists LIMIT 1; RETURN NEW; END $$;
                CREATE TRIGGER stamps BEFORE INSERT ON todos FOR EACH ROW EXECUTE FUNCTION stamp();
                """
        try await TestBackend.with(schema: schema) { backend in
            let broken = try await backend.upload(put("{}", table: "todos"))
            #expect(broken.status == 503)
            #expect(
                try await backend.upload(put(#"{"name":"1"}"#)).states == ["applied"], "other tables go on")
            #expect(try await letters(backend) == "0")
        }
        try await TestBackend.with(schema: schema, { $0.retries.driftGrace = .zero }) { backend in
            let answer = try await backend.upload(put("{}", table: "todos"))
            #expect(answer.errorCodes == ["SCHEMA_MISMATCH"])
        }
    }

    /// A deferred trigger on `lists` that misses a table, as one that is swapped every night.
    private static let deferred =
        TestBackend.demoTables + """
            CREATE SCHEMA aside;
            CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN INSERT INTO aside.audits VALUES (1); RETURN NULL; END $$;
            CREATE CONSTRAINT TRIGGER audits AFTER INSERT OR UPDATE ON lists DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION audit();
            """

    /// COMMIT names no operation and no table.
    @Test func aSecondIncidentHasAGraceOfItsOwn() async throws {
        try await TestBackend.with(schema: Self.deferred, { $0.retries.driftGrace = .milliseconds(1) }) {
            backend in
            for _ in 0..<3 {
                #expect(try await backend.upload(put(#"{"name":"1"}"#)).status == 503)
                _ = try await backend.query("CREATE TABLE aside.audits (n int)")
                #expect(try await backend.upload(put(#"{"name":"1"}"#)).states == ["applied"])
                _ = try await backend.query("DROP TABLE aside.audits")
            }
            #expect(try await letters(backend) == "0")
        }
    }

    /// What others do to the table says nothing about the triggers of an INSERT.
    @Test func whatOnlyInsertsMissComesToItsEnd() async throws {
        let schema =
            TestBackend.demoTables + """
                CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN PERFORM nothing FROM lists LIMIT 1; RETURN NEW; END $$;
                CREATE TRIGGER stamps BEFORE INSERT ON todos FOR EACH ROW EXECUTE FUNCTION stamp();
                ALTER TABLE todos DISABLE TRIGGER stamps;
                INSERT INTO todos (id) VALUES ('there');
                ALTER TABLE todos ENABLE TRIGGER stamps;
                """
        try await TestBackend.with(schema: schema, { $0.retries.driftGrace = .seconds(1) }) {
            backend in
            let patches = ["{}", #"{"position":1}"#].map {
                #"{"op":"PATCH","table":"todos","id":"there","data":\#($0)}"#
            }
            #expect(try await backend.upload(put("{}", table: "todos")).status == 503)
            try await wait(
                for: "the drift to last",
                read: {
                    #expect(
                        try await backend.upload("{\"batch\":[\(patches.joined(separator: ","))]}").status
                            == 200)
                    return try await backend.upload(put("{}", table: "todos")).errorCodes
                }, until: { $0 == ["SCHEMA_MISMATCH"] })
        }
    }
}
