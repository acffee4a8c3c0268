import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncMockService
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncSystem
import PowerSyncWire
import Testing

/// The service between a real Postgres and a client.
@Suite(.enabled(if: TestEnvironment.hasDatabase), .timeLimit(.minutes(2)))
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

    private func rows(_ stream: TestStream) -> [String] { stream.model.rows.keys.sorted() }

    private func holds(_ stream: TestStream, _ expected: [String], _ what: Comment) async throws {
        try await eventually(what) { stream.model.isComplete && rows(stream) == expected }
        #expect(stream.model.checksumsFit)
        #expect(stream.model.broken == [])
    }

    @Test func snapshotAndChangesReachTheStreamOfTheirUserAlone() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            let mine = try await service.open(user: "u1")
            let other = try await service.open(user: "u2")
            try await holds(mine, ["lists/l1"], "the snapshot")
            try await service.tx(
                "INSERT INTO lists VALUES ('l3', 'u1', 'three')",
                "INSERT INTO lists VALUES ('l4', 'u2', 'four')")
            try await holds(mine, ["lists/l1", "lists/l3"], "an insert")
            try await service.tx("UPDATE lists SET name = 'changed' WHERE id = 'l3'")
            try await eventually("an update") { mine.model.rows["lists/l3"]?.contains("changed") == true }
            try await service.tx(
                "UPDATE lists SET owner_id = 'u2' WHERE id = 'l3'", "DELETE FROM lists WHERE id = 'l1'")
            try await holds(mine, [], "a row that left and one that was deleted")
            try await holds(other, ["lists/l2", "lists/l3", "lists/l4"], "the other user's rows")
            try await service.tx("TRUNCATE lists")
            try await holds(other, [], "a truncation")
            #expect(!mine.texts.joined().contains("u2"))
            #expect(!other.texts.joined().contains("u1\\\""))
        }
    }

    @Test func changesWhileTheServiceIsDownArriveAfterItsRestart() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            let before = try await service.open()
            try await holds(before, ["lists/l1"], "the snapshot")
            #expect(try await service.writeCheckpoint(client: "c") == 1)
            let operation = before.model.lastOpID
            await service.stop()
            try await eventually("the stream ends") { before.end != nil }
            try await service.tx("INSERT INTO lists VALUES ('l5', 'u1', 'while down')")
            try await service.start(Self.config)
            let after = try await service.open()
            try await holds(after, ["lists/l1", "lists/l5"], "rows of both times")
            #expect(after.model.lastOpID > operation)
            #expect(after.model.listed.keys.sorted() == ["1#mine|0[\"u1\"]"])
            #expect(try await service.writeCheckpoint(client: "c") == 2)
            // A client that was there before gets the new row only.
            let resumed = try await service.open(SyncStreamRequest(buckets: before.model.positions))
            try await eventually("the new row") { resumed.model.isComplete }
            #expect(rows(resumed) == ["lists/l5"])
        }
    }

    @Test func aWriteCheckpointIsSeenWithTheRowsWrittenBeforeIt() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            let stream = try await service.open(SyncStreamRequest(clientID: "device"))
            let other = try await service.open(SyncStreamRequest(clientID: "other"))
            try await holds(stream, ["lists/l1"], "the snapshot")
            for number in 1...5 {
                try await service.tx("INSERT INTO lists VALUES ('w\(number)', 'u1', '')")
                #expect(try await service.writeCheckpoint(client: "device") == Int64(number))
                try await eventually("write checkpoint \(number)") {
                    stream.model.writeCheckpoint == Int64(number) && stream.model.isComplete
                }
                // Whenever the id is seen, the row is there.
                #expect(stream.model.rows["lists/w\(number)"] != nil)
            }
            #expect(other.model.writeCheckpoint == nil)
            let again = try await service.open(SyncStreamRequest(clientID: "device"))
            try await eventually("a later stream") { again.model.isComplete }
            #expect(again.model.writeCheckpoint == 5)
        }
    }

    @Test func aTransactionOfAnySizeComesInOneCheckpoint() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            let stream = try await service.open()
            try await holds(stream, ["lists/l1"], "the snapshot")
            try await service.tx(
                "INSERT INTO lists SELECT 'r' || n, 'u1', repeat('x', 500) FROM generate_series(1, 25000) n")
            try await eventually(within: .seconds(60), "all rows") { stream.model.rows.count == 25_001 }
            let diffs = stream.lines.filter { if case .checkpointDiff = $0 { true } else { false } }
            #expect(diffs.count == 1)
            try await eventually("the end of the checkpoint") { stream.model.isComplete }
            #expect(stream.model.checksumsFit)
            for case .data(let line) in stream.lines { #expect(line.operations.count <= 1000) }
        }
    }

    @Test func anotherConfigurationIsAnotherStreamAndTheOldSlotIsDropped() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            let before = try await service.open()
            try await holds(before, ["lists/l1"], "the snapshot")
            await service.stop()
            try await service.start(Self.config + "\n# a comment more\n")
            let after = try await service.open(SyncStreamRequest(buckets: before.model.positions))
            try await holds(after, ["lists/l1"], "everything again")
            #expect(after.model.listed.keys.sorted() == ["2#mine|0[\"u1\"]"])
            #expect(after.model.lastOpID > before.model.lastOpID)
            try await eventually("the old slot is gone") {
                try await service.source.query(
                    "SELECT 1 FROM pg_replication_slots WHERE database = current_database()"
                ).rowCount == 1
            }
        }
    }

    @Test func aSlotThatIsGoneMeansEverythingAnew() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            let first = try await service.open()
            try await holds(first, ["lists/l1"], "the snapshot")
            await service.stop()
            try await eventually("the slot is dropped") {
                try await service.source.query(
                    "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots "
                        + "WHERE database = current_database() AND NOT active"
                ).rowCount == 1
            }
            try await service.tx("DELETE FROM lists", "INSERT INTO lists VALUES ('new', 'u1', '')")
            try await service.start(Self.config)
            // The old data is served until the new stream has its first checkpoint.
            let old = try await service.open()
            try await eventually("the old stream ends") { old.end != nil || rows(old) == ["lists/new"] }
            old.close()
            try await eventually("the new data") {
                let stream = try await service.open()
                try await eventually("a complete stream") { stream.model.isComplete || stream.end != nil }
                return rows(stream) == ["lists/new"]
            }
        }
    }

    @Test func streamsGoOnWhenPostgresWasKilledAndCameBack() async throws {
        let server = try await PostgresServer.start()
        do {
            try await TestService.run(Self.schema, uri: server.uri()) { service in
                try await service.start(Self.config)
                let stream = try await service.open(SyncStreamRequest(clientID: "c"))
                try await holds(stream, ["lists/l1"], "the snapshot")
                server.kill()
                let answer = try await service.send("GET", "/write-checkpoint2.json?client_id=c")
                #expect(answer.status == 500)
                // What is known is served while Postgres is away.
                let meanwhile = try await service.open()
                try await holds(meanwhile, ["lists/l1"], "the stored rows")
                try await server.restart()
                let source = try await PostgresConnection.connect(server.uri(), poller: service.poller)
                try await source.query("INSERT INTO lists VALUES ('back', 'u1', '')")
                try await holds(stream, ["lists/back", "lists/l1"], "a row written after the crash")
                try await holds(meanwhile, ["lists/back", "lists/l1"], "the same in the other stream")
                #expect(try await service.writeCheckpoint(client: "c") == 1)
                try await eventually("the write checkpoint") { stream.model.writeCheckpoint == 1 }
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
                "INSERT INTO lists SELECT 'r' || n, 'u1', repeat('x', 20000) FROM generate_series(1, 2000) n")
            try await service.start(Self.config)
            // Nobody reads the 40 MB of this one.
            let slow = try await service.openUnread(user: "u1")
            let quick = try await service.open(user: "u2")
            try await holds(quick, ["lists/l2"], "the snapshot")
            try await service.tx("INSERT INTO lists VALUES ('l9', 'u2', '')")
            try await holds(quick, ["lists/l2", "lists/l9"], "a change")
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
