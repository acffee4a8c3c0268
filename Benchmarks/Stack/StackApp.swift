import PowerSyncWire

/// The app of the measures: items that everybody gets, and notes of a user.
///
/// Tables, rows and sync configuration are those with which the official stack was measured, so that figures can be
/// compared.
enum StackApp {
    /// The one user.
    static let user = "u1"

    /// The tables in Postgres, with so many items of about 300 bytes.
    static func sql(items: Int) -> String {
        """
        CREATE TABLE items(id text PRIMARY KEY, name text, a text, b text, n int, x double precision);
        CREATE TABLE notes(id text PRIMARY KEY, owner_id text, body text);
        INSERT INTO items SELECT 'id-' || lpad(g::text, 9, '0'), 'row ' || g, md5(g::text) || md5((g + 1)::text),
            repeat(md5(g::text), 4), g, g * 1.5 FROM generate_series(1, \(items)) g;
        """
    }

    /// What goes to whom.
    static let syncConfig = """
        config:
          edition: 3
        streams:
          all:
            auto_subscribe: true
            query: SELECT * FROM items
          mine:
            auto_subscribe: true
            query: SELECT * FROM notes WHERE owner_id = auth.user_id()

        """

    /// What the backend may write.
    static let tableMap = "tables: {items: {}, notes: {}}\n"

    /// The tables of a client, as the file that the tool takes.
    static let clientSchema = """
        {"tables":[
        {"name":"items","columns":[{"name":"name","type":"text"},{"name":"a","type":"text"},
        {"name":"b","type":"text"},{"name":"n","type":"integer"},{"name":"x","type":"real"}]},
        {"name":"notes","columns":[{"name":"owner_id","type":"text"},{"name":"body","type":"text"}]}
        ]}
        """

    /// Returns the statement that adds a note of the user, as the tool takes it.
    static func note(_ id: String) -> JSON {
        .array([
            .string("INSERT INTO notes(id, owner_id, body) VALUES(?, '\(user)', ?)"),
            .array([.string(id), .string("x")]),
        ])
    }

    /// Returns an id whose order among those with the same letter is that of the numbers.
    static func id(_ letter: String, _ number: Int) -> String {
        let digits = String(number)
        return letter + String(repeating: "0", count: max(0, 6 - digits.count)) + digits
    }

    /// How each table is compared: its columns as one text, on a device and in Postgres.
    static let compared = [
        ComparedTable(
            name: "notes", onDevice: "id || '|' || owner_id || '|' || body",
            inPostgres: "concat_ws('|', id, owner_id, body)"),
        ComparedTable(
            name: "items",
            onDevice: "id || '|' || name || '|' || a || '|' || b || '|' || n || '|' || printf('%.15g', x)",
            inPostgres: "concat_ws('|', id, name, a, b, n, x)"),
    ]

    /// A table whose rows are compared.
    struct ComparedTable: Sendable {
        /// Its name, the same on both sides.
        let name: String
        /// The text of a row, in SQLite.
        let onDevice: String
        /// The same in Postgres.
        let inPostgres: String
    }

    /// A row that is compared.
    struct ComparedRow: Sendable, Equatable {
        /// The row's id.
        let id: String
        /// All its columns.
        let text: String
    }
}
