import Foundation
import PowerSyncBackend
import PowerSyncCommandLine
import PowerSyncCrypto
import PowerSyncHTTPTestSupport
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Keys follow one another while two backends share their folder (backend 4.6, case 33).
///
/// Keys are changed by the command, and backends are asked over sockets.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct RotationTests {
    private static let secret = "0123456789abcdef0123456789abcdef"
    private static let audience = "http://sync.example.com"
    private static let lifetime = 60
    /// How often tokens are checked.
    private static let interval = Duration.milliseconds(50)

    /// Two backends, the folder of their keys, and their clock.
    private struct Pair: Sendable {
        let folder: String
        let poller: Poller
        let clients: [JSONClient]
        /// Seconds since 1970, for backends whose clock stands still.
        let clock: Lock<Double>

        /// Runs the command `keys` and returns what it prints.
        @discardableResult
        func keys(_ arguments: String...) async throws -> String {
            let result = try await ChildProcess.run(
                Repository.executable("powersync-backend"), ["keys"] + arguments + ["--keys", folder],
                timeout: TestOptions.deadline)
            try #require(result.status == .exited(0), "keys \(arguments): \(result.error)")
            return result.output.trimmingCharacters(in: .whitespacesAndNewlines)
        }

        /// A session of the app.
        private func session() throws -> String {
            let now = Int(clock.withLock { $0 })
            let claims = JSON.object([
                JSONMember("iss", .string("app")), JSONMember("aud", .string("app")),
                JSONMember("sub", .string("u1")), JSONMember("iat", .integer(now)),
                JSONMember("exp", .integer(now + 3_600)),
            ])
            let key = try JSONWebKey(secret: Array(RotationTests.secret.utf8), algorithm: .HS256)
            return try JSONWebToken.signed(payload: claims.utf8, with: key, algorithm: .HS256, kid: nil)
        }

        /// A token of one of the two.
        func token(_ client: JSONClient) async throws -> String {
            let answer = try await client.send("GET", "/api/auth/token", token: try session())
            return try #require(try answer.json["token"]?.stringValue, "\(answer.status)")
        }

        /// The key with which one of the two signs.
        func signer(_ client: JSONClient) async throws -> String? {
            try JSONWebToken(parsing: try await token(client)).header.kid
        }

        /// What each of the two answers to an upload with a token.
        func statuses(_ token: String) async throws -> [Int] {
            var statuses: [Int] = []
            for client in clients {
                statuses.append(
                    try await client.send("POST", "/api/data", "{\"batch\":[]}", token: token).status)
            }
            return statuses
        }

        /// The names of the keys that each of the two publishes.
        func published() async throws -> [Set<String>] {
            var published: [Set<String>] = []
            for client in clients {
                let keys = try await client.send("GET", "/api/auth/keys").json["keys"]?.arrayValue ?? []
                published.append(Set(keys.compactMap { $0["kid"]?.stringValue }))
            }
            return published
        }

        /// Makes a key, waits until both publish it, has it sign, and waits until both sign with it.
        func rotate() async throws -> String {
            let next = try await keys("generate")
            try await wait(
                for: "the next key at both", read: { try await published() },
                until: { $0.allSatisfy { $0.contains(next) } })
            try await keys("promote", next, "--now")
            for client in clients {
                try await wait(
                    for: "the next key to sign", read: { try await signer(client) }, until: { $0 == next })
            }
            return next
        }

        /// A key of the folder, with what it is for.
        func key(_ id: String) throws -> (key: JSONWebKey, json: JSON) {
            for name in try FileManager.default.contentsOfDirectory(atPath: folder)
            where name.hasSuffix(".jwk") {
                let bytes = Array(try Data(contentsOf: URL(filePath: folder + "/" + name)))
                let (key, json) = (try JSONWebKey(json: bytes), try JSON.parse(bytes))
                if key.kid == id || key.thumbprint == id { return (key, json) }
            }
            throw BackendError(.keys, "there is no key \(id)")
        }
    }

    /// Starts two backends in production, which take tokens of their own for uploads.
    ///
    /// - Parameters:
    ///   - hasOwnClock: whether their clock stands still until the test moves it.
    ///   - body: what happens.
    /// - Throws: what the body throws, and a start that fails.
    private func with(hasOwnClock: Bool = false, _ body: (Pair) async throws -> Void) async throws {
        let folder = try TemporaryDirectory(prefix: "powersync-rotation-")
        defer { folder.remove() }
        let keys = folder.path + "/keys"
        let map = folder.path + "/tables.yaml"
        try "tables:\n  lists: { owner: owner_id }\n".write(toFile: map, atomically: true, encoding: .utf8)
        let poller = try Poller()
        defer { poller.stop() }
        let uri = try await TestPostgres.database(poller)
        let connection = try await PostgresConnection.connect(uri, poller: poller)
        try await connection.script(
            """
            CREATE TABLE lists (id text PRIMARY KEY, owner_id text, name text);
            CREATE PUBLICATION powersync FOR TABLES IN SCHEMA public;
            """)
        await connection.close()
        let settings = [
            "ENV": "production", "HOST": "127.0.0.1", "PORT": "0", "DRAIN_DELAY": "0",
            "DATABASE_URI": EndToEnd.patient(uri), "POWERSYNC_URL": Self.audience, "PSB_TABLE_MAP": map,
            "JWT_KEYS_DIR": keys, "JWT_TTL": "\(Self.lifetime)", "UPLOAD_ACCEPTS_SYNC_TOKEN": "true",
            "SESSION_SECRET": Self.secret, "SESSION_ISSUER": "app", "SESSION_AUDIENCE": "app",
            "TOKENS_PER_MINUTE": "0", "FAILED_CREDENTIALS_PER_MINUTE": "0",
        ].merging(EndToEnd.patience) { $1 }
        let configuration = try BackendConfiguration(environment: settings) { _ in "" }
        let clock = Lock(Date().timeIntervalSince1970)
        let environment =
            hasOwnClock ? BackendEnvironment(now: { clock.withLock { $0 } }) : BackendEnvironment()
        let backends = (0..<2).map { _ in
            Backend(
                configuration: configuration, poller: poller, log: Log(label: "test", level: .error) { _ in },
                environment: environment)
        }
        do {
            // One behind the other: the first one makes the first key.
            for backend in backends { try await backend.start() }
            let clients = try backends.map { try JSONClient("http://127.0.0.1:\($0.port)") }
            try await body(Pair(folder: keys, poller: poller, clients: clients, clock: clock))
        } catch {
            for backend in backends { await backend.stop() }
            throw error
        }
        for backend in backends { await backend.stop() }
    }

    // MARK: At every moment

    /// Tokens that are checked at both backends again and again, and what was wrong with them.
    private final class Checks: Sendable {
        private struct State {
            var rounds = 0
            /// Of each key the first token and the last one, with their ends.
            var held: [String: [(token: String, end: Double)]] = [:]
            var failures: [String] = []
            var isStopped = false
        }

        private let state = Lock(State())

        var rounds: Int { state.withLock { $0.rounds } }
        var signers: Int { state.withLock { $0.held.count } }
        var failures: [String] { state.withLock { $0.failures } }

        /// Ends after the round that is at work.
        func stop() { state.withLock { $0.isStopped = true } }

        /// Checks until it is stopped: each round has a new token of one of the two, in turn.
        func run(_ pair: Pair) async throws {
            var next = ContinuousClock.now
            while !state.withLock({ $0.isStopped }) {
                let token = try await pair.token(pair.clients[rounds % 2])
                let parsed = try JSONWebToken(parsing: token)
                let end = try JSON.parse(parsed.payload)["exp"]?.int64Value ?? 0
                let (key, last) = (parsed.header.kid ?? "", (token: token, end: Double(end)))
                let held = state.withLock { state -> [String: [(token: String, end: Double)]] in
                    state.held[key] = state.held[key]?.first.map { [$0, last] } ?? [last]
                    return state.held
                }
                for (key, tokens) in held {
                    // One that ends while it is checked proves nothing.
                    for (token, end) in tokens where Date().timeIntervalSince1970 < end {
                        let statuses = try await pair.statuses(token)
                        guard statuses != [200, 200] else { continue }
                        state.withLock { $0.failures.append("\(statuses) for a token of \(key)") }
                    }
                }
                state.withLock { $0.rounds += 1 }
                next = max(next + RotationTests.interval, .now)
                try await pair.poller.sleep(until: next)
            }
        }
    }

    @Test func atEveryMomentEachTokenVerifies() async throws {
        try await with { pair in
            let checks = Checks()
            // The backends are stopped when nobody asks them any more.
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await checks.run(pair) }
                for _ in 0..<3 {
                    _ = try await pair.rotate()
                    let seen = checks.rounds
                    try await wait(
                        for: "a second of checks", read: { checks.rounds }, until: { $0 >= seen + 20 })
                }
                checks.stop()
                try await group.waitForAll()
            }
            #expect(checks.failures == [])
            #expect(checks.signers == 4, "tokens of each key were checked")
        }
    }

    // MARK: The end of a key

    /// Also where both have verified the token before, and remember that.
    @Test func aRevokedKeyIsRefusedWithinASecond() async throws {
        try await with { pair in
            let former = try await pair.token(pair.clients[0])
            let id = try #require(try JSONWebToken(parsing: former).header.kid)
            _ = try await pair.rotate()
            let newer = try await pair.token(pair.clients[1])
            #expect(try await pair.statuses(former) == [200, 200])
            #expect(try await pair.statuses(newer) == [200, 200])
            try await pair.keys("retire", id, "--now")
            let begun = ContinuousClock.now
            try await wait(
                for: "both to refuse it", read: { try await pair.statuses(former) },
                until: { $0 == [401, 401] })
            #expect(ContinuousClock.now - begun < .seconds(1) * TestOptions.patience)
            #expect(try await pair.published().allSatisfy { !$0.contains(id) })
            #expect(try await pair.statuses(newer) == [200, 200])
        }
    }

    /// What a key has signed counts for as long as its tokens live, and a minute more: not until a token ends that was made
    /// with it by hand.
    @Test func aRetiredOneBehindItsTime() async throws {
        try await with(hasOwnClock: true) { pair in
            let minted = try await pair.token(pair.clients[0])
            let id = try #require(try JSONWebToken(parsing: minted).header.kid)
            let next = try await pair.rotate()
            let (key, json) = try pair.key(id)
            let retired = Double(try #require(json["psb_retired"]?.int64Value))
            let claims = JSON.object([
                JSONMember("aud", .array([.string(Self.audience)])), JSONMember("sub", .string("u1")),
                JSONMember("iat", .integer(Int(retired))), JSONMember("exp", .integer(Int(retired) + 3_600)),
            ])
            let long = try JSONWebToken.signed(payload: claims.utf8, with: key, algorithm: .ES256, kid: id)
            let end = retired + Double(Self.lifetime) + 60
            pair.clock.withLock { $0 = end - 1 }
            // More than the time between two looks at the folder, which look at the clock, too.
            for _ in 0..<20 {
                #expect(try await pair.statuses(long) == [200, 200])
                try await pair.poller.sleep(until: .now + Self.interval)
            }
            #expect(try await pair.published() == [[id, next], [id, next]])
            pair.clock.withLock { $0 = end }
            try await wait(
                for: "both to refuse it", read: { try await pair.statuses(long) },
                until: { $0 == [401, 401] })
            #expect(try await pair.published() == [[next], [next]])
            #expect(try await pair.statuses(try await pair.token(pair.clients[1])) == [200, 200])
        }
    }
}
