import PowerSyncBackend
import PowerSyncPostgres
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Which operations are done together, without a database.
struct RunGroupTests {
    private static let uuids = (0..<8).map { "0f8fad5b-d9cb-469f-a165-70867728950\($0)" }

    private static let map = "tables: { lists: {}, things: { table: app.things, id: thing_id } }\n"

    private func tables(
        _ yaml: String = RunGroupTests.map, showsNoOrder: Bool = true
    ) throws -> UploadTables {
        var catalog = Build.catalog
        for name in catalog.tables.keys { catalog.tables[name]?.showsNoOrder = showsNoOrder }
        return try UploadTables(
            map: TableMap(yaml: yaml, source: "map.yaml"), source: "map.yaml", catalog: catalog)
    }

    private func plans(_ operations: [UploadOperation], _ tables: UploadTables) throws -> [PlannedOperation] {
        let planner = UploadPlanner(tables: tables, subject: Self.uuids[0])
        return try operations.enumerated().map { try planner.plan($1, at: $0) }
    }

    private func indices(_ runs: [UploadRun]) -> [[Int]] { runs.map { $0.operations.map(\.index) } }

    private func list(_ id: String, _ data: String = #"{"name":"x"}"#) throws -> UploadOperation {
        try Build.operation(.put, "lists", id, data)
    }

    private func mixed() throws -> [UploadOperation] {
        let thing = #"{"title":"x","rank":1}"#
        return [
            try list("a"), try Build.operation(.put, "things", Self.uuids[1], thing), try list("b"),
            try Build.operation(.put, "things", Self.uuids[2], thing), try list("c", #"{"n":1,"name":"x"}"#),
            try list("d", #"{"name":"x","n":1}"#), try list("e", #"{"id":"e","name":"x"}"#),
        ]
    }

    @Test func rowsOfTheSameColumnsAreOneRun() throws {
        let plans = try self.plans(mixed(), tables())
        #expect(indices(RunOrder.runs(of: plans, alone: [])) == [[0, 2, 6], [1, 3], [4, 5]])
        #expect(
            indices(RunOrder.runs(of: plans, alone: [3])) == [[0], [1], [2], [3], [4, 5], [6]],
            "behind a failure the client's order is kept")
        let ordered = try self.plans(mixed(), tables(showsNoOrder: false))
        #expect(indices(RunOrder.runs(of: ordered, alone: [])) == [[0], [1], [2], [3], [4, 5], [6]])
    }

    /// What each of these may depend on came before it.
    @Test func anythingElseKeepsTheOrder() throws {
        let parents =
            "tables: { lists: { owner: owner_id, parents: { made: lists } }, "
            + "things: { table: app.things, id: thing_id } }\n"
        let twice =
            "tables: { lists: {}, same: { table: public.lists }, "
            + "things: { table: app.things, id: thing_id } }\n"
        let other = try Build.operation(.put, "things", Self.uuids[1], #"{"title":"x","rank":1}"#)
        for (operation, yaml) in [
            (try Build.operation(.patch, "lists", "b", #"{"name":"x"}"#), Self.map),
            (try Build.operation(.delete, "lists", "b"), Self.map), (try list("a"), Self.map),
            (try list("b", #"{"name":"x","made":"a"}"#), parents),
            (try Build.operation(.put, "same", "a", #"{"name":"x"}"#), twice),
        ] {
            let operations = [try list("a"), other, operation, try list("z")]
            let plans = try self.plans(operations, tables(yaml))
            #expect(
                RunOrder.runs(of: plans, alone: []) == UploadRun.runs(of: plans), "\(operation.json.text)")
            #expect(RunOrder.runs(of: plans, alone: [])[0].operations.count == 1)
        }
    }

    /// Else its failure would be told although something that the client did before it fails, too.
    @Test func noRowIsLeftAloneByTheLimit() throws {
        var operations = try (0...UploadRun.limit).map { try list("r\($0)") }
        operations.insert(
            try Build.operation(.put, "things", Self.uuids[1], #"{"title":"x","rank":1}"#), at: 1)
        let runs = RunOrder.runs(of: try plans(operations, tables()), alone: [])
        #expect(runs.map(\.operations.count) == [2_501, 2_500, 1])
        #expect(runs[2].operations[0].index == 1)
    }

    @Test func manyKindsOfRowsStayAsTheyAre() throws {
        let names = ["name", "n", "at", "price", "made", "secret", "body"]
        for count in [RunOrder.limit, RunOrder.limit + 1] {
            let operations = try (0..<2 * count).map { place -> UploadOperation in
                // Each bit of a number is a column that is named.
                let named = names.indices.filter { ((place % count) >> $0) & 1 == 1 }
                let members = named.map { "\"\(names[$0])\":null" }
                return try list("r\(place)", "{\(members.joined(separator: ","))}")
            }
            let runs = RunOrder.runs(of: try plans(operations, tables()), alone: [])
            #expect(runs.count == (count > RunOrder.limit ? 2 * count : count))
        }
    }
}

private let orderSeeds = TestOptions.number("POWERSYNC_ORDER_SEEDS", standard: 40)

/// Rows are regrouped where nobody can see it, and nothing else is changed by that (Backend/Apply/SPEC.md).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient(minutes: 10 + orderSeeds / 20), .namesSeed)
struct RunOrderTests {
    // MARK: What shows

    /// What makes a table `T`, and whether the order of its rows shows.
    private static let catalogs: [(sql: String, shows: Bool)] = [
        ("CREATE TABLE T (id text PRIMARY KEY, name text)", false),
        (
            """
            CREATE TABLE T (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), a int DEFAULT 0, b text DEFAULT 'x',
                c boolean NOT NULL DEFAULT false, d jsonb DEFAULT '{}', e timestamptz DEFAULT now(),
                f timestamp DEFAULT (now() AT TIME ZONE 'utc'), g timestamptz DEFAULT CURRENT_TIMESTAMP,
                h numeric(6, 2) DEFAULT 0, i date DEFAULT CURRENT_DATE, j varchar(9) DEFAULT 'abc',
                k timestamp DEFAULT now(), l int DEFAULT -1, m text[] DEFAULT '{}', n uuid DEFAULT gen_random_uuid())
            """, false
        ),
        ("CREATE TABLE T (id text PRIMARY KEY, name text); CREATE INDEX ON T (name)", false),
        ("CREATE TABLE T (id text PRIMARY KEY, mood mood DEFAULT 'good', moods mood[])", false),
        ("CREATE TABLE T (id text NOT NULL UNIQUE, name text)", false),
        ("CREATE TABLE T (id text PRIMARY KEY, n serial)", true),
        ("CREATE TABLE T (id bigserial PRIMARY KEY, name text)", false),
        ("CREATE TABLE T (id text PRIMARY KEY, n int GENERATED BY DEFAULT AS IDENTITY)", true),
        ("CREATE TABLE T (id text PRIMARY KEY, n timestamptz DEFAULT clock_timestamp())", true),
        ("CREATE TABLE T (id text PRIMARY KEY, n float8 DEFAULT random())", true),
        ("CREATE TABLE T (id text PRIMARY KEY, n int DEFAULT one())", true),
        ("CREATE TABLE T (id text PRIMARY KEY, n int DEFAULT (1 + one()))", true),
        ("CREATE TABLE T (id text PRIMARY KEY, a text, n text GENERATED ALWAYS AS (upper(a)) STORED)", true),
        ("CREATE TABLE T (id text PRIMARY KEY, name text CHECK (name <> 'bad'))", true),
        ("CREATE TABLE T (id text PRIMARY KEY, name text UNIQUE)", true),
        (
            "CREATE TABLE T (id text PRIMARY KEY, name text); CREATE UNIQUE INDEX ON T (name) WHERE name > 'a'",
            true
        ),
        ("CREATE TABLE T (id text PRIMARY KEY, name text, EXCLUDE USING btree (name WITH =))", true),
        ("CREATE TABLE T (id text PRIMARY KEY, other text REFERENCES others)", true),
        ("CREATE TABLE T (id text PRIMARY KEY); CREATE TABLE of_T (id text REFERENCES T)", true),
        (
            """
            CREATE TABLE T (id text PRIMARY KEY);
            CREATE TRIGGER t AFTER INSERT ON T FOR EACH ROW EXECUTE FUNCTION nothing()
            """, true
        ),
        (
            """
            CREATE TABLE T (id text PRIMARY KEY);
            CREATE TRIGGER t AFTER INSERT ON T EXECUTE FUNCTION nothing()
            """, true
        ),
        (
            "CREATE TABLE T (id text PRIMARY KEY); CREATE RULE quiet AS ON DELETE TO T DO ALSO NOTHING", true
        ),
        ("CREATE TABLE T (id text PRIMARY KEY); ALTER TABLE T ENABLE ROW LEVEL SECURITY", true),
        ("CREATE TABLE T (id text PRIMARY KEY, name label)", true),
        ("CREATE TABLE T (id label PRIMARY KEY, name text)", true),
        ("CREATE TABLE T (id text PRIMARY KEY, names label[])", true),
        ("CREATE TABLE T (id text PRIMARY KEY, pair pair)", true),
        ("CREATE TABLE T (id text PRIMARY KEY, name text) PARTITION BY LIST (id)", true),
    ]

    private static let before = """
        CREATE TYPE mood AS ENUM ('good', 'bad');
        CREATE TYPE pair AS (a int, b int);
        CREATE DOMAIN label AS text CHECK (value <> 'bad');
        CREATE TABLE others (id text PRIMARY KEY);
        CREATE FUNCTION one() RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 1';
        CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;

        """

    @Test func whatShowsOrder() async throws {
        let names = Self.catalogs.indices.map { "t\($0)" }
        let made = zip(names, Self.catalogs).map { name, made in
            // The name alone, not the letter in words.
            made.sql.replacing(/\b(of_)?T\b/) { "\($0.output.1 ?? "")\(name)" } + ";\n"
        }
        let map = "tables: { \(names.map { "\($0): {}" }.joined(separator: ", ")) }\n"
        try await TestBackend.with(schema: Self.before + made.joined(), map: map) { backend in
            let connection = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
            let catalog = try await Catalog(reading: connection)
            await connection.close()
            let tables = try UploadTables(
                map: TableMap(yaml: map, source: "map"), source: "map", catalog: catalog)
            for (name, made) in zip(names, Self.catalogs) {
                let table = try #require(tables.tables[ExactText(name)])
                #expect(table.showsNoOrder == !made.shows, "\(made.sql)")
            }
        }
    }

    // MARK: Who sees it

    private static let three = ["a", "b", "c"].map {
        "CREATE TABLE \($0) (id text PRIMARY KEY, name text, n int);\n"
    }.joined()
    private static let mapOfThree = "tables: { a: {}, b: {}, c: {} }\n"

    /// Rows of three tables in turn.
    private static func interleaved(_ prefix: String, _ count: Int = 30) -> [(table: String, id: String)] {
        (0..<count).map { (["a", "b", "c"][$0 % 3], "\(prefix)\($0)") }
    }

    private static func batch(_ rows: [(table: String, id: String)], bad: Set<Int> = []) -> String {
        let operations = rows.enumerated().map { index, row in
            let value = bad.contains(index) ? "\"none\"" : "\"x\""
            return
                #"{"op":"PUT","table":"\#(row.table)","id":"\#(row.id)","data":{"name":\#(value),"n":\#(index)}}"#
        }
        return "{\"batch\":[\(operations.joined(separator: ","))]}"
    }

    /// How many statements have written the rows of each table whose ids begin so.
    private static func statements(_ backend: TestBackend, _ prefix: String) async throws -> [String?] {
        var counts: [String?] = []
        for table in ["a", "b", "c"] {
            counts.append(
                try await backend.scalar(
                    "SELECT count(DISTINCT cmin::text) FROM \(table) WHERE id LIKE '\(prefix)%'"))
        }
        return counts
    }

    @Test func triggersSeeTheClientsOrder() async throws {
        try await TestBackend.with(schema: Self.three, map: Self.mapOfThree) { backend in
            let unseen = try await backend.upload(Self.batch(Self.interleaved("u")))
            #expect(unseen.states == Array(repeating: "applied", count: 30))
            #expect(
                try await Self.statements(backend, "u") == ["1", "1", "1"], "where nobody sees it, one each")
            // One table of the three is enough, and it may come while the backend runs.
            _ = try await backend.query("CREATE TABLE seen (place bigserial, id text)")
            _ = try await backend.query(
                """
                CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN INSERT INTO seen (id) VALUES (NEW.id); RETURN NULL; END $$
                """)
            _ = try await backend.query(
                "CREATE TRIGGER sees AFTER INSERT ON b FOR EACH ROW EXECUTE FUNCTION see()")
            let one = try await backend.upload(Self.batch(Self.interleaved("o")))
            #expect(one.states == Array(repeating: "applied", count: 30))
            #expect(try await Self.statements(backend, "o") == ["10", "10", "10"])
            for table in ["a", "c"] {
                _ = try await backend.query(
                    "CREATE TRIGGER sees AFTER INSERT ON \(table) FOR EACH ROW EXECUTE FUNCTION see()")
            }
            _ = try await backend.query("TRUNCATE seen")
            let rows = Self.interleaved("s")
            #expect(try await backend.upload(Self.batch(rows)).results == ["success"])
            let seen = try await backend.query("SELECT id FROM seen ORDER BY place")
            #expect(seen == rows.map { [$0.id] })
            // Postgres remembers that there was one until the table is vacuumed.
            for table in ["a", "b", "c"] {
                _ = try await backend.query("DROP TRIGGER sees ON \(table)")
                _ = try await backend.query("VACUUM \(table)")
            }
            #expect(try await backend.upload(Self.batch(Self.interleaved("again"))).results == ["success"])
            #expect(try await Self.statements(backend, "again") == ["1", "1", "1"])
        }
    }

    /// Vacuuming says in the row of the catalog that is there, for every snapshot, that a table has no triggers any more: what
    /// a reading in its midst makes of it must not pass for the present.
    @Test func aReadingInTheMidstOfVacuumingIsNotKept() async throws {
        let triggered = """
            CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
            CREATE TRIGGER sees AFTER INSERT ON a FOR EACH ROW EXECUTE FUNCTION nothing();
            DROP TRIGGER sees ON a;
            """
        try await TestBackend.with(schema: Self.three + triggered, map: Self.mapOfThree) { backend in
            func connect() async throws -> PostgresConnection {
                try await PostgresConnection.connect(backend.uri, poller: backend.poller)
            }
            let (reader, holder, vacuum) = (try await connect(), try await connect(), try await connect())
            // What sessions read of the catalog once, they have read.
            _ = try await Catalog(reading: reader)
            try await vacuum.script("VACUUM b")
            try await holder.script("BEGIN; LOCK TABLE pg_catalog.pg_constraint IN ACCESS EXCLUSIVE MODE")
            async let reading = Catalog(reading: reader)
            try await wait(
                for: "the reading to wait between its questions",
                read: {
                    try await holder.query(
                        "SELECT count(*)::text FROM pg_catalog.pg_locks WHERE NOT granted"
                            + " AND relation = 'pg_catalog.pg_constraint'::pg_catalog.regclass"
                            + " AND database = (SELECT oid FROM pg_catalog.pg_database"
                            + " WHERE datname = pg_catalog.current_database())"
                    ).scalar
                }, until: { $0 == "1" })
            try await vacuum.script("VACUUM a")
            try await holder.script("COMMIT")
            let table = try #require(try await reading.tables[Catalog.Name(schema: "public", table: "a")])
            let now = try await holder.query("SELECT psb.table_digest('public', 'a', NULL::name)").scalar
            #expect(table.showsNoOrder || table.digest != now)
            let next = try await Catalog(reading: reader)
            #expect(next.tables[Catalog.Name(schema: "public", table: "a")]?.showsNoOrder == true)
            for connection in [reader, holder, vacuum] { await connection.close() }
        }
    }

    /// Where nothing can leave a row out, nobody asks which ones were written: what can is noticed however late it comes.
    @Test func aRowThatATriggerBehindThePlanLeavesOutIsNotApplied() async throws {
        let leave = """
            CREATE FUNCTION leave() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN IF NEW.id = 'quiet' THEN RETURN NULL; END IF; RETURN NEW; END $$;
            """
        let rows = [(table: "a", id: "plain"), (table: "a", id: "quiet")]
        try await TestBackend.with(schema: Self.three + leave, map: Self.mapOfThree) { backend in
            #expect(try await backend.upload(Self.batch(rows)).states == ["applied", "applied"])
            let other = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
            try await other.script(
                """
                BEGIN; DELETE FROM a;
                CREATE TRIGGER leaves BEFORE INSERT ON a FOR EACH ROW EXECUTE FUNCTION leave()
                """)
            async let answer = backend.upload(Self.batch(rows))
            try await backend.waitForLocked(1)
            try await other.script("COMMIT")
            await other.close()
            #expect(try await answer.states == ["applied", "noop"])
            // Of one row nothing comes back but the tag.
            #expect(try await backend.upload(Self.batch([rows[1]])).states == ["noop"])
            #expect(try await backend.query("SELECT id FROM a") == [["plain"]])
        }
    }

    /// The first that fails is the first of the client, whichever statement it was in.
    @Test(arguments: [[7, 20], [20, 7, 8], [29], [0, 1, 2], [2, 1]])
    func theFirstThatFailsIsTheClientsFirst(bad: [Int]) async throws {
        let schema = ["a", "b", "c"].map {
            "CREATE TABLE \($0) (id text PRIMARY KEY, name mood, n int);\n"
        }.joined()
        try await TestBackend.with(
            schema: "CREATE TYPE mood AS ENUM ('x');\n" + schema, map: Self.mapOfThree
        ) { backend in
            let rows = Self.interleaved("r")
            let answer = try await backend.upload(Self.batch(rows, bad: Set(bad)))
            let first = try #require(bad.min())
            #expect(answer.errorCodes == ["INVALID_DATA"])
            let failed = answer.json["results"]?.arrayValue?.first?["failed_operation"]
            #expect(failed?["details"]?["id"]?.stringValue == rows[first].id)
            #expect(
                answer.states.enumerated().allSatisfy { $1 == ($0 == first ? "rejected" : "skipped") },
                "\(answer.states)")
            #expect(try await backend.scalar("SELECT count(*) FROM a") == "0")
        }
    }

    // MARK: One by one

    /// Three databases in which the same uploads mean the same: rows are regrouped, neighbours are done together, each is
    /// done alone.
    private enum Way {
        case regrouped, neighbours, alone

        var schema: String {
            // Of ids whose length has a limit only Postgres knows whether two are one.
            let id = self == .alone ? "varchar(255)" : "text"
            let tables = """
                CREATE TYPE mood AS ENUM ('good', 'bad');
                CREATE TABLE lists (id \(id) PRIMARY KEY, name text NOT NULL, n int, mood mood,
                    made timestamptz DEFAULT now(), flag boolean DEFAULT false);
                CREATE TABLE todos (id \(id) PRIMARY KEY, list text, body text, total numeric(4, 2), mood mood);
                CREATE TABLE notes (id \(id) PRIMARY KEY, owner_id text NOT NULL, body text, n int DEFAULT 7);

                """
            guard self == .neighbours else { return tables }
            return tables
                + "CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;\n"
                + ["lists", "todos", "notes"].map {
                    "CREATE TRIGGER t BEFORE INSERT ON \($0) FOR EACH ROW EXECUTE FUNCTION nothing();\n"
                }.joined()
        }
    }

    private static let map = "tables: { lists: {}, todos: {}, notes: { owner: owner_id } }\n"

    /// A transaction; most of them put rows alone, which are then the ones that are regrouped.
    private static func transaction(_ random: inout SeededRandom, _ number: inout Int) -> JSON {
        let putsAlone = !random.once(in: 3)
        let isRepeating = random.once(in: 3)
        let count = 1 + random.below(14)
        var ids = Set<String>()
        var operations: [JSON] = []
        for _ in 0..<count {
            let table = random.pick(["lists", "todos", "notes"])
            let kind = putsAlone ? "PUT" : random.pick(["PUT", "PUT", "PATCH", "DELETE"])
            let id = "r\(random.below(30))"
            guard ids.insert(table + id).inserted || isRepeating else { continue }
            number += 1
            operations.append(
                .object([
                    JSONMember("op_id", .integer(number)), JSONMember("op", .string(kind)),
                    JSONMember("table", .string(table)), JSONMember("id", .string(id)),
                    JSONMember("data", .object(data(&random, of: table))),
                ]))
        }
        return .object([JSONMember("tx_id", .integer(number)), JSONMember("crud", .array(operations))])
    }

    private static func data(_ random: inout SeededRandom, of table: String) -> [JSONMember] {
        let names: [String: [String]] = [
            "lists": ["name", "n", "mood", "flag"], "todos": ["list", "body", "total", "mood"],
            "notes": ["body", "n", "owner_id"],
        ]
        var members: [JSONMember] = []
        for name in names[table] ?? [] where random.below(10) < (name == "name" ? 9 : 6) {
            members.append(JSONMember(name, value(&random, of: name)))
        }
        if random.once(in: 4) { members.reverse() }
        return members
    }

    /// A value; now and then one that only Postgres refuses, or that is refused before.
    private static func value(_ random: inout SeededRandom, of name: String) -> JSON {
        if random.once(in: 8), name != "name" { return .null }
        let isBad = random.once(in: 60)
        switch name {
        case "mood": return .string(isBad ? "none" : random.pick(["good", "bad"]))
        case "n": return isBad ? .string("many") : .integer(random.below(100))
        case "total": return .number(isBad ? "12345" : random.pick(["1", "2.5", "3.333", "99.99"]))
        case "flag": return .integer(random.below(2))
        case "name" where isBad: return .null
        default: return .string(random.pick(["", "a", "é", "\"q\\", "x,y}", "NULL"]))
        }
    }

    /// What came of an upload, but for what each database names for itself.
    private static func shown(_ answer: TestBackend.Answer) -> [String] {
        let results = answer.json["results"]?.arrayValue ?? []
        return ["\(answer.status)"]
            + results.map { result in
                ["status", "replayed", "ops", "failed_operation"].map { result[$0]?.text ?? "-" }
                    .joined(separator: " ")
            }
    }

    private static func state(_ backend: TestBackend) async throws -> [[[String?]]] {
        var state: [[[String?]]] = []
        for question in [
            "SELECT id, name, n::text, mood::text, flag::text, (made IS NULL)::text FROM lists ORDER BY id",
            "SELECT id, list, body, total::text, mood::text FROM todos ORDER BY id",
            "SELECT id, owner_id, body, n::text FROM notes ORDER BY id",
            """
            SELECT user_id, client_id, first_op_id::text, last_op_id::text, tx_id::text, op_ids::text, op_hashes::text,
                verdict::text FROM psb.ledger ORDER BY user_id, client_id, last_op_id, id
            """,
            """
            SELECT user_id, first_op_id::text, failed_index::text, error_code, sqlstate, table_name, row_id, message,
                payload::text FROM psb.dead_letters ORDER BY user_id, client_id, first_op_id
            """,
        ] {
            state.append(try await backend.query(question))
        }
        return state
    }

    private func with(_ way: Way, _ body: (TestBackend) async throws -> Void) async throws {
        try await TestBackend.with(
            schema: way.schema, map: Self.map,
            {
                // Each rejection is a letter.
                $0.letters.rows = 1 << 20
                $0.letters.bytes = 1 << 40
            }, body)
    }

    private func onThree(_ body: ([TestBackend]) async throws -> Void) async throws {
        try await with(.regrouped) { one in
            try await with(.neighbours) { two in
                try await with(.alone) { three in try await body([one, two, three]) }
            }
        }
    }

    @Test func theOutcomeIsThatOfOneByOne() async throws {
        try await onThree { backends in
            try await forEachSeed(orderSeeds) { random in
                var numbers = [0, 0]
                for _ in 0..<4 {
                    let user = random.below(2)
                    var transactions: [JSON] = []
                    for _ in 0...random.below(2) {
                        transactions.append(Self.transaction(&random, &numbers[user]))
                    }
                    let body = JSON.object([
                        JSONMember("v", .integer(1)),
                        JSONMember("client_id", .string("client \(random.seed)")),
                        JSONMember("transactions", .array(transactions)),
                    ]).text
                    // Then as a client that has lost the answer sends it.
                    for _ in 0..<2 {
                        var answers: [[String]] = []
                        for backend in backends {
                            answers.append(
                                Self.shown(
                                    try await backend.upload(
                                        body, user: ["alice", "bob"][user], path: "/api/v1/upload")))
                        }
                        try #require(answers[0].first == "200")
                        #expect(answers[0] == answers[2], "regrouped and alone: \(body)")
                        #expect(answers[1] == answers[2], "neighbours and alone: \(body)")
                    }
                }
                var states: [[[[String?]]]] = []
                for backend in backends { states.append(try await Self.state(backend)) }
                try #require(states[0] == states[2], "regrouped and alone")
                try #require(states[1] == states[2], "neighbours and alone")
            }
            // What never fails and never succeeds proves nothing.
            for verdict in ["1", "2"] {
                let count = try await backends[0].scalar(
                    "SELECT count(*)::int > 5 FROM psb.ledger WHERE verdict = \(verdict)")
                #expect(count == "t", "verdict \(verdict)")
            }
        }
    }
}
