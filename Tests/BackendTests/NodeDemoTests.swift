import PowerSyncBackend
import PowerSyncHTTP
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What the official demo backend accepted, ours accepts with the same rows (Fixtures/backend/README.md).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct NodeDemoTests {
    private static let map = """
        tables:
          lists:
          todos: { columns: { tags: { json_strings: keep } } }
        """

    @Test func everyRequestThatTheDemoAcceptsLeavesTheSameRows() async throws {
        let recording = try JSON.parse(Repository.fixture("backend/node-demo.json"))
        let steps = try #require(recording.arrayValue)
        #expect(steps.count == 58)
        try await TestBackend.with(map: Self.map, { $0.hasCustomCheckpoints = true }) { backend in
            let token = try await backend.token()
            var expected = Rows()
            var accepted = 0
            for step in steps {
                let name = try #require(step["case"]?.stringValue)
                let isAccepted = step["answer"]?["status"]?.int64Value == 200
                let body = step["body"]?.stringValue
                guard body?.hasPrefix("<") != true else { continue }
                let before = try await rows(backend)
                let path = try #require(step["path"]?.stringValue)
                var fields: HTTPFields = [
                    "content-type": step["headers"]?["Content-Type"]?.stringValue ?? "application/json"
                ]
                // Whoever has a token gets no other one for it.
                if !path.hasPrefix("/api/auth/token") { fields["authorization"] = "Bearer \(token)" }
                let answer = try await backend.send(
                    try #require(step["method"]?.stringValue), path, body, fields: fields)
                expected.take(step["rows"])
                if isAccepted {
                    accepted += 1
                    #expect(answer.status == 200, "\(name)")
                    let now = try await rows(backend)
                    #expect(now == expected, "\(name)")
                    try check(answer, step, name)
                } else if name != "type instead of table" {
                    // What it refuses, we refuse in another form; the rows stay.
                    #expect(try await rows(backend) == before, "\(name)")
                    #expect([200, 400, 405, 415].contains(answer.status), "\(name)")
                } else {
                    // We read this alias; the recording goes on without the row.
                    #expect(answer.states == ["applied"])
                    _ = try await backend.query("DELETE FROM lists WHERE id = 'x6'")
                }
            }
            #expect(accepted == 34)
        }
    }

    private func check(_ answer: TestBackend.Answer, _ step: JSON, _ name: String) throws {
        guard name != "unknown op", name != "lower-case op" else {
            // The demo swallows these; ours says so and keeps them.
            #expect(answer.errorCodes == ["UNKNOWN_OPERATION"], "\(name)")
            return
        }
        if let message = step["answer"]?["body"]?["message"]?.stringValue, step["path"]?.stringValue != "/" {
            #expect(answer.json["message"]?.stringValue == message, "\(name)")
            #expect(answer.errorCodes.isEmpty, "\(name)")
        }
        if let number = step["answer"]?["body"]?["checkpoint"]?.int64Value, name != "checkpoint without ids" {
            #expect(answer.json["checkpoint"]?.stringValue == String(number), "\(name)")
        }
        if name == "token" { #expect(answer.json["token"]?.stringValue?.split(separator: ".").count == 3) }
        if name == "keys" { #expect(answer.json["keys"]?.arrayValue?.count == 1) }
    }

    /// The rows of both tables as the recording spells them, texts of JSON in canonical order.
    private struct Rows: Equatable {
        var lists: [String: [String: JSON]] = [:]
        var todos: [String: [String: JSON]] = [:]

        mutating func take(_ json: JSON?) {
            guard let json, json.objectMembers != nil else { return }
            lists = Rows.byID(json["lists"])
            todos = Rows.byID(json["todos"])
        }

        static func byID(_ json: JSON?) -> [String: [String: JSON]] {
            var rows: [String: [String: JSON]] = [:]
            for row in json?.arrayValue ?? [] {
                let members = (row.objectMembers ?? []).map { ($0.name, $0.value) }
                rows[row["id"]?.stringValue ?? ""] = Dictionary(members) { _, last in last }
            }
            return rows
        }
    }

    private func rows(_ backend: TestBackend) async throws -> Rows {
        // The recorder left out created_at where it was the server's own time.
        let lists = try await backend.query(
            """
            SELECT coalesce(json_agg(CASE WHEN created_at < '2025-01-01' THEN to_jsonb(l)
                ELSE to_jsonb(l) - 'created_at' END), '[]')::text FROM lists l
            """)
        let todos = try await backend.query("SELECT coalesce(json_agg(t), '[]')::text FROM todos t")
        var rows = Rows()
        rows.take(
            .object([
                JSONMember("lists", try JSON.parse(try #require(lists[0][0]))),
                JSONMember("todos", try JSON.parse(try #require(todos[0][0]))),
            ]))
        return rows
    }
}
