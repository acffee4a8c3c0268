import PowerSyncWire

/// SQL text of the triggers that make a view writable (client-core 2.5).
struct TriggerSQL {
    let table: TableDefinition

    private var view: String { SQLText.identifier(table.viewName) }
    private var store: String { SQLText.identifier(table.dataTable.internalName) }
    private var type: String { SQLText.literal(table.name) }
    private var columns: [String] { table.columns.map(\.name) }
    private var crud: CrudSQL { CrudSQL(type: table.name, columns: columns, options: table.options) }

    /// The triggers on deletes: two for a table with metadata, none for an insert-only one.
    var delete: [String] {
        if table.options.isLocalOnly {
            return [trigger("delete", "DELETE", ["DELETE FROM \(store) WHERE id = OLD.id"])]
        }
        if table.options.isInsertOnly { return [] }
        let delete = "DELETE FROM \(store) WHERE id = OLD.id"
        var triggers = [trigger("delete", "DELETE", [delete, crud.delete(metadata: nil)])]
        if table.options.includesMetadata {
            triggers.append(
                header("delete2", "UPDATE") + "WHEN NEW._deleted IS TRUE BEGIN \(delete); "
                    + "\(crud.delete(metadata: "NEW._metadata"));\nEND")
        }
        return triggers
    }

    /// The trigger on inserts.
    var insert: String {
        let store =
            "INSERT INTO \(store)(id,data) VALUES (NEW.id, \(CrudSQL.json("NEW", columns)))"
        if table.options.isLocalOnly { return trigger("insert", "INSERT", [store]) }
        let check =
            "SELECT CASE WHEN (NEW.id IS NULL) THEN RAISE (FAIL, 'id is required') "
            + "WHEN (typeof(NEW.id) != 'text') THEN RAISE (FAIL, 'id should be text') END"
        if table.options.isInsertOnly {
            return header("insert", "INSERT") + "BEGIN\n\(check);\n\(crud.manualPut);END"
        }
        let metadata = table.options.includesMetadata ? "NEW._metadata" : nil
        return trigger("insert", "INSERT", [check, store, crud.put(metadata: metadata)])
    }

    /// The trigger on updates; nil for an insert-only table.
    var update: String? {
        let update =
            "UPDATE \(store) SET data = \(CrudSQL.json("NEW", columns)) WHERE id = NEW.id"
        if table.options.isLocalOnly { return trigger("update", "UPDATE", [CrudSQL.checkID, update]) }
        if table.options.isInsertOnly { return nil }
        guard table.options.includesMetadata else {
            return trigger("update", "UPDATE", [CrudSQL.checkID, update, crud.patch(metadata: nil)])
        }
        let statements = [CrudSQL.checkID, update, crud.patch(metadata: "NEW._metadata")]
        return header("update", "UPDATE") + " WHEN NEW._deleted IS NOT TRUE " + body(statements)
    }

    private func trigger(_ prefix: String, _ operation: String, _ statements: [String]) -> String {
        header(prefix, operation) + body(statements)
    }

    private func header(_ prefix: String, _ operation: String) -> String {
        let name = SQLText.identifier("ps_view_\(prefix)_\(table.viewName)")
        return "CREATE TRIGGER \(name) INSTEAD OF \(operation) ON \(view) FOR EACH ROW "
    }

    private func body(_ statements: [String]) -> String {
        "BEGIN\n" + statements.map { "\($0);\n" }.joined() + "END"
    }
}

/// SQL text of the writes to `powersync_crud`, the same for views and raw tables.
struct CrudSQL {
    /// The name of the table in the sync configuration.
    let type: String
    let columns: [String]
    let options: WriteOptions

    /// Refuses a change of the id, also one to NULL.
    static let checkID =
        "SELECT CASE WHEN (OLD.id IS NOT NEW.id) THEN RAISE (FAIL, 'Cannot update id') END"

    /// How many pairs go into one `json_object`, which has a limit on its arguments.
    private static let pairs = 50

    /// Returns the expression of a row as JSON, without its id (client-core 2.4).
    static func json(_ row: String, _ columns: [String]) -> String {
        let objects = stride(from: 0, to: max(columns.count, 1), by: pairs).map { start in
            let part = columns[start..<min(start + pairs, columns.count)].map { column in
                "\(SQLText.literal(column)), powersync_strip_subtype(\(row).\(SQLText.identifier(column)))"
            }
            return "json_object(\(part.joined(separator: ", ")))"
        }
        return objects.count == 1 ? objects[0] : "powersync_json_merge(\(objects.joined(separator: ", ")))"
    }

    private var newData: String { "json(powersync_diff('{}', \(Self.json("NEW", columns))))" }

    /// Queues an insert.
    func put(metadata: String?) -> String {
        insert(op: "PUT", id: "NEW.id", [("data", newData), ("metadata", metadata)])
    }

    /// Queues an insert without marking the row or closing the gate.
    var manualPut: String {
        "INSERT INTO powersync_crud_(data) VALUES(json_object('op', 'PUT', 'type', \(SQLText.literal(type)), "
            + "'id', NEW.id, 'data', \(newData)))"
    }

    /// Queues an update.
    func patch(metadata: String?) -> String {
        let data = "json(powersync_diff(\(Self.json("OLD", columns)), \(Self.json("NEW", columns))))"
        var old = oldValues
        if options.previousOnlyWhenChanged, let filtered = filteredColumns {
            old = "powersync_diff(\(Self.json("NEW", filtered)), \(Self.json("OLD", filtered)))"
        }
        return insert(
            op: "PATCH", id: "NEW.id",
            [("data", data), ("old_values", old), ("metadata", metadata), ("options", String(options.flags))])
    }

    /// Queues a delete.
    func delete(metadata: String?) -> String {
        insert(op: "DELETE", id: "OLD.id", [("old_values", oldValues), ("metadata", metadata)])
    }

    private var oldValues: String? { filteredColumns.map { Self.json("OLD", $0) } }

    /// The columns whose previous values are kept, in the order of the schema; nil for none at all.
    private var filteredColumns: [String]? {
        switch options.previousValues {
        case .none: nil
        case .all: columns
        case .only(let names): kept(Set(names.map { ExactText($0) }))
        }
    }

    private func kept(_ names: Set<ExactText>) -> [String] {
        columns.filter { names.contains(ExactText($0)) }
    }

    private func insert(op: String, id: String, _ optional: [(name: String, value: String?)]) -> String {
        let given = optional.compactMap { entry in entry.value.map { (entry.name, $0) } }
        let names = ["op", "id", "type"] + given.map(\.0)
        let values = ["'\(op)'", id, SQLText.literal(type)] + given.map(\.1)
        return "INSERT INTO powersync_crud(\(names.joined(separator: ","))) "
            + "VALUES (\(values.joined(separator: ", ")))"
    }
}
