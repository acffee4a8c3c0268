import PowerSyncMockService
import PowerSyncPostgres
import PowerSyncPostgresSource
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What is read is newer than what the stream says next (service 7.3, 7.5).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct SnapshotOrderTests {
    private static let config = """
        config: {edition: 3}
        streams:
          a: {auto_subscribe: true, query: SELECT * FROM a}
          t: {auto_subscribe: true, query: SELECT * FROM t}
        """

    /// Holds the service between the making of its slot and its snapshot, which begins with a table that its role may not
    /// read.
    private func withLateSnapshot(
        _ schema: [String], meanwhile: [[String]], publication: String = "FOR ALL TABLES",
        before: (TestService) async throws -> Void = { _ in }, _ body: (TestService) async throws -> Void
    ) async throws {
        try await TestService.run(
            ["CREATE TABLE a(id text PRIMARY KEY)"] + schema, publication: publication
        ) { service in
            let role = "replicator_\(service.uri.split(separator: "/").last ?? "")"
            try await service.tx(
                "CREATE ROLE \(role) \(try TestRole.login(service.uri)) REPLICATION",
                "GRANT SELECT ON ALL TABLES IN SCHEMA public TO \(role)", "REVOKE SELECT ON a FROM \(role)")
            let start = Task {
                try await service.start(Self.config) {
                    $0.source = .patient(service.uri, parameters: ["user": role])
                }
            }
            try await wait(for: "the slot") {
                service.log.contains { $0.contains("made a replication slot") }
            }
            try await before(service)
            for transaction in meanwhile { try await service.tx(transaction) }
            try await service.tx("GRANT SELECT ON a TO \(role)")
            try await start.value
            try await body(service)
            await service.stop()
            try await service.tx("DROP OWNED BY \(role)", "DROP ROLE \(role)")
        }
    }

    private static func documents(_ name: String) -> [String] {
        [
            "CREATE TABLE \(name)(id text PRIMARY KEY, doc text)",
            "ALTER TABLE \(name) ALTER doc SET STORAGE EXTERNAL",
            "INSERT INTO \(name) VALUES ('1', repeat('a', 10000)), ('2', repeat('b', 10000))",
        ]
    }

    /// The large values, which these updates leave out, change places with the keys.
    private static let exchange = [
        "UPDATE t SET id = '3' WHERE id = '1'", "UPDATE t SET id = '1' WHERE id = '2'",
        "UPDATE t SET id = '2' WHERE id = '3'",
    ]

    private static func holdsExchanged(_ service: TestService, _ stream: TestStream) async throws {
        try await service.tx("INSERT INTO t VALUES ('last', '')")
        let held = try await stream.holds(["t/1", "t/2", "t/last"])
        #expect(held.data(of: "t/1")?.contains("\"doc\":\"bbbb") == true)
        #expect(held.data(of: "t/2")?.contains("\"doc\":\"aaaa") == true)
    }

    @Test func largeValuesStayWithTheirRowWhenKeysAreExchangedBeforeTheSnapshot() async throws {
        try await withLateSnapshot(Self.documents("t"), meanwhile: [Self.exchange]) { service in
            try await Self.holdsExchanged(service, try await service.open())
        }
    }

    @Test func largeValuesStayWithTheirRowWhenKeysAreExchangedBeforeATableIsRead() async throws {
        try await TestService.run(["CREATE TABLE a(id text PRIMARY KEY)"] + Self.documents("away")) {
            service in
            try await service.start(Self.config)
            let stream = try await service.open()
            try await stream.holds([])
            try await service.tx(["ALTER TABLE away RENAME TO t"] + Self.exchange)
            try await Self.holdsExchanged(service, stream)
        }
    }

    /// A transaction that is told again because the link was lost in its midst is applied once: here rows that nothing
    /// identifies would show.
    @Test func aTransactionThatIsToldAgainIsAppliedOnce() async throws {
        let schema = ["CREATE TABLE t(id text)", "INSERT INTO t VALUES ('1')"]
        try await withLateSnapshot(schema, meanwhile: []) { service in
            let stream = try await service.open()
            try await stream.holds(["t/1"])
            // The role may not read the table that the transaction makes.
            try await service.tx(
                "DROP TABLE a", "INSERT INTO t VALUES ('2')", "CREATE TABLE a(id text PRIMARY KEY)",
                "INSERT INTO a VALUES ('1')", "INSERT INTO t VALUES ('3')")
            for _ in 0..<3 {
                let link = try await Self.link(service)
                try await wait(for: "another link") {
                    try await Self.link(service)
                } until: {
                    $0 != nil && $0 != link
                }
            }
            try await service.tx("GRANT SELECT ON a TO PUBLIC")
            let held = try await stream.holds(["a/1", "t/1", "t/2", "t/3"])
            #expect(["t/1", "t/2", "t/3"].map { held.copies(of: $0) } == [1, 1, 1])
        }
    }

    /// Who wrote to a table before it was published, and commits after it was read, is in no stream.
    @Test func whatWasWrittenBeforeATableWasPublishedIsReadAlsoInTheFirstSnapshot() async throws {
        let writer = Lock<PostgresConnection?>(nil)
        let add = ["ALTER PUBLICATION powersync ADD TABLE t"]
        try await withLateSnapshot(
            ["CREATE TABLE t(id text PRIMARY KEY)"], meanwhile: [add], publication: "FOR TABLE a",
            before: { service in
                let connection = try await PostgresConnection.connect(service.uri, poller: service.poller)
                try await connection.query("BEGIN")
                try await connection.query("INSERT INTO t VALUES ('w')")
                writer.withLock { $0 = connection }
            }
        ) { service in
            let stream = try await service.open()
            try await stream.holds([])
            let connection = try #require(writer.withLock { $0 })
            try await connection.query("COMMIT")
            await connection.close()
            try await stream.holds(["t/w"])
        }
    }

    /// A table is empty to whoever looked at the database before it was rewritten (manual 13.6).
    @Test func aTableThatIsRewrittenWhileItsReadingWaitsIsReadWhole() async throws {
        let commit = Lock<Task<Void, any Error>?>(nil)
        let schema = [
            "CREATE TABLE t(id text PRIMARY KEY, n int)", "INSERT INTO t VALUES ('1', 1), ('2', 2)",
        ]
        try await withLateSnapshot(
            schema, meanwhile: [],
            before: { service in
                let writer = try await PostgresConnection.connect(service.uri, poller: service.poller)
                try await writer.query("BEGIN")
                try await writer.query("ALTER TABLE t ALTER n TYPE text USING 'n' || n")
                commit.withLock {
                    $0 = Task {
                        try await wait(for: "the reading to wait for the table") {
                            try await writer.query(
                                "SELECT count(*) FROM pg_locks WHERE relation = 't'::regclass AND NOT granted "
                                    + "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
                            ).scalar == "1"
                        }
                        try await writer.query("COMMIT")
                        await writer.close()
                    }
                }
            }
        ) { service in
            try await wait(forEndOf: try #require(commit.withLock { $0 }))
            let held = try await service.open().holds(["t/1", "t/2"])
            #expect(held.data(of: "t/1") == #"{"id":"1","n":"n1"}"#)
        }
    }

    /// The process that serves the link to the source; nil without.
    private static func link(_ service: TestService) async throws -> String? {
        try await service.source.query(
            "SELECT active_pid FROM pg_replication_slots WHERE database = current_database()"
        ).scalar
    }

    private static let renamed = ["ALTER TABLE t RENAME TO t_old", "ALTER TABLE t_new RENAME TO t"]
    private static let twoTables = [
        "CREATE TABLE t(id text PRIMARY KEY, n int)", "INSERT INTO t VALUES ('former', 0)",
        "CREATE TABLE t_new(id text PRIMARY KEY, n int)", "INSERT INTO t_new VALUES ('1', 0)",
    ]

    /// The stream tells of a table under a name that it had before it was read.
    @Test func aTableThatWasRenamedIntoPlaceBeforeTheSnapshotStays() async throws {
        let meanwhile = [["INSERT INTO t_new VALUES ('2', 0)"], Self.renamed]
        try await withLateSnapshot(Self.twoTables, meanwhile: meanwhile) { service in
            let stream = try await service.open()
            try await service.tx("INSERT INTO a VALUES ('last')")
            let held = try await stream.holds(["a/last", "t/1", "t/2"])
            // It was not read a second time.
            #expect(held.listed["1#t|0[]"]?.count == 2)
            try await service.tx("DELETE FROM t WHERE id = '1'")
            try await stream.holds(["a/last", "t/2"])
        }
    }

    /// The stream tells of the table that had the name before.
    @Test func aTableKeepsItsRowsWhenTheOneWhosePlaceItTookIsToldOf() async throws {
        let meanwhile = [["UPDATE t SET n = 1"], Self.renamed]
        try await withLateSnapshot(Self.twoTables, meanwhile: meanwhile) { service in
            let stream = try await service.open()
            try await service.tx("INSERT INTO a VALUES ('last')")
            let held = try await stream.holds(["a/last", "t/1"])
            #expect(held.listed["1#t|0[]"]?.count == 1)
        }
    }

    /// How a table becomes another to the stream, or none, and comes back.
    struct Detour: Sendable, CustomTestStringConvertible {
        let there: String
        var name = "t"
        let back: String
        var testDescription: String { there }
    }

    static let detours = [
        Detour(there: "ALTER TABLE t RENAME TO away", name: "away", back: "ALTER TABLE away RENAME TO t"),
        Detour(
            there: "ALTER TABLE t REPLICA IDENTITY FULL", back: "ALTER TABLE t REPLICA IDENTITY DEFAULT"),
        Detour(
            there: "ALTER PUBLICATION powersync DROP TABLE t",
            back: "ALTER PUBLICATION powersync ADD TABLE t"),
    ]

    /// Of what was read with the rows nothing is applied again: some of it is in no stream, or under what is over.
    @Test(arguments: detours)
    func aRowThatWasDeletedOnADetourBeforeTheSnapshotStaysAway(detour: Detour) async throws {
        let schema = [
            "CREATE TABLE t(id text PRIMARY KEY, n int)", "INSERT INTO t VALUES ('1', 0), ('2', 0)",
        ]
        let meanwhile = [
            "UPDATE t SET n = 1 WHERE id = '1'", detour.there, "DELETE FROM \(detour.name) WHERE id = '1'",
            detour.back,
        ]
        try await withLateSnapshot(schema, meanwhile: meanwhile.map { [$0] }, publication: "FOR TABLE a, t") {
            service in
            let stream = try await service.open()
            try await service.tx("INSERT INTO a VALUES ('last')")
            let held = try await stream.holds(["a/last", "t/2"])
            #expect(held.listed["1#t|0[]"]?.count == 1)
            try await service.tx("UPDATE t SET n = 2")
            try await stream.holds("what comes later") { $0.data(of: "t/2") == #"{"id":"2","n":2}"# }
        }
    }

    /// The snapshot has read what the stream tells next.
    @Test func aRowThatNothingIdentifiesComesOnceIfItIsInsertedBeforeTheSnapshot() async throws {
        let schema = ["CREATE TABLE t(id text)", "INSERT INTO t VALUES ('1')"]
        try await withLateSnapshot(schema, meanwhile: [["INSERT INTO t VALUES ('2')"]]) { service in
            let stream = try await service.open()
            let held = try await stream.holds(["t/1", "t/2"])
            #expect(["t/1", "t/2"].map { held.copies(of: $0) } == [1, 1])
            try await service.tx("INSERT INTO t VALUES ('3')")
            try await stream.holds(["t/1", "t/2", "t/3"])
        }
    }

    /// An attempt to read it has failed before that.
    @Test func aRowThatNothingIdentifiesComesOnceIfItIsInsertedBeforeTheSnapshotBeginsAgain() async throws {
        let meanwhile = [["INSERT INTO t VALUES ('2')"], ["GRANT SELECT ON t TO PUBLIC"]]
        try await withLateSnapshot(
            [], meanwhile: meanwhile,
            before: { service in
                try await service.tx(
                    "CREATE TABLE t(id text)", "INSERT INTO t VALUES ('1')", "GRANT SELECT ON a TO PUBLIC")
                try await wait(for: "an attempt to read it") {
                    service.log.contains { $0.contains("permission denied for table t") }
                }
            }
        ) { service in
            let held = try await service.open().holds(["t/1", "t/2"])
            #expect(["t/1", "t/2"].map { held.copies(of: $0) } == [1, 1])
        }
    }

    /// What a new table begins with is applied again (service 4.8), and so the rest has to be.
    @Test func aRowOfANewTableThatWasDeletedUnderAnotherNameStaysAway() async throws {
        try await TestService.run(["CREATE TABLE a(id text PRIMARY KEY)"]) { service in
            try await service.start(Self.config)
            try await service.open().holds([])
            await service.stop()
            try await service.tx("CREATE TABLE t(id text PRIMARY KEY)", "INSERT INTO t VALUES ('1'), ('2')")
            try await service.tx("ALTER TABLE t RENAME TO away")
            try await service.tx("DELETE FROM away WHERE id = '1'")
            try await service.tx("ALTER TABLE away RENAME TO t")
            try await service.tx("INSERT INTO a VALUES ('last')")
            try await service.start(Self.config)
            let stream = try await service.open()
            try await stream.holds(["a/last", "t/2"])
            try await service.tx("INSERT INTO t VALUES ('3')")
            try await stream.holds(["a/last", "t/2", "t/3"])
        }
    }

    /// By the time the stream tells of the other name, the table has its own again.
    @Test func aTableThatWasAwayForAWhileIsReadAnew() async throws {
        let schema = ["CREATE TABLE a(id text PRIMARY KEY)"] + Self.twoTables
        try await TestService.run(schema) { service in
            try await service.start(Self.config)
            try await service.open().holds(["t/former"])
            await service.stop()
            try await service.tx("ALTER TABLE t RENAME TO away")
            try await service.tx("INSERT INTO away VALUES ('meanwhile', 0)")
            try await service.tx("ALTER TABLE away RENAME TO t")
            try await service.tx("INSERT INTO a VALUES ('last')")
            try await service.start(Self.config)
            let stream = try await service.open()
            try await stream.holds(["a/last", "t/former", "t/meanwhile"])
            try await service.tx("DELETE FROM t WHERE id = 'former'")
            try await stream.holds(["a/last", "t/meanwhile"])
        }
    }
}
