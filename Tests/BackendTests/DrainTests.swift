import PowerSyncBackend
import PowerSyncHTTPClient
import PowerSyncHTTPTestSupport
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A stop that has no time left for the uploads in work (backend 8.1).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct DrainTests {
    private static func put(_ number: Int, _ name: String = "n") -> String {
        #"{"op_id":\#(number),"op":"PUT","table":"lists","id":"r\#(number)","data":{"name":"\#(name)"}}"#
    }

    /// Stops a backend while the row `held` is being written, and lets another one finish what it has left.
    private func stop(
        holding held: Int, _ body: String, _ change: (inout BackendConfiguration) -> Void = { _ in },
        _ check: (JSONClient.Answer, TestBackend.Answer, TestBackend) async throws -> Void
    ) async throws {
        let schema =
            TestBackend.demoTables + TestBackend.counted + TestBackend.gated(where: "NEW.id = 'r\(held)'")
        try await TestBackend.with(
            schema: schema,
            {
                $0.grace = .zero
                change(&$0)
            }
        ) { backend in
            let gate = try await DatabaseGate(backend.uri, backend.poller)
            let client = try JSONClient("http://127.0.0.1:\(backend.backend.port)")
            let token = try await backend.token()
            async let upload = client.send("POST", "/api/data", body, token: token)
            try await gate.waitForArrivals()
            await backend.backend.stop()
            let answer = try await upload
            try await gate.open()
            try await TestBackend.with(schema: "SELECT 1", uri: backend.uri, change) { other in
                try await check(answer, try await other.upload(body), other)
            }
        }
    }

    @Test func whatIsCommittedIsSaidByAnUploadThatIsCutShort() async throws {
        let list = (1...3).map { #"{"crud":[\#(Self.put($0))]}"# }.joined(separator: ",")
        try await stop(holding: 2, #"{"v":1,"client_id":"c","transactions":[\#(list)]}"#) {
            answer, again, backend in
            #expect(answer.status == 200)
            let statuses = try answer.json["results"]?.arrayValue?.map { $0["status"]?.stringValue }
            #expect(statuses == ["success", "retryable_error", "not_attempted"])
            #expect(again.states == ["replayed", "applied", "applied"])
            #expect(
                try await backend.query("SELECT id, count(*) FROM writes GROUP BY id ORDER BY id")
                    == [["r1", "1"], ["r2", "1"], ["r3", "1"]])
        }
    }

    /// Whoever runs backends kills one after half a minute (P12).
    @Test func aStopFitsThirtySeconds() throws {
        let minimum = [
            "DATABASE_URI": "postgres://db/app", "POWERSYNC_URL": "https://x", "JWT_KEYS_DIR": "/keys",
            "PSB_TABLE_MAP": "/map.yaml", "UPLOAD_AUDIENCE": "uploads",
        ]
        let now = ContinuousClock.now
        for (seconds, environment) in [
            (0, "development"), (1, "production"), (5, "production"), (10, "production"),
        ] {
            let settings = minimum.merging(["DRAIN_DELAY": "\(seconds)s", "ENV": environment]) { $1 }
            let configuration = try BackendConfiguration(environment: settings) { _ in "" }
            let budget = StopBudget(configuration, from: now)
            #expect(budget.leavingEnd - now == .seconds(seconds))
            #expect(budget.requestsEnd - now == .seconds(24))
            #expect(budget.connectionsEnd - now == .seconds(27))
            #expect(budget.end - now == .seconds(28))
        }
        for long in ["11s", "1m", "600"] {
            let settings = minimum.merging(["DRAIN_DELAY": long]) { $1 }
            let error =
                thrown { try BackendConfiguration(environment: settings) { _ in "" } } as? BackendError
            #expect(error?.message.hasPrefix("DRAIN_DELAY must be from 0 to 10 seconds") == true)
        }
    }

    /// A device that sends slowly, as each deploy meets one: it must not take its queue for a mistake.
    @Test func aBodyThatStillArrivesIsAskedForAgain() async throws {
        try await TestBackend.with({ $0.grace = .zero }) { backend in
            let client = try RawClient(backend.backend.port, backend.poller)
            let token = try await backend.token()
            try await client.send(
                "POST /api/data HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer \(token)\r\n"
                    + "Content-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n")
            // Whoever asks for the body waits for it.
            #expect(try await client.response().status == 100)
            await backend.backend.stop()
            let answer = try await client.response()
            #expect(answer.status == 503)
            #expect(answer.head.contains("\r\nretry-after: "))
            let json = try JSON.parse(answer.body)
            #expect(json["type"] == .string("urn:psb:problem:draining"))
            #expect(json["retryable"] == .bool(true))
        }
    }

    /// The program itself, all of whose connections are in the middle of a transaction.
    @Test func aSignalDuringTwentyUploadsLeavesNoneHalfDone() async throws {
        let schema = TestBackend.demoTables + TestBackend.gated(where: "NEW.id LIKE '%-b'")
        let environment = ["POOL_SIZE": "20"]
        let held = """
            SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            """
        try await BackendProcess.with(schema: schema, environment: environment) { process, uri in
            let poller = try Poller()
            defer { poller.stop() }
            let client = try JSONClient("http://127.0.0.1:\(process.port)")
            var tokens: [String] = []
            for user in 0..<20 {
                let json = try await client.send("GET", "/api/auth/token?user_id=u\(user)").json
                tokens.append(try #require(json["token"]?.stringValue))
            }
            let gate = try await DatabaseGate(uri, poller)
            let connection = try await PostgresConnection.connect(uri, poller: poller)
            let statuses = try await withThrowingTaskGroup(of: (user: Int, status: Int).self) {
                group -> [Int: Int] in
                for (user, token) in tokens.enumerated() {
                    let rows = ["a", "b"].map {
                        #"{"op":"PUT","table":"lists","id":"\#(user)-\#($0)","data":{"name":"n"}}"#
                    }
                    let body = "{\"batch\":[\(rows.joined(separator: ","))]}"
                    group.addTask {
                        do {
                            let answer = try await client.send("POST", "/api/data", body, token: token)
                            return (user, answer.status)
                        } catch is HTTPClientError {
                            // One that has not come before the signal is not taken any more.
                            return (user, 0)
                        }
                    }
                }
                // On a slow machine the time of the first is over before the last has come.
                try await wait(
                    for: "uploads at the gate", read: { try await connection.query(held).scalar },
                    until: { ($0.flatMap { Int($0) } ?? 0) >= 10 })
                let signalled = ContinuousClock.now
                try #require(kill(process.id, SIGTERM) == 0)
                try await gate.open()
                var statuses: [Int: Int] = [:]
                for try await (user, status) in group { statuses[user] = status }
                try await wait(for: "the program to end") { !Processes.isAlive(process.id) }
                #expect(ContinuousClock.now - signalled < .seconds(30) * TestOptions.patience)
                return statuses
            }
            #expect(statuses.values.allSatisfy { [0, 200, 503].contains($0) }, "\(statuses)")
            #expect(statuses.values.contains(200), "what is in work has its time")
            let sessions = """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND application_name = 'powersync-backend'
                """
            try await wait(
                for: "its sessions to end", read: { try await connection.query(sessions).scalar },
                until: { $0 == "0" })
            for (user, status) in statuses {
                let count = try await connection.query(
                    "SELECT count(*) FROM lists WHERE id LIKE $1", ["\(user)-%"]
                ).scalar
                let allowed = [0: ["0"], 200: ["2"], 503: ["0", "2"]][status] ?? []
                #expect(allowed.contains(count ?? ""), "\(user): \(status)")
            }
            await connection.close()
        }
    }

    @Test func aBatchIsCutShortBetweenItsPieces() async throws {
        let operations = (1...66).map { Self.put($0, $0 == 1 ? "bad" : "n") }
        let body = #"{"client_id":"c","batch":[\#(operations.joined(separator: ","))]}"#
        try await stop(holding: 66, body, { $0.isolatesLegacyBatches = true }) { answer, again, backend in
            let json = try answer.json
            #expect(answer.status == 503)
            #expect(json["retryable"] == .bool(true))
            #expect(again.status == 200)
            #expect(
                again.states == ["rejected"] + Array(repeating: "replayed", count: 63) + [
                    "applied", "applied",
                ])
            #expect(again.errorCodes == ["CHECK_VIOLATION"])
            #expect(
                try await backend.query("SELECT count(*), count(DISTINCT id) FROM writes") == [["65", "65"]])
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "1")
        }
    }
}
