import PowerSyncHTTP
import PowerSyncPostgres
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct TestBackendTests {
    @Test func anAnswerThatDoesNotComeIsToldWithTheLog() async throws {
        try await TestBackend.with { backend in
            let token = try await backend.token()
            let holder = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
            try await holder.script("BEGIN; LOCK TABLE lists")
            let issues = Lock<[String]>([])
            try await withKnownIssue {
                let sending = Task {
                    try await backend.send(
                        "POST", "/api/data", "{\"batch\":[\(OperatorDesk.put("a", "good"))]}",
                        fields: ["authorization": "Bearer \(token)"], within: .milliseconds(50))
                }
                try await wait(for: "the issue") { issues.withLock { !$0.isEmpty } }
                try await holder.script("COMMIT")
                #expect(try await sending.value.status == 200)
            } matching: { issue in
                issues.withLock { $0 += issue.comments.map(\.rawValue) }
                return issue.comments.contains { $0.rawValue.contains("the answer to POST /api/data") }
            }
            let lines = backend.lines.withLock { $0 }
            #expect(issues.withLock { $0 }.contains { told in lines.contains { told.contains($0) } })
            await holder.close()
        }
    }
}
