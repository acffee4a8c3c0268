import Foundation
import PowerSync
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncWire

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A new database file with the settings that every measurement shares; gone when it is closed.
final class BenchmarkDatabase {
    let connection: SQLiteConnection
    private let folder: TemporaryDirectory

    /// Makes an empty database, or a copy of one that is closed.
    init(copying original: BenchmarkDatabase? = nil) throws {
        folder = try TemporaryDirectory(prefix: "powersync-bench-")
        let path = folder.path + "/bench.db"
        if let original {
            try original.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            try FileManager.default.copyItem(atPath: original.folder.path + "/bench.db", toPath: path)
        }
        connection = try SQLiteConnection(path: path)
        for pragma in [
            "page_size = 4096", "journal_mode = WAL", "synchronous = NORMAL", "cache_size = -51200",
            "temp_store = MEMORY", "wal_autocheckpoint = 1000", "journal_size_limit = 6291456",
        ] { try connection.execute("PRAGMA \(pragma)") }
    }

    /// Closes it and removes its files.
    func close() {
        connection.close()
        folder.remove()
    }

    /// Installs the core with a schema of these tables.
    func install(_ tables: Table...) throws {
        try CoreExtension.install(on: connection)
        let schema = String(decoding: try JSONEncoder().encode(Schema(tables: tables)), as: UTF8.self)
        try connection.transaction { try SchemaApplication.apply(json: schema, on: connection) }
    }

    /// Prepares a statement for the C API.
    func prepare(_ sql: String) throws -> BareStatement {
        try BareStatement(sql, on: connection.pointer)
    }

    /// Returns how long `body` takes, after everything written before has reached the disk.
    static func measure(_ body: () throws -> Void) throws -> Duration {
        sync()
        return try ContinuousClock().measure(body)
    }
}

/// Takes in a stream by the way that ships, without a network.
struct BenchmarkSync {
    private var iteration = SyncIteration(tuning: .standard)
    private let connection: SQLiteConnection

    /// Begins an iteration.
    init(_ connection: SQLiteConnection) throws {
        self.connection = connection
        try feed(.start(SyncStart()))
        try feed(.connectionEstablished)
    }

    /// Parses a line and takes it in.
    mutating func take(_ line: [UInt8]) throws {
        try feed(.line(SyncLine(parsing: line), size: line.count))
    }

    private mutating func feed(_ event: SyncEvent) throws {
        for effect in try iteration.feed(event, on: connection, now: 1_767_225_600_000_000) {
            if case .close(let reason) = effect { throw BenchmarkError("the iteration ended: \(reason)") }
        }
    }
}
