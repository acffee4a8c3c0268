import PowerSyncPostgresServer
import PowerSyncStack
import PowerSyncSystem

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A private Postgres for all parts of a run.
final class BackendWorld: Sendable {
    /// Whether a commit waits for the disk.
    let isDurable: Bool
    /// A folder for what parts write; it goes with the session.
    let folder: String
    private let poller: Poller
    private let server: PostgresServer
    private let program: String
    private let count = Lock(0)

    /// Starts Postgres.
    ///
    /// - Parameters:
    ///   - isDurable: whether a commit waits for the disk.
    ///   - program: the path of the backend; nil for the `powersync-backend` that was built with this program.
    ///   - session: closes what is opened.
    /// - Throws: `CommandError` if there is no such program, errors of starting.
    init(isDurable: Bool, program: String?, session: Session) async throws {
        self.isDurable = isDurable
        self.program = try program ?? StackWorld.sibling("powersync-backend")
        folder = try session.temporaryFolder()
        let poller = try session.poller()
        self.poller = poller
        let database = StackDatabase(.cluster(directory: nil), isDurable: isDurable, poller: poller)
        session.onEnd { try await database.close() }
        try await database.open()
        guard let server = database.server else {
            throw BenchmarkError("the private Postgres was not started")
        }
        self.server = server
    }

    /// What the tables say of it.
    var durability: String { isDurable ? "fsync on" : "fsync off" }

    /// The processor time that the server has taken so far, in seconds; nil elsewhere than on Linux.
    var processorTime: Double? { ProcessorTime.ofFamily(server.processID) }

    /// Makes a database with tables, and removes it behind `body` with the backend that writes to it.
    ///
    /// - Parameters:
    ///   - tables: its tables.
    ///   - body: what is measured with it.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws, errors of making and removing.
    func with<Value: Sendable>(
        _ tables: UploadTables, _ body: (BackendSource) async throws -> Value
    ) async throws -> Value {
        let name = count.withLock { count in
            count += 1
            return "bench_\(count)"
        }
        let source = BackendSource(
            try await server.createDatabase(name, poller: poller), name: name, tables: tables,
            folder: "\(folder)/\(name)", program: program, poller: poller)
        do {
            try await source.fill()
            let value = try await body(source)
            await source.end()
            try await server.dropDatabase(name, poller: poller)
            return value
        } catch {
            // The database goes with the server.
            await source.end()
            throw error
        }
    }

    /// Returns what the server has logged so far.
    ///
    /// - Throws: an error of reading.
    func log() throws -> String {
        try String(contentsOfFile: server.temporaryFolder + "/log", encoding: .utf8)
    }

    /// Returns the path of a program that comes with Postgres.
    ///
    /// - Parameter name: the program.
    /// - Returns: its path.
    /// - Throws: `PostgresServerError` without a Postgres, `BenchmarkError` without the program.
    func postgresProgram(_ name: String) async throws -> String {
        let path = try await PostgresBinaries.find().directory + "/" + name
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw BenchmarkError("\(path) is not there: this Postgres has come without it")
        }
        return path
    }
}
