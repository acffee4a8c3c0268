import PowerSyncMockService
import PowerSyncSyncRules
import Testing

@testable import PowerSyncStack

/// The mistakes that authors of published configurations made, with their places (real-configurations.md).
struct PublishedMistakeTests {
    /// What is told of a configuration: `line:column name part`.
    private func told(_ text: String) -> [String] {
        let check = ConfigurationCheck(SyncConfigText(file: "sync.yaml", text: text))
        return check.diagnostics.map { diagnostic in
            let bytes = check.checked.source.bytes[diagnostic.range.start..<diagnostic.range.end]
            let place = "\(diagnostic.start.line):\(diagnostic.start.column)"
            return "\(place) \(diagnostic.name.rawValue) \(String(decoding: bytes, as: UTF8.self))"
        }
    }

    private static let streams: [(String, [String])] = [
        (
            """
            config:
              edition: 3
            streams:
              # Taken over from bucket definitions.
              mine:
                auto_subscribe: true
                query: >-
                  SELECT * FROM todos
                  WHERE owner_id = token_parameters.user_id AND deleted_at IS NULL;
              claims:
                queries:
                  - "SELECT * FROM lists WHERE org = auth.jwt() ->> 'org'" # a claim
                  - SELECT * FROM orgs WHERE id = auth.parameter('org')

            """,
            [
                "9:24 unknown-source token_parameters.user_id", "12:42 unknown-request-function auth.jwt",
            ]
        ),
        (
            """
            config: {edition: 3}
            streams:
              members:
                queries:
                  - |
                    SELECT * FROM members -- of my team
                    WHERE team_id = (SELECT team_id FROM users WHERE id = auth.user_id())
                  - SELECT * FROM teams WHERE id = (SELECT team_id FROM users WHERE id = auth.user_id())

            """,
            [
                "7:26 subquery-position SELECT team_id FROM users WHERE id = auth.user_id()",
                "8:41 subquery-position SELECT team_id FROM users WHERE id = auth.user_id()",
            ]
        ),
        (
            """
            config: {edition: 3}
            streams:
              mine:
                query: |
                  SELECT l.* FROM lists AS l
                  JOIN members m ON m.list_id = l.id
                  WHERE m.user_id = auth.user_id()
              all:
                query: SELECT l.* FROM lists l
              joined:
                query: SELECT l.* FROM lists l JOIN members m ON m.list_id = l.id WHERE m.user_id = auth.user_id()

            """,
            ["5:23 alias-renames lists AS l", "11:28 alias-renames lists"]
        ),
    ]

    @Test(arguments: streams)
    func ofStreams(_ text: String, _ expected: [String]) { #expect(told(text) == expected) }

    @Test func rulesWithoutAnythingToSync() {
        let found = told("receiving_bucket:\n  data: [SELECT * FROM t]\n")
        #expect(found == ["1:1 definitions-missing ", "1:1 unknown-key receiving_bucket"])
    }

    @Test func twoTablesInADataQuery() {
        let found = told(
            """
            bucket_definitions:
              mine:
                parameters: SELECT request.user_id() AS user_id
                data:
                  - SELECT todos.* FROM todos, lists WHERE lists.owner_id = bucket.user_id

            """)
        #expect(found.first == "5:29 single-table todos")
    }
}
