import Foundation
import PowerSyncHTTPClient
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresTestSupport
import PowerSyncPostgresValues
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncMockService
@testable import PowerSyncPostgresSource
@testable import PowerSyncServiceEngine

/// Where state and source stand, which is compared at each start and each link (service 7.2, 7.8).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct StatePositionTests {
    private static let schema = ReplicationServiceTests.schema
    private static let config = ReplicationServiceTests.config

    /// Waits until clients are served these rows from a replication stream.
    private static func serves(
        _ service: TestService, _ rows: [String], from stream: Substring,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await wait(for: "\(rows) from \(stream)", sourceLocation: sourceLocation) {
            let stream = try await service.open()
            defer { stream.close() }
            try await wait(for: "a whole checkpoint, or the end") {
                stream.model.isComplete || stream.end != nil || stream.status != 200
            }
            return stream.model
        } until: { (model: StreamModel) in
            model.rowNames == rows && model.listed.keys.first?.prefix { $0 != "#" } == stream
        }
    }

    private static func change(_ service: TestService, _ statements: String...) throws {
        let state = try SQLiteConnection(path: service.statePath)
        defer { state.close() }
        state.setBusyTimeout(TestOptions.deadline)
        for statement in statements { try state.execute(statement) }
    }

    // MARK: Slots

    /// The slot, once Postgres has noticed that nobody uses it any more.
    private static func freeSlot(_ service: TestService) async throws -> String {
        let free =
            "SELECT slot_name FROM pg_replication_slots WHERE database = current_database() AND NOT active"
        let slot = try await wait(for: "a slot that is free") {
            try await service.source.query(free)
        } until: {
            $0.rowCount == 1
        }
        return try #require(slot.scalar)
    }

    /// What came between the copy and now was confirmed to Postgres, and is told no more.
    @Test func aStateThatWasRestoredIsReplicatedAnew() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            try await service.open().holds(["lists/l1"])
            await service.stop()
            try FileManager.default.copyItem(atPath: service.statePath, toPath: service.statePath + ".copy")
            try await service.start(Self.config)
            try await service.tx("INSERT INTO lists VALUES ('l3', 'u1', '')")
            try await service.open().holds(["lists/l1", "lists/l3"])
            await service.stop()
            try FileManager.default.removeItem(atPath: service.statePath)
            try FileManager.default.moveItem(atPath: service.statePath + ".copy", toPath: service.statePath)
            try await service.start(Self.config)
            try await Self.serves(service, ["lists/l1", "lists/l3"], from: "2")
            #expect(service.log.contains { $0.contains("and the state ends at") })
            try await wait(for: "one slot") { try await service.slots().count == 1 }
        }
    }

    /// The state is a copy of one with which another service goes on.
    @Test func aSlotThatSomebodyElseUsesIsLeftToThem() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            try await service.open().holds(["lists/l1"])
            await service.stop()
            let slot = try await Self.freeSlot(service)
            try await service.tx("INSERT INTO lists VALUES ('l3', 'u1', '')")
            try await service.source.query(
                "SELECT pg_replication_slot_advance('\(slot)', pg_current_wal_lsn())")
            let other = try await PostgresConnection.connect(
                service.uri, parameters: ["replication": "database"], poller: service.poller)
            try await other.startReplication(
                slot: slot, publication: "powersync", from: .zero, messages: false)
            try await service.start(Self.config) {
                $0.linkTimes.statement = .seconds(3)
                $0.linkTimes.status = .milliseconds(50)
            }
            try await Self.serves(service, ["lists/l1", "lists/l3"], from: "2")
            // The other service is restarted.
            await other.close()
            #expect(try await Self.freeSlot(service) == slot)
            await service.stop()
            try await service.start(Self.config)
            try await wait(for: "the slot to be named, and not dropped") {
                service.log.contains { $0.contains("SELECT pg_drop_replication_slot('\(slot)')") }
            }
        }
    }

    /// The head of a write checkpoint lay in a part of the log that was lost in a failover: the next one would follow it.
    @Test func aWriteCheckpointDoesNotWaitForALogThatWasLost() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            #expect(try await service.writeCheckpoint(client: "c") == 1)
            await service.stop()
            try Self.change(service, "UPDATE write_checkpoint SET head = 1 << 60")
            try await service.start(Self.config)
            let stream = try await service.open(SyncStreamRequest(clientID: "c"))
            #expect(try await service.writeCheckpoint(client: "c") == 2)
            try await stream.holds("the write checkpoint") { $0.writeCheckpoint == 2 }
        }
    }

    @Test(
        arguments: [
            ["SELECT pg_replication_slot_advance('SLOT', pg_current_wal_lsn())"],
            [
                "SELECT pg_drop_replication_slot('SLOT')",
                "SELECT pg_create_logical_replication_slot('SLOT', 'pgoutput')",
            ],
        ])
    func aSlotThatWasAdvancedOrMadeAgainMeansEverythingAnew(statements: [String]) async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            try await service.open().holds(["lists/l1"])
            await service.stop()
            let slot = try await Self.freeSlot(service)
            try await service.tx("INSERT INTO lists VALUES ('between', 'u1', '')")
            for statement in statements {
                try await service.source.query(statement.replacing("SLOT", with: slot))
            }
            try await service.tx("INSERT INTO lists VALUES ('l3', 'u1', '')")
            try await service.start(Self.config)
            try await Self.serves(service, ["lists/between", "lists/l1", "lists/l3"], from: "2")
        }
    }

    /// Nothing was there to be read when the slot was: it was there all the same.
    @Test func aSlotThatIsGoneMeansEverythingAnewAlsoWithoutATable() async throws {
        try await TestService.run([]) { service in
            try await service.start(Self.config)
            try await service.open().holds([])
            await service.stop()
            let slot = try await Self.freeSlot(service)
            try await service.source.query("SELECT pg_drop_replication_slot('\(slot)')")
            for statement in Self.schema { try await service.tx(statement) }
            try await service.start(Self.config)
            try await Self.serves(service, ["lists/l1"], from: "2")
        }
    }

    /// The log has nothing for us for long: the slot goes on all the same, and so does the state.
    @Test func whatPostgresWasToldIsKnown() async throws {
        try await TestService.run(Self.schema + ["CREATE TABLE other(n int)"], publication: "FOR TABLE lists")
        {
            service in
            try await service.start(Self.config) { $0.linkTimes.status = .milliseconds(50) }
            try await service.open().holds(["lists/l1"])
            try await service.tx("INSERT INTO other VALUES (1)")
            let end = try await service.source.query("SELECT pg_current_wal_lsn()").scalar
            try await wait(for: "the slot to go on") {
                try await service.source.query(
                    "SELECT confirmed_flush_lsn >= $1::pg_lsn FROM pg_replication_slots "
                        + "WHERE database = current_database()", [end]
                ).scalar == "t"
            }
            await service.stop()
            try await service.tx("INSERT INTO lists VALUES ('l3', 'u1', '')")
            try await service.start(Self.config)
            try await service.open().holds(["lists/l1", "lists/l3"])
            try await Self.serves(service, ["lists/l1", "lists/l3"], from: "1")
        }
    }

    /// Its form is another, and its slot is of no use to a state that begins anew.
    @Test(arguments: 2...5) func aStateOfAFormerVersionIsBuiltAnew(version: Int) async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            let stream = try await service.open(SyncStreamRequest(clientID: "c"))
            try await stream.holds(["lists/l1"])
            for name in 1...5 { try await service.tx("UPDATE lists SET name = '\(name)'") }
            try await stream.holds("the last name") { $0.data(of: "lists/l1")?.contains("\"5\"") == true }
            #expect(try await service.writeCheckpoint(client: "c") == 1)
            let last = service.checkpoint
            await service.stop()
            try FormerVersions.turn(service.statePath, into: version)
            try await service.tx("INSERT INTO lists VALUES ('l3', 'u1', '')")
            try await service.start(Self.config)
            let reason =
                "The state has version \(version), this service writes version 6. The state was set aside"
            #expect(service.log.contains { $0.contains(reason) })
            try await Self.serves(service, ["lists/l1", "lists/l3"], from: "2")
            // Ids of operations go on, and so do those of write checkpoints.
            #expect(service.checkpoint >= last + 2)
            let next = try await service.open(SyncStreamRequest(clientID: "c"))
            try await next.holds("the write checkpoint") { $0.writeCheckpoint == 1 }
            try await wait(for: "one slot") { try await service.slots().count == 1 }
        }
    }

    /// The slot of a former configuration was in use at the switch, and that of a former version is in its file.
    @Test func slotsThatNobodyNeedsAreDroppedOnceTheyAreFree() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config) { $0.linkTimes.status = .milliseconds(50) }
            try await service.open().holds(["lists/l1"])
            let own = try await service.slots()
            let former = "former_\(service.uri.split(separator: "/").last ?? "")"
            let user = try await PostgresConnection.connect(
                service.uri, parameters: ["replication": "database"], poller: service.poller)
            _ = try await user.createReplicationSlot(former)
            try await user.startReplication(
                slot: former, publication: "powersync", from: .zero, messages: false)
            try Self.change(
                service,
                "INSERT INTO replication_stream(config_hash, config, publication, slot, state) "
                    + "VALUES ('', '', 0, '\(former)', 'stopped')")
            try await service.tx("INSERT INTO lists VALUES ('l3', 'u1', '')")
            try await service.open().holds(["lists/l1", "lists/l3"])
            #expect(try await service.slots().count == 2)
            await user.close()
            try await wait(for: "no slot but its own") { try await service.slots() == own }
        }
    }

    /// By what its text means now its buckets may have other names.
    @Test func aStateOfATimeWhenItsTextMeantSomethingElseIsNotServed() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            try await service.open().holds(["lists/l1"])
            await service.stop()
            try Self.change(service, "UPDATE replication_stream SET config_hash = 'of before'")
            try await service.start(Self.config)
            // The first that there is to serve is new.
            let stream = try await service.open()
            try await stream.holds(["lists/l1"])
            #expect(stream.model.listed.keys.allSatisfy { $0.hasPrefix("2#") })
            #expect(service.log.contains { $0.contains("configuration cannot be served any more") })
            try await wait(for: "one slot") { try await service.slots().count == 1 }
        }
    }

    @Test func aStateOfAnotherVersionTakesItsSlotsAlong() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            try await service.open().holds(["lists/l1"])
            await service.stop()
            try Self.change(service, "PRAGMA user_version = 1")
            try await service.start(Self.config)
            try await Self.serves(service, ["lists/l1"], from: "2")
            try await wait(for: "one slot") { try await service.slots().count == 1 }
        }
    }

    // MARK: The publication

    /// What is changed while updates are not published is in no stream.
    @Test func aPublicationThatWasAlteredForAWhileMeansEverythingAnew() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            try await service.open().holds(["lists/l1"])
            await service.stop()
            try await service.tx("ALTER PUBLICATION powersync SET (publish = 'insert')")
            try await service.tx("UPDATE lists SET name = 'changed' WHERE id = 'l1'")
            try await service.tx(
                "ALTER PUBLICATION powersync SET (publish = 'insert, update, delete, truncate')")
            try await service.start(Self.config)
            try await Self.serves(service, ["lists/l1"], from: "2")
            let held = try await service.open().holds(["lists/l1"])
            #expect(held.data(of: "lists/l1")?.contains("changed") == true)
        }
    }

    /// Up to version 17 Postgres cannot decode what was changed meanwhile.
    @Test func aPublicationThatHadAnotherNameForAWhileMeansEverythingAnew() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            try await service.open().holds(["lists/l1"])
            try await service.tx("ALTER PUBLICATION powersync RENAME TO other")
            try await service.tx("INSERT INTO lists VALUES ('l3', 'u1', '')")
            try await service.tx("ALTER PUBLICATION other RENAME TO powersync")
            try await service.tx("INSERT INTO lists VALUES ('l4', 'u1', '')")
            try await Self.serves(service, ["lists/l1", "lists/l3", "lists/l4"], from: "2")
        }
    }

    // MARK: The log

    /// Rows were read at a position that the log of now does not have.
    @Test func aSourceThatWasSetBackBehindWhatWasReadIsReplicatedAnew() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            try await service.open().holds(["lists/l1"])
            await service.stop()
            try Self.change(
                service,
                "UPDATE replication_stream SET no_checkpoint_before = applied_lsn + 1099511627776")
            try await service.tx("INSERT INTO lists VALUES ('behind', 'u1', '')")
            try await service.start(Self.config)
            try await Self.serves(service, ["lists/behind", "lists/l1"], from: "2")
            #expect(try service.stateFiles.contains { $0.hasPrefix("state.db.2") })
            // It is of this source, and of nobody else.
            try await wait(for: "one slot") { try await service.slots().count == 1 }
        }
    }

    @Test(
        arguments: [
            ("7", 1, 5, 8, "", true), ("7", 1, 5, 7, "", true), ("7", 1, 5, 6, "", false),
            ("8", 1, 5, 8, "", false), ("7", 1, 6, 8, "", false), ("7", 0, 5, 8, "", false),
            ("7", 2, 5, 8, "", false), ("7", 2, 5, 8, "1\t0/7\tno recovery target specified\n", true),
            ("7", 2, 5, 8, "1\t0/6\tno recovery target specified\n", false),
            ("7", 3, 5, 8, "2\t0/8\tx\n", false), ("7", 3, 5, 9, "1\t0/8\tx\n2\t0/9\tx\n", true),
        ] as [(String, Int64, Int64, UInt64, String, Bool)])
    func aStateGoesOnWithItsOwnSource(
        systemID: String, timeline: Int64, database: Int64, position: UInt64, history: String, goesOn: Bool
    ) {
        let known = SourceIdentity(systemID: "7", timeline: 1, databaseOID: 5, address: "")
        let now = SourceIdentity(systemID: systemID, timeline: timeline, databaseOID: database, address: "x")
        let continues = now.continues(
            known, upTo: LSN(rawValue: 7), position: LSN(rawValue: position), history: history)
        #expect(continues == goesOn)
    }

    /// Another link may have found a promoted server since the state was asked.
    @Test func anEarlierTimelineIsNotNotedBehindALaterOne() async throws {
        let store = try await ServiceStore.open(path: ":memory:", readers: 0)
        func source(_ timeline: Int64, of system: String = "7") -> SourceIdentity {
            SourceIdentity(systemID: system, timeline: timeline, databaseOID: 5, address: "")
        }
        #expect(try await store.note(source(2)))
        #expect(try await !store.note(source(1)))
        #expect(try await store.source() == source(2))
        #expect(try await store.note(source(3)))
        #expect(try await store.note(source(1, of: "8"), isOther: true))
        await store.close()
    }

    /// There are two links while one configuration takes the other's place.
    @Test func noLinkLeadsToAnotherServerThanTheOthers() async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let shared = try await TestPostgres.database(poller)
        try await TestCluster.withServer { server in
            let one = try await PostgresConnection.connect(shared, poller: poller)
            let other = try await PostgresConnection.connect(server.uri(), poller: poller)
            let servers = LinkedServers()
            try await servers.begin("a", one, one)
            await #expect(throws: ReplicationError.self) { try await servers.begin("b", other, other) }
            try await servers.begin("b", one, one)
            servers.end("b")
            // Its own former connections do not count.
            try await servers.begin("a", other, other)
            try await servers.begin("b", other, other)
            await one.close()
            await other.close()
        }
    }

    /// While a former configuration is served its state grows, and the source is asked for the next one meanwhile.
    @Test func aStateThatGrowsWhileItsSourceIsAskedIsItsOwn() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            let stream = try await service.open()
            try await stream.holds(["lists/l1"])
            let asking = try await PostgresConnection.connect(
                service.uri, parameters: ["replication": "database"], poller: service.poller)
            let locking = try await PostgresConnection.connect(service.uri, poller: service.poller)
            let pid = try #require(try await asking.script("SELECT pg_backend_pid()").first?.scalar)
            // What is asked for after the position.
            try await locking.script("BEGIN; LOCK TABLE pg_catalog.pg_stat_bgwriter")
            let check = SourceCheck(
                source: .patient(service.uri), store: try #require(service.store))
            async let isOurs = check.isOurs(asking)
            try await wait(for: "the question to wait") {
                try await service.source.query(
                    "SELECT wait_event_type FROM pg_stat_activity WHERE pid = $1", [pid]
                ).scalar == "Lock"
            }
            try await service.tx("INSERT INTO lists VALUES ('l3', 'u1', '')")
            try await stream.holds(["lists/l1", "lists/l3"])
            try await locking.script("COMMIT")
            #expect(try await isOurs)
            await asking.close()
            await locking.close()
        }
    }

    /// A folder with a stopped cluster that is another's, to be started as a standby or promoted.
    private static func copy(of folder: TemporaryDirectory, _ signal: String) async throws
        -> TemporaryDirectory
    {
        let copy = try await TestCluster.copy(of: folder.path)
        // The server may be another user.
        let path = "\(copy.path)/cluster/\(signal).signal"
        try #require(FileManager.default.createFile(atPath: path, contents: nil))
        try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: path)
        return copy
    }

    /// A standby has neither slots nor, if it lags, what is known: it is not asked for either.
    @Test(arguments: [false, true]) func aStandbyCountsAsAway(lags: Bool) async throws {
        let folder = try await TestCluster.folder()
        defer { folder.remove() }
        let former = try await PostgresServer.start(directory: folder.path, fsync: false)
        try await TestService.run(Self.schema, uri: former.uri()) { service in
            try await service.start(Self.config)
            try await service.open().holds(["lists/l1"])
            let slots = try await service.slots()
            await service.stop()
            await former.stop()
            let copied = try await Self.copy(of: folder, "standby")
            defer { copied.remove() }
            let primary = try await PostgresServer.start(
                directory: folder.path, port: former.port, fsync: false)
            if lags {
                try await service.start(Self.config)
                try await Self.query(service, "INSERT INTO lists VALUES ('l3', 'u1', '')")
                try await service.open().holds(["lists/l1", "lists/l3"])
                await service.stop()
            }
            let rows = lags ? ["lists/l1", "lists/l3"] : ["lists/l1"]
            let standby = try await PostgresServer.start(directory: copied.path, fsync: false)
            try await service.start(Self.config) {
                $0.source = .patient(service.uri, parameters: ["port": "\(standby.port)"])
            }
            try await service.open().holds(rows)
            try await wait(for: "a line that says so") {
                service.log.contains { $0.contains("replication failed") && $0.contains("is a standby") }
            }
            #expect(try await service.send("GET", "/probes/readiness", token: "").status == 400)
            await service.stop()
            await standby.stop()
            try await service.start(Self.config)
            try await Self.query(service, "INSERT INTO lists VALUES ('l4', 'u1', '')")
            try await service.open().holds(rows + ["lists/l4"])
            try await Self.serves(service, rows + ["lists/l4"], from: "1")
            #expect(try service.stateFiles.filter { $0.hasPrefix("state.db.2") } == [])
            #expect(!service.log.contains { $0.contains("Everything is replicated again") })
            let now = try await Self.query(service, "SELECT slot_name FROM pg_replication_slots")
            #expect(now.map { [$0] } == slots)
            await service.stop()
            await primary.stop()
        }
    }

    /// The new primary had not got the last commits of the former one, has the slots, and has written more than was known.
    @Test func aPrimaryThatBranchedOffBeforeWhatIsKnownIsReplicatedAnew() async throws {
        let folder = try await TestCluster.folder()
        defer { folder.remove() }
        let former = try await PostgresServer.start(directory: folder.path, fsync: false)
        try await TestService.run(Self.schema, uri: former.uri()) { service in
            try await service.source.query("ALTER SYSTEM SET restore_command = 'false'")
            try await service.start(Self.config)
            try await service.open().holds(["lists/l1"])
            await service.stop()
            await former.stop()
            let copied = try await Self.copy(of: folder, "recovery")
            defer { copied.remove() }
            let primary = try await PostgresServer.start(
                directory: folder.path, port: former.port, fsync: false)
            try await service.start(Self.config)
            try await Self.query(service, "INSERT INTO lists VALUES ('lost', 'u1', '')")
            try await service.open().holds(["lists/l1", "lists/lost"])
            await service.stop()
            await primary.stop()
            let promoted = try await PostgresServer.start(
                directory: copied.path, port: former.port, fsync: false)
            try await wait(for: "it to be promoted") {
                try await Self.query(service, "SELECT pg_is_in_recovery()") == "f"
            }
            try await Self.query(
                service,
                "SELECT pg_logical_emit_message(true, 'x', repeat('x', 1000000)) FROM generate_series(1, 20)")
            try await Self.query(service, "INSERT INTO lists VALUES ('new', 'u1', '')")
            try await service.start(Self.config)
            try await Self.serves(service, ["lists/l1", "lists/new"], from: "2")
            #expect(try service.stateFiles.contains { $0.hasPrefix("state.db.2") })
            await service.stop()
            await promoted.stop()
        }
    }

    /// A connection of its own: that of the test is of a server that was stopped.
    @discardableResult
    private static func query(_ service: TestService, _ statement: String) async throws -> String? {
        let connection = try await PostgresConnection.connect(service.uri, poller: service.poller)
        let scalar = try await connection.query(statement).scalar
        await connection.close()
        return scalar
    }

    /// What was read of a table that is not finished may never have been: the source is asked since when it counts.
    @Test func aTableThatIsNotFinishedIsReadAnewBehindACrashOfTheSource() async throws {
        try await TestCluster.withServer { server in
            let login = try TestRole.login(server.uri())
            let schema = [
                "CREATE TABLE t(id text PRIMARY KEY)", "INSERT INTO t VALUES ('1')",
                "CREATE ROLE replicator \(login) REPLICATION",
            ]
            try await TestService.run(schema, uri: server.uri()) { service in
                func record() async throws -> String? {
                    try await service.store?.pool.read { connection in
                        try connection.one("SELECT uuid FROM source_table WHERE is_replaced = 0") {
                            $0.string(0)
                        }
                    }
                }
                let start = Task {
                    try await service.start(
                        "config: {edition: 3}\nstreams: {t: {auto_subscribe: true, query: SELECT * FROM t}}"
                    ) {
                        $0.source = .patient(service.uri, parameters: ["user": "replicator"])
                    }
                }
                try await wait(for: "an attempt to read it") {
                    service.log.contains { $0.contains("permission denied for table t") }
                }
                let former = try #require(try await record())
                server.kill()
                try await wait(for: "all processes of the server to end") { !server.isRunning }
                try await server.restart()
                try await wait(for: "another record") { try await record() != former }
                try await Self.query(service, "GRANT SELECT ON t TO replicator")
                try await wait(forEndOf: start)
                try await service.open().holds(["t/1"])
            }
        }
    }

    // MARK: States that are set aside

    /// A device waits for what it was told before; nobody tells it again but the new state.
    @Test func aStateThatIsSetAsideTakesWriteCheckpointsAlong() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            #expect(try await service.writeCheckpoint(client: "c") == 1)
            await service.stop()
            try Self.change(service, "UPDATE source SET system_id = '1'")
            try await service.start(Self.config)
            let stream = try await service.open(SyncStreamRequest(clientID: "c"))
            try await stream.holds("the write checkpoint") { $0.writeCheckpoint == 1 }
            #expect(try await service.writeCheckpoint(client: "c") == 2)
            try await stream.holds("the next") { $0.writeCheckpoint == 2 }
        }
    }

    /// The process ended when the former state had been renamed, and the new one not yet.
    @Test func aStateThatWasToTakeAnothersPlaceTakesIt() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            try await service.open().holds(["lists/l1"])
            await service.stop()
            let slots = try await service.slots()
            try FileManager.default.moveItem(atPath: service.statePath, toPath: service.statePath + ".new")
            try await service.start(Self.config)
            try await Self.serves(service, ["lists/l1"], from: "1")
            #expect(try await service.slots() == slots)
            #expect(try !service.stateFiles.contains { $0.hasPrefix("state.db.new") })
        }
    }
}
