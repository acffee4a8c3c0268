import PowerSync
import PowerSyncSQLite

/// Everything that the core keeps in a database, for comparing before and after.
struct TableDump: Equatable, Sendable, CustomStringConvertible {
    let tables: [String: [[SQLiteValue]]]

    init(of connection: SQLiteConnection) throws {
        let names = try connection.query(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'ps_*' ORDER BY name"
        ) { $0.string(0) }
        var tables: [String: [[SQLiteValue]]] = [:]
        for name in names {
            let columns = try connection.query("SELECT name FROM pragma_table_info(?1)", [.text(name)]) {
                "\"\($0.string(0))\""
            }.joined(separator: ", ")
            tables[name] = try connection.query(
                "SELECT \(columns) FROM \"\(name)\" ORDER BY \(columns)"
            ) { row in (0..<row.count).map { row[$0] } }
        }
        self.tables = tables
    }

    var description: String {
        tables.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: "\n")
    }
}
