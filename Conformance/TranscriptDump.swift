import PowerSync
import PowerSyncSQLite
import PowerSyncWire

/// The content of the tables in the form of the recordings.
enum TranscriptDump {
    /// Returns the tables as one JSON object.
    static func json(of connection: SQLiteConnection) throws -> JSON {
        var members = [
            JSONMember(
                "ps_buckets",
                try rows(
                    """
                    SELECT name, last_applied_op, last_op, add_checksum, op_checksum, count_at_last,
                    count_since_last FROM ps_buckets ORDER BY name
                    """, connection)),
            JSONMember(
                "ps_oplog",
                try rows(
                    """
                    SELECT b.name, o.op_id, o.row_type, o.row_id, o.key, o.data, o.hash
                    FROM ps_oplog AS o JOIN ps_buckets AS b ON b.id = o.bucket ORDER BY b.name, o.op_id, o.key
                    """, connection)),
            JSONMember(
                "ps_updated_rows",
                try rows(
                    "SELECT row_type, row_id FROM ps_updated_rows ORDER BY row_type, row_id", connection)),
            JSONMember(
                "ps_untyped", try rows("SELECT type, id, data FROM ps_untyped ORDER BY type, id", connection)),
            JSONMember("ps_crud", try uploadQueue(connection)),
            JSONMember("write_checkpoint", try writeCheckpoints(connection)),
            JSONMember(
                "ps_sync_state",
                .array(
                    try connection.query("SELECT priority FROM ps_sync_state ORDER BY priority") {
                        json($0[0])
                    })),
            JSONMember(
                "ps_stream_subscriptions",
                try rows(
                    """
                    SELECT stream_name, active, is_default, local_priority, local_params, ttl,
                    expires_at IS NOT NULL, last_synced_at IS NOT NULL
                    FROM ps_stream_subscriptions ORDER BY stream_name, local_params
                    """, connection)),
        ]
        for table in try DataTable.all(on: connection).map(\.internalName).sorted() {
            members.append(
                JSONMember(
                    table,
                    try rows("SELECT id, data FROM \(SQLText.identifier(table)) ORDER BY id", connection)))
        }
        return .object(members)
    }

    /// Returns the tables that differ, each with its columns and the rows that are on one side alone.
    ///
    /// - Parameters:
    ///   - recorded: the dump of the recording.
    ///   - replayed: the dump of the replay, which may hold more tables only if they are empty.
    /// - Returns: for each table that differs its name with its columns, and the lines of `JSONDifference`.
    static func differences(recorded: JSON, replayed: JSON) -> [(subject: String, lines: [String])] {
        let recorded = TranscriptComparison.canonical(recorded)
        let replayed = TranscriptComparison.canonical(replayed)
        let names = Set([recorded, replayed].flatMap { ($0.objectMembers ?? []).map(\.name) }).sorted()
        return names.compactMap { name in
            guard let table = replayed[name] else { return (name, ["- a table", "+ no such table"]) }
            let none: JSON = table.objectMembers == nil ? .array([]) : .object([])
            let lines = JSONDifference.lines(recorded[name] ?? none, table)
            return lines.isEmpty ? nil : (columns(of: name).map { "\(name) (\($0))" } ?? name, lines)
        }
    }

    /// What the values of a row mean, for people.
    private static func columns(of table: String) -> String? {
        switch table {
        case "ps_buckets":
            "name, last_applied_op, last_op, add_checksum, op_checksum, count_at_last, count_since_last"
        case "ps_oplog": "bucket, op_id, row_type, row_id, key, data, hash"
        case "ps_updated_rows": "row_type, row_id"
        case "ps_untyped": "type, id, data"
        case "ps_crud": "transaction, entry"
        case "ps_stream_subscriptions":
            "stream_name, active, is_default, local_priority, local_params, ttl, expires, synced"
        case let name where name.hasPrefix("ps_data"): "id, data"
        default: nil
        }
    }

    /// Returns the rows of a query as an array of arrays.
    static func rows(
        _ sql: String, _ connection: SQLiteConnection, _ parameters: [SQLiteValue] = []
    ) throws -> JSON {
        .array(
            try connection.query(sql, parameters) { row in
                .array((0..<row.count).map { json(row[$0]) })
            })
    }

    /// Returns a value as the recordings show it.
    static func json(_ value: SQLiteValue) -> JSON {
        switch value {
        case .null: .null
        case .integer(let integer): .integer(integer)
        case .real(let double): .number("\(double)")
        case .text(let text): .string(text)
        case .blob(let bytes): .array(bytes.map { .integer($0) })
        }
    }

    /// Returns a JSON value as SQLite takes it.
    static func value(_ json: JSON) -> SQLiteValue {
        switch json {
        case .null: return .null
        case .bool(let flag): return .integer(flag ? 1 : 0)
        case .number(let lexeme):
            if let integer = Int64(lexeme) { return .integer(integer) }
            return Double(lexeme).map { .real($0) } ?? .null
        case .string(let text): return .text(text)
        case .array, .object: return .text(json.text)
        }
    }

    /// Transactions are numbered among the entries that are present: their ids have gaps.
    private static func uploadQueue(_ connection: SQLiteConnection) throws -> JSON {
        .array(
            try connection.query(
                "SELECT dense_rank() OVER (ORDER BY tx_id), data FROM ps_crud ORDER BY id"
            ) { row in .array([json(row[0]), try JSON.parse(row.string(1))]) })
    }

    private static func writeCheckpoints(_ connection: SQLiteConnection) throws -> JSON {
        let suffix = "_checkpoint_request_id"
        return .object(
            try connection.query(
                "SELECT key, CAST(value AS INTEGER) FROM ps_kv WHERE key GLOB '*\(suffix)' ORDER BY key"
            ) { JSONMember(String($0.string(0).dropLast(suffix.count)), json($0[1])) })
    }
}
