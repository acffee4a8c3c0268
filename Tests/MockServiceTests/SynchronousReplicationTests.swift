import PowerSyncMockService
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresSource
import PowerSyncPostgresTestSupport
import PowerSyncSQLite
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Commits on the source that wait for standbys.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct SynchronousReplicationTests {
    private static let schema = ReplicationServiceTests.schema
    private static let config = ReplicationServiceTests.config

    /// What this service writes waits for nobody, so that what others write in the same way arrives.
    @Test func aStandbyThatIsAwayStopsNeitherReplicationNorWriteCheckpoints() async throws {
        try await TestCluster.withServer { server in
            try await TestService.run(Self.schema, uri: server.uri()) { service in
                try await service.start(Self.config) {
                    $0.heartbeat = .milliseconds(100)
                    $0.linkTimes.statement = TestOptions.deadline / 3
                }
                let stream = try await service.open(SyncStreamRequest(clientID: "c"))
                try await stream.holds(["lists/l1"])
                try await service.source.setStandbys("nobody")
                #expect(try await service.writeCheckpoint(client: "c") == 1)
                try await stream.holds("the write checkpoint") { $0.writeCheckpoint == 1 }
                try await service.source.query("SET synchronous_commit = local")
                try await service.tx("INSERT INTO lists VALUES ('l3', 'u1', '')")
                try await stream.holds(["lists/l1", "lists/l3"])
                #expect(!service.log.contains { $0.contains("replication failed") })
            }
        }
    }

    /// By `*` this service is a standby, too: a commit is seen once it is reported as safe here, and stored once it is seen.
    @Test func commitsThatWaitForThisServiceReturn() async throws {
        try await TestCluster.withServer { server in
            try await TestService.run(
                Self.schema + ["CREATE TABLE other(n int)"], uri: server.uri(),
                publication: "FOR TABLE lists"
            ) { service in
                try await service.start(Self.config) {
                    // No status that is sent anyhow lets a commit go on.
                    $0.heartbeat = .seconds(600)
                    $0.linkTimes.status = .seconds(600)
                    $0.linkTimes.silence = .seconds(600)
                }
                let stream = try await service.open()
                try await stream.holds(["lists/l1"])
                try await service.source.setStandbys("*")
                try await wait(for: "this service to be the standby") {
                    try await service.source.query("SELECT sync_state FROM pg_stat_replication").scalar
                } until: {
                    $0 == "sync"
                }
                for statements in [
                    // Nothing is sent of this one.
                    ["INSERT INTO other VALUES (1)"],
                    // The first of a link looks the table up, and so does one that changes it.
                    ["INSERT INTO lists VALUES ('l3', 'u1', '')"],
                    ["INSERT INTO lists VALUES ('l4', 'u1', '')"],
                    [
                        "ALTER TABLE lists ADD COLUMN more text",
                        "INSERT INTO lists VALUES ('l5', 'u1', '', 'more')",
                    ],
                ] {
                    let commit = Task { try await service.tx(statements) }
                    try await wait(forEndOf: commit)
                }
                let held = try await stream.holds(["lists/l1", "lists/l3", "lists/l4", "lists/l5"])
                #expect(held.data(of: "lists/l5")?.contains(#""more":"more""#) == true)
                #expect(service.log.contains { $0.contains("synchronous_standby_names instead of '*'") })
                #expect(!service.log.contains { $0.contains("replication failed") })
                try await service.source.setStandbys("")
            }
        }
    }

    /// A commit that waits when the service comes is larger than what is under way on the link: Postgres lets it go once all of
    /// it was taken.
    @Test func aLargeCommitThatWaitsBeforeTheLinkIsMadeReturns() async throws {
        try await TestCluster.withServer { server in
            try await TestService.run(Self.schema, uri: server.uri()) { service in
                try await service.start(Self.config)
                try await service.open().holds(["lists/l1"])
                await service.stop()
                let commit = try await Self.waitingCommit(
                    service,
                    "INSERT INTO lists SELECT 'b' || n, 'u1', repeat('x', 5000) FROM generate_series(1, 4000) n"
                )
                try await service.start(Self.config)
                try await wait(forEndOf: commit)
                try await service.open().holds("all rows") { $0.rowCount == 4_001 }
                try await service.source.setStandbys("")
            }
        }
    }

    /// What was promised to be stored and was not is told by nobody any more.
    ///
    /// Here the role may not read the table that the commit makes, which the service sees once it has let the commit go.
    @Test func aLinkThatEndsBeforeItsPromiseIsKeptMeansEverythingAnew() async throws {
        try await TestCluster.withServer { server in
            try await TestService.run(Self.schema, uri: server.uri()) { service in
                try await service.tx(
                    "CREATE ROLE replicator \(try TestRole.login(server.uri())) REPLICATION",
                    "GRANT SELECT ON ALL TABLES IN SCHEMA public TO replicator")
                try await service.start(Self.config) {
                    $0.source = .patient(service.uri, parameters: ["user": "replicator"])
                }
                try await service.open().holds(["lists/l1"])
                try await service.source.setStandbys("*")
                try await wait(for: "this service to be the standby") {
                    try await service.source.query("SELECT sync_state FROM pg_stat_replication").scalar
                } until: {
                    $0 == "sync"
                }
                let commit = Task {
                    try await service.tx(
                        "DROP TABLE lists",
                        "CREATE TABLE lists(id text PRIMARY KEY, owner_id text, name text)",
                        "INSERT INTO lists VALUES ('l3', 'u1', '')")
                }
                try await wait(forEndOf: commit)
                try await wait(for: "the promise to be missed") {
                    service.log.contains { $0.contains("the link ended while commits waited") }
                }
                // Without a link nobody would let the next commit go.
                try await service.source.setStandbys("")
                try await service.tx("GRANT SELECT ON lists TO replicator")
                try await wait(for: "all rows anew") {
                    try await service.served()
                } until: {
                    $0.listed.keys.sorted() == ["2#mine|0[\"u1\"]"] && $0.rowNames == ["lists/l3"]
                }
                #expect(service.log.contains { $0.contains("permission denied for table lists") })
            }
        }
    }

    /// Where there is a slot to go on with, a new stream gets a copy of it: a slot that is made would wait for a commit that
    /// waits for the service.
    @Test func aStreamThatIsMadeAnewWaitsForNoCommitThatWaitsForTheService() async throws {
        try await TestCluster.withServer { server in
            try await TestService.run(Self.schema, uri: server.uri()) { service in
                try await service.start(Self.config)
                try await service.open().holds(["lists/l1"])
                await service.stop()
                let state = try SQLiteConnection(path: service.statePath)
                try state.execute("UPDATE replication_stream SET applied_lsn = 1, reported_lsn = 1")
                state.close()
                let commit = try await Self.waitingCommit(
                    service, "INSERT INTO lists VALUES ('l3', 'u1', '')")
                try await service.start(Self.config)
                try await wait(forEndOf: commit)
                try await wait(for: "all rows anew") {
                    try await service.served()
                } until: {
                    $0.listed.keys.sorted() == ["2#mine|0[\"u1\"]"]
                        && $0.rowNames == ["lists/l1", "lists/l3"]
                }
                #expect(service.log.contains { $0.contains("the link ended while commits waited") })
                try await service.source.setStandbys("")
            }
        }
    }

    /// A commit that waits for any standby, of which there is none yet.
    private static func waitingCommit(
        _ service: TestService, _ statement: String
    ) async throws -> Task<Void, any Error> {
        try await service.source.setStandbys("*")
        let commit = Task { try await service.tx(statement) }
        let other = try await PostgresConnection.connect(service.uri, poller: service.poller)
        try await wait(for: "the commit to wait") {
            try await other.query("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'").scalar
        } until: {
            $0 == "1"
        }
        await other.close()
        return commit
    }
}

extension PostgresConnection {
    /// Sets the standbys that commits wait for, and returns once commits do.
    ///
    /// A session knows the setting before the checkpointer has told those who commit: until then they wait for nobody.
    nonisolated func setStandbys(_ names: String) async throws {
        try await query("ALTER SYSTEM SET synchronous_standby_names = \(quoteLiteral(names))")
        try await query("SELECT pg_reload_conf()")
        try await wait(for: "the server to know") {
            try await query("SHOW synchronous_standby_names").scalar
        } until: {
            $0 == names
        }
        // It handles what it was told before it does anything else.
        for _ in 0..<2 { try await query("CHECKPOINT") }
    }
}
