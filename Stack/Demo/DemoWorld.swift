import PowerSync
import PowerSyncPostgres
import PowerSyncSystem

/// Everything that the demo's situations happen in: a stack, two devices of one user, a third of another.
package final class DemoWorld: Sendable {
    /// How long a state may take to come: on a slow disk or a busy machine many times what it takes elsewhere.
    package static let patience = Duration.seconds(180)

    /// The stack that the devices use.
    package let stack: LocalStack
    /// The first device; its connections can be cut.
    package let a: DemoDevice
    /// The second device of the same user.
    package let b: DemoDevice
    /// The device of somebody else.
    package let c: DemoDevice
    /// Connections of its own to look into Postgres.
    package let postgres: PostgresPool
    /// Where events are shown.
    package let timeline: DemoTimeline
    /// The poller of the program.
    package let poller: Poller

    private init(
        stack: LocalStack, devices: [DemoDevice], postgres: PostgresPool, timeline: DemoTimeline,
        poller: Poller
    ) {
        self.stack = stack
        a = devices[0]
        b = devices[1]
        c = devices[2]
        self.postgres = postgres
        self.timeline = timeline
        self.poller = poller
    }

    /// Builds a world around a running stack, lets `body` act in it, and takes it down again.
    ///
    /// - Parameters:
    ///   - stack: the stack; stays the caller's.
    ///   - folder: an existing folder for the devices' files.
    ///   - timeline: where events are shown.
    ///   - poller: the poller of the program.
    ///   - body: what happens.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws, and what goes wrong in building.
    package static func with<Result: Sendable>(
        stack: LocalStack, folder: String, timeline: DemoTimeline, poller: Poller,
        _ body: @escaping @Sendable (DemoWorld) async throws -> Result
    ) async throws -> Result {
        let backend = try await stack.url(.backend)
        let service = try await stack.url(.service)
        let backendWire = try CuttableProxy(to: backend, poller: poller)
        let serviceWire = try CuttableProxy(to: service, poller: poller)
        let devices = [
            try DemoDevice(
                name: "A", user: "alice", folder: folder + "/a", backend: backendWire.url,
                service: serviceWire.url, wires: [backendWire, serviceWire]),
            try DemoDevice(
                name: "B", user: "alice", folder: folder + "/b", backend: backend, service: service),
            try DemoDevice(
                name: "C", user: "carol", folder: folder + "/c", backend: backend, service: service),
        ]
        let postgres = PostgresPool(
            uri: try stack.database.uri,
            limits: PostgresPool.Limits(size: 2, acquireTimeout: patience, connectTimeout: patience),
            parameters: ["application_name": "powersync-demo"], poller: poller)
        let world = DemoWorld(
            stack: stack, devices: devices, postgres: postgres, timeline: timeline, poller: poller)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            for wire in [backendWire, serviceWire] { group.addTask { try await wire.run() } }
            defer { group.cancelAll() }
            do {
                let result = try await body(world)
                await world.close()
                return result
            } catch {
                await world.close()
                throw error
            }
        }
    }

    private func close() async {
        for device in [a, b, c] {
            do {
                try await device.database.close()
            } catch {
                timeline.event(device.name, "could not be closed: \(error)")
            }
        }
        await postgres.close()
    }

    /// Asks Postgres.
    package func query(_ sql: String, _ parameters: [String?] = []) async throws -> PostgresResult {
        try await postgres.withConnection { try await $0.query(sql, parameters) }
    }

    /// Asks Postgres something that changes nothing, once more if the connection turns out to be a dead one.
    package func ask(_ sql: String, _ parameters: [String?] = []) async throws -> PostgresResult {
        do {
            return try await query(sql, parameters)
        } catch let error as PostgresError where error.isConnectionLost {
            return try await query(sql, parameters)
        }
    }

    /// Returns a user's rows in Postgres, as `DemoDevice.rows` has them.
    package func rowsInPostgres(of user: String) async throws -> [String] {
        let result = try await ask(DemoSchema.rowsInPostgres, [user])
        return (0..<result.rowCount).compactMap { result[$0, 0] }
    }

    /// Waits until Postgres answers a query with this text.
    package func waitForPostgres(
        _ sql: String, _ parameters: [String?] = [], is text: String, for state: String
    )
        async throws
    {
        try await Deadline.wait(Self.patience, for: state) {
            let result = try await query(sql, parameters)
            return result.rowCount > 0 && result[0, 0] == text ? true : nil
        }
    }

    /// Waits until both devices of the user hold exactly the user's rows of Postgres.
    ///
    /// - Parameter limit: how long to wait.
    /// - Returns: the rows that all three agree on.
    /// - Throws: `StackError` with `.deadline`, which says what differs.
    @discardableResult
    package func converge(within limit: Duration = patience) async throws -> [String] {
        var difference = "nothing compared yet"
        do {
            return try await Deadline.wait(limit, pause: .milliseconds(25), for: "A = B = Postgres") {
                let expected = try await rowsInPostgres(of: a.user)
                for device in [a, b] {
                    let rows = try await device.rows()
                    guard rows == expected, try await device.count("SELECT count(*) FROM ps_crud") == 0 else {
                        difference = Self.difference(device.name, rows, expected)
                        return nil
                    }
                }
                return expected
            }
        } catch let error as StackError where error.code == .deadline {
            throw StackError(.deadline, "\(error.message); \(difference)")
        }
    }

    /// Says in one line how a device differs from Postgres.
    private static func difference(_ name: String, _ rows: [String], _ expected: [String]) -> String {
        let here = Set(rows).subtracting(expected)
        let there = Set(expected).subtracting(rows)
        if here.isEmpty, there.isEmpty { return "\(name) has all rows but entries left to upload" }
        let examples =
            (here.prefix(2).map { "only on \(name): \($0)" }
                + there.prefix(2).map { "only in Postgres: \($0)" })
        return
            "\(name) has \(here.count) rows that Postgres has not, and lacks \(there.count) (\(examples.joined(separator: "; ")))"
    }
}
