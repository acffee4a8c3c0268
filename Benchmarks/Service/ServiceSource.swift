import PowerSyncPostgres
import PowerSyncStack
import PowerSyncSystem
import PowerSyncWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A database that is replicated, and the one service that replicates it, if it runs.
final class ServiceSource: Sendable {
    /// How long statements may take that make rows.
    static let patience = Duration.seconds(1200)

    /// The database.
    let uri: String
    private let syncConfig: String
    private let folder: String
    private let program: String
    private let poller: Poller
    private let running = Lock<MeasuredService?>(nil)

    /// Describes a source whose database is there and empty.
    ///
    /// - Parameters:
    ///   - uri: the database.
    ///   - syncConfig: what the service is told.
    ///   - folder: where the service keeps its state; it is made when the service starts.
    ///   - program: the path of the service.
    ///   - poller: the poller of the program.
    init(_ uri: String, syncConfig: String, folder: String, program: String, poller: Poller) {
        self.uri = uri
        self.syncConfig = syncConfig
        self.folder = folder
        self.program = program
        self.poller = poller
    }

    /// Makes tables, rows and publication, and waits until all that is on the disk.
    func fill(_ sql: String) async throws {
        try await PostgresConnection.with(uri, poller: poller) { connection in
            try await connection.script(sql, until: .now + Self.patience)
            try await connection.script("CREATE PUBLICATION powersync FOR ALL TABLES")
            // What is measured should not meet the end of that.
            try await connection.script("VACUUM ANALYZE", until: .now + Self.patience)
            try await connection.script("CHECKPOINT", until: .now + Self.patience)
        }
    }

    /// Connects to the database, and closes the connection behind `body`.
    @discardableResult
    func connected<Value: Sendable>(
        _ body: (PostgresConnection) async throws -> Value
    ) async throws -> Value {
        try await PostgresConnection.with(uri, poller: poller, body)
    }

    // MARK: The service

    /// Starts the service, on its state if that was kept.
    ///
    /// - Returns: the service, which has a process.
    /// - Throws: `SystemError`, `StackError`.
    func start() async throws -> MeasuredService {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let port = try FreePort.find()
        try PrivateFile.write(configuration(port: port), to: folder + "/service.json")
        let service = try await MeasuredService(program, in: folder, port: port, poller: poller)
        running.withLock { $0 = service }
        return service
    }

    /// Stops the service if it runs.
    ///
    /// - Parameter keepingState: whether the next start goes on where it was; else it finds neither state nor slot.
    /// - Throws: `StackError`, `PostgresError`.
    func stop(keepingState: Bool = false) async throws {
        guard let service = taken() else { return }
        try await service.stop(keepingState: keepingState)
        if !keepingState { try await dropSlots() }
    }

    /// Ends the service if it runs, whatever else has failed.
    func end() async { await taken()?.end() }

    private func taken() -> MeasuredService? {
        running.withLock { service in
            defer { service = nil }
            return service
        }
    }

    /// Drops the replication slots of the database, as soon as nobody streams from them.
    func dropSlots() async throws {
        try await connected { connection in
            try await Deadline.wait(.seconds(60), for: "the replication slots to be dropped") {
                () async throws -> Bool? in
                try await connection.query(
                    """
                    SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots
                    WHERE database = current_database() AND NOT active
                    """)
                let left = try await connection.query(
                    "SELECT 1 FROM pg_replication_slots WHERE database = current_database()")
                return left.rowCount == 0 ? true : nil
            }
        }
    }

    private func configuration(port: Int) -> String {
        func object(_ members: KeyValuePairs<String, JSON>) -> JSON {
            .object(members.map { JSONMember($0.key, $0.value) })
        }
        let connection = object([
            "type": .string("postgresql"), "uri": .string(uri), "sslmode": .string("disable"),
        ])
        let key = object([
            "kty": .string("oct"), "alg": .string("HS256"), "kid": .string(StreamToken.kid),
            "k": .string(StreamToken.key),
        ])
        return object([
            "replication": object(["connections": .array([connection])]),
            "storage": object(["type": .string("sqlite"), "path": .string(folder + "/state.sqlite")]),
            "host": .string("127.0.0.1"), "port": .integer(port),
            "sync_config": object(["content": .string(syncConfig)]),
            "client_auth": object([
                "audience": .array([.string(StreamToken.audience)]), "jwks": object(["keys": .array([key])]),
            ]),
            "api": object(["parameters": object(["max_concurrent_connections": .integer(2500)])]),
        ]).text + "\n"
    }
}
