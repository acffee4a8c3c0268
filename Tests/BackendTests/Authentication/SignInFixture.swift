import PowerSyncBackend
import PowerSyncCommandLine
import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Tokens as the tests of signing in make them, at a time that stands still.
enum SignIn {
    static let now = 1_800_000_000.0
    static let secret = "0123456789abcdef0123456789abcdef"
    static let issuer = "https://id.example.com"

    /// Claims that are good; nil takes one away.
    static func claims(_ changes: [String: JSON?] = [:]) -> JSON {
        var members: [String: JSON] = [
            "sub": .string("u1"), "aud": .string("app"), "iss": .string(issuer), "iat": .integer(Int(now)),
            "exp": .integer(Int(now) + 600),
        ]
        for (name, value) in changes { members[name] = value }
        return .object(members.sorted { $0.key < $1.key }.map { JSONMember($0.key, $0.value) })
    }

    static func token(
        _ key: JSONWebKey, _ algorithm: SignatureAlgorithm = .ES256, kid: String?,
        _ claims: JSON = SignIn.claims()
    ) throws -> String {
        try JSONWebToken.signed(payload: claims.utf8, with: key, algorithm: algorithm, kid: kid)
    }

    /// A token of any header, with a good signature.
    static func token(
        header: String, _ key: JSONWebKey, _ algorithm: SignatureAlgorithm = .ES256,
        payload: String = SignIn.claims().text
    ) throws -> String {
        let text = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(payload.utf8))
        return text + "." + Base64URL.encode(try key.sign(Array(text.utf8), algorithm: algorithm))
    }

    static func session(
        _ claims: JSON = SignIn.claims(), secret: String = SignIn.secret
    ) throws -> String {
        let key = try JSONWebKey(secret: Array(secret.utf8), algorithm: .HS256)
        return try token(key, .HS256, kid: nil, claims)
    }

    /// A document of the public forms of keys.
    static func document(_ keys: [JSONWebKey]) -> [UInt8] {
        Array(JSONWebKeySet(keys: keys.map { $0.publicKey() }).jsonText().utf8)
    }

    static var providerSettings: AuthenticationSettings.Provider {
        get throws {
            try #require(
                try configuration([
                    "AUTH_JWKS_URI": "https://id.example.com/keys", "AUTH_ISSUER": issuer,
                    "AUTH_AUDIENCE": "app",
                ]).authentication.provider)
        }
    }

    static func sessionSettings(cookie: String? = nil) throws -> AuthenticationSettings.Session {
        var settings = [
            "SESSION_SECRET": secret, "SESSION_ISSUER": issuer, "SESSION_AUDIENCE": "app",
        ]
        settings["SESSION_COOKIE"] = cookie
        return try #require(try configuration(settings).authentication.session)
    }

    private static func configuration(_ settings: [String: String]) throws -> BackendConfiguration {
        let minimum = [
            "DATABASE_URI": "postgres://db/app", "POWERSYNC_URL": "http://sync", "ENV": "development",
            "DEV_OPEN_SCHEMA": "true", "DEV_EPHEMERAL_KEYS": "true",
        ]
        return try BackendConfiguration(environment: minimum.merging(settings) { $1 }) { _ in "" }
    }
}

/// The code of what a body refuses, or "none".
func refusalCode(_ body: () async throws -> Void) async -> String {
    do {
        try await body()
        return "none"
    } catch {
        return (error as? Problem)?.code ?? "\(error)"
    }
}

/// A clock that stands still until it is moved, for those who wait by seconds.
final class ManualSeconds: Sendable {
    private struct State {
        var now = 0.0
        var sleepers: [Int: (until: Double, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var last = 0
    }

    private let state = Lock(State())

    var clock: ProviderKeys.Clock {
        ProviderKeys.Clock(now: { self.now }, sleep: { try await self.sleep(until: $0) })
    }

    var now: Double { state.withLock { $0.now } }

    /// How many wait.
    var sleepers: Int { state.withLock { $0.sleepers.count } }

    func pass(_ seconds: Double) {
        let due = state.withLock { state -> [CheckedContinuation<Void, any Error>] in
            state.now += seconds
            let now = state.now
            let due = state.sleepers.filter { $0.value.until <= now }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values.map(\.continuation)
        }
        for continuation in due { continuation.resume() }
    }

    private func sleep(until moment: Double) async throws {
        let id = state.withLock { state -> Int in
            state.last += 1
            return state.last
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<Void, any Error>) in
                let answer = state.withLock { state -> Result<Void, any Error>? in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if moment <= state.now { return .success(()) }
                    state.sleepers[id] = (moment, continuation)
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            state.withLock { $0.sleepers.removeValue(forKey: id)?.continuation }?.resume(
                throwing: CancellationError())
        }
    }
}

/// A provider of keys that can be down, or hold its answers back.
final class FakeProvider: Sendable {
    struct Down: Error {}

    private let state: Lock<(document: [UInt8]?, fetches: Int, gate: Gate?)>

    init(_ keys: [JSONWebKey]) { state = Lock((SignIn.document(keys), 0, nil)) }

    var fetches: Int { state.withLock { $0.fetches } }

    func publish(_ keys: [JSONWebKey]) { state.withLock { $0.document = SignIn.document(keys) } }

    func goDown() { state.withLock { $0.document = nil } }

    /// Holds back what is asked for from now on.
    func holdBack() -> Gate {
        let gate = Gate()
        state.withLock { $0.gate = gate }
        return gate
    }

    var fetch: ProviderKeys.Fetch {
        {
            let gate = self.state.withLock { state -> Gate? in
                state.fetches += 1
                return state.gate
            }
            await gate?.pass()
            guard let document = self.state.withLock({ $0.document }) else { throw Down() }
            return document
        }
    }
}

/// An authentication with all its parts, which can be asked without a database.
struct SignInDesk: Sendable {
    let authentication: Authentication
    let provider: FakeProvider
    let providerKey: JSONWebKey
    let own: SigningKeys
    let ownKey: JSONWebKey
    let seconds = ManualSeconds()
    let wall: Lock<Double>
    let lines: Lock<[String]>
    let looks: Lock<Int>

    /// Makes one.
    ///
    /// - Parameter change: what is other than a provider, sessions with the cookie `s`, and proxies of 10.0.0.0/8 with
    ///   `X-User`.
    /// - Throws: What the change throws, and what ends a test.
    init(_ change: (inout BackendConfiguration) throws -> Void = { _ in }) throws {
        var configuration = BackendConfiguration.development(powersyncURL: "http://sync")
        configuration.corsOrigins = ["https://app.example.com"]
        configuration.authentication.provider = try SignIn.providerSettings
        configuration.authentication.session = try SignIn.sessionSettings(cookie: "s")
        configuration.authentication.trustedProxies = [try #require(IPRange("10.0.0.0/8"))]
        configuration.authentication.userHeader = "X-User"
        try change(&configuration)
        providerKey = try JSONWebKey.generate(.ES256)
        ownKey = try JSONWebKey.generate(.ES256)
        provider = FakeProvider([providerKey])
        own = SigningKeys(try KeySet(signer: ownKey))
        let (wall, lines, looks) = (Lock(SignIn.now), Lock<[String]>([]), Lock(0))
        self.wall = wall
        self.lines = lines
        self.looks = looks
        authentication = try Authentication.make(
            configuration, keys: own,
            environment: BackendEnvironment(now: { wall.withLock { $0 } }, random: { 0 }),
            clock: seconds.clock,
            log: Log(label: "test", level: .trace) { line in lines.withLock { $0.append(line) } },
            lookForUnknown: {
                looks.withLock { $0 += 1 }
                return true
            }, fetch: provider.fetch)
    }

    /// A token of the provider.
    func foreign(_ claims: JSON = SignIn.claims(), kid: String? = nil) throws -> String {
        try SignIn.token(providerKey, kid: kid ?? providerKey.kid, claims)
    }

    /// A token of this backend.
    func minted(
        _ claims: JSON = SignIn.claims(["aud": .string("http://sync"), "iss": nil])
    ) throws -> String {
        try SignIn.token(ownKey, kid: ownKey.kid, claims)
    }

    func principal(
        _ fields: HTTPFields, from peer: String = "192.0.2.7", _ use: Authentication.Use = .uploads,
        target: String = "/"
    ) async throws -> Principal {
        let request = HTTPRequest(method: "GET", target: target, fields: fields, peer: IPAddress(peer))
        return try await authentication.principal(of: request, for: use)
    }

    /// The code of the refusal, or the kind and the user.
    func outcome(
        _ fields: HTTPFields, from peer: String = "192.0.2.7", _ use: Authentication.Use = .uploads,
        target: String = "/"
    ) async -> String {
        do {
            let principal = try await principal(fields, from: peer, use, target: target)
            return "\(principal.kind.rawValue) \(principal.subject)"
        } catch {
            return (error as? Problem)?.code ?? "\(error)"
        }
    }
}
