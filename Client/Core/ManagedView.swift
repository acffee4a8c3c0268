import PowerSyncSQLite
import PowerSyncWire

/// A view that ends with our marker, and the triggers on it (client-core 2.2).
struct ManagedView: Equatable {
    var name: String
    var sql: String
    var delete: [String] = []
    var insert: [String] = []
    var update: [String] = []

    /// Compares bytes, as SQLite does the names and literals in these texts.
    static func == (left: ManagedView, right: ManagedView) -> Bool { left.texts == right.texts }

    private var texts: [[ExactText]] {
        [[name, sql], delete, insert, update].map { $0.map { ExactText($0) } }
    }

    /// The query for names and texts of all of them.
    static let query =
        "SELECT name, sql FROM sqlite_schema WHERE type = 'view' AND sql GLOB '*\(ViewSQL.marker)' ORDER BY name"

    /// Returns the views of a database with their triggers, those of one kind by descending name.
    static func all(on connection: SQLiteConnection) throws -> [ManagedView] {
        var views = try connection.query(query) { ManagedView(name: $0.string(0), sql: $0.string(1)) }
        let positions = Dictionary(
            views.indices.map { (ExactText(views[$0].name), $0) }, uniquingKeysWith: { $1 })
        try connection.forEach(
            """
            SELECT tbl_name, name, sql FROM sqlite_schema \
            WHERE type = 'trigger' AND name GLOB 'ps_view_*' ORDER BY name DESC
            """
        ) { row in
            guard let position = positions[ExactText(row.string(0))] else { return }
            let name = row.string(1)
            if name.hasPrefix("ps_view_delete") { views[position].delete.append(row.string(2)) }
            if name.hasPrefix("ps_view_insert") { views[position].insert.append(row.string(2)) }
            if name.hasPrefix("ps_view_update") { views[position].update.append(row.string(2)) }
        }
        return views
    }
}
