import PowerSyncBackend
import PowerSyncHTTP
import PowerSyncPostgresServer
import PowerSyncPostgresTestSupport
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What happens to uploads when the database, or a connection to it, is lost.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct LostDatabaseTests {
    /// One transaction of fifty rows, `r7-0` to `r7-49`.
    private func body(_ number: Int) -> String {
        let operations = (0..<50).map {
            #"{"op_id":\#(number * 50 + $0 + 1),"op":"PUT","table":"lists","id":"r\#(number)-\#($0)","data":{"name":"n"}}"#
        }
        return
            #"{"v":1,"client_id":"c\#(number % 4)","transactions":[{"tx_id":\#(number),"crud":[\#(operations.joined(separator: ","))]}]}"#
    }

    /// Uploads until the answer is 200, as a client does.
    private func insist(_ backend: TestBackend, _ body: String, _ token: String) async throws -> (
        answer: TestBackend.Answer, refused: Int
    ) {
        var refused = 0
        let answer = try await wait(
            for: "the upload to be taken",
            read: {
                try await backend.send(
                    "POST", "/api/data", body, fields: ["authorization": "Bearer \(token)"])
            },
            until: { answer in
                if answer.status == 200 { return true }
                #expect(answer.status == 503)
                #expect(answer.fields["retry-after"] != nil)
                #expect(answer.json["retryable"]?.boolValue == true)
                refused += 1
                return false
            })
        return (answer, refused)
    }

    @Test func aDatabaseThatIsKilledInTheMiddleGetsEveryRowExactlyOnce() async throws {
        let schema =
            TestBackend.demoTables + TestBackend.counted + TestBackend.gated(where: "NEW.id = 'r39-25'")
        try await TestCluster.withServer { server in
            try await TestBackend.with(schema: schema, uri: server.uri()) { backend in
                let gate = try await DatabaseGate(backend.uri, backend.poller)
                let token = try await backend.token()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<40 {
                        group.addTask {
                            let (answer, _) = try await insist(backend, body(number), token)
                            #expect(answer.results == ["success"])
                        }
                    }
                    try await wait(
                        for: "the first rows",
                        read: { try await backend.scalar("SELECT count(*) FROM lists") },
                        until: { $0 != "0" })
                    // One transaction has written half of its rows; the others are wherever they are.
                    try await gate.waitForArrivals()
                    server.kill()
                    try await server.restart()
                    try await group.waitForAll()
                }
                #expect(try await backend.scalar("SELECT count(*) FROM lists") == "2000")
                #expect(try await backend.scalar("SELECT count(*) FROM writes") == "2000")
                #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "0")
            }
        }
    }

    @Test func aDatabaseThatIsAwayIs503UntilItIsBack() async throws {
        try await TestCluster.withServer { server in
            try await TestBackend.with(uri: server.uri(), { $0.retries.budget = .milliseconds(100) }) {
                backend in
                let token = try await backend.token()
                #expect(try await backend.send("GET", "/readyz").status == 200)
                server.kill()
                try await wait(for: "the server to be gone") { !server.isRunning }
                let away = try await backend.send(
                    "POST", "/api/data", body(1), fields: ["authorization": "Bearer \(token)"])
                #expect(away.status == 503)
                #expect(away.json["code"]?.stringValue == "DATABASE_UNAVAILABLE")
                #expect(try await backend.send("GET", "/healthz").status == 200)
                try await waitForReadiness(503, backend)
                try await server.restart()
                let (answer, _) = try await insist(backend, body(1), token)
                #expect(answer.results == ["success"])
                try await waitForReadiness(200, backend)
            }
        }
    }

    private func waitForReadiness(_ status: Int, _ backend: TestBackend) async throws {
        try await wait(
            for: "/readyz to answer \(status)", read: { try await backend.send("GET", "/readyz").status },
            until: { $0 == status })
    }

    @Test func aConnectionThatIsCutIsReplacedWithoutTheClientKnowing() async throws {
        try await TestBackend.with { backend in
            let token = try await backend.token()
            for number in 1...5 {
                let cut = try await backend.query(
                    """
                    SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE application_name = 'powersync-backend' AND datname = current_database()
                    """)
                #expect(!cut.isEmpty)
                // One that ends later would still serve this upload, and be missing when the next round cuts.
                let ids = cut.compactMap { $0[0] }.joined(separator: ", ")
                try await wait(for: "the sessions to end") {
                    try await backend.scalar("SELECT count(*) FROM pg_stat_activity WHERE pid IN (\(ids))")
                } until: {
                    $0 == "0"
                }
                let (answer, refused) = try await insist(backend, body(number), token)
                #expect(refused == 0)
                #expect(answer.states.allSatisfy { $0 == "applied" })
            }
            #expect(try await backend.scalar("SELECT count(*) FROM lists") == "250")
        }
    }
}
