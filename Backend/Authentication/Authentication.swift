import PowerSyncCommandLine
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncSystem
import PowerSyncWire

/// Finds out who a request is from.
///
/// What is shown chooses one way of proving it; nobody is asked second, so that no failure of one opens the way of
/// another (Backend/Authentication/SPEC.md).
package struct Authentication: Sendable {
    /// What is asked for.
    package enum Use: Sendable, Hashable {
        /// A token.
        case token
        /// To write, or to hear of what was written: uploads, single operations, checkpoints, rejections.
        case uploads
        /// Attachments.
        case attachments
    }

    /// What goes on where nothing is shown, for development alone.
    struct Development: Sendable {
        /// Whether anybody gets a token of the user that he names.
        let hasTokens: Bool
        /// Whether uploads are those of one user.
        let hasOpenUploads: Bool
        /// That user, who is also meant where nobody is named.
        let user: String
    }

    /// The ways of proving who somebody is.
    struct Ways: Sendable {
        var provider: (any TokenAuthenticator)?
        var session: SessionAuthenticator?
        let proxy: ProxyAuthenticator
        let own: OwnTokens
    }

    /// Who decides about a token.
    private enum Reader {
        case own
        case authenticator(any TokenAuthenticator)
        /// Nobody: the answer.
        case nobody(Problem)
    }

    /// The most bytes of a user of development.
    private static let longestDevelopmentUser = 255

    private let settings: AuthenticationSettings
    private let ways: Ways
    private let development: Development
    private let roles: RoleSettings
    private let crossSite: CrossSitePolicy
    private let verified: VerifiedTokens
    private let failures: FailedCredentials
    private let log: Log
    private let hasToldOfForwarding = Lock(false)
    private let now: @Sendable () -> Double

    /// Makes it of its parts.
    init(
        _ configuration: BackendConfiguration, ways: Ways, verified: VerifiedTokens = VerifiedTokens(),
        log: Log, now: @escaping @Sendable () -> Double
    ) {
        settings = configuration.authentication
        self.ways = ways
        self.verified = verified
        self.log = log
        self.now = now
        development = Development(
            hasTokens: configuration.hasDevelopmentTokens, hasOpenUploads: configuration.hasOpenUploads,
            user: configuration.developmentUser)
        roles = configuration.roles
        crossSite = CrossSitePolicy(origins: configuration.corsOrigins)
        failures = FailedCredentials(perMinute: configuration.rateLimits.failedCredentialsPerMinute)
    }

    /// Makes it as settings say.
    ///
    /// - Parameters:
    ///   - configuration: who may sign in, and by what.
    ///   - keys: the keys of this backend.
    ///   - environment: the time and chance.
    ///   - poller: tells when somebody has waited too long.
    ///   - log: where it says that keys cannot be fetched.
    ///   - lookForUnknown: looks for own keys that have come since; says whether it did.
    /// - Returns: the authentication.
    /// - Throws: `BackendError` for a secret that is none, or where keys cannot be fetched at all.
    package static func make(
        _ configuration: BackendConfiguration, keys: SigningKeys, environment: BackendEnvironment,
        poller: Poller, log: Log, lookForUnknown: @escaping @Sendable () async -> Bool = { false }
    ) throws(BackendError) -> Authentication {
        let fetch: ProviderKeys.Fetch?
        do {
            fetch = try configuration.authentication.provider.map {
                (provider) throws(HTTPClientError) -> ProviderKeys.Fetch in
                try ProviderKeys.fetch(from: provider.keysURL)
            }
        } catch {
            throw BackendError(
                .configuration, "the provider's keys cannot be fetched: \(error)", cause: error)
        }
        return try make(
            configuration, keys: keys, environment: environment, clock: ProviderKeys.Clock(poller), log: log,
            lookForUnknown: lookForUnknown, fetch: fetch)
    }

    /// Makes it as settings say.
    ///
    /// - Parameters:
    ///   - configuration: who may sign in, and by what.
    ///   - keys: the keys of this backend.
    ///   - environment: the time and chance.
    ///   - clock: tells how old the provider's keys are.
    ///   - log: where it says that keys cannot be fetched.
    ///   - lookForUnknown: looks for own keys that have come since; says whether it did.
    ///   - fetch: fetches the keys of the provider; must be there if there is one.
    /// - Returns: the authentication.
    /// - Throws: `BackendError` for a secret that is none.
    package static func make(
        _ configuration: BackendConfiguration, keys: SigningKeys, environment: BackendEnvironment,
        clock: ProviderKeys.Clock, log: Log, lookForUnknown: @escaping @Sendable () async -> Bool = { false },
        fetch: ProviderKeys.Fetch?
    ) throws(BackendError) -> Authentication {
        let (settings, roles) = (configuration.authentication, configuration.roles)
        var ways = Ways(
            proxy: ProxyAuthenticator(settings.trustedProxies, roles: roles),
            own: OwnTokens(
                keys: keys, configuration: configuration, roles: roles, now: environment.now,
                lookForUnknown: lookForUnknown))
        if let provider = settings.provider, let fetch {
            ways.provider = ProviderAuthenticator(
                provider,
                keys: ProviderKeys(clock: clock, random: environment.random, log: log, fetch: fetch),
                roles: roles, now: environment.now)
        }
        if let session = settings.session {
            ways.session = try SessionAuthenticator(session, roles: roles, now: environment.now)
        }
        return Authentication(configuration, ways: ways, log: log, now: environment.now)
    }

    /// Reads session tokens; nil where none are taken.
    ///
    /// A secret that is read anew is handed to it.
    package var session: SessionAuthenticator? { ways.session }

    /// Finds out who a request is from.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - use: what it asks for.
    /// - Returns: who it is.
    /// - Throws: `Problem` 401, 403, 429 for whoever has shown too much that was no good, 503 where nobody can tell.
    package func principal(of request: HTTPRequest, for use: Use) async throws(Problem) -> Principal {
        let credentials = Credentials(request, settings)
        tellOfForwarding(request, credentials)
        guard credentials.showsSomething else { return try unproved(request, use) }
        do throws(Problem) {
            return try await proved(credentials, use)
        } catch {
            throw failures.answer(to: error, of: credentials.client, now: now())
        }
    }

    /// Returns the user of development of a name.
    ///
    /// - Parameter name: the name.
    /// - Returns: who that is.
    /// - Throws: `Problem` 400 for what can be no name.
    func developmentUser(_ name: String) throws(Problem) -> Principal {
        let claims = JSON.object([JSONMember("sub", .string(name))])
        guard name.utf8.count <= Self.longestDevelopmentUser,
            let principal = Principal(
                subject: name, claims: claims, kind: .development, role: try roles.role(for: claims))
        else {
            throw .invalidRequest(
                "user_id: expected a text of at most \(Self.longestDevelopmentUser) bytes")
        }
        return principal
    }

    /// Says once that all behind a proxy are one client, because nobody has named it.
    private func tellOfForwarding(_ request: HTTPRequest, _ credentials: Credentials) {
        guard let peer = credentials.peer, request.fields["x-forwarded-for"] != nil,
            !credentials.isOf(settings.trustedProxies)
        else { return }
        let isFirst = hasToldOfForwarding.withLock { hasTold in
            defer { hasTold = true }
            return !hasTold
        }
        guard isFirst else { return }
        log.warning(
            "a request names in X-Forwarded-For whose it is, and its sender is not among TRUSTED_PROXIES: whoever "
                + "comes by that address counts as one client",
            ["backend.peer": "\(peer.unmapped)", "backend.setting": "TRUSTED_PROXIES"])
    }

    // MARK: What is shown

    private func proved(_ credentials: Credentials, _ use: Use) async throws(Problem) -> Principal {
        if credentials.areSeveral {
            throw .unauthenticated(.twice, "two credentials are shown where one counts")
        }
        if credentials.userHeader != .none {
            let principal = try await ways.proxy.principal(credentials)
            try crossSite.checkPage(credentials)
            return principal
        }
        let text = try credentials.token()
        let header = try TokenHeader(text)
        if credentials.authorization == .none { try crossSite.check(credentials) }
        switch await reader(of: header, isCookie: credentials.authorization == .none) {
        case .own:
            let generation = ways.own.keys.generation
            let principal: Principal
            if let known = verified.principal(text, .own, generation: generation, now: now()) {
                principal = known
            } else {
                principal = try ways.own.principal(text)
                verified.remember(
                    principal, text, generation: generation, current: ways.own.keys.generation)
            }
            guard use != .token else {
                throw .unauthenticated(.tokenKind, "a token of this backend gets no other one")
            }
            try ways.own.requireUpload(principal)
            return principal
        case .authenticator(let authenticator):
            let generation = await authenticator.generation()
            if let known = verified.principal(
                text, authenticator.kind, generation: generation, now: now())
            {
                return known
            }
            let principal = try await authenticator.principal(credentials)
            verified.remember(
                principal, text, generation: generation, current: await authenticator.generation())
            return principal
        case .nobody(let problem):
            // What cannot be read at all is told as that.
            _ = try UnverifiedToken(text)
            throw problem
        }
    }

    private func reader(of header: TokenHeader, isCookie: Bool) async -> Reader {
        if isCookie || header.algorithm == "HS256" {
            guard let session = ways.session else {
                return .nobody(.unauthenticated(.tokenAlgorithm, "no shared secret signs tokens here"))
            }
            return .authenticator(session)
        }
        if await ways.own.isOwn(header) { return .own }
        guard let provider = ways.provider else {
            return .nobody(.unauthenticated(.tokenKeyUnknown, "the token is not signed by a known key"))
        }
        return .authenticator(provider)
    }

    // MARK: Nothing is shown

    private func unproved(_ request: HTTPRequest, _ use: Use) throws(Problem) -> Principal {
        switch use {
        case .token where development.hasTokens:
            let named = request.queryValue("user_id").flatMap { $0.isEmpty ? nil : $0 }
            return try developmentUser(named ?? development.user)
        case .uploads where development.hasOpenUploads: return try developmentUser(development.user)
        case .token, .uploads, .attachments:
            throw .unauthenticated("credentials are needed", hasToken: false)
        }
    }
}
