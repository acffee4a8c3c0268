import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Write checkpoints that rows of a real Postgres set (service 7.9).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct CustomCheckpointServiceTests {
    private static let schema =
        ReplicationServiceTests.schema + [
            """
            CREATE TABLE checkpoints(
                user_id text, client_id text, checkpoint bigint, PRIMARY KEY (user_id, client_id))
            """,
            "INSERT INTO checkpoints VALUES ('u1', 'c', 41), ('u2', 'c', 900)",
        ]
    private static let config =
        ReplicationServiceTests.config + """

            event_definitions:
              write_checkpoints: {payloads: ["SELECT user_id, checkpoint, client_id FROM checkpoints"]}
            """

    private static func set(_ id: Int) -> String {
        "UPDATE checkpoints SET checkpoint = \(id) WHERE user_id = 'u1' AND client_id = 'c'"
    }

    @Test func aRowIsToldToTheDeviceOfItsUserWithItsTransaction() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            let mine = try await service.open(SyncStreamRequest(clientID: "c"))
            let other = try await service.open(SyncStreamRequest(clientID: "d"))
            let stranger = try await service.open(user: "u2", SyncStreamRequest(clientID: "c"))
            // What was there before the service is waited for, too.
            #expect(try await mine.holds(["lists/l1"]).writeCheckpoint == 41)
            #expect(try await other.holds(["lists/l1"]).writeCheckpoint == nil)
            #expect(try await stranger.holds(["lists/l2"]).writeCheckpoint == 900)
            // The service answers, and tells nobody of it.
            #expect(try await service.writeCheckpoint(client: "c") == 1)
            #expect(try await service.writeCheckpoint(client: "d") == 1)

            try await service.tx("INSERT INTO lists VALUES ('l3', 'u1', 'three')", Self.set(42))
            let seen = try await mine.holds("write checkpoint 42") { $0.writeCheckpoint == 42 }
            #expect(seen.rowNames == ["lists/l1", "lists/l3"])
            // A transaction that sets nothing but an id.
            try await service.tx(Self.set(43))
            try await mine.holds("write checkpoint 43") { $0.writeCheckpoint == 43 }

            // Ids do not go back, whatever becomes of the rows.
            try await service.tx(Self.set(7))
            try await service.tx("DELETE FROM checkpoints")
            try await service.tx("INSERT INTO checkpoints VALUES ('u1', 'c', 8)")
            try await service.tx("TRUNCATE checkpoints")
            try await service.tx("INSERT INTO lists VALUES ('l4', 'u1', 'four')")
            let rows = ["lists/l1", "lists/l3", "lists/l4"]
            #expect(try await mine.holds(rows).writeCheckpoint == 43)
            #expect(try await other.holds(rows).writeCheckpoint == nil)
            #expect(stranger.model.writeCheckpoint == 900)
            #expect(!(mine.texts + other.texts + stranger.texts).contains { $0.contains("user_id") })

            await service.stop()
            try await service.start(Self.config)
            let again = try await service.open(SyncStreamRequest(clientID: "c"))
            #expect(try await again.holds(rows).writeCheckpoint == 43)
        }
    }

    @Test func theConfigurationSaysWhoGivesWriteCheckpoints() async throws {
        try await TestService.run(Self.schema) { service in
            /// What a stream is told first; nil also for one that ends before, as at a switch.
            func told() async throws -> Int64? {
                let stream = try await service.open(SyncStreamRequest(clientID: "c"))
                defer { stream.close() }
                try await wait(for: "a whole checkpoint, or the end") {
                    stream.model.isComplete || stream.end != nil || stream.status != 200
                }
                return stream.model.writeCheckpoint
            }
            try await service.start(ReplicationServiceTests.config)
            #expect(try await service.writeCheckpoint(client: "c") == 1)
            try await wait(for: "the id of the service", read: told, until: { $0 == 1 })
            await service.stop()
            try await service.start(Self.config)
            try await wait(for: "the id of the row", read: told, until: { $0 == 41 })
            #expect(try await service.writeCheckpoint(client: "c") == 2)
            await service.stop()
            try await service.start(ReplicationServiceTests.config)
            try await wait(for: "the id of the service again", read: told, until: { $0 == 2 })
        }
    }

    /// What is wrong with a row is in the log, without its values, and the others go on.
    @Test func aRowThatSetsNothingIsSaid() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            let mine = try await service.open(SyncStreamRequest(clientID: "c"))
            try await mine.holds(["lists/l1"])
            try await service.tx("INSERT INTO checkpoints VALUES ('u1', 'secret', 0)", Self.set(44))
            try await mine.holds("write checkpoint 44") { $0.writeCheckpoint == 44 }
            try await wait(for: "the log to say why") {
                service.log.contains {
                    $0.contains("A row of public.checkpoints sets no write checkpoint: checkpoint is no")
                }
            }
            #expect(!service.log.contains { $0.contains("secret") })
        }
    }
}
