import PowerSync
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncPostgresServer
import PowerSyncStack
import PowerSyncTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Every part is killed at the worst moment and started again; all end with A = B = Postgres.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient(), .serialized)
struct RecoveryTests {
    enum Part: String, CaseIterable, Sendable {
        case postgres, backend, service
    }

    @Test(arguments: Part.allCases)
    func partKilledDuringAnUpload(part: Part) async throws {
        try await EndToEnd.withWorld(needsOwnCluster: part == .postgres) { world in
            try await world.start()
            // One transaction of the upload waits inside Postgres until the holder lets it go.
            let holder = try await PostgresConnection.connect(world.stack.database.uri, poller: world.poller)
            try await holder.script(
                """
                CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NEW; END $$;
                CREATE TRIGGER hold BEFORE INSERT ON todos FOR EACH ROW
                    WHEN (NEW.description = 'round 20 12') EXECUTE FUNCTION hold();
                """)
            _ = try await holder.query("SELECT pg_advisory_lock(4711)")
            for round in 0..<40 { try await world.a.insertTodos(25, named: "round \(round)") }
            let waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            try await wait(
                for: "the upload to stand still in the middle",
                read: { try await holder.query(waiting)[0, 0] }, until: { $0 == "1" })
            #expect(try await world.todosInPostgres() < 40 * 25)
            #expect(try await world.a.count("SELECT count(*) FROM ps_crud") > 0)
            try await world.kill(part)
            await holder.close()
            #expect(try await world.a.count("SELECT count(*) FROM ps_crud") > 0)
            try await world.start(part)
            let rows = try await world.converge(within: TestOptions.deadline * 2)
            #expect(rows.count == 1 + 40 * 25)
        }
    }

    @Test(arguments: Part.allCases)
    func partKilledDuringADownloadOf5000Rows(part: Part) async throws {
        try await EndToEnd.withWorld(needsOwnCluster: part == .postgres) { world in
            try await world.start()
            // The network to A carries some of the rows, compressed, and then nothing more: a line of 1,000 rows has some
            // 70 KB, and no compression makes less than 36 bytes of a row's id, subkey and checksum.
            world.a.stall(after: 150_000)
            try await world.insertIntoPostgres(5_000)
            let progress = try await wait(
                for: "a download that stands still in the middle",
                read: { world.a.database.currentStatus.downloadProgress },
                until: { ($0?.downloadedOperations ?? 0) > 0 && world.a.isStalled })
            #expect(progress.map { $0.downloadedOperations < $0.totalOperations } == true)
            #expect(try await world.a.count("SELECT count(*) FROM todos") == 0)
            try await world.kill(part)
            try await world.b.insertTodos(5, named: "while a part is down")
            try await world.start(part)
            world.a.heal()
            let rows = try await world.converge(within: TestOptions.deadline * 2)
            #expect(rows.count == 1 + 5_000 + 5)
        }
    }

    @Test func rowsCommittedWhileTheServiceIsDownArrive() async throws {
        try await EndToEnd.withWorld { world in
            try await world.start()
            await world.stack.stop(.service)
            try await world.insertIntoPostgres(100)
            _ = try await world.query("UPDATE todos SET description = 'changed meanwhile' WHERE quantity = 1")
            _ = try await world.query("DELETE FROM todos WHERE quantity = 2")
            try await world.stack.start(.service)
            let rows = try await world.converge()
            #expect(rows.count == 1 + 99)
            #expect(rows.contains { $0.contains("changed meanwhile") })
        }
    }

    @Test func serviceKilledBetweenAWriteCheckpointAndTheLineThatCarriesIt() async throws {
        try await EndToEnd.withWorld(needsOwnCluster: true) { world in
            try await world.start()
            // Replication stands still, so that the answer comes and the line does not.
            let sender = try #require(
                try await world.query(
                    "SELECT active_pid FROM pg_replication_slots WHERE active AND database = current_database()"
                )[0, 0]
                .flatMap { Int32($0) })
            #expect(kill(sender, SIGSTOP) == 0)
            // Its postmaster would wait for it.
            defer { kill(sender, SIGCONT) }
            try await world.a.insertTodos(3, named: "gated")
            let target = "SELECT value FROM ps_kv WHERE key = 'target_checkpoint_request_id'"
            try await wait(
                for: "the answer of the write checkpoint",
                read: { try await world.a.database.getOptional(target) { try $0.getInt64(index: 0) } },
                until: { $0.map { $0 < Int64.max } == true })
            await world.stack.kill(.service)
            #expect(kill(sender, SIGCONT) == 0)
            #expect(try await world.a.count("SELECT count(*) FROM todos") == 3)
            try await world.stack.start(.service)
            let rows = try await world.converge()
            #expect(rows.count == 1 + 3)
            // A checkpoint that carries it is applied: the gate opens.
            try await wait(for: "the write checkpoint to be applied") {
                try await world.a.count(
                    """
                    SELECT coalesce((SELECT value FROM ps_kv WHERE key = 'target_checkpoint_request_id')
                        <= (SELECT value FROM ps_kv WHERE key = 'last_applied_checkpoint_request_id'), 0)
                    """) == 1
            }
        }
    }
}

extension DemoWorld {
    fileprivate static let list = "aaaaaaaa-0000-4000-8000-000000000001"

    /// Connects A and B, whose list is there.
    fileprivate func start() async throws {
        _ = try await query(
            "INSERT INTO lists (id, owner_id, name) VALUES ($1, $2, 'L')", [Self.list, a.user])
        for device in [a, b] {
            try await device.connect()
            try await device.watch("SELECT id FROM lists", for: "the list") { $0.count == 1 }
        }
    }

    fileprivate func todosInPostgres() async throws -> Int {
        try await query("SELECT count(*) FROM todos")[0, 0].flatMap { Int($0) } ?? 0
    }

    fileprivate func insertIntoPostgres(_ count: Int) async throws {
        _ = try await query(
            """
            INSERT INTO todos (id, list_id, owner_id, description, quantity)
            SELECT gen_random_uuid(), $1, $2, 'row ' || n, n FROM generate_series(1, $3::int) n
            """, [Self.list, a.user, String(count)])
    }

    fileprivate func kill(_ part: RecoveryTests.Part) async throws {
        switch part {
        case .postgres: stack.database.server?.kill()
        case .backend: await stack.kill(.backend)
        case .service: await stack.kill(.service)
        }
    }

    fileprivate func start(_ part: RecoveryTests.Part) async throws {
        switch part {
        case .postgres: try await stack.database.server?.restart()
        case .backend: try await stack.start(.backend)
        case .service: try await stack.start(.service)
        }
    }
}

extension DemoDevice {
    fileprivate func insertTodos(_ count: Int, named name: String) async throws {
        let user = user
        try await database.writeTransaction { transaction in
            for number in 0..<count {
                try transaction.execute(
                    sql: "INSERT INTO todos (id, list_id, owner_id, description, quantity, completed) "
                        + "VALUES (uuid(), ?, ?, ?, 1, 0)",
                    parameters: [DemoWorld.list, user, "\(name) \(number)"])
            }
        }
    }
}
