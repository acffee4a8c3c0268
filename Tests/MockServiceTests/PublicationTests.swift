import PowerSyncMockService
import PowerSyncPostgres
import PowerSyncPostgresSource
import PowerSyncPostgresTestSupport
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Tables that come into the publication and leave it (service 7.7).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct PublicationTests {
    private static let config = """
        config: {edition: 3}
        streams:
          t: {auto_subscribe: true, query: SELECT * FROM t}
          u: {auto_subscribe: true, query: SELECT * FROM u}
        """
    private static let schema = [
        "CREATE TABLE root(id text PRIMARY KEY, n int) PARTITION BY LIST (id)",
        "CREATE TABLE t PARTITION OF root DEFAULT", "INSERT INTO t VALUES ('1', 0), ('2', 0), ('3', 0)",
        "CREATE TABLE u(id text PRIMARY KEY, n int)",
    ]

    /// How a table is published, how it leaves the publication, and how it comes back.
    struct Way: Sendable, CustomTestStringConvertible {
        let publication: String
        let leave: String
        let comeBack: String
        var testDescription: String { publication }
    }

    private static let change = "ALTER PUBLICATION powersync"
    static let ways = [
        Way(
            publication: "FOR TABLE u, t", leave: "\(change) DROP TABLE t",
            comeBack: "\(change) ADD TABLE t"),
        Way(
            publication: "FOR TABLE u, root", leave: "ALTER TABLE root DETACH PARTITION t",
            comeBack: "ALTER TABLE root ATTACH PARTITION t DEFAULT"),
        Way(
            publication: "FOR TABLE u, t WHERE (id < '9')",
            leave: "\(change) SET TABLE u, t WHERE (id > '9')",
            comeBack: "\(change) SET TABLE u, t WHERE (id < '9')"),
        Way(
            publication: "FOR TABLES IN SCHEMA public", leave: "\(change) DROP TABLES IN SCHEMA public",
            comeBack: "\(change) ADD TABLES IN SCHEMA public"),
    ]

    /// What is changed while a table is out of the publication is in no stream; what was changed before is told, if the
    /// service was away, once it is back.
    @Test(arguments: ways, [false, true])
    func aTableThatComesBackIsReadAnew(way: Way, whileAway: Bool) async throws {
        try await TestService.run(Self.schema, publication: way.publication) { service in
            try await service.start(Self.config)
            let first = try await service.open()
            try await first.holds(["t/1", "t/2", "t/3"])
            if whileAway { await service.stop() }
            try await service.tx("UPDATE t SET n = 9 WHERE id = '2'")
            if !whileAway {
                try await first.holds("the change before") {
                    $0.data(of: "t/2") == #"{"id":"2","n":9}"#
                }
            }
            for statement in [
                way.leave, "UPDATE t SET n = 1 WHERE id = '1'", "DELETE FROM t WHERE id = '2'", way.comeBack,
                "UPDATE t SET n = 3 WHERE id = '3'",
            ] {
                try await service.tx(statement)
            }
            if whileAway { try await service.start(Self.config) }
            let held = try await (whileAway ? service.open() : first).holds(["t/1", "t/3"])
            #expect(held.data(of: "t/1") == #"{"id":"1","n":1}"#)
            #expect(held.data(of: "t/3") == #"{"id":"3","n":3}"#)
            // Three rows, one of which is changed if there is time; they go and two come.
            #expect(held.listed["1#t|0[]"]?.count == (whileAway ? 8 : 9))
        }
    }

    /// What Postgres knows of a publication is asked for one table, not read from a view that opens all of them.
    @Test func aTableThatSomebodyHasLockedHoldsUpNoOther() async throws {
        try await TestService.run(["CREATE TABLE locked(id text PRIMARY KEY)"] + Self.schema) { service in
            try await service.start(Self.config)
            let stream = try await service.open()
            try await stream.holds(["t/1", "t/2", "t/3"])
            let writer = try await PostgresConnection.connect(service.uri, poller: service.poller)
            try await writer.query("BEGIN")
            try await writer.query("LOCK TABLE locked")
            try await service.tx("INSERT INTO u VALUES ('1', 0)")
            try await stream.holds(["t/1", "t/2", "t/3", "u/1"])
            await writer.close()
        }
    }

    /// Of a table that had left the publication when the stream told of it, no more is known than it told.
    @Test func aTableOfWhichTheStreamToldBeforeIsReadOnceItIsPublished() async throws {
        let publication = "FOR TABLE t"
        try await TestService.run(Array(Self.schema.dropLast()), publication: publication) { service in
            try await service.start(Self.config)
            try await service.open().holds(["t/1", "t/2", "t/3"])
            await service.stop()
            try await service.tx("CREATE TABLE u(id text PRIMARY KEY, n int)")
            try await service.tx("\(Self.change) ADD TABLE u")
            try await service.tx("INSERT INTO u VALUES ('1', 0)")
            try await service.tx("\(Self.change) DROP TABLE u")
            try await service.start(Self.config)
            let stream = try await service.open()
            try await stream.holds(["t/1", "t/2", "t/3", "u/1"])
            try await service.tx("UPDATE u SET n = 1")
            try await service.tx("\(Self.change) ADD TABLE u")
            try await service.tx("INSERT INTO u VALUES ('2', 2)")
            let held = try await stream.holds(["t/1", "t/2", "t/3", "u/1", "u/2"])
            #expect(held.data(of: "u/1") == #"{"id":"1","n":1}"#)
        }
    }

    /// The same of a table that was not known before.
    @Test func aNewTableThatWasAwayBeforeItIsReadHoldsWhatItHoldsNow() async throws {
        let schema = Array(Self.schema.dropLast())
        try await TestService.run(schema, publication: "FOR TABLE t") { service in
            try await service.start(Self.config)
            try await service.open().holds(["t/1", "t/2", "t/3"])
            await service.stop()
            for statement in [
                "CREATE TABLE u(id text PRIMARY KEY, n int)", "\(Self.change) ADD TABLE u",
                "INSERT INTO u VALUES ('1', 0), ('2', 0)", "\(Self.change) DROP TABLE u",
                "DELETE FROM u WHERE id = '1'", "\(Self.change) ADD TABLE u",
                "INSERT INTO t VALUES ('last', 0)",
            ] {
                try await service.tx(statement)
            }
            try await service.start(Self.config)
            try await service.open().holds(["t/1", "t/2", "t/3", "t/last", "u/2"])
        }
    }

    /// Runs a test with a transaction that has inserted 'w' into t before that was published and read.
    ///
    /// Taking a table into the publication does not wait for whoever writes to it: what he wrote before is in no stream.
    private func withFormerWriter(
        times: LinkTimes = .patient,
        _ body: (TestService, TestStream, PostgresConnection) async throws -> Void
    ) async throws {
        let schema = ["CREATE TABLE t(id text PRIMARY KEY)", "CREATE TABLE u(id text PRIMARY KEY)"]
        try await TestService.run(schema, publication: "FOR TABLE u") { service in
            try await service.start(Self.config) { $0.linkTimes = times }
            let stream = try await service.open()
            try await stream.holds([])
            let writer = try await PostgresConnection.connect(service.uri, poller: service.poller)
            try await writer.query("BEGIN")
            try await writer.query("INSERT INTO t VALUES ('w')")
            try await service.tx("\(Self.change) ADD TABLE t")
            try await service.tx("INSERT INTO t VALUES ('x')")
            try await stream.holds(["t/x"])
            // The link of before would tell of it: to it all of the table is published by now.
            try await service.source.query(
                "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE database = current_database()"
            )
            try await service.tx("INSERT INTO u VALUES ('1')")
            try await stream.holds(["t/x", "u/1"])
            try await body(service, stream, writer)
            await writer.close()
        }
    }

    @Test func whatWasWrittenBeforeATableWasPublishedIsReadOnceItIsCommitted() async throws {
        var times = LinkTimes.patient
        times.status = .milliseconds(100)
        try await withFormerWriter(times: times) { _, stream, writer in
            try await writer.query("COMMIT")
            try await stream.holds(["t/w", "t/x", "u/1"])
            try await writer.query("DELETE FROM t WHERE id = 'w'")
            try await stream.holds(["t/x", "u/1"])
        }
    }

    /// No checkpoint has a part of a transaction, nor comes behind one that it has nothing of (service 4.6, 1.8).
    @Test(arguments: [false, true])
    func whatWasWrittenBeforeATableWasPublishedIsInTheCheckpointOfItsCommit(isToldOf: Bool) async throws {
        try await withFormerWriter { service, stream, writer in
            if isToldOf { try await writer.query("INSERT INTO u VALUES ('2')") }
            try await writer.query("COMMIT")
            if !isToldOf { try await service.tx("INSERT INTO u VALUES ('2')") }
            let held = try await stream.holds("what is told") { $0.rowNames.contains("u/2") }
            #expect(held.rowNames == ["t/w", "t/x", "u/1", "u/2"])
        }
    }
}
