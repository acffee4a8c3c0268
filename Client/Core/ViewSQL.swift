/// SQL text of data tables, views and indexes (client-core 2.2 and 2.3).
struct ViewSQL {
    /// Whether this SQLite compares JSON paths with escaped names, as versions before 3.45 do.
    let escapesPaths: Bool

    /// Marks a view as ours; it has to be the end of the text.
    static let marker = "-- powersync-auto-generated"

    /// Returns the statement that creates the table behind a view.
    static func createTable(_ table: DataTable) -> String {
        "CREATE TABLE \(SQLText.identifier(table.internalName))(id TEXT PRIMARY KEY NOT NULL, data TEXT)"
    }

    /// Returns the statement that creates the view of a table.
    func createView(_ table: TableDefinition) -> String {
        var names = ["id"] + table.columns.map(\.name)
        var expressions = ["id"] + table.columns.map { cast($0.name, $0.type) }
        if table.options.includesMetadata {
            names += ["_metadata", "_deleted"]
            expressions += ["NULL", "NULL"]
        }
        let columns = names.map(SQLText.identifier).joined(separator: ", ")
        return "CREATE VIEW \(SQLText.identifier(table.viewName))(\(columns)) AS "
            + "SELECT \(expressions.joined(separator: ", ")) "
            + "FROM \(SQLText.identifier(table.dataTable.internalName)) \(Self.marker)"
    }

    /// Returns name and statement of each index of a table.
    func createIndexes(_ table: TableDefinition) -> [(name: String, sql: String)] {
        table.indexes.map { index in
            let name = "\(table.dataTable.internalName)__\(index.name)"
            let columns = index.columns.map { cast($0.name, $0.type) + ($0.isAscending ? "" : " DESC") }
            let target = SQLText.identifier(table.dataTable.internalName)
            return (
                name,
                "CREATE INDEX \(SQLText.identifier(name)) ON \(target)(\(columns.joined(separator: ", ")))"
            )
        }
    }

    private func cast(_ column: String, _ type: String) -> String {
        "CAST(json_extract(data, \(SQLText.literal("$." + pathName(column)))) as \(type))"
    }

    private func pathName(_ column: String) -> String {
        guard escapesPaths else { return column }
        return column.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    }
}
