import PowerSyncPostgres
import PowerSyncStack
import PowerSyncSystem

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A database that is written to, and the one backend that does so, if it runs.
final class BackendSource: Sendable {
    /// The database.
    let uri: String
    private let name: String
    private let tables: UploadTables
    private let folder: String
    private let program: String
    private let poller: Poller
    private let running = Lock<MeasuredBackend?>(nil)

    /// Describes a database that is there and empty.
    ///
    /// - Parameters:
    ///   - place: the database.
    ///   - tables: the tables that it gets.
    ///   - program: the path of the backend.
    ///   - poller: the poller of the program.
    init(_ place: BenchmarkPostgres.Place, tables: UploadTables, program: String, poller: Poller) {
        uri = place.uri
        name = place.name
        folder = place.folder
        self.tables = tables
        self.program = program
        self.poller = poller
    }

    /// Makes the tables, and waits until all that is on the disk.
    func fill() async throws {
        try await PostgresConnection.with(uri, poller: poller) { connection in
            try await connection.script(tables.sql)
            // What is measured should not meet the end of that.
            try await connection.script("VACUUM ANALYZE")
            try await connection.script("CHECKPOINT")
        }
    }

    /// Returns how many rows the tables of uploads have together.
    func count(_ tables: UploadTables) async throws -> Int {
        let counts = tables.names.map { "(SELECT count(*) FROM \(quoteIdentifier($0)))" }
        let sql = "SELECT " + counts.joined(separator: " + ")
        let text = try await PostgresConnection.with(uri, poller: poller) { try await $0.query(sql).scalar }
        return text.flatMap { Int($0) } ?? 0
    }

    /// Has the server log all statements of sessions that begin from now on, or none any more.
    func logsStatements(_ isOn: Bool) async throws {
        let change = isOn ? "SET log_statement = 'all'" : "RESET log_statement"
        try await PostgresConnection.with(uri, poller: poller) { connection in
            try await connection.script("ALTER DATABASE \(quoteIdentifier(name)) \(change)")
        }
    }

    // MARK: The backend

    /// Starts the backend, and returns when it takes uploads.
    ///
    /// - Returns: the backend.
    /// - Throws: `SystemError`, `StackError`.
    func start() async throws -> MeasuredBackend {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try PrivateFile.write(tables.tableMap, to: folder + "/tables.yaml")
        let backend = try await MeasuredBackend(
            program, database: uri, in: folder, port: try FreePort.find(), poller: poller)
        running.withLock { $0 = backend }
        try await backend.ready()
        return backend
    }

    /// Ends the backend if it runs, whatever else has failed.
    func end() async {
        let backend = running.withLock { backend in
            defer { backend = nil }
            return backend
        }
        await backend?.end()
    }
}
