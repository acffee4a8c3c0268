import PowerSyncCrypto
import PowerSyncSystem

/// Proves who a request is from by a session token, which the team's app signs with a secret.
package final class SessionAuthenticator: TokenAuthenticator {
    private struct State {
        var key: JSONWebKey
        var rules: TokenRules
        var generation = 0
    }

    package let kind = Principal.Kind.session
    private let roles: RoleSettings
    private let now: @Sendable () -> Double
    private let state: Lock<State>

    /// Makes an authenticator.
    ///
    /// - Parameters:
    ///   - session: the secret, and what its tokens must say.
    ///   - roles: chooses the role of a user.
    ///   - now: seconds since 1970.
    /// - Throws: `BackendError` for a secret that is none.
    init(
        _ session: AuthenticationSettings.Session, roles: RoleSettings, now: @escaping @Sendable () -> Double
    ) throws(BackendError) {
        self.roles = roles
        self.now = now
        state = Lock(State(key: try Self.key(session), rules: TokenRules(session)))
    }

    /// Takes a secret that was read anew: tokens of the one of before count no more.
    ///
    /// - Parameter session: the secret, and what its tokens must say.
    /// - Throws: `BackendError` for a secret that is none; the one of before stays.
    package func replace(with session: AuthenticationSettings.Session) throws(BackendError) {
        let (key, rules) = (try Self.key(session), TokenRules(session))
        state.withLock { state in
            if state.key.thumbprint != key.thumbprint || state.rules != rules { state.generation += 1 }
            state.key = key
            state.rules = rules
        }
    }

    /// Another number once another secret counts.
    package func generation() async -> Int { state.withLock { $0.generation } }

    /// Returns whom a token proves.
    ///
    /// - Parameter credentials: what shows the token; that a cookie comes from no other site, others have seen to.
    /// - Returns: who it is.
    /// - Throws: `Problem` 401, 403.
    package func principal(_ credentials: Credentials) async throws(Problem) -> Principal {
        let token = try UnverifiedToken(try credentials.token())
        let (key, rules) = state.withLock { ($0.key, $0.rules) }
        let claims = try JWTVerifier.claims(of: token, keys: [key], rules: rules, now: now())
        return try Principal(claims, kind, roles)
    }

    /// The key of a secret, whose bytes count as they stand (backend 4.2); it has no name, so that tokens may name any.
    private static func key(_ session: AuthenticationSettings.Session) throws(BackendError) -> JSONWebKey {
        do {
            return try JSONWebKey(secret: session.secret, algorithm: .HS256)
        } catch {
            throw BackendError(.configuration, "SESSION_SECRET is no secret: \(error)", cause: error)
        }
    }
}
