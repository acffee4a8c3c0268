import PowerSyncSQLite
import PowerSyncWire

/// The subtype by which SQLite's JSON functions know JSON: "J".
private let jsonSubtype: UInt32 = 74

extension CoreExtension {
    /// Registers the SQL functions of client-core 4, all but those of the sync state machine.
    func registerFunctions() throws(SQLiteError) {
        try registerValueFunctions()
        try registerJSONFunctions()
        try registerDatabaseFunctions()
        try registerUpdateHooks()
    }

    private func registerValueFunctions() throws(SQLiteError) {
        for name in ["uuid", "gen_random_uuid"] {
            try define(name, 0, [.innocuous]) { core, _ in .text(core.randomUUID()) }
        }
        // Official SDKs compare the three numbers.
        try define("powersync_rs_version", 0, [.innocuous, .deterministic]) { _, _ in "0.5.3/swift" }
        try define("powersync_client_id", 0) { core, _ in .text(try core.clientID()) }
        try define("powersync_in_sync_operation", 0, [.innocuous]) { core, _ in
            .integer(core.isApplyingSync ? 1 : 0)
        }
        try define("powersync_remove_duplicate_key_encoding", 1, [.innocuous, .deterministic]) { _, call in
            SQLiteValue(call.text(0).flatMap { SupersedeKey.withoutQuotes($0) })
        }
    }

    private func registerJSONFunctions() throws(SQLiteError) {
        let flags: SQLiteFunctionFlags = [.innocuous, .deterministic, .setsSubtype]
        try defineText("powersync_diff", 2, flags) { call in
            call.resultSubtype = jsonSubtype
            let arguments = call
            return try arguments.withText(0) { old in
                try arguments.withText(1) { new in
                    guard let old, let new else { throw CoreError.argument("expected two JSON objects") }
                    return try RowDiff.diff(old, new)
                }
            }
        }
        try defineText("powersync_json_merge", -1, flags) { call in
            call.resultSubtype = jsonSubtype
            var merge = ObjectMerge()
            for index in 0..<call.count { try call.withText(index) { try merge.add($0) } }
            return merge.result
        }
        // As JSON text, which json_object takes digit for digit (client-core 1.7).
        try connection.createStrippingFunction(
            "powersync_strip_subtype", flags: flags, subtype: jsonSubtype, spelling: RowDiff.spelling)
    }

    private func registerDatabaseFunctions() throws(SQLiteError) {
        try define("powersync_init", 0) { core, _ in
            try CoreMigrations.migrate(core.connection)
            return ""
        }
        try define("powersync_test_migration", 1) { core, call in
            guard let version = call[0].integer else { throw CoreError.argument("expected a version number") }
            try CoreMigrations.migrate(core.connection, to: Int(version))
            return ""
        }
        try define("powersync_replace_schema", 1) { core, call in
            guard let json = call.text(0) else { throw CoreError.argument("expected a schema") }
            try SchemaApplication.apply(json: json, on: core.connection)
            return ""
        }
        try define("powersync_clear", 1) { core, call in
            try CoreClearing.clear(flags: Int(call[0].integer ?? 0), on: core.connection)
            return ""
        }
        try define("powersync_trigger_resync", 1) { core, call in
            try CoreClearing.triggerResync(clearProgress: call[0].integer ?? 0 != 0, on: core.connection)
            return ""
        }
        try define("powersync_drop_view", 1) { core, call in
            guard let name = call.text(0) else { throw CoreError.argument("expected a name") }
            try core.connection.run("DROP VIEW IF EXISTS \(SQLText.identifier(name))")
            return ""
        }
        try define("powersync_create_raw_table_crud_trigger", 3) { core, call in
            guard let table = call.text(0), let name = call.text(1), let operation = call.text(2) else {
                throw CoreError.argument("expected a raw table, a name and a write type")
            }
            try RawTableTriggers.create(table: table, name: name, operation: operation, on: core.connection)
            return ""
        }
    }

    private func registerUpdateHooks() throws(SQLiteError) {
        final class Collector { var tables: SQLiteCommittedTables? }
        let collector = Collector()
        try define("powersync_update_hooks", 1) { core, call in
            switch call.text(0) {
            case "install":
                if collector.tables == nil { collector.tables = SQLiteCommittedTables(of: core.connection) }
                return .null
            case "get":
                let names = (collector.tables?.drain() ?? []).sorted()
                return .text(JSON.array(names.map { .string($0) }).text)
            default:
                throw CoreError.state("Unknown operation")
            }
        }
    }

    /// Registers a function whose errors begin with its name.
    private func define(
        _ name: String, _ count: Int, _ flags: SQLiteFunctionFlags = [],
        _ body: @escaping (CoreExtension, inout SQLiteFunctionCall) throws -> SQLiteValue
    ) throws(SQLiteError) {
        // Unowned: the connection holds both the function and the core.
        try connection.createFunction(name, argumentCount: count, flags: flags) { [unowned self] call in
            do {
                return try body(self, &call)
            } catch let error as SQLiteError {
                throw CoreError.described(error, in: name)
            }
        }
    }

    /// Registers a function that returns text in UTF-8.
    private func defineText(
        _ name: String, _ count: Int, _ flags: SQLiteFunctionFlags,
        _ body: @escaping (inout SQLiteFunctionCall) throws -> [UInt8]
    ) throws(SQLiteError) {
        try connection.createForwardingFunction(name, argumentCount: count, flags: flags) { call in
            do {
                return .utf8(try body(&call))
            } catch let error as SQLiteError {
                throw CoreError.described(error, in: name)
            }
        }
    }

    /// The id of this client, made when the database was.
    ///
    /// - Throws: code 4 if the database has none.
    package func clientID() throws -> String {
        let id = try connection.one("SELECT value FROM ps_kv WHERE key = 'client_id'") { $0.text(0) }
        guard let id = id ?? nil else { throw CoreError.abort("No client_id found in ps_kv") }
        return id
    }
}
