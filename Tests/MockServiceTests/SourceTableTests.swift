import Foundation
import PowerSyncHTTP
import PowerSyncMockService
import PowerSyncPostgres
import PowerSyncPostgresSource
import PowerSyncPostgresTestSupport
import PowerSyncServiceEngine
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What becomes of rows when their table changes under the service (service 4.8, 7.5, 7.7).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct SourceTableTests {
    private static let config = """
        config: {edition: 3}
        streams:
          t: {auto_subscribe: true, query: SELECT * FROM t}
        """

    /// Columns that an index carries along identify nothing.
    @Test func aKeyWithIncludedColumnsIdentifiesRowsByItsOwnColumns() async throws {
        let schema = [
            "CREATE TABLE t(id text, name text, PRIMARY KEY (id) INCLUDE (name))",
            "INSERT INTO t VALUES ('1', 'one'), ('2', 'two')",
        ]
        try await TestService.run(schema) { service in
            try await service.start(Self.config)
            let stream = try await service.open()
            try await stream.holds(["t/1", "t/2"])
            try await service.tx("UPDATE t SET name = 'uno' WHERE id = '1'")
            try await stream.holds("the new name") { $0.data(of: "t/1")?.contains("uno") == true }
            try await service.tx("DELETE FROM t WHERE id = '2'")
            try await stream.holds(["t/1"])
            // Nothing was read twice, under whatever identity.
            #expect(stream.model.listed.values.first?.count == 4)
        }
    }

    /// Postgres identifies no row by a key that may be broken until the commit.
    @Test func aTableWhoseKeyIsDeferrableIsFollowed() async throws {
        let schema = [
            "CREATE TABLE t(id text PRIMARY KEY DEFERRABLE)", "INSERT INTO t VALUES ('1')",
        ]
        try await TestService.run(schema) { service in
            try await service.start(Self.config)
            let stream = try await service.open()
            try await stream.holds(["t/1"])
            // Postgres does not tell the relation again.
            for count in 2...3 {
                try await service.tx("INSERT INTO t VALUES ('\(count)')")
                try await stream.holds((1...count).map { "t/\($0)" })
            }
            // Nothing was read twice, under whatever identity.
            #expect(stream.model.listed.values.first?.count == 3)
            try await service.tx("TRUNCATE t")
            try await stream.holds([])
        }
    }

    /// Rows that differ in a column alone that is not published would take each other's place.
    @Test func aTableWhoseIdentityIsNotPublishedIsLeftOut() async throws {
        let schema = [
            "CREATE TABLE t(id text, n int, g int GENERATED ALWAYS AS (length(id)) STORED, PRIMARY KEY (n, g))",
            "INSERT INTO t VALUES ('1', 1), ('22', 1)", "CREATE TABLE u(id text PRIMARY KEY)",
        ]
        try await TestService.run(schema) { service in
            try await service.start(Self.config + "\n  u: {auto_subscribe: true, query: SELECT * FROM u}")
            let stream = try await service.open()
            try await stream.holds([])
            try await service.tx("INSERT INTO t VALUES ('333', 1)", "INSERT INTO u VALUES ('1')")
            try await stream.holds(["u/1"])
            #expect(service.log.contains { $0.contains("a column of its replica identity is not published") })
            // Once all of it is, the rows come.
            try await service.tx("ALTER TABLE t REPLICA IDENTITY FULL")
            try await service.tx("INSERT INTO t VALUES ('4444', 1)")
            try await stream.holds(["t/1", "t/22", "t/333", "t/4444", "u/1"])
        }
    }

    /// The identity changes while the service is away: the stream tells the old one first.
    @Test func rowsAreReadUnderTheIdentityOfNow() async throws {
        let schema = [
            "CREATE TABLE t(id text PRIMARY KEY, n int)", "INSERT INTO t VALUES ('1', 1), ('2', 2)",
        ]
        try await TestService.run(schema) { service in
            try await service.start(Self.config)
            await service.stop()
            // A table that nobody has heard of, told of under an identity that is over when it is read.
            try await service.tx("DROP TABLE t")
            try await service.tx(
                "CREATE TABLE t(id text PRIMARY KEY, n int)", "INSERT INTO t VALUES ('3', 3), ('4', 4)")
            try await service.tx("ALTER TABLE t REPLICA IDENTITY FULL")
            try await service.start(Self.config)
            let stream = try await service.open()
            // What the stream says under the old identity was read with the rest: nothing comes twice.
            #expect(try await stream.holds(["t/3", "t/4"]).listed.values.first?.count == 6)
            try await service.tx("UPDATE t SET n = 5 WHERE id = '3'")
            try await stream.holds("the update") { $0.data(of: "t/3")?.contains("5") == true }
            try await service.tx("DELETE FROM t WHERE id IN ('3', '4')")
            try await stream.holds([])
        }
    }

    /// The identity of a table changes in the transaction of which a row has to be read again.
    @Test func aTableIsFollowedWhoseIdentityChangesInTheMidstOfATransaction() async throws {
        let schema = [
            "CREATE TABLE a(id text PRIMARY KEY, v text)", "INSERT INTO a VALUES ('1', '')",
            "CREATE TABLE b(id text PRIMARY KEY, doc text, n int)",
            "ALTER TABLE b ALTER doc SET STORAGE EXTERNAL",
            "INSERT INTO b VALUES ('1', repeat('d', 10000), 0)",
        ]
        let config = """
            config: {edition: 3}
            streams:
              a: {auto_subscribe: true, query: SELECT * FROM a}
              b: {auto_subscribe: true, query: SELECT * FROM b}
            """
        try await TestService.run(schema) { service in
            try await service.start(config)
            let stream = try await service.open()
            try await stream.holds(["a/1", "b/1"])
            try await service.tx(
                "ALTER TABLE b ADD extra int", "UPDATE b SET n = 1", "ALTER TABLE b ALTER id TYPE varchar",
                "ALTER TABLE a RENAME v TO w", "TRUNCATE a, b", "INSERT INTO b VALUES ('7', '', 0)")
            try await stream.holds(["b/7"])
            // Postgres does not tell the relation again.
            try await service.tx("INSERT INTO b VALUES ('8', '', 0)")
            try await stream.holds(["b/7", "b/8"])
            try await service.tx("DELETE FROM b WHERE id = '7'")
            try await stream.holds(["b/8"])
        }
    }

    private static let documents = [
        "CREATE TABLE t(id text PRIMARY KEY, doc text, other text, n int)",
        "INSERT INTO t VALUES ('1', NULL, NULL, 0)",
    ]
    /// Large values that no compression makes small.
    private static let fill = """
        UPDATE t SET n = 1, doc = (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 400) i),
            other = (SELECT string_agg(md5(i::text), '') FROM generate_series(1001, 1400) i)
        """

    /// Updates leave large values out.
    ///
    /// What the state knows of them is no more true once the table was changed, of which no row tells.
    @Test(
        arguments: [
            // Another column takes the name.
            ("ALTER TABLE t DROP COLUMN doc; ALTER TABLE t RENAME other TO doc", "\"doc\":\"b8c37e33"),
            // The same columns with other values.
            ("ALTER TABLE t ALTER doc TYPE text USING upper(doc)", "\"doc\":\"C4CA4238"),
            ("ALTER TABLE t ALTER other TYPE varchar(20000) USING upper(other)", "\"other\":\"B8C37E33"),
        ], [false, true])
    func largeValuesOfAnotherLayoutAreReadAgain(change: (sql: String, data: String), whileAway: Bool)
        async throws
    {
        try await TestService.run(Self.documents) { service in
            try await service.start(Self.config)
            if whileAway { await service.stop() }
            // The row is written whole just before.
            try await service.tx(Self.fill)
            if !whileAway {
                try await service.open().holds("the first") {
                    $0.data(of: "t/1")?.contains("\"n\":1") == true
                }
            }
            try await service.tx(change.sql.components(separatedBy: "; "))
            try await service.tx("UPDATE t SET n = 2")
            if whileAway { try await service.start(Self.config) }
            let stream = try await service.open()
            let seen = try await stream.holds("the second") {
                $0.data(of: "t/1")?.contains("\"n\":2") == true
            }
            #expect(seen.data(of: "t/1")?.contains(change.data) == true)
        }
    }

    /// A row leaves whoever has lost it also if nobody can say any more what else it has become.
    @Test func aRowThatCannotBeReadAgainLeavesItsFormerPlace() async throws {
        let config = """
            config: {edition: 3}
            streams:
              a: {auto_subscribe: true, query: SELECT * FROM a}
              t:
                auto_subscribe: true
                queries:
                  - SELECT * FROM t WHERE owner = auth.user_id()
                  - SELECT * FROM a WHERE id IN (SELECT task FROM t WHERE doc > '' AND owner = auth.user_id())
            """
        let schema = [
            "CREATE TABLE a(id text PRIMARY KEY)", "INSERT INTO a VALUES ('1')",
            "CREATE TABLE t(id text PRIMARY KEY, owner text, task text, doc text, other text)",
            "ALTER TABLE t ALTER doc SET STORAGE EXTERNAL",
            "INSERT INTO t VALUES ('1', 'u1', '1', repeat('d', 10000), '')",
        ]
        try await TestService.run(schema) { service in
            try await service.start(config)
            let before = try await service.open().holds(["a/1", "t/1"])
            #expect(before.listed.count == 3)
            await service.stop()
            // What the state knows of the large value is of other columns, and it cannot be read any more.
            try await service.tx("ALTER TABLE t RENAME other TO another")
            try await service.tx("UPDATE t SET owner = 'u2'")
            try await service.tx("DROP TABLE t", "INSERT INTO a VALUES ('2')")
            try await service.start(config)
            let stream = try await service.open()
            let after = try await stream.holds(["a/1", "a/2"])
            #expect(after.listed.count == 2)
        }
    }

    /// A value of another form than its type promised is a value all the same.
    @Test func aCompositeTypeIsKnownAsItIsNow() async throws {
        let schema = [
            "CREATE TYPE address AS (street text)",
            "CREATE TABLE t(id text PRIMARY KEY, a address, v int2vector)",
            "INSERT INTO t VALUES ('1', ROW('here'), '1 2')",
        ]
        try await TestService.run(schema) { service in
            try await service.start(Self.config)
            let stream = try await service.open()
            let first = try await stream.holds(["t/1"])
            #expect(first.data(of: "t/1") == #"{"id":"1","a":"{\"street\":\"here\"}","v":"1 2"}"#)
            try await service.tx("ALTER TYPE address ADD ATTRIBUTE no int")
            try await service.tx("UPDATE t SET a = ROW('there', 7)")
            try await stream.holds("the new field") {
                $0.data(of: "t/1") == #"{"id":"1","a":"{\"street\":\"there\",\"no\":7}","v":"1 2"}"#
            }
            try await service.tx("ALTER TYPE address RENAME ATTRIBUTE street TO road")
            try await service.tx("UPDATE t SET a = ROW('there', 8)")
            try await stream.holds("the new name") {
                $0.data(of: "t/1") == #"{"id":"1","a":"{\"road\":\"there\",\"no\":8}","v":"1 2"}"#
            }
            // A row of a shape that is over when it is read.
            await service.stop()
            try await service.tx("INSERT INTO t VALUES ('2', ROW('old', 1), '3')")
            try await service.tx("ALTER TYPE address ADD ATTRIBUTE zip text")
            try await service.start(Self.config)
            let all = try await service.open().holds(["t/1", "t/2"])
            #expect(
                all.data(of: "t/2")
                    == #"{"id":"2","a":"{\"road\":\"old\",\"no\":1,\"zip\":null}","v":"3"}"#)
        }
    }

    /// A table that comes in is read with the fields of then, not with those of the time when the link was made.
    @Test func aTableThatIsReadLaterHasTheFieldsOfThen() async throws {
        let schema = [
            "CREATE TYPE address AS (street text)", "CREATE TABLE away(id text PRIMARY KEY, a address)",
            "INSERT INTO away VALUES ('1', ROW('here'))",
        ]
        try await TestService.run(schema) { service in
            try await service.start(Self.config)
            let stream = try await service.open()
            try await stream.holds([])
            try await service.tx("ALTER TYPE address ADD ATTRIBUTE no int")
            try await service.tx(
                "ALTER TABLE away RENAME TO t", "INSERT INTO t VALUES ('2', ROW('there', 2))")
            let held = try await stream.holds(["t/1", "t/2"])
            #expect(held.data(of: "t/1") == #"{"id":"1","a":"{\"street\":\"here\",\"no\":null}"}"#)
            #expect(held.data(of: "t/2") == #"{"id":"2","a":"{\"street\":\"there\",\"no\":2}"}"#)
        }
    }

    /// As many fields as before, of which one is another.
    @Test func valuesDoNotComeUnderTheNameOfAnotherField() async throws {
        let schema = [
            "CREATE TYPE address AS (street text, town text)",
            "CREATE TABLE t(id text PRIMARY KEY, a address, list address[])",
            "INSERT INTO t VALUES ('1', NULL, NULL), ('2', NULL, NULL)",
        ]
        try await TestService.run(schema) { service in
            try await service.start(Self.config)
            await service.stop()
            try await service.tx("UPDATE t SET a = ROW('x', 'y') WHERE id = '1'")
            try await service.tx("UPDATE t SET list = ARRAY[ROW('x', 'y')::address] WHERE id = '2'")
            try await service.tx(
                "ALTER TYPE address DROP ATTRIBUTE street", "ALTER TYPE address ADD ATTRIBUTE zip text")
            try await service.start(Self.config)
            let held = try await service.open().holds("the rows as they are now") {
                $0.data(of: "t/2")?.contains("town") == true
            }
            #expect(
                held.data(of: "t/1")
                    == #"{"id":"1","a":"{\"town\":\"y\",\"zip\":null}","list":null}"#)
            #expect(
                held.data(of: "t/2")
                    == #"{"id":"2","a":null,"list":"[{\"town\":\"y\",\"zip\":null}]"}"#)
        }
    }

    /// Rows whose identity holds fields of a composite type have other replica ids once these were renamed.
    @Test(arguments: ["FULL", "USING INDEX i"], [false, true])
    func rowsAreFoundWhoseIdentityHoldsFieldsThatWereRenamed(identity: String, whileAway: Bool) async throws {
        let schema = [
            "CREATE TYPE address AS (street text)", "CREATE TABLE t(id text, a address NOT NULL)",
            "CREATE UNIQUE INDEX i ON t(a)", "ALTER TABLE t REPLICA IDENTITY \(identity)",
            "INSERT INTO t VALUES ('1', ROW('here')), ('2', ROW('there')), ('3', ROW('far'))",
        ]
        try await TestService.run(schema) { service in
            try await service.start(Self.config)
            let first = try await service.open()
            try await first.holds(["t/1", "t/2", "t/3"])
            if whileAway { await service.stop() }
            try await service.tx("DELETE FROM t WHERE id = '3'")
            try await service.tx("ALTER TYPE address RENAME ATTRIBUTE street TO road")
            try await service.tx("DELETE FROM t WHERE id = '1'")
            if whileAway { try await service.start(Self.config) }
            let stream = whileAway ? try await service.open() : first
            let held = try await stream.holds(["t/2"])
            #expect(held.data(of: "t/2") == #"{"id":"2","a":"{\"road\":\"there\"}"}"#)
            try await service.tx("UPDATE t SET a = ROW('near')", "INSERT INTO t VALUES ('4', ROW('new'))")
            let last = try await stream.holds(["t/2", "t/4"])
            #expect(last.data(of: "t/2") == #"{"id":"2","a":"{\"road\":\"near\"}"}"#)
            try await service.tx("DELETE FROM t")
            try await stream.holds([])
        }
    }

    /// Each of many rows has a value that cannot be converted, in one column and for one reason.
    @Test func whatIsTrueOfManyRowsIsToldOnceAndHowManyThereWere() async throws {
        let rows = 300
        // Nested deeper than values of JSON may be; each level doubles the marks of those within.
        let types = ["CREATE TYPE c0 AS (x int)"] + (1...11).map { "CREATE TYPE c\($0) AS (x c\($0 - 1))" }
        let value = String(repeating: "ROW(", count: 12) + "1" + String(repeating: ")", count: 12)
        let schema =
            types + [
                "CREATE TABLE t(id text PRIMARY KEY, deep c11)",
                "INSERT INTO t SELECT n, \(value)::c11 FROM generate_series(1, \(rows)) n",
            ]
        try await TestService.run(schema) { service in
            let start = ContinuousClock.now
            try await service.start(Self.config)
            try await service.open().holds("all rows") { $0.rowCount == rows }
            let told = service.log.filter { $0.contains("The column deep of public.t is synced as Postgres") }
            // On a slow machine reading takes longer than the pause between two lines.
            #expect(told.count <= 2 + Int((ContinuousClock.now - start) / RepeatedWarnings.pause))
            let counts = told.compactMap { line in
                line.split(separator: "rows=").last.flatMap {
                    Int($0.filter { $0.isNumber })
                }
            }
            #expect(counts.reduce(0, +) == rows, "\(told)")
        }
    }

    @Test func warningsOfRowsAreToldNowAndThen() {
        var repeated = RepeatedWarnings()
        let start = ContinuousClock.now
        func warnings(_ counts: [String: Int]) -> RowWarnings {
            var warnings = RowWarnings()
            for (text, count) in counts { warnings.add(text, count) }
            return warnings
        }
        func line(_ text: String, _ rows: Int, again: Bool = true) -> RepeatedWarnings.Line {
            RepeatedWarnings.Line(text: text, rows: rows, isRepeated: again)
        }
        let first = repeated.take(warnings(["a": 7, "b": 1]), at: start)
        #expect(first == [line("a", 7, again: false), line("b", 1, again: false)])
        let soon = repeated.take(warnings(["a": 1, "c": 1]), at: start + .seconds(29))
        #expect(soon == [line("c", 1, again: false)])
        let later = repeated.take(warnings(["a": 2]), at: start + .seconds(30))
        #expect(later == [line("a", 3)])
        // Nothing more came of this one, so it is new when it comes again.
        let again = repeated.take(warnings(["a": 5, "b": 2]), at: start + .seconds(31))
        #expect(again == [line("b", 2, again: false)])
        let end = repeated.due(at: start + .seconds(32), isEnd: true)
        #expect(end == [line("a", 5)])
        let nothing = repeated.due(at: start + .seconds(90))
        #expect(nothing == [])
    }

    /// What the publication leaves out is not read by the snapshot either.
    ///
    /// Lists and filters are of version 15 and later.
    @Test func onlyPublishedRowsAndColumnsAreSynced() async throws {
        let schema = [
            "CREATE TABLE t(id text PRIMARY KEY, shown text, hidden text, n int)",
            "INSERT INTO t VALUES ('1', 's', 'secret', 1), ('2', 's', 'secret', -1)",
        ]
        // The filter of an update needs its column in the identity.
        let identity =
            "CREATE UNIQUE INDEX i ON t(id, n); ALTER TABLE t ALTER n SET NOT NULL; "
            + "ALTER TABLE t REPLICA IDENTITY USING INDEX i"
        try await TestService.run(
            schema + identity.components(separatedBy: "; "),
            publication: "FOR TABLE t (id, shown, n) WHERE (n > 0)"
        ) { service in
            try await service.start(Self.config)
            let stream = try await service.open()
            try await stream.holds(["t/1"])
            #expect(stream.model.data(of: "t/1") == #"{"id":"1","shown":"s","n":1}"#)
            try await service.tx(
                "INSERT INTO t VALUES ('3', 's', 'secret', 3)", "UPDATE t SET n = 2 WHERE id = '2'")
            try await stream.holds(["t/1", "t/2", "t/3"])
            #expect(!stream.texts.joined().contains("secret") && !stream.texts.joined().contains("hidden"))
        }
    }

    @Test func rowsThatPostgresHidesFromTheRoleAreTold() async throws {
        let schema = [
            "CREATE TABLE t(id text PRIMARY KEY)", "INSERT INTO t VALUES ('1')",
            "ALTER TABLE t ENABLE ROW LEVEL SECURITY",
        ]
        try await TestService.run(schema) { service in
            let role = "replicator_\(service.uri.split(separator: "/").last ?? "")"
            try await service.tx(
                "CREATE ROLE \(role) \(try TestRole.login(service.uri)) REPLICATION",
                "GRANT SELECT ON ALL TABLES IN SCHEMA public TO \(role)")
            try await service.start(Self.config) {
                $0.source = .patient(service.uri, parameters: ["user": role])
            }
            try await service.open().holds([])
            #expect(
                service.log.contains {
                    $0.contains("[PSYNC_S1145] Row level security hides rows of public.t")
                })
            await service.stop()
            try await service.tx("DROP OWNED BY \(role)", "DROP ROLE \(role)")
        }
    }
}
