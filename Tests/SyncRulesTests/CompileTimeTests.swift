import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Whether what a configuration takes to compile grows with its text; the bench part `compile` has the figure.
@Suite(.patient())
struct CompileTimeTests {
    private static let shapes = [
        "SELECT * FROM tasks WHERE project_id IN (SELECT id FROM projects WHERE org_id IN mine)",
        "SELECT tasks.* FROM tasks JOIN projects p ON p.id = tasks.project_id WHERE p.owner = auth.user_id()",
        "SELECT id, name FROM projects WHERE owner = auth.user_id() OR org_id IN mine OR public = true",
    ]

    private func text(_ count: Int) -> String {
        let streams = (0..<count).map { number in
            "  s\(number): {query: \(JSON.quoted(Self.shapes[number % Self.shapes.count]))}\n"
        }
        return "config: {edition: 3}\n"
            + "with: {mine: SELECT org_id FROM members WHERE user_id = auth.user_id()}\nstreams:\n"
            + streams.joined()
    }

    @Test func manyStreamsCostNoSquare() {
        expectNoSquare(of: 600) { count in
            let config = SyncConfig.compile(text(count))
            #expect(config.plan?.streams.count == count)
        }
    }
}
