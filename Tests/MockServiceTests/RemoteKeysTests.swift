import PowerSyncCrypto
import PowerSyncMockService
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Service 2.3.
@Suite(.patient())
struct RemoteKeysTests {
    /// A key server whose keys can be changed, and a clock.
    private final class KeyServer: Sendable {
        struct Down: Error {}
        let state: Lock<(keys: [JSONWebKey], isDown: Bool, fetches: Int, timeouts: Set<Duration>)>
        let clock = ManualClock(1_700_000_000)

        /// Holds the fetches up while it is closed.
        let gate: Lock<Gate>

        init(_ keys: [JSONWebKey], isOpen: Bool = true) {
            state = Lock((keys, false, 0, []))
            gate = Lock(Gate())
            if isOpen { open() }
        }

        var fetches: Int { state.withLock { $0.fetches } }

        /// Lets fetches through again.
        func open() { gate.withLock { $0 }.open() }

        /// Holds up those that begin from now on.
        func close() { gate.withLock { $0 = Gate() } }

        /// How many fetches have come since it was closed.
        var held: Int { gate.withLock { $0 }.arrivals }

        func keys() -> RemoteKeys {
            RemoteKeys(uri: "http://keys", clock: clock.clock) { _, timeout in
                await self.gate.withLock { $0 }.pass()
                return try self.state.withLock { state in
                    state.fetches += 1
                    state.timeouts.insert(timeout)
                    if state.isDown { throw Down() }
                    return Array(JSONWebKeySet(keys: state.keys).jsonText().utf8)
                }
            }
        }
    }

    private let soon = 1_700_000_003.0

    private func token(_ key: JSONWebKey) throws -> String {
        let payload = #"{"sub":"u1","aud":"test","iat":1700000000,"exp":1700003600}"#
        return try JSONWebToken.signed(
            payload: Array(payload.utf8), with: key, algorithm: .ES256, kid: key.kid)
    }

    private func authenticator(_ servers: KeyServer...) -> Authenticator {
        Authenticator(
            verifier: TokenVerifier(audience: ["test"]), staticKeys: [],
            remoteKeys: servers.map { $0.keys() },
            clock: servers[0].clock.clock)
    }

    @Test func fetchesOnceForManyTokens() async throws {
        let key = try JSONWebKey.generate(.ES256)
        let server = KeyServer([key], isOpen: false)
        let authenticator = authenticator(server)
        let field = "Bearer \(try token(key))"
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    let user = try await authenticator.authenticate(field).userID
                    #expect(user == "u1")
                }
            }
            // Those who come while the keys are on their way wait for the same ones.
            try await wait(for: "a fetch") { server.held > 0 }
            server.open()
            try await group.waitForAll()
        }
        #expect(server.fetches == 1)
    }

    @Test func anUnknownNameFetchesAgainSoThatAKeyCanBeRotated() async throws {
        let old = try JSONWebKey.generate(.ES256)
        let new = try JSONWebKey.generate(.ES256)
        let server = KeyServer([old])
        let authenticator = authenticator(server)
        _ = try await authenticator.authenticate("Bearer \(try token(old))")
        server.state.withLock { $0.keys = [new] }
        _ = try await authenticator.authenticate("Bearer \(try token(new))")
        #expect(server.fetches == 2)
        // The old key is gone now.
        await #expect(throws: AuthorizationError.self) {
            try await authenticator.authenticate("Bearer \(try token(old))")
        }
    }

    @Test func unknownNamesFetchTenTimesAMinuteAtMost() async throws {
        let server = KeyServer([])
        let authenticator = authenticator(server)
        let field = "Bearer \(try token(try JSONWebKey.generate(.ES256)))"
        for _ in 0..<30 {
            await #expect(throws: AuthorizationError.self) { try await authenticator.authenticate(field) }
        }
        // The first of them had the keys fetched after it had come, so that nothing newer was to be had.
        #expect(server.fetches == 11)
        server.clock.set(1_700_000_061)
        await #expect(throws: AuthorizationError.self) { try await authenticator.authenticate(field) }
        #expect(server.fetches == 12)
    }

    /// Ten at once who name no key share one or two fetches: the eleventh has not used up what is allowed in a minute.
    @Test func aRotatedKeyIsFoundAlthoughManyAskForNone() async throws {
        let old = try JSONWebKey.generate(.ES256)
        let new = try JSONWebKey.generate(.ES256)
        let garbage = try token(try JSONWebKey.generate(.ES256))
        let server = KeyServer([old])
        let authenticator = authenticator(server)
        _ = try await authenticator.authenticate("Bearer \(try token(old))")
        server.close()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    await #expect(throws: AuthorizationError.self) {
                        try await authenticator.authenticate("Bearer \(garbage)")
                    }
                }
            }
            group.addTask {
                await #expect(throws: Never.self) { try await wait(for: "a fetch") { server.held > 0 } }
                server.open()
            }
        }
        server.state.withLock { $0.keys = [new] }
        _ = try await authenticator.authenticate("Bearer \(try token(new))")
    }

    /// The key came into being while a fetch was under way that did not bring it.
    @Test func aFetchThatBeganBeforeTheQuestionIsNotTheLast() async throws {
        let old = try JSONWebKey.generate(.ES256)
        let new = try JSONWebKey.generate(.ES256)
        let answers = Lock([[old], [old], [new]])
        let gates = [Gate(), Gate(), Gate()]
        let clock = ManualClock(1_700_000_000)
        let keys = RemoteKeys(uri: "http://keys", clock: clock.clock) { _, _ in
            let (answer, left) = answers.withLock { answers in
                defer { answers.removeFirst() }
                return (answers[0], answers.count)
            }
            await gates[3 - left].pass()
            return Array(JSONWebKeySet(keys: answer).jsonText().utf8)
        }
        let authenticator = Authenticator(
            verifier: TokenVerifier(audience: ["test"]), staticKeys: [], remoteKeys: [keys],
            clock: clock.clock)
        gates[0].open()
        _ = try await keys.current(until: soon)
        // Old keys are fetched again while they go on being used.
        clock.set(1_700_000_301)
        _ = try await keys.current(until: soon)
        try await wait(for: "the second fetch") { gates[1].arrivals == 1 }
        let field = "Bearer \(try token(new))"
        async let user = authenticator.authenticate(field).userID
        try await clock.waitForSleeper(until: 1_700_000_304)
        gates[1].open()
        gates[2].open()
        #expect(try await user == "u1")
    }

    /// As a backend beside it does, which leaves such a key out.
    @Test func aKeyThatAnybodyCanSignForIsLeftOut() async throws {
        let strong = try JSONWebKey.generate(.ES256)
        let zero = String(repeating: "A", count: 43)
        let weak = try JSONWebKey(fields: ["kty": "OKP", "crv": "Ed25519", "x": zero, "kid": "weak"])
        let keys = KeyServer([weak, strong]).keys()
        #expect(try await keys.current(until: soon).keys.map(\.kid) == [strong.kid])
    }

    @Test func aSlowFetchGoesOnWhenNobodyWaitsAnyLonger() async throws {
        let key = try JSONWebKey.generate(.ES256)
        let server = KeyServer([key], isOpen: false)
        let authenticator = authenticator(server)
        let field = "Bearer \(try token(key))"
        let first = Task { try await authenticator.authenticate(field) }
        try await wait(for: "the fetch") { server.held == 1 }
        try await server.clock.advance(to: soon, whenWaitedFor: soon)
        let error = await #expect(throws: AuthorizationError.self) { try await first.value }
        #expect(error?.code == "PSYNC_S2204")
        server.open()
        try await wait(for: "the fetch to end") { server.fetches == 1 }
        #expect(try await authenticator.authenticate(field).userID == "u1")
        #expect(server.fetches == 1)
        #expect(server.state.withLock { $0.timeouts } == [.seconds(30)])
    }

    @Test func anAddressThatIsAwayDoesNotHoldUpTheKeysOfAnother() async throws {
        let key = try JSONWebKey.generate(.ES256)
        let (away, there) = (KeyServer([], isOpen: false), KeyServer([key]))
        defer { away.open() }
        let authenticator = authenticator(away, there)
        let field = "Bearer \(try token(key))"
        let user = Task { try await authenticator.authenticate(field).userID }
        try await away.clock.advance(to: soon, whenWaitedFor: soon)
        #expect(try await user.value == "u1")
        // From now on nobody waits for the one that is away.
        #expect(try await authenticator.authenticate(field).userID == "u1")
    }

    /// No clock moves here: whoever waited would do so for ever.
    @Test func whoNeedsNoFetchedKeyWaitsForNone() async throws {
        let key = try JSONWebKey.generate(.ES256)
        let away = KeyServer([], isOpen: false)
        defer { away.open() }
        let authenticator = Authenticator(
            verifier: TokenVerifier(audience: ["test"]), staticKeys: [TrustedKey(key)],
            remoteKeys: [away.keys()],
            clock: away.clock.clock)
        #expect(try await authenticator.authenticate("Bearer \(try token(key))").userID == "u1")
        let error = await #expect(throws: AuthorizationError.self) {
            try await authenticator.authenticate("Bearer x")
        }
        #expect(error?.code == "PSYNC_S2101")
        #expect(away.held == 0)
    }

    @Test func aServerThatFailsIsNotAskedAgainForAMoment() async throws {
        let key = try JSONWebKey.generate(.ES256)
        let server = KeyServer([key])
        server.state.withLock { $0.isDown = true }
        let authenticator = authenticator(server)
        let field = "Bearer \(try token(key))"
        for _ in 0..<30 {
            await #expect(throws: AuthorizationError.self) { try await authenticator.authenticate(field) }
        }
        #expect(server.fetches == 1)
        server.state.withLock { $0.isDown = false }
        server.clock.set(1_700_000_001)
        #expect(try await authenticator.authenticate(field).userID == "u1")
    }

    @Test func keysStayUsableForAnHourWhileTheirServerIsAway() async throws {
        let key = try JSONWebKey.generate(.ES256)
        let server = KeyServer([key])
        let keys = server.keys()
        func count(at seconds: Double) async throws -> Int {
            server.clock.set(1_700_000_000 + seconds)
            return try await keys.current(until: 1_700_000_003 + seconds).keys.count
        }
        #expect(try await count(at: 0) == 1)
        server.state.withLock { $0.isDown = true }
        server.clock.setWall(by: 7200)
        #expect(try await count(at: 3599) == 1, "whatever the clock on the wall says")
        await #expect(throws: AuthorizationError.self) { _ = try await count(at: 3601) }
        server.state.withLock { $0.isDown = false }
        #expect(try await count(at: 3602) == 1)
    }

    @Test func anAnswerThatIsNoKeySetIsAnAuthorizationFailure() async throws {
        let keys = RemoteKeys(uri: "http://keys", clock: ManualClock(0).clock) { _, _ in Array("<html>".utf8)
        }
        let error = await #expect(throws: AuthorizationError.self) { try await keys.current(until: 3) }
        #expect(error?.code == "PSYNC_S2204")
    }
}
