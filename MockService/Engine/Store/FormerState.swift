import PowerSyncSQLite
import PowerSyncWire

/// What of a state that is set aside the one in its place has to know.
package struct FormerState: Sendable {
    /// The last stream number that it gave, behind which those to come begin: no client shall take a bucket for one it holds.
    var lastStream: StreamNumber = 0
    /// The last operation id that it gave, behind which those to come begin: what a client holds is never numbered anew.
    package var lastOperation: OperationID = 0
    /// Its slots, which keep the source's log until they are dropped.
    private var slots: [(stream: StreamNumber, name: String)] = []
    /// Where it was made from, and so where the slots are.
    private var source: [SQLiteValue] = []
    /// The ids that clients wait for, and when they named them.
    private var writeCheckpoints: [(key: String, id: Int64, requestedAt: Int64?)] = []

    /// What a state has to know that takes nobody's place.
    package init() {}

    /// Reads the file of any version.
    ///
    /// - Parameter path: The file; nobody may have it open.
    /// - Throws: `SQLiteError`.
    package init(path: String) throws {
        let connection = try SQLiteConnection(path: path, flags: .readWrite)
        defer { connection.close() }
        func columns(_ table: String) throws -> [String] {
            try connection.query("SELECT name FROM pragma_table_info(?)", [.text(table)]) { $0.string(0) }
        }
        lastStream =
            try connection.one("SELECT max(seq) FROM sqlite_sequence WHERE name = 'replication_stream'") {
                $0.int64(0)
            } ?? 0
        lastOperation = try connection.one("SELECT last_op FROM counter") { $0.int64(0) } ?? 0
        slots = try connection.query("SELECT id, slot FROM replication_stream WHERE slot <> ''") {
            (stream: $0.int64(0), name: $0.string(1))
        }
        let requestedAt = try columns("write_checkpoint").contains("requested_at") ? "requested_at" : "NULL"
        writeCheckpoints = try connection.query("SELECT key, id, \(requestedAt) FROM write_checkpoint") {
            (key: $0.string(0), id: $0.int64(1), requestedAt: $0.integer(2))
        }
        guard try !columns("source").isEmpty else { return }
        source =
            try connection.one("SELECT system_id, timeline, database_oid, address FROM source") { row in
                [.text(row.string(0)), .integer(row.int64(1)), .integer(row.int64(2)), .text(row.string(3))]
            } ?? []
    }

    /// Writes it into a file that has its tables.
    ///
    /// What a client was given an id for was committed before, so the first checkpoint of the new state has it: it tells all
    /// ids, or devices that wait for one would wait for ever.
    func write(to connection: SQLiteConnection) throws {
        try connection.run("INSERT INTO counter VALUES (1, ?)", [.integer(lastOperation)])
        try connection.run(
            "INSERT INTO sqlite_sequence VALUES ('replication_stream', ?)", [.integer(lastStream)])
        for slot in slots {
            try connection.run(
                "INSERT INTO replication_stream(id, config_hash, config, publication, slot, state) "
                    + "VALUES (?, '', '', 0, ?, 'stopped')",
                [.integer(slot.stream), .text(slot.name)])
        }
        if !source.isEmpty {
            try connection.run(
                "INSERT INTO source(one, system_id, timeline, database_oid, address) VALUES (1, ?, ?, ?, ?)",
                source)
        }
        for checkpoint in writeCheckpoints {
            try connection.run(
                "INSERT INTO write_checkpoint(key, id, head, requested_at) VALUES (?, ?, 0, ?)",
                [.text(checkpoint.key), .integer(checkpoint.id), SQLiteValue(checkpoint.requestedAt)])
        }
    }
}
