import PowerSyncConformance
import PowerSyncSQLite
import PowerSyncWire

@testable import PowerSync

/// How the lines of a test are sent; the outcome is the same (client-core 9).
enum LineEncoding: CaseIterable, Sendable { case text, binary }

/// A database that is driven by `powersync_control` alone, with the conventions of client-core 9.
final class ControlBench {
    private final class Clock { var now: Int64 = SteppedClock.start }

    let connection: SQLiteConnection
    private let encoding: LineEncoding
    private let clock = Clock()

    static let start = SteppedClock.start
    static let minute: Int64 = 60_000_000
    static let hour: Int64 = 3_600_000_000

    init(
        _ encoding: LineEncoding = .text, path: String = ":memory:", schema: String = SyncBench.schema
    ) throws {
        self.encoding = encoding
        connection = try SQLiteConnection(path: path)
        try SyncBench.prepare(connection, schema: schema)
        try connection.run("UPDATE ps_kv SET value = 'test-test-test-test' WHERE key = 'client_id'")
        try SyncFunctions.register(on: connection) { [clock] in clock.now }
    }

    var now: Int64 {
        get { clock.now }
        set { clock.now = newValue }
    }

    /// Runs a command in a transaction and returns what it returns.
    @discardableResult
    func value(_ operation: SQLiteValue, _ payload: SQLiteValue = .null) throws -> SQLiteValue {
        try connection.transaction {
            try connection.one("SELECT powersync_control(?1, ?2)", [operation, payload]) { $0[0] } ?? .null
        }
    }

    /// Runs a command that returns instructions.
    @discardableResult
    func control(_ operation: String, _ payload: SQLiteValue = .null) throws -> [JSON] {
        let text = try value(.text(operation), payload).text ?? ""
        return try JSON.parse(text).arrayValue ?? []
    }

    @discardableResult
    func begin(_ payload: String? = nil) throws -> [JSON] { try control("start", SQLiteValue(payload)) }

    /// Sends lines one after the other and returns all instructions.
    @discardableResult
    func line(_ lines: String...) throws -> [JSON] {
        try lines.flatMap { line in
            switch encoding {
            case .text: try control("line_text", .text(line))
            case .binary: try control("line_binary", .blob(try BSONWriter.document(line)))
            }
        }
    }

    /// The bytes that a line counts for.
    func size(_ line: String) throws -> Int64 {
        switch encoding {
        case .text: Int64(line.utf8.count)
        case .binary: Int64(try BSONWriter.document(line).count)
        }
    }

    func subscribe(_ payload: String) throws { try value("subscriptions", .text(payload)) }

    /// The error of what fails.
    func failure(_ body: () throws -> Void) -> SQLiteError? { sqliteError(body) }

    func rows(_ sql: String) throws -> [[SQLiteValue]] {
        try connection.query(sql) { row in (0..<row.count).map { row[$0] } }
    }

    func run(_ sql: String) throws { try connection.execute(sql) }

    /// The ids of the visible rows.
    func items() throws -> [String] {
        try connection.query("SELECT id FROM items ORDER BY id") { $0.string(0) }
    }

    /// The integers of the gate, without the ends of their names.
    func gate() throws -> [String: Int64] {
        let keys = try connection.query(
            "SELECT key, value FROM ps_kv WHERE key GLOB '*_checkpoint_request_id'"
        ) { ($0.string(0).replacing("_checkpoint_request_id", with: ""), $0.int64(1)) }
        return Dictionary(uniqueKeysWithValues: keys)
    }

    /// Id, last_applied_op, last_op, add_checksum, op_checksum of each bucket.
    func buckets() throws -> [[SQLiteValue]] {
        try rows(
            "SELECT name, last_applied_op, last_op, add_checksum, op_checksum FROM ps_buckets ORDER BY name")
    }

    func offlineStatus() throws -> JSON {
        try JSON.parse(
            try connection.one("SELECT powersync_offline_sync_status()") { $0.string(0) } ?? "null")
    }

    /// Writes a row as the app does.
    func insertLocally(_ id: String = "local") throws {
        try connection.transaction {
            try connection.run("INSERT INTO items(id, col) VALUES (?1, 'local')", [.text(id)])
        }
    }

    /// The four buckets of priority 0 to 3.
    static let priorities = (0...3).map { SyncLines.Bucket("prio\($0)", priority: $0) }

    /// A data line with one row; its text is `data` of a column `col`.
    static func put(_ bucket: String, _ op: Int, _ row: String, _ text: String = "hi", checksum: Int64 = 0)
        -> String
    {
        SyncLines.data(bucket, SyncLines.put(op, row, checksum: checksum, data: "{\"col\":\"\(text)\"}"))
    }
}

extension [JSON] {
    /// The keys of the instructions.
    var instructions: [String] { map { $0.objectMembers?.first?.name ?? "?" } }

    /// The last status.
    var lastStatus: JSON? { last { $0["UpdateSyncStatus"] != nil }?["UpdateSyncStatus"]?["status"] }

    /// Severity and text of each log line.
    var logLines: [String] {
        compactMap { $0["LogLine"] }.map {
            "\($0["severity"]?.stringValue ?? "?") \($0["line"]?.stringValue ?? "?")"
        }
    }

    func first(_ name: String) -> JSON? { lazy.compactMap { $0[name] }.first }

    /// The request of the stream that is to be opened.
    var streamRequest: JSON? { first("EstablishSyncStream")?["request"] }
}

extension JSON {
    /// Parses an expected value; nil makes the comparison fail.
    static func expected(_ text: String) -> JSON? { try? parse(text) }

    /// Whether the values are equal, whatever the order of members.
    func equals(_ text: String) -> Bool {
        guard let other = JSON.expected(text) else { return false }
        return TranscriptComparison.canonical(self) == TranscriptComparison.canonical(other)
    }

    /// Downloaded and total operations of a status, by priority.
    var progress: [String: String] {
        var progress: [String: String] = [:]
        for member in self["downloading"]?["buckets"]?.objectMembers ?? [] {
            progress[member.name] =
                "\(member.value["since_last"]?.text ?? "?")/\(member.value["target_count"]?.text ?? "?")"
        }
        return progress
    }
}
