import PowerSyncSQLite

/// Triggers that queue local writes to raw tables (client-core 3.4).
enum RawTableTriggers {
    /// Creates one trigger.
    ///
    /// - Throws: code 3091 for a definition that does not fit or an unknown kind of write.
    static func create(table json: String, name: String, operation: String, on connection: SQLiteConnection)
        throws
    {
        let table = try RawTableDefinition(try CoreError.parseArgument(json))
        let inference = try RawTableInference(table, on: connection)
        guard let sql = sql(table, inference, name: name, operation: operation) else {
            throw CoreError.argument("unexpected write type \(operation)")
        }
        try connection.run(sql)
    }

    /// Returns the statement; nil for an unknown kind of write.
    static func sql(
        _ table: RawTableDefinition, _ inference: RawTableInference, name: String, operation: String
    ) -> String? {
        let crud = CrudSQL(type: table.name, columns: inference.columns, options: table.options)
        let statements: [String]
        var condition = "NOT powersync_in_sync_operation()"
        switch operation {
        case "INSERT":
            statements = [table.options.isInsertOnly ? crud.manualPut : crud.put(metadata: nil)]
        case "UPDATE":
            statements =
                table.options.isInsertOnly ? [refusal] : [CrudSQL.checkID, crud.patch(metadata: nil)]
            if table.syncedColumns != nil {
                let differences = inference.columns.map { column in
                    let column = SQLText.identifier(column)
                    return "NEW.\(column) IS NOT OLD.\(column)"
                }
                condition += " AND (\(differences.isEmpty ? "FALSE" : differences.joined(separator: " OR ")))"
            }
        case "DELETE":
            statements = [table.options.isInsertOnly ? refusal : crud.delete(metadata: nil)]
        default:
            return nil
        }
        return "CREATE TRIGGER \(SQLText.identifier(name)) AFTER \(operation) "
            + "ON \(SQLText.identifier(inference.tableName)) FOR EACH ROW WHEN \(condition) BEGIN\n"
            + statements.map { "\($0);\n" }.joined() + "END"
    }

    private static let refusal = "SELECT RAISE (FAIL, 'Unexpected update on insert-only table')"
}
