import Foundation
import PowerSyncSyncRules

/// Sync configurations of all editions; the first byte chooses what is repeated.
struct SyncConfigTarget: FuzzTarget {
    static let words =
        [
            "\n", ": ", "- ", "{", "}", "[", "]", ", ", "&a ", "*a", "|\n", ">-\n", "|2+\n", "'", "\"",
            "\\x41",
            "\\U0001F600", "\\\n", "# ", "---\n", "%TAG ", "\u{85}", "\u{2028}", "\u{FEFF}", "\r", "!t ",
            "? ",
            "config:", "edition: 3", "edition: 2", "streams:", "bucket_definitions:", "with:", "query:",
            "queries:", "data:", "parameters:", "auto_subscribe: true", "priority: 1",
            "accept_potentially_dangerous_queries: true", "event_definitions:", "payloads:",
            "storage_version: 3", "timestamps_iso8601: false", "fixed_json_extract: true",
            "timestamp_max_precision: seconds", "unstable_sqlite_expression_engine: true",
        ] + SQLTarget.words

    private(set) var tally = Tally()

    static func firstInputs(fixtures: URL) throws -> [[UInt8]] {
        try LanguageRecordings.configurations(fixtures).map { [0] + Array($0.utf8) }
            + repeated.map { [255] + Array($0.utf8) } + written.map { [0] + Array($0.utf8) }
    }

    private static let repeated = [
        "config: {edition: 3}\nstreams:\n  a:\n    queries:\n\0      - SELECT * FROM t\n\0",
        "config: {edition: 3}\nstreams: {a: {queries: [&q 'SELECT * FROM t', \0*q, \0]}}\n",
        "config: {edition: 3}\nstreams: {a: {query: |\n   SELECT *\n\0   \n\0   FROM t\n}}\n",
        "bucket_definitions:\n  a:\n    data:\n\0      - SELECT id FROM t\n\0", "\0[\0\0a: \0\0- \0",
        "a: &x #\0 \0\n  b\n", "\0%TAG !a! b\n\0--- a\n",
    ]

    private static let written = [
        """
        config: {edition: 3, timestamp_max_precision: milliseconds}
        with:
          mine: SELECT team AS t FROM users WHERE id = auth.user_id()
        streams:
          folded:
            auto_subscribe: true
            queries:
              - >-
                SELECT docs.*
                FROM docs, json_each(docs.readers) AS r

                WHERE r.value = auth.user_id() OR docs.team IN mine
              - |2+
                  SELECT * FROM "Tags" WHERE doc = subscription.parameter('doc')

              - "SELECT * FROM items \\
                WHERE owner = \\x61uth.user_id()"
        """
    ]

    mutating func check(_ input: [UInt8]) {
        let bytes = Repetition.unfold(input, limit: 1 << 15)
        LanguageProperties.check(String(decoding: bytes, as: UTF8.self), &tally)
    }
}
