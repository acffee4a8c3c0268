import PowerSyncHTTPClient
import PowerSyncSystem
import PowerSyncWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What authorises the requests to a backend.
enum BackendAccess: Sendable {
    /// What the app's session says; nil if nobody is signed in.
    case session(@Sendable () async throws -> String?)
    /// The sync token itself, which a development backend gives for any user (backend 4.4).
    case developmentUser(String?)
}

/// The sync tokens of a backend, asked for one at a time, and what uploads are authorised with.
final class BackendTokens: Sendable {
    /// When a token is nearly over.
    private struct Limit: Sendable {
        let token: String
        /// As `SyncEnvironment.uptime` tells.
        let moment: Duration
    }

    /// How long before its end a token is not used any more, or a quarter of its life if that is shorter.
    static let margin = Duration.seconds(30)

    private let access: BackendAccess
    private let environment: SyncEnvironment
    private let cache: CredentialsCache
    private let limit: Lock<Limit?>

    /// Makes it for one connector.
    ///
    /// - Parameters:
    ///   - http: the way to the backend.
    ///   - access: what authorises the requests.
    ///   - endpoint: where the service is; nil for what the backend says.
    ///   - environment: the clocks.
    init(http: BackendHTTP, access: BackendAccess, endpoint: String?, environment: SyncEnvironment) {
        self.access = access
        self.environment = environment
        let limit = Lock<Limit?>(nil)
        self.limit = limit
        let pause = BackendPause(environment: environment)
        cache = CredentialsCache(executor: environment.executor) {
            try await pause.wait()
            let start = environment.uptime()
            guard let response = try await BackendTokens.answer(of: http, to: access) else { return nil }
            pause.heed(response)
            guard response.status == 200 else { throw BackendTokens.failure(response, of: http, access) }
            let answer = try http.token(from: response)
            let end = BackendTokens.limit(of: answer, askedFor: start, environment)
            limit.withLock { $0 = end }
            return SyncCredentials(endpoint: endpoint ?? answer.powersyncURL, token: answer.token)
        }
    }

    /// Returns a new token, or the one that is being asked for already.
    ///
    /// - Returns: the token and where the service is; nil if nobody is signed in.
    /// - Throws: `PowerSyncError`, `CancellationError`, what the session throws.
    func fresh() async throws -> SyncCredentials? {
        do {
            return try await cache.refresh()
        } catch let error as SyncError where error.code == .noCredentials {
            return nil
        }
    }

    /// Returns the header field that authorises an upload: of the session, or the token as long as it lasts.
    ///
    /// - Throws: `PowerSyncError`, with `missingCredentials` if nobody is signed in; `CancellationError`; what the
    ///   session throws.
    func authorization() async throws -> String {
        switch access {
        case .session(let session):
            guard let value = try await session() else {
                throw PowerSyncError(.missingCredentials, "Nobody is signed in, so nothing can be uploaded")
            }
            return value
        case .developmentUser:
            let current = try await cache.credentials()
            guard isNearlyOver(current) else { return Self.bearer(current) }
            return Self.bearer(try await cache.refresh())
        }
    }

    /// Returns another header field than one that the backend has refused.
    ///
    /// - Parameter refused: the one that was refused.
    /// - Returns: what the session says now; or a new token, unless there is one already.
    /// - Throws: as `authorization()`.
    func authorization(insteadOf refused: String) async throws -> String {
        guard case .developmentUser = access else { return try await authorization() }
        let current = Self.bearer(try await cache.credentials())
        // Somebody else may have found out before.
        guard current == refused else { return current }
        return Self.bearer(try await cache.refresh())
    }

    private func isNearlyOver(_ credentials: SyncCredentials) -> Bool {
        guard let limit = limit.withLock({ $0 }), limit.token == credentials.token else { return false }
        return environment.uptime() >= limit.moment
    }

    // MARK: Asking

    /// Asks for a token: with a session once more if what it said was refused.
    private static func answer(of http: BackendHTTP, to access: BackendAccess) async throws
        -> HTTPClientResponse?
    {
        switch access {
        case .developmentUser(let user):
            return try await http.askForToken(user: user, authorization: nil)
        case .session(let session):
            guard let first = try await session() else { return nil }
            let response = try await http.askForToken(user: nil, authorization: first)
            guard response.status == 401 else { return response }
            guard let second = try await session() else { return nil }
            return try await http.askForToken(user: nil, authorization: second)
        }
    }

    private static func failure(
        _ response: HTTPClientResponse, of http: BackendHTTP, _ access: BackendAccess
    ) -> PowerSyncError {
        guard response.status == 401 else { return http.tokenFailure(response) }
        switch access {
        case .session:
            return http.tokenFailure(response, BackendAccess.refusedSession)
        case .developmentUser:
            return http.tokenFailure(
                response, "The backend gives no token without a session, unless DEV_TOKENS is set there")
        }
    }

    /// When a new token is nearly over; nil if nobody can tell, and it is used until it is refused.
    private static func limit(
        of answer: TokenResponse, askedFor start: Duration, _ environment: SyncEnvironment
    ) -> Limit? {
        guard let life = life(of: answer, now: environment.now()), life > .zero else { return nil }
        return Limit(token: answer.token, moment: start + life - min(margin, life / 4))
    }

    /// How long a new token lasts; not positive if the clock of this device must be wrong.
    private static func life(of answer: TokenResponse, now: Int64) -> Duration? {
        if let seconds = answer.expiresIn { return .seconds(seconds) }
        // nil: a date that cannot be read says nothing.
        guard let text = answer.expiresAt, let date = try? Date(text, strategy: .iso8601) else { return nil }
        return Duration.seconds(date.timeIntervalSince1970) - Duration.microseconds(now)
    }

    private static func bearer(_ credentials: SyncCredentials) -> String { "Bearer \(credentials.token)" }
}

extension BackendAccess {
    /// What an app is told when the backend refuses its session.
    static let refusedSession = "The backend does not accept the session"
}
