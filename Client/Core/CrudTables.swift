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
    private var writer: CrudEntryWriter?

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

    private func insert(_ row: SQLiteInsertedRow) throws {
        if core.isApplyingSync { return }
        if ignoresEmptyUpdates(row[6]), row[0] == "PATCH", row[3] == "{}" { return }
        let id = try countedTransactionID()
        try withWriter { writer throws(SQLiteError) in try writer.write(row, transactionID: id) }
        try closeGate()
    }

    private func insertJSON(_ row: SQLiteInsertedRow) throws {
        if core.isApplyingSync { return }
        let data = CrudEntryWriter.text(row[0]) ?? "null"
        if ignoresEmptyUpdates(row[1]) {
            let entry = try CoreError.parseArgument(data)
            if entry["op"] == .string("PATCH"), entry["data"] == .object([]) { return }
        }
        let id = try countedTransactionID()
        let utf8 = Array(data.utf8)
        try withWriter { writer throws(SQLiteError) in
            try utf8.withUnsafeBufferPointer { bytes throws(SQLiteError) in
                try writer.write(bytes, transactionID: id)
            }
        }
    }

    /// Returns the id of the open transaction, once `ps_tx` is beyond it.
    private func countedTransactionID() throws -> Int64 {
        guard let transactionID else { throw CoreError.state("no transaction id was taken") }
        if !isCounted {
            try connection.run(
                "UPDATE ps_tx SET next_tx = ?1 + 1 WHERE id = 1 AND next_tx <= ?1", [.integer(transactionID)])
            isCounted = true
        }
        return transactionID
    }

    /// Lends the writer; who comes while it is out, from a trigger of the app on the queue, gets another one.
    private func withWriter(_ body: (CrudEntryWriter) throws(SQLiteError) -> Void) throws(SQLiteError) {
        let writer: CrudEntryWriter
        if let idle = self.writer { writer = idle } else { writer = try CrudEntryWriter(on: connection) }
        self.writer = nil
        defer { self.writer = writer }
        try body(writer)
    }

    /// To be called by whoever changes the target, so that a later write of the same transaction closes the gate.
    func forgetGate() { isGateClosed = false }

    /// Raises the target to "unknown", so that nothing is applied before these writes are acknowledged.
    private func closeGate() throws {
        if isGateClosed { return }
        let version = try connection.one("SELECT max(id) FROM ps_migration") { $0.int64(0) } ?? 0
        if version >= 14 {
            // A gate that is closed already must not cost a write.
            try connection.run(
                """
                INSERT INTO ps_kv(key, value) VALUES ('target_checkpoint_request_id', 9223372036854775807) \
                ON CONFLICT(key) DO UPDATE SET value = excluded.value WHERE value IS NOT excluded.value
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
}
