import PowerSyncPostgres
import PowerSyncSystem

/// Commits the transactions of a script to a database, in which a row says how many there were.
final class ScriptWriter: Sendable {
    /// The tables of the script; large values are stored elsewhere, and left out of updates that do not change them.
    static let schema = [
        "CREATE TABLE t(id text PRIMARY KEY, owner text, big text)",
        "ALTER TABLE t ALTER big SET STORAGE EXTERNAL",
        "CREATE TABLE marker(id text PRIMARY KEY, number int)",
        "INSERT INTO marker VALUES ('m', 0)",
    ]
    /// What the marker is called by clients.
    static let marker = "marker/m"
    /// Behind so many transactions the table is written anew, so that nobody knows large values any more.
    private static let layouts = 32

    /// The transactions.
    let script: StoreScript
    private let begun = Lock(0)

    /// Begins before the first transaction.
    init(_ script: StoreScript) { self.script = script }

    /// A configuration: a bucket for each owner, and one that all have, of the marker.
    static func config(named name: String) -> String {
        StoreScript.config(named: name) + "\n  marker: {auto_subscribe: true, query: SELECT * FROM marker}\n"
    }

    /// The transaction that was committed last, or is about to be.
    var last: Int { begun.withLock { $0 } }

    /// Commits the next transaction.
    func commit(_ connection: PostgresConnection) async throws {
        let number = begun.withLock { begun in
            begun += 1
            return begun
        }
        if number.isMultiple(of: Self.layouts) { try await connection.query("VACUUM FULL t") }
        let statements =
            ["BEGIN"] + script.changes(of: number).flatMap(\.statements)
            + ["UPDATE marker SET number = \(number)", "COMMIT"]
        try await connection.script(statements.joined(separator: ";\n"))
    }
}

extension StoreScript.Change {
    /// What a client of Postgres says.
    fileprivate var statements: [String] {
        switch self {
        case .put(let row, _):
            ["\(row.insert) ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, big = excluded.big"]
        case .move(let former, let row):
            [
                "DELETE FROM t WHERE id = '\(row.id)' AND id <> '\(former)'",
                "UPDATE t SET id = '\(row.id)', owner = '\(row.owner)', big = '\(row.text)' "
                    + "WHERE id = '\(former)'", "\(row.insert) ON CONFLICT (id) DO NOTHING",
            ]
        case .delete(let id): ["DELETE FROM t WHERE id = '\(id)'"]
        case .truncate: ["TRUNCATE t"]
        case .give(let id, let owner): ["UPDATE t SET owner = '\(owner)' WHERE id = '\(id)'"]
        }
    }
}

extension StoreScript.Row {
    fileprivate var insert: String { "INSERT INTO t VALUES ('\(id)', '\(owner)', '\(text)')" }
}
