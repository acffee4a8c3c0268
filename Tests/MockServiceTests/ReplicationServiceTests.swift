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

/// The service between a real Postgres and a client.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct ReplicationServiceTests {
    static let schema = [
        "CREATE TABLE lists(id text PRIMARY KEY, owner_id text, name text)",
        "INSERT INTO lists VALUES ('l1', 'u1', 'one'), ('l2', 'u2', 'two')",
    ]
    static let config = """
        config: {edition: 3}
        streams:
          mine: {auto_subscribe: true, query: SELECT * FROM lists WHERE owner_id = auth.user_id()}
        """

    @Test func snapshotAndChangesReachTheStreamOfTheirUserAlone() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            let mine = try await service.open(user: "u1")
            let other = try await service.open(user: "u2")
            try await mine.holds(["lists/l1"])
            try await service.tx(
                "INSERT INTO lists VALUES ('l3', 'u1', 'three')",
                "INSERT INTO lists VALUES ('l4', 'u2', 'four')")
            try await mine.holds(["lists/l1", "lists/l3"])
            try await service.tx("UPDATE lists SET name = 'changed' WHERE id = 'l3'")
            try await mine.holds("the changed row") { $0.data(of: "lists/l3")?.contains("changed") == true }
            try await service.tx(
                "UPDATE lists SET owner_id = 'u2' WHERE id = 'l3'", "DELETE FROM lists WHERE id = 'l1'")
            try await mine.holds([])
            try await other.holds(["lists/l2", "lists/l3", "lists/l4"])
            try await service.tx("TRUNCATE lists")
            try await other.holds([])
            // What comes last shows that nothing more came before it.
            try await service.tx(
                "INSERT INTO lists VALUES ('l5', 'u1', 'last')",
                "INSERT INTO lists VALUES ('l6', 'u2', 'last')")
            try await mine.holds(["lists/l5"])
            try await other.holds(["lists/l6"])
            #expect(!mine.texts.joined().contains("u2"))
            #expect(!other.texts.joined().contains("u1\\\""))
        }
    }

    /// Postgres sends a transaction when its commit is in the log, a moment before anybody sees it.
    ///
    /// Here the moment is long: the commit waits for a standby that there is not.
    /// If it takes too long, the log says what it waits for.
    @Test(arguments: [Duration.seconds(10), .milliseconds(500)])
    func whatATransactionBringsIsReadOnceItIsSeen(patience: Duration) async throws {
        let config = Self.config.replacing("lists", with: "notes").replacing("owner_id", with: "owner")
        try await TestCluster.withServer { server in
            try await TestService.run(
                [
                    "CREATE TABLE hidden(id text PRIMARY KEY, owner text)",
                    "INSERT INTO hidden VALUES ('first', 'u1')",
                ], uri: server.uri()
            ) { service in
                try await service.start(config) { $0.linkTimes.statement = patience }
                let stream = try await service.open()
                try await stream.holds([])
                let other = try await PostgresConnection.connect(service.uri, poller: service.poller)
                try await other.setStandbys("nobody")
                let commit = Task {
                    try await service.tx(
                        "ALTER TABLE hidden RENAME TO notes", "INSERT INTO notes VALUES ('second', 'u1')")
                }
                try await wait(for: "the transaction to be sent and not to be seen") {
                    try await other.query(
                        """
                        SELECT to_regclass('notes') IS NULL AND EXISTS (
                            SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'
                        ) AND (SELECT bool_and(sent_lsn >= pg_current_wal_flush_lsn()) FROM pg_stat_replication)
                        """
                    ).scalar == "t"
                }
                if patience < .seconds(1) {
                    try await wait(for: "a line that names the standby") {
                        service.log.contains {
                            $0.contains("SyncRep") && $0.contains("synchronous_standby_names is 'nobody'")
                                && $0.contains("ALTER SYSTEM SET synchronous_standby_names = ''")
                        }
                    }
                }
                try await other.setStandbys("")
                try await commit.value
                try await stream.holds(["notes/first", "notes/second"])
                await other.close()
            }
        }
    }

    @Test func changesWhileTheServiceIsDownArriveAfterItsRestart() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            let before = try await service.open()
            try await before.holds(["lists/l1"])
            #expect(try await service.writeCheckpoint(client: "c") == 1)
            await service.stop()
            try await before.waitForEnd()
            try await service.tx("INSERT INTO lists VALUES ('l5', 'u1', 'while down')")
            try await service.start(Self.config)
            let after = try await service.open().holds(["lists/l1", "lists/l5"])
            #expect(after.lastOpID > before.model.lastOpID)
            #expect(after.listed.keys.sorted() == ["1#mine|0[\"u1\"]"])
            #expect(try await service.writeCheckpoint(client: "c") == 2)
            // A client that was there before gets the new row only.
            let resumed = try await service.open(SyncStreamRequest(buckets: before.model.positions))
            try await resumed.holds(["lists/l5"])
        }
    }

    @Test func aWriteCheckpointIsSeenWithTheRowsWrittenBeforeIt() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            let stream = try await service.open(SyncStreamRequest(clientID: "device"))
            let other = try await service.open(SyncStreamRequest(clientID: "other"))
            try await stream.holds(["lists/l1"])
            for number in 1...5 {
                try await service.tx("INSERT INTO lists VALUES ('w\(number)', 'u1', '')")
                #expect(try await service.writeCheckpoint(client: "device") == Int64(number))
                let seen = try await stream.holds("write checkpoint \(number)") {
                    $0.writeCheckpoint == Int64(number)
                }
                // In the checkpoint that shows the id the row is there.
                #expect(seen.data(of: "lists/w\(number)") != nil)
            }
            let again = try await service.open(SyncStreamRequest(clientID: "device")).holds("all rows")
            #expect(again.writeCheckpoint == 5)
            try await service.tx("INSERT INTO lists VALUES ('last', 'u1', '')")
            try await other.holds("the last row") { $0.data(of: "lists/last") != nil }
            #expect(!other.texts.contains { $0.contains("write_checkpoint") })
        }
    }

    @Test func theLargestWriteCheckpointIsGivenAgainForANewPosition() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            let stream = try await service.open(SyncStreamRequest(clientID: "device"))
            let body = Array(#"{"client_id":"device","checkpoint_request_id":"9223372036854775807"}"#.utf8)
            let answer = try await service.send("POST", "/sync/checkpoint-request", body: body)
            #expect(String(decoding: answer.body, as: UTF8.self).contains("9223372036854775807"))
            try await stream.holds("the named id") { $0.writeCheckpoint == .max }
            // What is written before the id is given again is there when the stream shows it.
            try await service.tx("INSERT INTO lists VALUES ('w', 'u1', '')")
            #expect(try await service.writeCheckpoint(client: "device") == .max)
            let later = try await service.open(SyncStreamRequest(clientID: "device"))
            let seen = try await later.holds("the id again") { $0.writeCheckpoint == .max }
            #expect(seen.data(of: "lists/w") != nil)
        }
    }

    @Test func aRowIsReadAgainAsTheTableIsByThen() async throws {
        let schema = [
            "CREATE TABLE docs(id text PRIMARY KEY, doc text, gone text, n int)",
            "ALTER TABLE docs ALTER doc SET STORAGE EXTERNAL, ALTER gone SET STORAGE EXTERNAL",
            "INSERT INTO docs SELECT 'r' || n, 'x', 'x', 0 FROM generate_series(1, 5000) n",
            "UPDATE docs SET doc = repeat('d', 10000), gone = repeat('g', 10000) WHERE id = 'r7'",
            "ANALYZE docs",
        ]
        let config = """
            config: {edition: 3}
            streams:
              docs: {auto_subscribe: true, query: SELECT * FROM docs}
            """
        func indexScans(_ service: TestService) async throws -> Int {
            let text = try await service.source.query(
                "SELECT idx_scan FROM pg_stat_user_tables WHERE relname = 'docs'"
            ).scalar
            return text.flatMap { Int($0) } ?? 0
        }
        try await TestService.run(schema) { service in
            try await service.start(config)
            await service.stop()
            let before = try await indexScans(service)
            // The update leaves out two large values under names that were never heard of, and are none any more when
            // the service reads the row again.
            try await service.tx(
                "ALTER TABLE docs RENAME doc TO doc2", "ALTER TABLE docs RENAME gone TO gone2")
            try await service.source.query("UPDATE docs SET n = 1 WHERE id = 'r7'")
            let scans = try await indexScans(service)
            try await service.tx("ALTER TABLE docs RENAME doc2 TO doc3", "ALTER TABLE docs DROP COLUMN gone2")
            try await service.start(config)
            let row = try await service.open().holds("the row as it is now") {
                $0.data(of: "docs/r7")?.contains("\"n\":1") == true
            }
            let data = try #require(row.data(of: "docs/r7"))
            #expect(data.contains("\"doc3\":\"dddd") && !data.contains("gone"))
            await service.stop()
            // A statement that cannot use the key would read the whole table for each such row.
            try await wait(for: "one more look into the key's index") {
                try await indexScans(service)
            } until: {
                $0 > max(before, scans)
            }
        }
    }

    @Test func aTransactionOfAnySizeComesInOneCheckpoint() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            let stream = try await service.open()
            try await stream.holds(["lists/l1"])
            try await service.tx(
                "INSERT INTO lists SELECT 'r' || n, 'u1', repeat('x', 500) FROM generate_series(1, 6000) n")
            try await stream.holds("all rows") { $0.rowCount == 6_001 }
            let diffs = stream.lines.filter { if case .checkpointDiff = $0 { true } else { false } }
            #expect(diffs.count == 1)
            for case .data(let line) in stream.lines { #expect(line.operations.count <= 1000) }
        }
    }

    @Test func aSlotThatIsGoneMeansEverythingAnew() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            try await service.open().holds(["lists/l1"])
            await service.stop()
            try await wait(for: "the slot to be free and dropped") {
                try await service.source.query(
                    "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots "
                        + "WHERE database = current_database() AND NOT active"
                ).rowCount == 1
            }
            try await service.tx("DELETE FROM lists", "INSERT INTO lists VALUES ('new', 'u1', '')")
            try await service.start(Self.config)
            // The old data is served until the new stream has its first checkpoint.
            let old = try await service.open()
            try await wait(for: "the end of the old stream") {
                old.end != nil || old.model.rowNames == ["lists/new"]
            }
            old.close()
            try await wait(for: "the new data") {
                let stream = try await service.open()
                defer { stream.close() }
                try await wait(for: "a whole checkpoint") { stream.model.isComplete || stream.end != nil }
                return stream.model
            } until: {
                $0.rowNames == ["lists/new"]
            }
        }
    }

    @Test func streamsGoOnWhenPostgresWasKilledAndCameBack() async throws {
        // Nobody else's: it is killed.
        let server = try await PostgresServer.start()
        do {
            try await TestService.run(Self.schema, uri: server.uri()) { service in
                try await service.start(Self.config)
                let stream = try await service.open(SyncStreamRequest(clientID: "c"))
                try await stream.holds(["lists/l1"])
                server.kill()
                // A session may answer until it sees that its server is gone.
                try await wait(for: "all processes of the server to end") { !server.isRunning }
                let answer = try await service.send("GET", "/write-checkpoint2.json?client_id=c")
                #expect(answer.status == 500)
                // What is known is served while Postgres is away.
                let meanwhile = try await service.open()
                try await meanwhile.holds(["lists/l1"])
                try await server.restart()
                let source = try await PostgresConnection.connect(server.uri(), poller: service.poller)
                try await source.query("INSERT INTO lists VALUES ('back', 'u1', '')")
                try await stream.holds(["lists/back", "lists/l1"])
                try await meanwhile.holds(["lists/back", "lists/l1"])
                #expect(try await service.writeCheckpoint(client: "c") == 1)
                try await stream.holds("the write checkpoint") { $0.writeCheckpoint == 1 }
                #expect(stream.end == nil)
                await source.close()
            }
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    @Test func aSlowReaderHoldsOnlyItsOwnStream() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.tx(
                "INSERT INTO lists SELECT 'r' || n, 'u1', repeat('x', 20000) FROM generate_series(1, 600) n")
            try await service.start(Self.config)
            // Nobody reads the 12 MB of this one, more than sockets hold.
            let slow = try await service.openUnread(user: "u1")
            let quick = try await service.open(user: "u2")
            try await quick.holds(["lists/l2"])
            try await service.tx("INSERT INTO lists VALUES ('l9', 'u2', '')")
            try await quick.holds(["lists/l2", "lists/l9"])
            slow.cancel()
        }
    }

    @Test func inactiveSlotsOfAPrefixCanBeDropped() async throws {
        try await TestService.run(Self.schema) { service in
            for name in ["gone_a", "gone_b", "kept"] {
                try await service.source.query(
                    "SELECT pg_create_logical_replication_slot($1, 'pgoutput')", ["\(name)_x"])
            }
            let dropped = try await ReplicationSlots.dropInactive(
                uri: service.uri, prefix: "gone_", poller: service.poller)
            #expect(dropped.sorted() == ["gone_a_x", "gone_b_x"])
            let rest = try await ReplicationSlots.dropInactive(
                uri: service.uri, prefix: "", poller: service.poller)
            #expect(rest == ["kept_x"])
        }
    }
}
