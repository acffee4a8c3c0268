import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncMockService
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresSource
import PowerSyncPostgresTestSupport
import PowerSyncServiceEngine
import PowerSyncSQLite
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Whose state it is: of one process, one source, and of the configurations that were deployed (service 7.2, 7.8).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct StateOwnershipTests {
    private static let schema = ReplicationServiceTests.schema
    private static let config = ReplicationServiceTests.config
    private static let other = config + "\n# a comment more\n"

    @Test func aSecondProcessOnTheSameStateIsRefusedInOneLine() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            var configuration = MockServiceConfiguration(
                source: SourceDatabase(uri: service.uri), statePath: service.statePath,
                syncConfig: Self.config)
            configuration.port = 0
            let second = MockService(configuration: configuration, poller: service.poller, log: service.quiet)
            let error = await #expect(throws: StoreError.self) { try await second.start() }
            #expect(
                error?.message.hasPrefix("[PSYNC_S1003] The state \(service.statePath) is in use") == true)
            #expect(error?.message.contains("\n") == false)
            await service.stop()
            try await service.start(Self.config)
            try await service.open().holds(["lists/l1"])
        }
    }

    @Test func anotherDatabaseOfTheClusterIsNeverServedTheRowsOfTheFirst() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            try await service.open().holds(["lists/l1"])
            await service.stop()
            let uri = try await TestPostgres.database(service.poller)
            let other = try await PostgresConnection.connect(uri, poller: service.poller)
            try await other.query("CREATE TABLE lists(id text PRIMARY KEY, owner_id text, name text)")
            try await other.query("INSERT INTO lists VALUES ('other', 'u1', 'of the other')")
            try await other.query("CREATE PUBLICATION powersync FOR ALL TABLES")
            await other.close()
            try await service.start(Self.config) { $0.source = .patient(uri) }
            try await service.open().holds(["lists/other"])
            #expect(try service.stateFiles.contains { $0.hasPrefix("state.db.2") })
            #expect(service.log.contains { $0.contains("The state was set aside") })
            await service.stop()
        }
    }

    /// A source that took the place of the former one while the service was running shows when the link is made again.
    @Test func aSourceThatWasReplacedWhileTheServiceRanIsReplicatedAnew() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            let stream = try await service.open()
            try await stream.holds(["lists/l1"])
            // To the state it looks as if the cluster were another one now.
            let state = try SQLiteConnection(path: service.statePath)
            state.setBusyTimeout(TestOptions.deadline)
            try state.execute("UPDATE source SET system_id = '1'")
            state.close()
            try await service.source.query(
                "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE database = current_database()"
            )
            try await stream.waitForEnd()
            try await service.tx("INSERT INTO lists VALUES ('new', 'u1', '')")
            try await wait(for: "the rows from a new state") {
                try await service.served()
            } until: {
                // Not the number of before: a client would take the bucket for the one that it holds.
                $0.rowNames == ["lists/l1", "lists/new"] && $0.streamNumber == "2"
            }
            #expect(
                service.log.contains {
                    $0.contains("Sync stream complete")
                        && $0.contains(#"close_reason="service closing stream""#)
                })
            #expect(try service.stateFiles.contains { $0.hasPrefix("state.db.2") })
            // The slot of the former state is named, and nobody drops it: it could be anybody's.
            try await wait(for: "two slots") { try await service.slots().count == 2 }
            #expect(service.log.contains { $0.contains("SELECT pg_drop_replication_slot('") })
        }
    }

    /// A volume that was set back has the identity and the slot of before, and a log that ends earlier.
    @Test func aSourceThatWasSetBackIsReplicatedAnew() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            try await service.open().holds(["lists/l1"])
            await service.stop()
            let state = try SQLiteConnection(path: service.statePath)
            try state.execute("UPDATE replication_stream SET applied_lsn = applied_lsn + 1099511627776")
            state.close()
            try await service.tx("INSERT INTO lists VALUES ('behind', 'u1', '')")
            try await service.start(Self.config)
            try await service.open().holds(["lists/behind", "lists/l1"])
            #expect(try service.stateFiles.contains { $0.hasPrefix("state.db.2") })
        }
    }

    /// All walsenders are taken when the service starts, so that the source that was set back does not say who it is.
    @Test(arguments: [TestOptions.deadline / 18, TestOptions.deadline])
    func aSourceThatIsThereAndRefusesIsAskedAgain(patience: Duration) async throws {
        try await TestCluster.withServer { server in
            try await TestService.run(Self.schema, uri: server.uri()) { service in
                try await service.start(Self.config)
                try await service.open().holds(["lists/l1"])
                await service.stop()
                let state = try SQLiteConnection(path: service.statePath)
                try state.execute("UPDATE replication_stream SET applied_lsn = applied_lsn + 1099511627776")
                state.close()
                try await service.tx("INSERT INTO lists VALUES ('behind', 'u1', '')")
                let taken = try await Self.takeAllWalsenders(service)
                let starting = Task {
                    try await service.start(Self.config) { $0.linkTimes.statement = patience }
                }
                try await wait(for: "the source to refuse") {
                    service.log.contains { $0.contains("cannot be asked whether the state is its own") }
                }
                if patience < TestOptions.deadline {
                    try await wait(for: "the state to be opened without an answer") { service.port != 0 }
                    let answer = try await service.send("POST", "/sync/stream", body: Array("{}".utf8))
                    #expect(answer.status == 500)
                }
                for connection in taken { await connection.close() }
                try await wait(forEndOf: starting)
                try await service.open().holds(["lists/behind", "lists/l1"])
                #expect(try service.stateFiles.contains { $0.hasPrefix("state.db.2") })
            }
        }
    }

    private static func takeAllWalsenders(_ service: TestService) async throws -> [PostgresConnection] {
        var taken: [PostgresConnection] = []
        do {
            while true {
                taken.append(
                    try await PostgresConnection.connect(
                        service.uri, parameters: ["replication": "database"], poller: service.poller))
            }
        } catch let error as PostgresError where error.sqlstate == "53300" {
            return taken
        }
    }

    /// The slot of the new configuration waits for a transaction that is open: so long the former one is served, and goes
    /// on with the source.
    @Test func theFormerConfigurationIsServedUntilTheNewOneIsBuilt() async throws {
        // An open transaction holds up the slots of the whole cluster.
        try await TestCluster.withServer { server in
            try await TestService.run(Self.schema, uri: server.uri()) { service in
                try await service.start(Self.config)
                try await service.open().holds(["lists/l1"])
                await service.stop()
                // Connected before, and younger as a transaction.
                let younger = try await PostgresConnection.connect(service.uri, poller: service.poller)
                let blocker = try await PostgresConnection.connect(service.uri, poller: service.poller)
                try await blocker.query("BEGIN")
                try await blocker.query("SELECT txid_current()")
                try await younger.query("BEGIN")
                try await younger.query("SELECT txid_current()")
                try await service.start(Self.other) { $0.linkTimes.notice = .milliseconds(50) }
                let former = try await service.open(SyncStreamRequest(clientID: "c"))
                try await former.holds(["lists/l1"])
                try await service.tx("INSERT INTO lists VALUES ('l3', 'u1', '')")
                try await former.holds(["lists/l1", "lists/l3"])
                #expect(try await service.writeCheckpoint(client: "c") == 1)
                try await former.holds("the write checkpoint") { $0.writeCheckpoint == 1 }
                #expect(former.model.listed.keys.sorted() == ["1#mine|0[\"u1\"]"] && former.end == nil)
                let waitsFor = "replication.waits_for=\"process \(await blocker.backendProcessID), open for "
                try await wait(for: "a line that names what the slot waits for") {
                    service.log.filter { $0.contains("replication.waits_for") }.last
                } until: {
                    $0?.contains(waitsFor) == true
                }
                await younger.close()
                try await blocker.query("COMMIT")
                await blocker.close()
                try await former.waitForEnd()
                let new = try await service.open(SyncStreamRequest(clientID: "c")).holds([
                    "lists/l1", "lists/l3",
                ])
                #expect(new.listed.keys.sorted() == ["2#mine|0[\"u1\"]"] && new.writeCheckpoint == 1)
                try await wait(for: "the former slot to go") { try await service.slots().count == 1 }
            }
        }
    }

    /// The state cannot be told to be of this source at first, and so is not served: later it is, also if it is of a former
    /// configuration.
    @Test func theFormerConfigurationIsServedOnceTheSourceIsKnown() async throws {
        // An open transaction holds up the slots of the whole cluster.
        try await TestCluster.withServer { server in
            let proxy = try PostgresProxy(to: server.port)
            try await TestService.run(Self.schema, uri: server.uri()) { service in
                try await service.start(Self.config)
                try await service.open().holds(["lists/l1"])
                await service.stop()
                let blocker = try await PostgresConnection.connect(service.uri, poller: service.poller)
                try await blocker.query("BEGIN")
                try await blocker.query("SELECT txid_current()")
                proxy.becomeHole()
                let starting = Task {
                    try await service.start(Self.other) { configuration in
                        configuration.linkTimes.statement = .seconds(5)
                        // In other words, so nobody knows whether it is the same source.
                        let words = service.uri.replacing(":\(server.port)/", with: ":\(proxy.port)/")
                        #expect(words != service.uri)
                        configuration.source = .patient(words)
                    }
                }
                try await wait(for: "the state to be opened without the source") { service.port != 0 }
                #expect(
                    try await service.send("POST", "/sync/stream", body: Array("{}".utf8)).status == 500)
                proxy.heal()
                try await starting.value
                let former = try await service.open().holds(["lists/l1"])
                #expect(former.listed.keys.sorted() == ["1#mine|0[\"u1\"]"])
                try await blocker.query("COMMIT")
                await blocker.close()
                try await wait(for: "the new one") {
                    try await service.served().streamNumber
                } until: {
                    $0 == "2"
                }
            }
        }
    }

    /// The service ends while Postgres makes its slot: what is left of that is no slot.
    @Test func aSlotWhoseMakingWasBrokenOffIsMadeAgain() async throws {
        // An open transaction holds up the slots of the whole cluster.
        try await TestCluster.withServer { server in
            try await TestService.run(Self.schema, uri: server.uri()) { service in
                let blocker = try await PostgresConnection.connect(service.uri, poller: service.poller)
                try await blocker.query("BEGIN")
                try await blocker.query("SELECT txid_current()")
                let first = Task { try await service.start(Self.config) }
                try await wait(for: "the slot to wait for the transaction") {
                    try await service.slots().count == 1
                }
                let slot = try #require(try await service.slots().first)
                await service.stop()
                await #expect(throws: (any Error).self) { try await first.value }
                // Who ends in order takes its slot along; this is what is left of one who was killed.
                let left = try await PostgresConnection.connect(
                    service.uri, parameters: ["replication": "database"], poller: service.poller)
                let making = Task { try await left.createReplicationSlot(slot) }
                try await wait(for: "what is left") { try await service.slots() == [slot] }
                let second = Task { try await service.start(Self.config) }
                try await wait(for: "it to be made again") {
                    service.log.contains { $0.contains("the replication slot is made once") }
                }
                try await blocker.query("COMMIT")
                await blocker.close()
                try await second.value
                let held = try await service.open().holds(["lists/l1"])
                #expect(held.listed.keys.sorted() == ["1#mine|0[\"u1\"]"])
                #expect(try await service.slots() == [slot])
                await #expect(throws: PostgresError.self) { try await making.value }
                await left.close()
            }
        }
    }

    @Test func aConfigurationThatComesBackBeforeItsSuccessorIsBuiltGoesOn() async throws {
        // An open transaction holds up the slots of the whole cluster.
        try await TestCluster.withServer { server in
            try await TestService.run(Self.schema, uri: server.uri()) { service in
                try await service.start(Self.config)
                try await service.open().holds(["lists/l1"])
                let slots = try await service.slots()
                await service.stop()
                let blocker = try await PostgresConnection.connect(service.uri, poller: service.poller)
                try await blocker.query("BEGIN")
                try await blocker.query("SELECT txid_current()")
                try await service.start(Self.other)
                try await service.open().holds(["lists/l1"])
                try await wait(for: "its slot to wait for the transaction") {
                    try await service.slots().count == 2
                }
                await service.stop()
                try await blocker.query("COMMIT")
                await blocker.close()
                try await service.tx("INSERT INTO lists VALUES ('l3', 'u1', '')")
                try await service.start(Self.config)
                let stream = try await service.open()
                try await stream.holds(["lists/l1", "lists/l3"])
                #expect(stream.model.listed.keys.sorted() == ["1#mine|0[\"u1\"]"])
                try await wait(for: "no slot but its own") { try await service.slots() == slots }
                await service.stop()
                // Later it is a new one.
                try await service.start(Self.other)
                try await wait(for: "the other to be built") {
                    try await service.served().streamNumber
                } until: {
                    $0 == "3"
                }
                await service.stop()
                try await service.start(Self.config)
                try await wait(for: "the first anew") {
                    try await service.served().streamNumber
                } until: {
                    $0 == "4"
                }
                try await wait(for: "one slot") { try await service.slots().count == 1 }
            }
        }
    }

    /// Postgres gives up a slot that would keep more log than it may.
    @Test func aSlotThatWasInvalidatedIsNamedAndEverythingIsReplicatedAnew() async throws {
        try await TestCluster.withServer { server in
            try await TestService.run(Self.schema, uri: server.uri()) { service in
                try await service.start(Self.config)
                try await service.open().holds(["lists/l1"])
                await service.stop()
                try await service.source.query("ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'")
                try await service.source.query("SELECT pg_reload_conf()")
                try await service.tx("INSERT INTO lists VALUES ('l3', 'u1', '')")
                try await wait(for: "the slot to be lost") {
                    try await service.source.query("SELECT pg_logical_emit_message(true, 'x', 'x')")
                    try await service.source.query("SELECT pg_switch_wal()")
                    try await service.source.query("CHECKPOINT")
                    return try await service.source.query("SELECT wal_status FROM pg_replication_slots")
                        .scalar
                } until: {
                    $0 == "lost"
                }
                try await service.start(Self.config)
                try await wait(for: "all rows") {
                    try await service.served()
                } until: {
                    $0.rowNames == ["lists/l1", "lists/l3"] && $0.streamNumber == "2"
                }
                #expect(service.log.contains { $0.contains("[PSYNC_S1146] Replication slot powersync_") })
            }
        }
    }

    /// What is changed between the drop and the new publication is in no stream.
    @Test func aPublicationThatWasMadeAnewMeansEverythingAnew() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            try await service.open().holds(["lists/l1"])
            try await service.tx("DROP PUBLICATION powersync")
            try await service.tx("INSERT INTO lists VALUES ('between', 'u1', '')")
            try await service.tx("CREATE PUBLICATION powersync FOR ALL TABLES")
            try await service.tx("INSERT INTO lists VALUES ('behind', 'u1', '')")
            try await wait(for: "all rows") {
                try await service.served()
            } until: {
                $0.rowNames == ["lists/behind", "lists/between", "lists/l1"]
            }
        }
    }
}

extension StreamModel {
    /// The number of the replication stream that the buckets are of.
    fileprivate var streamNumber: Substring? { listed.keys.first?.prefix { $0 != "#" } }
}
