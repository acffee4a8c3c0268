import Foundation
import PowerSyncMockService
import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncStack

/// What published configurations use has no mistake in it (real-configurations.md).
struct PublishedConstructTests {
    /// What is wrong with a configuration.
    private func errors(_ text: String) -> [String] {
        let check = ConfigurationCheck(SyncConfigText(file: "sync.yaml", text: text))
        return check.diagnostics.filter { $0.severity == .fatal }.map(\.line)
    }

    private static let queries = [
        "SELECT * FROM lists WHERE owner_id = auth.user_id()",
        "SELECT * FROM lists WHERE org_id = auth.parameters() ->> 'org' AND deleted_at IS NULL",
        "SELECT * FROM lists WHERE org_id = auth.parameter('org') AND archived_at IS NOT NULL",
        "SELECT * FROM lists WHERE id = subscription.parameter('list') AND owner_id = auth.user_id()",
        "SELECT * FROM lists WHERE id = subscription.parameters() ->> 'list'",
        "SELECT * FROM a WHERE b IN (SELECT id FROM b WHERE c IN (SELECT id FROM c WHERE d IN (SELECT id FROM d "
            + "WHERE user_id = auth.user_id() AND active = true) AND kind = 'x'))",
        "SELECT id, owner_id::text AS owner_id FROM lists WHERE owner_id::text = auth.user_id()",
        "SELECT * FROM lists WHERE owner_id = auth.user_id()::text",
        "SELECT t.* FROM todos t JOIN lists AS l ON l.id = t.list_id INNER JOIN members m ON m.list_id = l.id "
            + "JOIN teams ON teams.id = m.team_id WHERE m.user_id = auth.user_id()",
        "SELECT * FROM lists WHERE owner_id = auth.user_id() OR team_id IN (SELECT team_id FROM members "
            + "WHERE user_id = auth.user_id()) OR is_public = true",
        "SELECT * FROM users WHERE LOWER(email) IN "
            + "(SELECT LOWER(email) FROM invites WHERE user_id = auth.user_id())",
        "SELECT * FROM lists WHERE done = false AND kind = 'a' AND at > '2024-01-01' AND state != 'gone'",
        "SELECT * FROM lists WHERE id IN (SELECT DISTINCT list_id FROM members WHERE user_id = auth.user_id())",
        "SELECT * FROM app.lists", "SELECT * FROM \"Lists\" WHERE \"ownerId\" = auth.user_id()",
        "SELECT id, ST_AsText(point) AS point, NULL::text AS note FROM places", "SELECT * FROM lists;",
        "SELECT * FROM lists -- all of them\nWHERE done = false -- still open",
    ]

    @Test(arguments: queries)
    func queriesOfStreams(_ query: String) {
        let lines = query.split(separator: "\n").map { "        \($0)\n" }.joined()
        for style in ["|", "|-"] {
            let stream = "  s:\n    auto_subscribe: true\n    priority: 1\n    query: \(style)\n\(lines)"
            #expect(errors("config:\n  edition: 3\nstreams:\n\(stream)").isEmpty)
        }
        // Lines that are joined have no room for comments.
        let bare = query.split(separator: "\n").map { line in
            String(line.firstRange(of: "--").map { line[..<$0.lowerBound] } ?? line)
        }
        let folded: String = bare.joined(separator: "\n        ")
        let list = "  s:\n    queries:\n      - >-\n        \(folded)\n"
        #expect(errors("config:\n  edition: 3\nstreams:\n\(list)").isEmpty)
    }

    @Test func commonTablesOfAllAndOfOne() {
        let text = """
            config: {edition: 3}
            with:
              mine: SELECT id FROM lists WHERE owner_id = auth.user_id()
            streams:
              todos:
                accept_potentially_dangerous_queries: true
                with:
                  open: SELECT id FROM states WHERE name = 'open'
                queries:
                  - SELECT * FROM todos WHERE list_id IN mine AND state IN open
                  - SELECT * FROM lists WHERE id IN mine

            """
        #expect(errors(text).isEmpty)
    }

    /// Recorded configurations in the shapes of published ones.
    @Test(arguments: 1...3)
    func recordedShapes(_ edition: Int) throws {
        var count = 0
        for file in try Repository.fixtureFiles("service/curated")
        where file.lastPathComponent.hasPrefix("real-") {
            let scenario = try JSON.parse(try String(contentsOf: file, encoding: .utf8))
            let text = try #require(scenario["sync_config"]?.stringValue)
            let own = [2, 3].first { text.contains("edition: \($0)") } ?? 1
            guard own == edition else { continue }
            count += 1
            #expect(errors(text).isEmpty, "\(file.lastPathComponent)")
        }
        #expect(count > 0)
    }
}
