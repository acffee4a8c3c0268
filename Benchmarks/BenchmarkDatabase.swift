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
        for pragma in Self.pragmas { try connection.execute("PRAGMA \(pragma)") }
    }

    /// The settings.
    static let pragmas = [
        "page_size = 4096", "journal_mode = WAL", "synchronous = NORMAL", "cache_size = -51200",
        "temp_store = MEMORY", "wal_autocheckpoint = 1000", "journal_size_limit = 6291456",
    ]

    /// Closes it and removes its files.
    func close() {
        connection.close()
        folder.remove()
    }

    /// Installs the core with a schema of these tables.
    func install(_ tables: Table...) throws { try Self.install(tables, on: connection) }

    /// Installs the core on a connection for writing, with a schema of these tables.
    static func install(_ tables: [Table], on connection: SQLiteConnection) throws {
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
    private let connection: SQLiteConnection
    private let tuning: StorageTuning
    private var iteration = SyncState()
    private var waiting: [StorableLine] = []
    private var bytes = 0

    /// Begins an iteration.
    init(_ connection: SQLiteConnection, tuning: StorageTuning = .standard) throws {
        self.connection = connection
        self.tuning = tuning
        try feed(.start(SyncStart()))
        try feed(.connectionEstablished)
    }

    /// Parses a line and takes it in; data waits for more until something else comes or there is enough of it.
    mutating func take(_ line: [UInt8]) throws {
        let parsed = try SyncLine(parsing: line)
        guard case .data(let data) = parsed else {
            try storeLines()
            return try feed(.line(parsed, size: line.count))
        }
        waiting.append(try StorableLine(data, size: line.count))
        bytes += line.count
        if bytes >= tuning.batchBytes { try storeLines() }
    }

    /// Stores the data that waits.
    mutating func storeLines() throws {
        guard !waiting.isEmpty else { return }
        try feed(.data(waiting))
        waiting = []
        bytes = 0
    }

    private mutating func feed(_ event: SyncEvent) throws {
        let store = SyncStore(connection: connection, now: 1_767_225_600_000_000, tuning: tuning)
        let before = iteration
        let result = try connection.transaction { try SyncTransaction.run(event, from: before, on: store) }
        iteration = result.state
        for case .close(let reason) in result.effects {
            throw BenchmarkError("the iteration ended: \(reason)")
        }
    }
}
