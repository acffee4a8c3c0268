import PowerSyncSQLite
import PowerSyncWire

/// A table in which the rows of one schema table are kept (client-core 1.1).
package struct DataTable: Sendable, Hashable {
    /// The name in the schema, the type of its rows.
    package let name: String
    /// Whether it is local-only.
    package let isLocal: Bool

    /// Its name in SQLite.
    package var internalName: String { (isLocal ? "ps_data_local__" : "ps_data__") + name }

    /// Creates a description of a table.
    package init(name: String, isLocal: Bool) {
        self.name = name
        self.isLocal = isLocal
    }

    /// Reads a table's name in SQLite; nil if it is none of these tables.
    package init?(internalName: String) {
        for (prefix, isLocal) in [("ps_data_local__", true), ("ps_data__", false)]
        where internalName.utf8.starts(with: prefix.utf8) {
            self.init(name: String(internalName.unicodeScalars.dropFirst(prefix.count)), isLocal: isLocal)
            return
        }
        return nil
    }

    /// Compares the bytes of names: the service tells types apart by those.
    package static func == (left: DataTable, right: DataTable) -> Bool {
        left.isLocal == right.isLocal && ExactText(left.name) == ExactText(right.name)
    }

    /// Hashes the bytes.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(isLocal)
        hasher.combine(ExactText(name))
    }

    /// Returns the tables that exist, by name.
    package static func all(on connection: SQLiteConnection) throws -> [DataTable] {
        try connection.query(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'ps_data_*' ORDER BY name"
        ) { DataTable(internalName: $0.string(0)) }.compactMap { $0 }
    }
}
