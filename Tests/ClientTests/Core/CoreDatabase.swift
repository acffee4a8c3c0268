import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncWire

@testable import PowerSync

/// A database with the core, for tests of tables, views and triggers.
struct CoreDatabase {
    let connection: SQLiteConnection
    let core: CoreExtension
    private var folder: TemporaryDirectory?

    /// Opens it in memory at a version of the internal tables; 0 leaves it empty.
    init(version: Int = CoreMigrations.latest) throws {
        connection = try SQLiteConnection(path: ":memory:")
        core = try CoreExtension.install(on: connection)
        if version > 0 { try migrate(to: version) }
    }

    /// Opens a file as it is, and keeps its folder.
    init(path: String, keeping folder: TemporaryDirectory? = nil) throws {
        self.folder = folder
        connection = try SQLiteConnection(path: path)
        core = try CoreExtension.install(on: connection)
    }

    /// Opens it in memory with a schema of these tables, in the core's JSON.
    init(tables: String...) throws {
        try self.init(version: 0)
        try apply(tables)
    }

    func apply(_ tables: [String], raw: [String] = []) throws {
        try connection.transaction {
            try SchemaApplication.apply(
                json:
                    #"{"tables":[\#(tables.joined(separator: ","))],"raw_tables":[\#(raw.joined(separator: ","))]}"#,
                on: connection)
        }
    }

    func migrate(to version: Int) throws {
        try connection.transaction { try CoreMigrations.migrate(connection, to: version) }
    }

    /// Makes the three triggers that queue local writes to the raw table `users`.
    func createRawTriggers(_ json: String) throws {
        for operation in ["INSERT", "UPDATE", "DELETE"] {
            try connection.run(
                "SELECT powersync_create_raw_table_crud_trigger(?, ?, ?)",
                [.text(json), .text("users_\(operation)"), .text(operation)])
        }
    }

    func execute(_ sql: String) throws { try connection.execute(sql) }

    /// Returns the rows of a query, each as the texts of its columns; NULL is "null".
    func rows(_ sql: String) throws -> [[String]] {
        try connection.query(sql) { row in (0..<row.count).map { row.text($0) ?? "null" } }
    }

    /// Returns the first column of each row.
    func column(_ sql: String) throws -> [String] { try rows(sql).map { $0[0] } }

    /// The queue: transaction id and entry.
    func queue() throws -> [(transaction: Int64, entry: JSON)] {
        try connection.query("SELECT tx_id, data FROM ps_crud ORDER BY id") {
            ($0.int64(0), try JSON.parse($0.string(1)))
        }
    }

    /// The entries of the queue as text.
    func entries() throws -> [String] { try column("SELECT data FROM ps_crud ORDER BY id") }

    func transactionIDs() throws -> [Int64] { try queue().map(\.transaction) }

    var schemaVersion: Int64? {
        get throws { try connection.one("PRAGMA schema_version") { $0.int64(0) } }
    }

    /// Every object of the schema but SQLite's own: type, name, text.
    func layout() throws -> [[String]] {
        try rows(
            "SELECT type, name, sql FROM sqlite_schema WHERE name NOT GLOB 'sqlite_*' ORDER BY type, name")
    }

    /// The JSON of a table with text columns.
    static func table(_ name: String, _ columns: [String], _ options: String = "") -> String {
        let columns = columns.map { #"{"name":"\#($0)","type":"text"}"# }.joined(separator: ",")
        return #"{"name":"\#(name)","columns":[\#(columns)]\#(options.isEmpty ? "" : ",\(options)")}"#
    }

    static let items = table("items", ["col"])
}

/// Returns the error that SQLite, or a function called by it, reports.
func sqliteError(_ body: () throws -> Void) -> SQLiteError? {
    do {
        try body()
        return nil
    } catch {
        return error as? SQLiteError
    }
}

/// Lets a test write an expected text as it is.
extension JSON: ExpressibleByStringLiteral {
    package init(stringLiteral value: String) { self = .string(value) }
}
