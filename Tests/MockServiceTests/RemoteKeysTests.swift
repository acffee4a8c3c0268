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
        let state: Lock<(keys: [JSONWebKey], isDown: Bool, fetches: Int, now: Double)>

        /// Holds the fetches up while it is closed.
        let gate = Gate()

        init(_ keys: [JSONWebKey], isOpen: Bool = true) {
            state = Lock((keys, false, 0, 1_700_000_000))
            if isOpen { gate.open() }
        }

        var fetches: Int { state.withLock { $0.fetches } }

        func keys() -> RemoteKeys {
            RemoteKeys(uri: "http://keys", now: { self.state.withLock { $0.now } }) { _, _ in
                await self.gate.pass()
                return try self.state.withLock { state in
                    state.fetches += 1
                    if state.isDown { throw Down() }
                    return Array(JSONWebKeySet(keys: state.keys).jsonText().utf8)
                }
            }
        }
    }

    private func token(_ key: JSONWebKey) throws -> String {
        let payload = #"{"sub":"u1","aud":"test","iat":1700000000,"exp":1700003600}"#
        return try JSONWebToken.signed(
            payload: Array(payload.utf8), with: key, algorithm: .ES256, kid: key.kid)
    }

    private func authenticator(_ server: KeyServer) -> Authenticator {
        Authenticator(
            verifier: TokenVerifier(audience: ["test"]), staticKeys: [], remoteKeys: [server.keys()],
            now: { 1_700_000_000 })
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
            try await wait(for: "a fetch") { server.gate.arrivals > 0 }
            server.gate.open()
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
        #expect(server.fetches == 11)
        server.state.withLock { $0.now += 61 }
        await #expect(throws: AuthorizationError.self) { try await authenticator.authenticate(field) }
        #expect(server.fetches == 12)
    }

    @Test func keysStayUsableForAnHourWhileTheirServerIsAway() async throws {
        let key = try JSONWebKey.generate(.ES256)
        let server = KeyServer([key])
        let keys = server.keys()
        #expect(try await keys.current().count == 1)
        server.state.withLock {
            $0.isDown = true
            $0.now += 3599
        }
        #expect(try await keys.current().count == 1)
        server.state.withLock { $0.now += 2 }
        await #expect(throws: AuthorizationError.self) { try await keys.current() }
        server.state.withLock { $0.isDown = false }
        #expect(try await keys.current().count == 1)
    }

    @Test func anAnswerThatIsNoKeySetIsAnAuthorizationFailure() async throws {
        let keys = RemoteKeys(uri: "http://keys", now: { 0 }) { _, _ in Array("<html>".utf8) }
        let error = await #expect(throws: AuthorizationError.self) { try await keys.current() }
        #expect(error?.code == "PSYNC_S2204")
    }
}
