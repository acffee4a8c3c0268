import Foundation
import PowerSyncBackend
import PowerSyncCommandLine
import PowerSyncContractCases
import PowerSyncCrypto
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// A backend of this repository that the contract is asked of, over sockets, with the clock of the machine.
struct ContractBackend: Sendable {
    /// A setting that `backend:` of an entry names and that these tests cannot set.
    struct UnknownSetting: Error, CustomStringConvertible {
        let name: String
        let value: String

        var description: String { "\(name)=\(value) is no setting that these tests know" }
    }

    let faults: RestartableBackend
    let poller: Poller
    let uri: String
    let oracle: SQLOracle
    let keys: ContractKeys
    let signIn: ContractSignIn
    let fixtures: ContractFixtures

    /// Starts one on a database of its own, which it reaches through a pooler if there is one.
    static func start(
        _ settings: [String: String], through bouncer: PgBouncer? = nil
    ) async throws -> ContractBackend {
        let poller = try Poller()
        let uri = try await TestPostgres.database(poller)
        let connection = try await PostgresConnection.connect(uri, poller: poller)
        try await connection.script(try Repository.text("Tests/Fixtures/contract/schema.sql"))
        await connection.close()
        let signer = try JSONWebKey.generate(.ES256)
        let issuer = "https://backend.example.com"
        var configuration = TestBackend.configuration(uri)
        // As many as in production: more at once would be more than may wait for a connection.
        configuration.uploadsPerUser = BackendConfiguration.development().uploadsPerUser
        configuration.tables = .text(try Repository.text("Tests/Fixtures/contract/tables.yaml"))
        configuration.keys = .given(GivenKeys(privateText: signer.jsonObjectText(includePrivate: true)))
        configuration.tokenIssuer = issuer
        configuration.hasDevelopmentTokens = true
        let session = try SignIn.sessionSettings()
        configuration.authentication.session = session
        for (name, value) in settings { try set(name, value, in: &configuration) }
        if let bouncer {
            configuration.databaseURI = bouncer.uri(through: uri)
            configuration.links.preparesStatements = false
        }
        let fixtures = try ContractFixtures(
            yaml: try Repository.text("Tests/Fixtures/contract/fixtures.yaml"), source: "fixtures.yaml")
        let faults = RestartableBackend(configuration, poller)
        _ = try await faults.restartBackend()
        return ContractBackend(
            faults: faults, poller: poller, uri: uri,
            oracle: SQLOracle(uri: uri, fixtures: fixtures, poller: poller),
            keys: try ContractKeys(signer: signer, audiences: configuration.tokenAudiences, issuer: issuer),
            signIn: try ContractSignIn(
                secret: session.secret, audience: try #require(session.audiences.first),
                issuer: session.issuer),
            fixtures: fixtures)
    }

    private static func set(
        _ name: String, _ value: String, in configuration: inout BackendConfiguration
    ) throws {
        switch (name, value) {
        case ("DEV_TOKENS", "false"): configuration.hasDevelopmentTokens = false
        case ("UPLOAD_ACCEPTS_SYNC_TOKEN", "false"): configuration.acceptsSyncTokens = false
        case ("UPLOAD_AUDIENCE", _): configuration.uploadAudiences = [value]
        case ("CORS_ORIGINS", _): configuration.corsOrigins = [value]
        case ("BATCH_ON_FATAL_ERROR", "skip"): configuration.continuesAfterFatalError = true
        case ("LEGACY_BATCH_MODE", "isolate"): configuration.isolatesLegacyBatches = true
        case ("CHECKPOINT_MODE", "custom"): configuration.hasCustomCheckpoints = true
        case ("SESSION_COOKIE", _): configuration.authentication.session?.cookie = value
        case ("TRUSTED_USER_HEADER", _): configuration.authentication.userHeader = value
        case ("TRUSTED_PROXIES", _):
            guard let range = IPRange(value) else { throw UnknownSetting(name: name, value: value) }
            configuration.authentication.trustedProxies = [range]
        case ("MAX_BODY_BYTES", _):
            guard let bytes = Int(value) else { throw UnknownSetting(name: name, value: value) }
            configuration.bodyLimit = bytes
        default: throw UnknownSetting(name: name, value: value)
        }
    }

    /// Stops it.
    func stop() async {
        await faults.stop()
        await oracle.close()
        poller.stop()
    }

    /// The target for one case, with users that no other case has.
    ///
    /// - Parameters:
    ///   - hasDisabledUser: Whether one of them is disabled.
    ///   - profile: What the backend is said to promise.
    /// - Returns: The target.
    /// - Throws: `PostgresError`.
    func target(hasDisabledUser: Bool, profile: ContractProfile = .l2) async throws -> ContractTarget {
        let suffix = "-" + UUID().uuidString.lowercased()
        var users: [String: TokenSource] = [:]
        for name in ["alice", "bob"] + (hasDisabledUser ? ["disabled"] : []) {
            let subject = name + suffix
            users[name] = TokenSource(subject: subject) { [keys] in try keys.token(for: subject) }
        }
        if hasDisabledUser {
            let connection = try await PostgresConnection.connect(uri, poller: poller)
            try await connection.query(
                "INSERT INTO psb.disabled_users (user_id, reason) VALUES ($1, 'contract')",
                ["disabled" + suffix])
            await connection.close()
        }
        return ContractTarget(
            url: await faults.url, users: users, fixtures: fixtures, oracle: oracle, profile: profile,
            keys: keys, signIn: signIn, faults: faults, patience: max(TestOptions.patience, 4))
    }
}

/// A backend that can be started again, on another port and the same database.
actor RestartableBackend: ContractFaults {
    private let configuration: BackendConfiguration
    private let poller: Poller
    private var backend: Backend?

    init(_ configuration: BackendConfiguration, _ poller: Poller) {
        self.configuration = configuration
        self.poller = poller
    }

    /// What its URLs begin with now.
    var url: String { "http://127.0.0.1:\(backend?.port ?? 0)" }

    func restartBackend() async throws -> String {
        await stop()
        let next = Backend(
            configuration: configuration, poller: poller, log: Log(label: "contract", level: .error) { _ in })
        try await next.start()
        backend = next
        return url
    }

    func stop() async {
        let former = backend
        backend = nil
        await former?.stop()
    }
}

/// One backend for all cases that want the same settings; they end with the test process, as their server does.
actor ContractBackends {
    /// Those of `ContractTests`.
    static let shared = ContractBackends()

    private let bouncer: Task<PgBouncer, any Error>?
    private var started: [[String: String]: Task<ContractBackend, any Error>] = [:]

    /// Makes a place for backends, which reach their databases through a pooler if there is one.
    init(through bouncer: Task<PgBouncer, any Error>? = nil) { self.bouncer = bouncer }

    /// Returns the backend with these settings, which the first one starts who asks.
    func backend(_ settings: [String: String]) async throws -> ContractBackend {
        let task =
            started[settings]
            ?? Task { [bouncer] in
                try await ContractBackend.start(settings, through: try await bouncer?.value)
            }
        started[settings] = task
        return try await task.value
    }

    /// Asks a case of the backend that it wants, and expects that it passes, unless it says why it need not.
    ///
    /// - Parameters:
    ///   - number: The number of the case.
    ///   - sourceLocation: Where it is asked.
    /// - Throws: What ends a test: a start that fails, a case that is not there.
    nonisolated func ask(
        _ number: CaseNumber, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let catalogue = try ContractCatalogue.ours()
        let entry = try #require(catalogue[number], sourceLocation: sourceLocation)
        let backend: ContractBackend
        if entry.isAlone {
            backend = try await ContractBackend.start(entry.backend, through: try await bouncer?.value)
        } else {
            backend = try await self.backend(entry.backend)
        }
        let target = try await backend.target(hasDisabledUser: entry.needs.contains("disabled"))
        let verdict = await ContractRun(target, catalogue).run(number)
        if entry.isAlone { await backend.stop() }
        if let reason = entry.later {
            #expect(
                verdict != .passed, "\(number) passes: strike it off, \(reason)",
                sourceLocation: sourceLocation)
        } else {
            #expect(verdict == .passed, "\(number), \(entry.title)", sourceLocation: sourceLocation)
        }
    }
}

extension ContractCatalogue {
    /// The one of this repository.
    static func ours() throws -> ContractCatalogue {
        try ContractCatalogue(folder: Repository.fixtures.appending(path: "contract/backend").path)
    }

    /// The numbers of all cases but those that are tests of their own.
    var numbersOfCases: [CaseNumber] {
        cases.filter { entry in
            if case .test = entry.driver { false } else { true }
        }.map(\.number)
    }
}
