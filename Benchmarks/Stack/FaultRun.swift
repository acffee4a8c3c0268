import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncStack
import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Two clients behind a proxy, to whom one fault after the other happens.
struct FaultRun {
    private let world: StackWorld
    private let proxy: CuttableProxy
    private var a: MeasuredClient
    private let b: MeasuredClient
    private var written = 0

    /// Starts both clients, and waits until a write on A is seen at B.
    ///
    /// - Parameters:
    ///   - world: what the clients use.
    ///   - proxy: what stands between them and the service; it is running.
    /// - Throws: errors of the clients, `StackError` with `.deadline`.
    init(_ world: StackWorld, through proxy: CuttableProxy) async throws {
        self.world = world
        self.proxy = proxy
        a = try await Self.synced("a", world, proxy)
        b = try await Self.synced("b", world, proxy)
        try await b.watch("SELECT id FROM notes ORDER BY id DESC LIMIT 20")
        _ = try await b.arrival(of: try await write(), within: .seconds(30))
    }

    private static func synced(
        _ name: String, _ world: StackWorld, _ proxy: CuttableProxy
    ) async throws -> MeasuredClient {
        let client = try await world.client(name, at: proxy.url)
        try await client.ask("connect")
        try await client.wait(for: "first-sync")
        return client
    }

    /// Lets a fault happen.
    ///
    /// - Parameter fault: the fault.
    /// - Returns: how long it takes a write on A to be seen at B, from the moment at which all is well again; where nothing
    ///   heals, from the fault.
    /// - Throws: errors of the clients and of starting things again, `StackError` with `.deadline`.
    mutating func play(_ fault: Fault) async throws -> Duration {
        let healed: ContinuousClock.Instant
        let id: String
        switch fault {
        case .cutStream:
            proxy.cut()
            proxy.heal()
            healed = .now
            id = try await write()
        case .blackHole:
            proxy.silence()
            healed = .now
            id = try await write()
        case .serviceKill:
            await world.stack.kill(.service)
            try await Phase.pause(.seconds(2))
            id = try await write()
            healed = .now
            try await world.stack.start(.service)
        case .postgresRestart:
            let server = try stopPostgres()
            try await Phase.pause(.seconds(2))
            id = try await write()
            try await Phase.run("Postgres to start again", within: .seconds(120)) {
                try await server.restart()
            }
            healed = .now
        case .backendDown:
            await world.stack.kill(.backend)
            id = try await write(20)
            try await Phase.pause(.seconds(5))
            healed = .now
            try await world.stack.start(.backend)
        case .clientKill:
            id = try await write(20)
            await a.end()
            healed = .now
            a = try await world.client("a", at: proxy.url)
            try await a.ask("connect")
        case .slotDropped:
            try await dropSlots()
            healed = .now
            id = try await write()
        }
        return try await b.arrival(of: id, within: fault.limit) - healed
    }

    /// Waits until A, B and Postgres hold the same rows.
    ///
    /// - Throws: as `StackWorld.converge`.
    func converge() async throws {
        // So that the next fault meets clients that have connected again.
        try await Phase.pause(.seconds(2))
        try await world.converge([a, b])
    }

    /// Writes notes on A, a transaction each; returns the id of the last.
    private mutating func write(_ count: Int = 1) async throws -> String {
        for _ in 0..<count {
            written += 1
            try await a.transact([StackApp.note(StackApp.id("f", written))])
        }
        return StackApp.id("f", written)
    }

    /// Stops Postgres as `pg_ctl stop -m immediate` does: nothing is written, the next start recovers.
    private func stopPostgres() throws -> PostgresServer {
        guard let server = world.database.server else {
            throw BenchmarkError("the private Postgres was not started")
        }
        kill(server.processID, SIGQUIT)
        return server
    }

    /// Ends whoever streams from a slot of the database, and drops it before anybody takes it again.
    private func dropSlots() async throws {
        try await PostgresConnection.with(world.database.uri, poller: world.poller) { connection in
            try await Deadline.wait(.seconds(30), for: "the replication slot to be dropped") {
                try await connection.query(
                    """
                    SELECT pg_terminate_backend(active_pid, 5000) FROM pg_replication_slots
                    WHERE database = current_database() AND active_pid IS NOT NULL
                    """, until: .now + MeasuredClient.patience)
                do {
                    let dropped = try await connection.query(
                        """
                        SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots
                        WHERE database = current_database()
                        """, until: .now + MeasuredClient.patience)
                    return dropped.rowCount > 0 ? true : nil
                } catch let error as PostgresError where error.sqlstate == Self.objectInUse {
                    return nil
                }
            }
        }
    }

    /// The SQLSTATE object_in_use.
    private static let objectInUse = "55006"
}
