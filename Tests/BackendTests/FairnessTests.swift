import PowerSyncBackend
import PowerSyncHTTP
import PowerSyncHTTPTestSupport
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// One user with a hundred requests at once is no other user's business (backend 8.2).
///
/// `POWERSYNC_FAIRNESS` says how many uploads of the other one are timed; 1,000 is what is promised.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct FairnessTests {
    private static let count = TestOptions.number("POWERSYNC_FAIRNESS", standard: 20)
    /// Whether times are compared, which needs a machine that does nothing else.
    private static let isMeasured = count >= 500
    private static let phases = isMeasured ? 3 : 1
    private static let crowd = 100

    private static func put(_ id: String, _ name: String = "n") -> String {
        #"{"batch":[{"op":"PUT","table":"lists","id":"\#(id)","data":{"name":"\#(name)"}}]}"#
    }

    /// All of one user's requests are held up in the database; another one is answered before any of them.
    @Test func anotherIsAnsweredBeforeAnyOfAHundred() async throws {
        let schema = TestBackend.demoTables + TestBackend.gated(where: "NEW.name = 'slow'")
        let defaults = BackendConfiguration.development()
        try await TestBackend.with(
            schema: schema,
            {
                $0.uploadsPerUser = defaults.uploadsPerUser
                $0.uploadsWaiting = defaults.uploadsWaiting
                $0.hasCustomCheckpoints = true
                // One for an upload, two for checkpoints, and one.
                $0.poolSize = 4
            }
        ) { backend in
            let url = "http://127.0.0.1:\(backend.backend.port)"
            let (client, other) = (try JSONClient(url), try JSONClient(url))
            let (token, free) = (try await backend.token("u1"), try await backend.token("u2"))
            let gate = try await DatabaseGate(backend.uri, backend.poller)
            let holder = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
            try await holder.script(
                """
                BEGIN;
                INSERT INTO public.checkpoints (user_id, client_id, checkpoint) VALUES ('u1', 'c', 1)
                """)
            let counts = Lock<[Int: Int]>([:])
            @Sendable func note(_ status: Int) { counts.withLock { $0[status, default: 0] += 1 } }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<Self.crowd {
                    group.addTask {
                        let body = Self.put("s\(number)", "slow")
                        note(try await client.send("POST", "/api/data", body, token: token).status)
                    }
                    group.addTask {
                        let body = #"{"client_id":"c"}"#
                        note(try await client.send("PUT", "/api/data/checkpoint", body, token: token).status)
                    }
                }
                try await gate.waitForArrivals(1)
                try await backend.waitForLocked(2, in: "public.checkpoints")
                // Those for whom there is no place are told at once: of uploads, and of checkpoints.
                let refused = 2 * Self.crowd - (1 + defaults.uploadsWaiting) - (2 + 64)
                try await wait(
                    for: "the others to be refused", read: { counts.withLock { $0 } },
                    until: { $0 == [429: refused] })
                for number in 0..<Self.count {
                    let body = Self.put("o\(number)")
                    let answer = try await other.send("POST", "/api/data", body, token: free)
                    #expect(answer.status == 200)
                }
                for (method, path, body) in [
                    ("PUT", "/api/data/checkpoint", #"{"client_id":"c"}"#),
                    ("GET", "/api/v1/rejections", nil),
                    ("GET", "/api/auth/token?user_id=u2", nil), ("GET", "/readyz", nil),
                ] as [(String, String, String?)] {
                    let isShown = !path.hasPrefix("/api/auth") && path != "/readyz"
                    let answer = try await other.send(method, path, body, token: isShown ? free : nil)
                    #expect(answer.status == 200, "\(path)")
                }
                #expect(counts.withLock { $0 } == [429: refused], "nobody of the crowd was answered before")
                try await gate.open()
                try await holder.script("COMMIT")
                try await group.waitForAll()
                #expect(counts.withLock { $0 } == [429: refused, 200: 2 * Self.crowd - refused])
            }
            await holder.close()
        }
    }

    /// Whoever asks for many tokens at once holds two connections, and not all of them.
    @Test func tokensOfOneUserTakeTwoConnections() async throws {
        try await TestBackend.with({ $0.poolSize = 4 }) { backend in
            let holder = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
            try await holder.script("BEGIN; LOCK TABLE psb.disabled_users")
            @Sendable func status(_ user: String) async throws -> Int {
                try await backend.send("GET", "/api/auth/token?user_id=\(user)").status
            }
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<10 { group.addTask { try await status("u1") } }
                try await backend.waitForLocked(2)
                group.addTask { try await status("u2") }
                try await backend.waitForLocked(3)
                group.addTask { try await status("u3") }
                try await backend.waitForLocked(4)
                try await holder.script("COMMIT")
                for try await status in group { #expect(status == 200) }
            }
            await holder.close()
        }
    }

    // MARK: Times

    /// How long each of some uploads takes, one behind the other.
    private static func uploads(_ client: JSONClient, _ token: String) async throws -> [Duration] {
        var durations: [Duration] = []
        for number in 0..<count {
            let start = ContinuousClock.now
            let body = put("o\(number % 100)")
            // A machine that does much else may ask to come again.
            try await wait(
                for: "the upload to be applied",
                read: { try await client.send("POST", "/api/data", body, token: token).status },
                until: { status in
                    try #require(status == 200 || status == 503 && !isMeasured)
                    return status == 200
                })
            durations.append(start.duration(to: .now))
        }
        return durations
    }

    /// Does something while a user has a hundred requests in flight, who comes again when he is told to.
    private static func besideACrowd(
        _ client: JSONClient, _ token: String, _ poller: Poller, _ body: () async throws -> [Duration]
    ) async throws -> [Duration] {
        try await withThrowingTaskGroup(of: Void.self) { group in
            let (begun, applied) = (Lock(0), Lock(0))
            for number in 0..<crowd {
                group.addTask {
                    begun.withLock { $0 += 1 }
                    while !Task.isCancelled {
                        let answer = try await client.send(
                            "POST", "/api/data", put("c\(number)"), token: token)
                        if answer.status == 200 { applied.withLock { $0 += 1 } }
                        let seconds = answer.fields["retry-after"].flatMap { Int($0) }
                        guard let seconds else { continue }
                        try await poller.sleep(until: .now + .seconds(seconds))
                    }
                }
            }
            try await wait(for: "all of them to come") { begun.withLock { $0 } == crowd }
            try await wait(for: "some to be answered") { applied.withLock { $0 } > 0 }
            let durations = try await body()
            // What they throw then is that they were cut short.
            group.cancelAll()
            return durations
        }
    }

    @Test func anotherIsHardlySlowerBesideAHundred() async throws {
        try await BackendProcess.with(schema: TestBackend.demoTables) { process, _ in
            let poller = try Poller()
            defer { poller.stop() }
            let url = "http://127.0.0.1:\(process.port)"
            let (client, crowd) = (try JSONClient(url), try JSONClient(url))
            func token(_ user: String) async throws -> String {
                let json = try await client.send("GET", "/api/auth/token?user_id=\(user)").json
                return try #require(json["token"]?.stringValue)
            }
            let (own, others) = (try await token("one"), try await token("crowd"))
            // The first ones open connections and plan statements.
            _ = try await Self.uploads(client, own)
            var alone: [Duration] = []
            var beside: [Duration] = []
            for _ in 0..<Self.phases {
                alone += try await Self.uploads(client, own)
                beside += try await Self.besideACrowd(crowd, others, poller) {
                    try await Self.uploads(client, own)
                }
            }
            let (without, with) = (alone.percentile99, beside.percentile99)
            print("uploads: p99 \(without) alone, \(with) beside a user with \(Self.crowd) in flight")
            #expect(!Self.isMeasured || with <= without.doubled)
        }
    }
}
