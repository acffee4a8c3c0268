import PowerSyncSQLite
import PowerSyncWire

/// The virtual tables `powersync_crud` and `powersync_crud_` that triggers write to (client-core 2.7).
///
/// One transaction of SQLite has one transaction id, shared by both. A write queues the entry, marks the row
/// for the next apply and closes the local write gate, all in the caller's transaction. What ROLLBACK TO or a
/// failed statement may have undone is repeated with the next write.
final class CrudTables {
    private unowned let core: CoreExtension
    private unowned let connection: SQLiteConnection
    /// The id of the open transaction.
    private var transactionID: Int64?
    /// Whether `ps_tx` is known to be beyond the id.
    private var isCounted = false
    private var isGateClosed = false

    init(core: CoreExtension) {
        self.core = core
        connection = core.connection
    }

    func register() throws(SQLiteError) {
        let begin: () throws -> Void = { [unowned self] in try self.begin() }
        let rollbackTo: () -> Void = { [unowned self] in
            isCounted = false
            isGateClosed = false
        }
        let end: () -> Void = { [unowned self] in
            transactionID = nil
            rollbackTo()
        }
        try connection.createModule(
            SQLiteInsertModule(
                name: "powersync_crud",
                columns:
                    "op TEXT, id TEXT, type TEXT, data TEXT, old_values TEXT, metadata TEXT, options INT HIDDEN",
                begin: begin, insert: { [unowned self] in try insert($0) }, rollbackTo: rollbackTo, end: end))
        try connection.createModule(
            SQLiteInsertModule(
                name: "powersync_crud_", columns: "data TEXT, options INT HIDDEN",
                begin: begin, insert: { [unowned self] in try insertJSON($0) }, rollbackTo: rollbackTo,
                end: end))
    }

    private func begin() throws {
        guard transactionID == nil else { return }
        transactionID = try connection.one(
            "UPDATE ps_tx SET next_tx = next_tx + 1 WHERE id = 1 RETURNING next_tx - 1"
        ) { $0.int64(0) }
        isCounted = true
    }

    private func insert(_ values: [SQLiteValue]) throws {
        if core.isApplyingSync { return }
        let (op, id, type) = (text(values[0]), text(values[1]), text(values[2]))
        let data = values[3].text
        if ignoresEmptyUpdates(values[6]), op == "PATCH", data == "{}" { return }
        var entry: [UInt8] = []
        entry.reserveCapacity((data?.utf8.count ?? 0) + 96)
        append("{\"op\":", quoting: op, to: &entry)
        append(",\"id\":", quoting: id, to: &entry)
        append(",\"type\":", quoting: type, to: &entry)
        if let data { entry.append(contentsOf: ",\"data\":\(data)".utf8) }
        if let old = values[4].text { entry.append(contentsOf: ",\"old\":\(old)".utf8) }
        if let metadata = values[5].text { append(",\"metadata\":", quoting: metadata, to: &entry) }
        entry.append(UInt8(ascii: "}"))
        try queue(String(decoding: entry, as: UTF8.self))
        try connection.run(
            "INSERT OR IGNORE INTO ps_updated_rows(row_type, row_id) VALUES (?, ?)",
            [SQLiteValue(type), SQLiteValue(id)])
        try closeGate()
    }

    private func insertJSON(_ values: [SQLiteValue]) throws {
        if core.isApplyingSync { return }
        let data = text(values[0]) ?? "null"
        if ignoresEmptyUpdates(values[1]) {
            let entry = try CoreError.parseArgument(data)
            if entry["op"] == .string("PATCH"), entry["data"] == .object([]) { return }
        }
        try queue(data)
    }

    private func queue(_ entry: String) throws {
        guard let transactionID else { throw CoreError.state("no transaction id was taken") }
        if !isCounted {
            try connection.run(
                "UPDATE ps_tx SET next_tx = ?1 + 1 WHERE id = 1 AND next_tx <= ?1", [.integer(transactionID)])
            isCounted = true
        }
        try connection.run(
            "INSERT INTO ps_crud(tx_id, data) VALUES (?, ?)", [.integer(transactionID), .text(entry)])
    }

    /// To be called by whoever changes the target, so that a later write of the same transaction closes the gate.
    func forgetGate() { isGateClosed = false }

    /// Raises the target to "unknown", so that nothing is applied before these writes are acknowledged.
    private func closeGate() throws {
        if isGateClosed { return }
        let version = try connection.one("SELECT max(id) FROM ps_migration") { $0.int64(0) } ?? 0
        if version >= 14 {
            try connection.run(
                """
                INSERT INTO ps_kv(key, value) VALUES ('target_checkpoint_request_id', 9223372036854775807) \
                ON CONFLICT(key) DO UPDATE SET value = excluded.value
                """)
            try connection.run(
                """
                DELETE FROM ps_kv WHERE key IN \
                ('last_seen_checkpoint_request_id', 'last_applied_checkpoint_request_id')
                """)
        } else {
            try connection.run(
                """
                INSERT OR REPLACE INTO ps_buckets(name, last_op, target_op) \
                VALUES ('$local', 0, 9223372036854775807)
                """)
        }
        isGateClosed = true
    }

    private func ignoresEmptyUpdates(_ options: SQLiteValue) -> Bool { (options.integer ?? 0) & 16 != 0 }

    private func append(_ prefix: String, quoting text: String?, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: prefix.utf8)
        if let text { JSON.appendQuoted(text, to: &bytes) } else { bytes.append(contentsOf: "null".utf8) }
    }

    /// Returns a value as text: a virtual table gets numbers as they are, whatever its columns declare.
    private func text(_ value: SQLiteValue) -> String? {
        switch value {
        case .text(let text): text
        case .integer(let integer): String(integer)
        case .real(let double): RowDiff.spelling(of: double)
        case .null, .blob: nil
        }
    }
}
