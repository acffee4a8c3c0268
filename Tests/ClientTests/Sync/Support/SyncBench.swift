import PowerSync
import PowerSyncSQLite
import PowerSyncWire

/// A database in memory with the table `items(col)`, and an iteration to feed.
final class SyncBench {
    let connection: SQLiteConnection
    var state = SyncState()
    var now = SteppedClock.start

    static let schema = """
        {"tables":[{"name":"items","columns":[{"name":"col","type":"text"}]}]}
        """

    init(schema: String = SyncBench.schema) throws {
        connection = try SQLiteConnection(path: ":memory:")
        try Self.prepare(connection, schema: schema)
    }

    init(prepared connection: SQLiteConnection) { self.connection = connection }

    static func prepare(_ connection: SQLiteConnection, schema: String = SyncBench.schema) throws {
        try CoreExtension.install(on: connection)
        try connection.transaction {
            _ = try connection.one("SELECT powersync_init()") { $0.text(0) }
            _ = try connection.one("SELECT powersync_replace_schema(?1)", [.text(schema)]) { $0.text(0) }
            try connection.run("UPDATE ps_kv SET value = 'test-client' WHERE key = 'client_id'")
        }
    }

    var store: SyncStore { SyncStore(connection: connection, now: now) }

    @discardableResult
    func feed(_ event: SyncEvent) throws -> [SyncEffect] {
        let result = try connection.transaction { try SyncTransaction.run(event, from: state, on: store) }
        state = result.state
        return result.effects
    }

    @discardableResult
    func start(activeStreams: [StreamKey] = []) throws -> [SyncEffect] {
        try feed(.start(SyncStart(activeStreams: activeStreams)))
    }

    @discardableResult
    func line(_ text: String) throws -> [SyncEffect] {
        try feed(.line(try SyncLine(parsing: Array(text.utf8)), size: text.utf8.count))
    }

    /// Feeds data lines as one event.
    @discardableResult
    func data(_ lines: [String]) throws -> [SyncEffect] { try feed(.data(lines.map(SyncLines.storable))) }

    func rows(_ sql: String) throws -> [[SQLiteValue]] {
        try connection.query(sql) { row in (0..<row.count).map { row[$0] } }
    }

    /// Name, last_applied_op, last_op, add_checksum, op_checksum of each bucket.
    func buckets() throws -> [[SQLiteValue]] {
        try rows(
            "SELECT name, last_applied_op, last_op, add_checksum, op_checksum FROM ps_buckets ORDER BY name")
    }

    /// Id and `col` of each visible row.
    func items() throws -> [[SQLiteValue]] { try rows("SELECT id, col FROM items ORDER BY id") }

    /// Buckets that break what must hold after every step (client-core 6.6).
    static let brokenInvariantsQuery = """
        SELECT b.name, b.op_checksum, (
            SELECT coalesce(sum(o.hash), 0) & 4294967295 FROM ps_oplog AS o WHERE o.bucket = b.id)
        FROM ps_buckets AS b
        WHERE b.op_checksum <> (
            SELECT coalesce(sum(o.hash), 0) & 4294967295 FROM ps_oplog AS o WHERE o.bucket = b.id)
        OR b.last_applied_op > b.last_op OR b.add_checksum NOT BETWEEN 0 AND 4294967295
        """

    func brokenInvariants() throws -> [[SQLiteValue]] { try rows(Self.brokenInvariantsQuery) }
}

extension [SyncEffect] {
    /// The names of the effects, for comparing whole lists.
    var names: [String] {
        map { effect in
            switch effect {
            case .perform(let task): "perform \(task.name)"
            case .open: "open"
            case .status: "status"
            case .log(let severity, _): "log \(severity)"
            case .fetchCredentials(let expired): expired ? "fetch expired" : "fetch"
            case .completed(let id): id.map { "completed \($0)" } ?? "completed"
            case .diagnostics: "diagnostics"
            case .close(let reason): "close \(reason.name)"
            }
        }
    }

    /// The status told last.
    var status: SyncIterationStatus? {
        for case .status(let status) in reversed() { return status }
        return nil
    }

    /// The texts of log lines.
    var logged: [String] {
        compactMap { effect in
            if case .log(_, let text) = effect { text } else { nil }
        }
    }

    /// The request to open, if there is one.
    var request: SyncStreamRequest? {
        for case .open(let request, _) in self { return request }
        return nil
    }
}

extension SyncTask {
    var name: String {
        switch self {
        case .prepare: "prepare"
        case .track: "track"
        case .save: "save"
        case .apply: "apply"
        case .prolong: "prolong"
        case .rebuildSubscriptions: "rebuild"
        case .readTarget: "target"
        }
    }
}

extension SyncCloseReason {
    var name: String {
        switch self {
        case .ended: "ended"
        case .tokenRefreshed: "refreshed"
        case .tokenExpired: "expired"
        case .subscriptionsChanged: "subscriptions"
        case .checksumMismatch: "mismatch"
        }
    }
}
