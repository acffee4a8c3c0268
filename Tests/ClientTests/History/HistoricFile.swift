import Foundation
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport

@testable import PowerSync

/// A database file as a library of an earlier version left it (Tests/Fixtures/history).
struct HistoricFile {
    /// Every complete file there is.
    static let names =
        (1...14).map { "v\($0)" } + ["v4-javascript", "v12-javascript", "v16"]

    static let clientID = "6f0c1d2e-3a4b-4c5d-8e6f-708192a3b4c5"

    static let schema = Schema(
        Table(name: "lists", columns: [.text("name")]),
        Table(
            name: "todos", columns: [.text("description"), .text("list_id"), .integer("done")],
            indexes: [.ascending(name: "by_list", column: "list_id")]),
        Table(name: "drafts", columns: [.text("text")], localOnly: true))

    let name: String
    let folder: TemporaryDirectory
    var path: String { folder.file() }

    /// The version that the file has at first.
    var version: Int { Int(name.dropFirst().prefix(while: \.isNumber)) ?? 0 }
    /// Whether local writes wait for their upload.
    var hasQueue: Bool { name != "v13" }

    /// Makes the file with plain SQLite, on demand without the rows of the story.
    init(_ name: String, onlyLayout: Bool = false) throws {
        self.name = name
        folder = try TemporaryDirectory()
        let plain = try SQLiteConnection(path: path)
        let text = try Self.script(name)
        let parts = text.components(separatedBy: "\n-- Data\n")
        try plain.execute(onlyLayout ? parts[0] : text)
        plain.close()
    }

    /// Opens an empty file of a version, with the core and nothing else done.
    static func empty(_ version: Int) throws -> CoreDatabase {
        try HistoricFile("v\(version)", onlyLayout: true).open()
    }

    /// Opens it with the core and nothing else done.
    func open() throws -> CoreDatabase { try CoreDatabase(path: path, keeping: folder) }

    /// Opens it on plain SQLite.
    func openPlainly() throws -> SQLiteConnection {
        let connection = try SQLiteConnection(path: path)
        connection.context = folder
        return connection
    }

    private static func script(_ name: String) throws -> String {
        try Repository.text("Tests/Fixtures/history/\(name).sql")
    }
}

/// The internal tables of a file, in a form that two files can be compared in.
struct InternalLayout: Equatable {
    /// Columns, options and indexes of each table.
    let tables: [String: [String]]
    /// Text of tables and indexes without white space and quotes; of tables that were never altered.
    let texts: [String: String]

    init(of connection: SQLiteConnection) throws {
        func texts(_ sql: String) throws -> [String] {
            try connection.query(sql) { row in
                (0..<row.count).map { row.text($0) ?? "null" }.joined(separator: " ")
            }
        }
        let ours = "name GLOB 'ps_*' AND name NOT GLOB 'ps_data_*'"
        var tables: [String: [String]] = [:]
        for table in try texts("SELECT name FROM sqlite_schema WHERE type = 'table' AND \(ours)") {
            tables[table] =
                try texts("SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_info('\(table)')")
                + texts("SELECT 'strict', strict, wr FROM pragma_table_list WHERE name = '\(table)'")
                + texts(
                    """
                    SELECT 'index', name, "unique", partial,
                        (SELECT group_concat(name) FROM pragma_index_info(list.name))
                    FROM pragma_index_list('\(table)') AS list ORDER BY name
                    """)
                + texts(
                    """
                    SELECT 'counting' FROM sqlite_schema WHERE name = '\(table)' AND sql LIKE '%AUTOINCREMENT%'
                    """)
        }
        self.tables = tables
        var found: [String: String] = [:]
        try connection.forEach(
            """
            SELECT name, sql FROM sqlite_schema WHERE type IN ('table', 'index') AND sql IS NOT NULL
                AND tbl_name GLOB 'ps_*' AND tbl_name NOT GLOB 'ps_data_*'
                AND name NOT IN ('ps_buckets', 'ps_crud')
            """
        ) { row in found[row.string(0)] = row.string(1).filter { !$0.isWhitespace && $0 != "\"" } }
        self.texts = found
    }
}
