import Foundation
import PowerSyncMockService
import PowerSyncWire

/// The parser and compiler of queries; the first byte chooses what is repeated.
struct QueryTarget: FuzzTarget {
    static let words = [
        "SELECT ", "DISTINCT ", " FROM ", " WHERE ", " AND ", " OR ", "NOT ", " IS ", "NULL", " AS ", "*",
        ",", ".", "(",
        ")", "=", "<>", "!=", "<=", ">=", "->", "->>", "||", "::", "-- ", "\n", ";", "''", "\"\"", "1.5e-3",
        "-", "$1", "?",
        "auth.user_id()", "auth.parameter('a')", "connection.parameter('$.a.b')",
        "subscription.parameter('a')",
        "request.", " JOIN ", " IN ", " LIKE ", " BETWEEN ", "CASE ", "CAST(", "EXISTS ", " LIMIT 1",
        " ORDER BY ",
        " GROUP BY ", " UNION ", "true", "false", "\u{E9}",
    ]

    private(set) var tally = Tally()

    static func firstInputs(fixtures: URL) throws -> [[UInt8]] {
        let scenarios = try Recordings.read(fixtures.appending(path: "service/curated"))
        var inputs: [[UInt8]] = []
        for text in scenarios.compactMap({ $0["sync_config"]?.stringValue }) {
            for query in text.matches(of: /SELECT [^\n]+/.ignoresCase()) {
                inputs.append([0] + Array(query.0.utf8))
            }
        }
        for text in written { inputs.append([0] + Array(text.utf8)) }
        for text in repeated { inputs.append([255] + Array(text.utf8)) }
        return inputs
    }

    private static let written = [
        """
        SELECT DISTINCT t.id, "Name" AS name, 5 AS five -- a comment
        FROM app.t AS t
        WHERE owner = auth.user_id() AND subscription.parameter('x') = t.x AND (done = false AND NOT a IS NULL)
          AND rank >= -1.5 AND auth.parameter('$.app.role') = 'admin' AND (a = 1 OR b <> 2e3);
        """
    ]

    private static let repeated = [
        "SELECT * FROM t WHERE \0a = 1 OR \0b", "SELECT * FROM t WHERE \0a = 1 AND \0b",
        "SELECT * FROM t WHERE \0NOT \0a", "SELECT * FROM t WHERE \0(\0a", "SELECT \0a, \0b FROM t",
        "SELECT * FROM t WHERE a = auth.parameter('\0b.\0')", "SELECT * FROM t WHERE a = '\0\\\0",
    ]

    mutating func check(_ input: [UInt8]) {
        let bytes = Repetition.unfold(input, limit: 1 << 14)
        // A text in the quotes of JSON is one in YAML, too.
        let query = JSON.quoted(String(decoding: bytes, as: UTF8.self))
        SyncConfigProperties.check("config: {edition: 3}\nstreams: {a: {query: \(query)}}\n", &tally)
    }
}
