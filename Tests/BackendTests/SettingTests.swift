import PowerSyncCommandLine
import Foundation
import PowerSyncBackend
import PowerSyncCrypto
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// The table of settings, and what is read of those for production (Backend/Start/SPEC.md).
struct SettingTests {
    private static let minimum = [
        "DATABASE_URI": "postgres://db/app", "POWERSYNC_URL": "http://localhost:8080",
        "ENV": "development", "DEV_EPHEMERAL_KEYS": "true", "DEV_OPEN_SCHEMA": "true", "DEV_TOKENS": "true",
    ]
    private static let production = [
        "DATABASE_URI": "postgres://db/app", "POWERSYNC_URL": "https://sync.example.com",
        "JWT_KEYS_DIR": "/keys", "PSB_TABLE_MAP": "/map.yaml", "ENV": "production",
        "UPLOAD_AUDIENCE": "uploads",
    ]
    private static let provider = [
        "AUTH_JWKS_URI": "https://id.example.com/keys", "AUTH_ISSUER": "https://id.example.com",
        "AUTH_AUDIENCE": "app",
    ]
    private static let secret = String(repeating: "s", count: 32)
    private static let session = [
        "SESSION_SECRET": secret, "SESSION_ISSUER": "app", "SESSION_AUDIENCE": "backend",
    ]

    private struct NoFile: Error {}

    private func read(
        _ settings: [String: String], to base: [String: String] = SettingTests.minimum
    ) throws -> BackendConfiguration {
        try BackendConfiguration(environment: base.merging(settings) { $1 }) { path in
            guard path == "/run/secrets/session" else { throw NoFile() }
            return Self.secret + "\n"
        }
    }

    /// What the start says of an environment.
    private func refusal(
        _ settings: [String: String], to base: [String: String] = SettingTests.minimum
    ) -> String? {
        let error = thrown { try read(settings, to: base) } as? BackendError
        #expect(error == nil || error?.code == .configuration)
        return error?.message
    }

    // MARK: The table

    /// The names that the sources of the backend read of the environment.
    private func namesInSources() throws -> Set<String> {
        let folder = Repository.root.appending(path: "Backend")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.allObjects
        let call = /reader\.[a-z]+\(\s*"([A-Z][A-Z0-9_]+)"/
        var names: Set<String> = []
        for case let file as URL in files ?? [] where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            names.formUnion(text.matches(of: call).map { String($0.1) })
        }
        return names
    }

    @Test func whatIsReadIsInTheTable() throws {
        let read = try namesInSources()
        #expect(read.count > 60, "\(read.sorted())")
        let names = Set(Setting.all.map(\.name))
        #expect(read.subtracting(names) == [])
        #expect(names.count == Setting.all.count, "each has one row")
    }

    @Test func secretsMayBeInFilesAndNothingElse() {
        let secrets = Setting.all.filter(\.isSecret).map(\.name)
        #expect(secrets.contains("SESSION_SECRET") && secrets.contains("DATABASE_URI"))
        #expect(Set(Setting.names.filter { $0.hasSuffix("_FILE") }) == Set(secrets.map { $0 + "_FILE" }))
    }

    /// Whoever spells out what the table says of an absent setting changes nothing.
    @Test func whatTheTableSaysIsTheDefault() throws {
        for (base, isProduction) in [(Self.minimum, false), (Self.production, true)] {
            let standard = try read([:], to: base)
            for setting in Setting.all where base[setting.name] == nil {
                let value = isProduction ? setting.standardInProduction ?? setting.standard : setting.standard
                guard let value else { continue }
                #expect(try read([setting.name: value], to: base) == standard, "\(setting.name)=\(value)")
            }
        }
    }

    @Test func helpTellsEachSetting() {
        let help = BackendCommand.named("powersync-backend").subcommands.first { $0.name == "start" }
        let told = (help?.variables ?? []).flatMap { $0.name.split(separator: ", ").map(String.init) }
        #expect(told == Setting.all.map(\.name))
        #expect(help?.variables.allSatisfy { !$0.help.isEmpty } == true)
    }

    /// Such as would let everybody write as the login role.
    @Test(arguments: [
        ("PSB_TABELMAP", "PSB_TABLE_MAP"), ("DB_ROLE", "DB_ROLES, DB_ROLE_CLAIM"),
        ("DB_ROLES_CLAIM", "DB_ROLES, DB_ROLE_CLAIM"), ("RLS_STRIKT", "RLS_PROBE_ROLE, RLS_STRICT"),
        ("TRUSTED_PROXY", "TRUSTED_PROXIES, TRUSTED_USER_HEADER"),
    ])
    func aMisspeltNameOfOursIsTold(name: String, known: String) {
        #expect(refusal([name: "x"]) == "\(name) is no setting of this backend; known is \(known)")
    }

    /// Names of this kind are other programs', too.
    @Test(arguments: ["SESSION_MANAGER", "AUTH_SECRET", "ENV_FILE", "HOST_FILE"])
    func aNameOfAnotherProgramIsNoneOfOurs(name: String) throws {
        #expect(try read([name: "x"]) == read([:]))
    }

    @Test func whatIsNotReadFromAFileIsTold() throws {
        let words = "JWT_AUDIENCE_FILE is not read: JWT_AUDIENCE itself must say it"
        #expect(refusal(["JWT_AUDIENCE_FILE": "/run/secrets/audience"]) == words)
        #expect(try read(["JWT_AUDIENCE_FILE": ""]) == read([:]), "as compose passes on what nobody has set")
        let keys = ["POWERSYNC_PRIVATE_KEY": "a", "POWERSYNC_PUBLIC_KEY_FILE": "/run/secrets/session"]
        #expect(try read(keys).keys == .given(GivenKeys(privateText: "a", publicText: Self.secret)))
    }

    // MARK: What is read

    @Test func withoutThemNobodySignsIn() throws {
        let configuration = try read([:])
        #expect(configuration.authentication == AuthenticationSettings())
        #expect(configuration.authentication.provider == nil && configuration.authentication.session == nil)
        #expect(configuration.roles == RoleSettings() && configuration.roles.roles.isEmpty)
        #expect(configuration.rateLimits.tokensPerMinute == 600)
        #expect(configuration.rateLimits.failedCredentialsPerMinute == 20)
        #expect(configuration.links == LinkSettings() && configuration.links.preparesStatements)
        #expect(!configuration.links.allowsInsecureTLS && configuration.links.metricsPort == nil)
        #expect(configuration.links.metricsHost == "127.0.0.1")
        // As compose passes on what nobody has set.
        let absent = Setting.all.filter { Self.minimum[$0.name] == nil }
        let empty = Dictionary(uniqueKeysWithValues: absent.map { ($0.name, "") })
        #expect(try read(empty) == configuration)
    }

    @Test func theProviderIsRead() throws {
        let plain = try #require(try read(Self.provider).authentication.provider)
        #expect(plain.keysURL == "https://id.example.com/keys" && plain.issuer == "https://id.example.com")
        #expect(plain.audiences == ["app"] && plain.subjectClaim == "sub")
        #expect(plain.algorithms == [.RS256, .RS384, .RS512, .ES256, .ES384, .ES512, .EdDSA])
        let settings = Self.provider.merging([
            "AUTH_JWKS_URI_OVERRIDE": "https://proxy/keys", "AUTH_AUDIENCE": "a, b",
            "AUTH_ALGORITHMS": "RS256,EdDSA", "AUTH_SUBJECT_CLAIM": "https://x/uid",
            "AUTH_PARAMETER_CLAIMS": "team, plan",
        ]) { $1 }
        let authentication = try read(settings).authentication
        let provider = try #require(authentication.provider)
        #expect(provider.keysURL == "https://proxy/keys" && provider.audiences == ["a", "b"])
        #expect(provider.algorithms == [.RS256, .EdDSA] && provider.subjectClaim == "https://x/uid")
        #expect(authentication.parameterClaims == ["team", "plan"])
    }

    @Test func theURLOfTheInstanceMayBeTheAudience() throws {
        var settings = Self.provider
        settings["AUTH_AUDIENCE"] = nil
        settings["AUTH_INSTANCE_URL"] = "https://sync.example.com"
        #expect(try read(settings).authentication.provider?.audiences == ["https://sync.example.com"])
        settings["AUTH_AUDIENCE"] = "app"
        #expect(try read(settings).authentication.provider?.audiences == ["app"])
    }

    @Test func aProjectAtSupabaseSaysTheRest() throws {
        let settings = ["AUTH_PROVIDER": "supabase", "AUTH_SUPABASE_URL": "https://p.supabase.co/"]
        let provider = try #require(try read(settings).authentication.provider)
        #expect(provider.keysURL == "https://p.supabase.co/auth/v1/.well-known/jwks.json")
        #expect(provider.issuer == "https://p.supabase.co/auth/v1" && provider.audiences == ["authenticated"])
        let set = settings.merging(Self.provider) { $1 }
        #expect(try read(set).authentication.provider == read(Self.provider).authentication.provider)
    }

    @Test(arguments: [
        (["AUTH_ALLOW_LOCAL_HTTP": "true"], "http://127.0.0.1:9000/keys"),
        (["AUTH_ALLOW_LOCAL_HTTP": "true"], "http://localhost/keys"),
        (["AUTH_ALLOW_LOCAL_HTTP": "true"], "HTTP://[::1]:9/keys"),
        (["AUTH_ALLOW_INSECURE_HTTP_HOSTS": "idp, other"], "http://IDP:8080/keys"),
    ])
    func withoutTLSKeysComeFromWhereTheyMay(allowing: [String: String], url: String) throws {
        var settings = Self.provider
        settings["AUTH_JWKS_URI"] = url
        #expect(refusal(settings)?.hasPrefix("AUTH_JWKS_URI must begin with https://") == true)
        let allowed = settings.merging(allowing) { $1 }
        #expect(try read(allowed).authentication.provider?.keysURL == url)
        // What is not fetched does not matter.
        settings["AUTH_JWKS_URI_OVERRIDE"] = "https://proxy/keys"
        #expect(try read(settings).authentication.provider?.keysURL == "https://proxy/keys")
    }

    @Test func sessionsAreRead() throws {
        let settings = Self.session.merging(["SESSION_COOKIE": "__Host-session"]) { $1 }
        let session = try #require(try read(settings).authentication.session)
        #expect(session.secret == Array(Self.secret.utf8) && session.issuer == "app")
        #expect(session.audiences == ["backend"] && session.cookie == "__Host-session")
        var file = Self.session
        file["SESSION_SECRET"] = nil
        file["SESSION_SECRET_FILE"] = "/run/secrets/session"
        #expect(try read(file).authentication.session?.secret == session.secret)
    }

    @Test func proxiesAreRead() throws {
        let settings = ["TRUSTED_PROXIES": "10.0.0.0/8, fd00::1", "TRUSTED_USER_HEADER": "X-User"]
        let authentication = try read(settings).authentication
        #expect(authentication.userHeader == "X-User")
        #expect(authentication.trustedProxies == ["10.0.0.0/8", "fd00::1"].compactMap { IPRange($0) })
        let alone = try read(["TRUSTED_PROXIES": "0.0.0.0/0"]).authentication
        #expect(alone.trustedProxies.count == 1, "whose address a client has is another matter")
    }

    @Test func rolesLimitsAndLinksAreRead() throws {
        let configuration = try read([
            "DB_ROLES": "app_user, \"quoted\"", "DB_ROLE_CLAIM": "role", "RLS_STRICT": "true",
            "RLS_PROBE_ROLE": "prober", "TOKENS_PER_MINUTE": "0", "FAILED_CREDENTIALS_PER_MINUTE": "7",
            "PREPARED": "off", "DATABASE_TLS_INSECURE": "true", "METRICS_PORT": "9464", "METRICS_HOST": "::",
        ])
        #expect(configuration.roles.roles.map(\.name) == ["app_user", "\"quoted\""])
        #expect(configuration.roles.claim == "role" && configuration.roles.probe?.name == "prober")
        #expect(configuration.rateLimits.tokensPerMinute == 0)
        #expect(configuration.rateLimits.failedCredentialsPerMinute == 7)
        #expect(!configuration.links.preparesStatements && configuration.links.allowsInsecureTLS)
        #expect(configuration.links.metricsPort == 9464 && configuration.links.metricsHost == "::")
    }

    // MARK: What is refused

    private static let wrongProviders: [([String: String], String)] = [
        (["AUTH_JWKS_URI": "ftp://x/y"], "AUTH_JWKS_URI must be a URL that begins with https://"),
        (["AUTH_JWKS_URI": "id.example.com"], "AUTH_JWKS_URI must be a URL that begins with https://"),
        (["AUTH_JWKS_URI": "https://"], "AUTH_JWKS_URI must be a URL that begins with https://"),
        (["AUTH_JWKS_URI": "https://a b/"], "AUTH_JWKS_URI must be a URL that begins with https://"),
        (["AUTH_JWKS_URI": "https://u:p@h/"], "AUTH_JWKS_URI must hold no user and no password"),
        (
            ["AUTH_JWKS_URI_OVERRIDE": "https://u@h/"],
            "AUTH_JWKS_URI_OVERRIDE must hold no user and no password"
        ),
        (["AUTH_JWKS_URI_OVERRIDE": "http://h/"], "AUTH_JWKS_URI_OVERRIDE must begin with https://"),
        // Such names lead where a server of names says.
        (
            ["AUTH_JWKS_URI": "http://localhost.example.com/", "AUTH_ALLOW_LOCAL_HTTP": "true"],
            "AUTH_JWKS_URI must begin with https://"
        ),
        (
            ["AUTH_JWKS_URI": "http://10.0.0.1/", "AUTH_ALLOW_LOCAL_HTTP": "true"],
            "AUTH_JWKS_URI must begin with https://"
        ),
        (
            ["AUTH_JWKS_URI": "http://idp@evil/", "AUTH_ALLOW_INSECURE_HTTP_HOSTS": "idp"],
            "AUTH_JWKS_URI must hold no user and no password"
        ),
        (
            ["AUTH_ALLOW_INSECURE_HTTP_HOSTS": "http://idp"],
            "AUTH_ALLOW_INSECURE_HTTP_HOSTS must be names of hosts"
        ),
        (["AUTH_ISSUER": ""], "AUTH_ISSUER is missing"),
        (["AUTH_AUDIENCE": ""], "AUTH_AUDIENCE is missing"),
        (["AUTH_AUDIENCE": " , "], "AUTH_AUDIENCE is missing"),
        (["AUTH_ALGORITHMS": "RS256,HS256"], "AUTH_ALGORITHMS must be some of RS256, RS384"),
        (["AUTH_ALGORITHMS": "none"], "AUTH_ALGORITHMS must be some of"),
        (["AUTH_ALGORITHMS": "PS256"], "AUTH_ALGORITHMS must be some of"),
        (["AUTH_SUBJECT_CLAIM": " "], "AUTH_SUBJECT_CLAIM must be the name of a claim"),
        (["AUTH_PARAMETER_CLAIMS": "a,,b"], "AUTH_PARAMETER_CLAIMS must be names"),
        (["AUTH_PROVIDER": "auth0"], "AUTH_PROVIDER must be oidc or supabase"),
        (["AUTH_PROVIDER": "supabase"], "AUTH_SUPABASE_URL is missing"),
        (
            ["AUTH_SUPABASE_URL": "https://p.supabase.co"],
            "AUTH_SUPABASE_URL has no effect without AUTH_PROVIDER=supabase"
        ),
    ]

    @Test(arguments: SettingTests.wrongProviders)
    func aWrongProviderIsRefused(settings: [String: String], words: String) {
        let message = refusal(Self.provider.merging(settings) { $1 })
        #expect(message?.hasPrefix(words) == true, "\(message ?? "nothing")")
    }

    private static let noRange =
        "TRUSTED_PROXIES must be addresses and ranges, separated by commas, such as 10.0.0.0/8: "

    private static let wrongSettings: [([String: String], String)] = [
        (
            ["AUTH_ISSUER": "x"],
            "AUTH_ISSUER has no effect without AUTH_JWKS_URI: set AUTH_JWKS_URI, or remove AUTH_ISSUER"
        ),
        (
            ["AUTH_AUDIENCE": "x"],
            "AUTH_AUDIENCE has no effect without AUTH_JWKS_URI: set AUTH_JWKS_URI, or remove AUTH_AUDIENCE"
        ),
        (
            ["AUTH_INSTANCE_URL": "x"],
            "AUTH_INSTANCE_URL has no effect without AUTH_JWKS_URI: set AUTH_JWKS_URI, or remove AUTH_INSTANCE_URL"
        ),
        (
            ["AUTH_JWKS_URI_OVERRIDE": "https://x"],
            "AUTH_JWKS_URI_OVERRIDE has no effect without AUTH_JWKS_URI: set AUTH_JWKS_URI, or remove "
                + "AUTH_JWKS_URI_OVERRIDE"
        ),
        (
            ["AUTH_PROVIDER": "supabase", "AUTH_SUPABASE_URL": "http://p.supabase.co"],
            "AUTH_SUPABASE_URL must begin with https://; http:// is for addresses of this machine with "
                + "AUTH_ALLOW_LOCAL_HTTP=true, and in development for hosts of AUTH_ALLOW_INSECURE_HTTP_HOSTS"
        ),
        (
            ["SESSION_ISSUER": "x"],
            "SESSION_ISSUER has no effect without SESSION_SECRET: set SESSION_SECRET, or remove SESSION_ISSUER"
        ),
        (
            ["SESSION_AUDIENCE": "x"],
            "SESSION_AUDIENCE has no effect without SESSION_SECRET: set SESSION_SECRET, or remove SESSION_AUDIENCE"
        ),
        (
            ["SESSION_COOKIE": "x"],
            "SESSION_COOKIE has no effect without SESSION_SECRET: set SESSION_SECRET, or remove SESSION_COOKIE"
        ),
        (["TRUSTED_PROXIES": "proxy"], noRange + "proxy is none"),
        (["TRUSTED_PROXIES": "10.0.0.1,10.0.0.0/33"], noRange + "10.0.0.0/33 is none"),
        (
            ["TRUSTED_USER_HEADER": "X-User"],
            "TRUSTED_USER_HEADER has no effect without TRUSTED_PROXIES: set TRUSTED_PROXIES, or remove "
                + "TRUSTED_USER_HEADER"
        ),
        (
            ["DB_ROLE_CLAIM": "role"],
            "DB_ROLE_CLAIM has no effect without DB_ROLES: set DB_ROLES, or remove DB_ROLE_CLAIM"
        ),
        (["DB_ROLES": "a,,b"], "DB_ROLES must be names, separated by commas, none of them empty"),
        (["DB_ROLES": "a,none"], "DB_ROLES must be names of roles, separated by commas; none is none"),
        (["RLS_STRICT": "true"], "RLS_PROBE_ROLE is missing: a role that sees the rows which policies hide"),
        (
            ["RLS_PROBE_ROLE": "p"],
            "RLS_PROBE_ROLE has no effect without RLS_STRICT=true: set RLS_STRICT=true, or remove RLS_PROBE_ROLE"
        ),
        (["RLS_STRICT": "true", "RLS_PROBE_ROLE": "none"], "RLS_PROBE_ROLE must be the name of a role"),
        (["TOKENS_PER_MINUTE": "-1"], "TOKENS_PER_MINUTE must be a number from 0 to 1000000"),
        (
            ["FAILED_CREDENTIALS_PER_MINUTE": "x"],
            "FAILED_CREDENTIALS_PER_MINUTE must be a number from 0 to 1000000"
        ),
        (["PREPARED": "true"], "PREPARED must be on or off"),
        (["DATABASE_TLS_INSECURE": "yes"], "DATABASE_TLS_INSECURE must be true or false"),
        (["METRICS_PORT": "0"], "METRICS_PORT must be a number from 1 to 65535"),
        (["METRICS_PORT": "6060"], "METRICS_PORT is PORT itself: what it tells is not for everybody"),
        (
            ["METRICS_PORT": "7000", "PORT": "7000"],
            "METRICS_PORT is PORT itself: what it tells is not for everybody"
        ),
    ]

    @Test(arguments: SettingTests.wrongSettings)
    func whatSaysNothingAloneOrTooMuchIsRefused(settings: [String: String], words: String) {
        #expect(refusal(settings) == words)
    }

    private static let wrongSessions: [([String: String], String)] = [
        (
            ["SESSION_SECRET": String(repeating: "s", count: 31)],
            "SESSION_SECRET must have 32 bytes or more, as it stands"
        ),
        (["SESSION_ISSUER": ""], "SESSION_ISSUER is missing: who makes the tokens of SESSION_SECRET"),
        (["SESSION_AUDIENCE": ""], "SESSION_AUDIENCE is missing: whom the tokens of SESSION_SECRET are for"),
        (
            ["SESSION_SECRET_FILE": "/run/secrets/session"],
            "SESSION_SECRET and SESSION_SECRET_FILE exclude each other"
        ),
        (["SESSION_COOKIE": "a;b"], "SESSION_COOKIE must be the name of a cookie"),
        (
            ["SESSION_COOKIE": "s", "CORS_ORIGINS": "*"],
            "CORS_ORIGINS must name origins with SESSION_COOKIE: any page could act for whoever has signed in"
        ),
    ]

    @Test(arguments: SettingTests.wrongSessions)
    func aWrongSessionIsRefused(settings: [String: String], words: String) {
        #expect(refusal(Self.session.merging(settings) { $1 }) == words)
    }

    private static let reserved =
        "TRUSTED_USER_HEADER must be a field of its own, and not Authorization, Cookie, Host or one of "
        + "X-Forwarded-"
    private static let everybody =
        "TRUSTED_PROXIES must not be everybody with TRUSTED_USER_HEADER: anybody could be anybody"

    private static let wrongHeaders: [(String, String, String)] = [
        ("X-User", "0.0.0.0/0", everybody), ("X-User", "10.0.0.1,::/0", everybody),
        ("X User", "10.0.0.1", "TRUSTED_USER_HEADER must be the name of a field"),
        ("authorization", "10.0.0.1", reserved), ("Cookie", "10.0.0.1", reserved),
        ("HOST", "10.0.0.1", reserved), ("X-Forwarded-User", "10.0.0.1", reserved),
    ]

    @Test(arguments: SettingTests.wrongHeaders)
    func aWrongHeaderIsRefused(header: String, proxies: String, words: String) {
        #expect(refusal(["TRUSTED_USER_HEADER": header, "TRUSTED_PROXIES": proxies]) == words)
    }

    @Test func productionFetchesNoKeysWithoutTLSFromElsewhere() {
        let settings = Self.provider.merging(["AUTH_ALLOW_INSECURE_HTTP_HOSTS": "idp"]) { $1 }
        let words =
            "AUTH_ALLOW_INSECURE_HTTP_HOSTS is refused in production; for development say ENV=development"
        #expect(refusal(settings, to: Self.production) == words)
        #expect(refusal(Self.provider, to: Self.production) == nil)
    }

    // MARK: Development and production

    /// Also what one takes for one of the two.
    @Test(arguments: ["prod", "Production", "dev", "test", "staging", " development", "/etc/profile"])
    func whatIsNoEnvironmentIsRefused(name: String) {
        #expect(refusal(["ENV": name], to: Self.production) == "ENV must be development or production")
        #expect(refusal(["ENV": name]) == "ENV must be development or production")
    }

    @Test func whoeverSaysNothingIsInProduction() throws {
        var silent = Self.production
        silent["ENV"] = nil
        #expect(try read([:], to: silent) == read([:], to: Self.production))
        #expect(try read(["ENV": ""], to: silent).host == "0.0.0.0")
        for name in Self.switches + ["DEV_PUBLIC"] {
            let words = "\(name) is refused in production; for development say ENV=development"
            #expect(refusal([name: "true"], to: silent) == words)
        }
    }

    private static let switches = [
        "DEV_TOKENS", "DEV_OPEN_UPLOADS", "DEV_OPEN_SCHEMA", "DEV_EPHEMERAL_KEYS",
    ]

    /// A backend for development with nothing on that is for it, but for one switch.
    private func development(_ name: String, _ host: String) -> [String: String] {
        var settings = Self.production
        settings["ENV"] = "development"
        settings["HOST"] = host
        settings[name] = "true"
        return settings
    }

    @Test(
        arguments: SettingTests.switches,
        ["0.0.0.0", "::", "192.168.1.7", "backend", "localhost.example.com"])
    func offLoopbackSwitchesNeedAWord(name: String, host: String) throws {
        let settings = development(name, host)
        let words =
            "HOST is \(host), where other machines reach what is for development (\(name)): leave it at"
        #expect(refusal([:], to: settings)?.hasPrefix(words) == true)
        #expect(try read(["DEV_PUBLIC": "true"], to: settings).host == host)
        #expect(try read([name: "false"], to: settings).host == host, "nothing is on")
    }

    @Test(arguments: SettingTests.switches, ["", "127.0.0.1", "127.9.9.9", "::1", "localhost"])
    func onThisMachineNobodyIsAsked(name: String, host: String) throws {
        let configuration = try read([:], to: development(name, host))
        #expect(configuration.host == (host.isEmpty ? "127.0.0.1" : host))
    }

    @Test func syncTokensUploadWhereThereAreNoOthers() throws {
        #expect(try read([:]).acceptsSyncTokens, "as those of DEV_TOKENS must")
        #expect(try !read(["DEV_TOKENS": "false", "UPLOAD_AUDIENCE": "uploads"]).acceptsSyncTokens)
        let strict = try read(["UPLOAD_ACCEPTS_SYNC_TOKEN": "false", "UPLOAD_AUDIENCE": "uploads"])
        #expect(!strict.acceptsSyncTokens && strict.acceptedAudiences == ["uploads"])
        #expect(try !read([:], to: Self.production).acceptsSyncTokens)
        let chosen = try read(["UPLOAD_ACCEPTS_SYNC_TOKEN": "true"], to: Self.production)
        #expect(chosen.acceptedAudiences == ["https://sync.example.com", "uploads"])
    }

    /// They would upload although nobody has said so.
    @Test(arguments: [
        ["UPLOAD_AUDIENCE": "https://sync.example.com"],
        ["UPLOAD_AUDIENCE": "a,b", "JWT_AUDIENCE": "sync,b"],
    ])
    func anAudienceOfSyncTokensIsNoneOfUploads(settings: [String: String]) throws {
        let words = "UPLOAD_AUDIENCE must not be "
        #expect(refusal(settings, to: Self.production)?.hasPrefix(words) == true)
        let allowed = settings.merging(["UPLOAD_ACCEPTS_SYNC_TOKEN": "true"]) { $1 }
        #expect(try read(allowed, to: Self.production).acceptsSyncTokens)
    }

    private static let signIns: [[String: String]] = [
        provider, session, ["TRUSTED_PROXIES": "10.0.0.1", "TRUSTED_USER_HEADER": "X-User"],
    ]

    @Test func aBackendForNobodyIsRefused() throws {
        let production = ["UPLOAD_AUDIENCE": ""]
        let words =
            "AUTH_JWKS_URI is missing, and so are SESSION_SECRET and TRUSTED_USER_HEADER: nobody could"
        #expect(refusal(production, to: Self.production)?.hasPrefix(words) == true)
        let accepting = production.merging(["UPLOAD_ACCEPTS_SYNC_TOKEN": "true"]) { $1 }
        #expect(refusal(accepting, to: Self.production)?.hasPrefix(words) == true, "nobody has one")
        let development = ["DEV_TOKENS": "false"]
        let missing = "UPLOAD_AUDIENCE is missing, sync tokens are not accepted, and nobody can sign in"
        #expect(refusal(development)?.hasPrefix(missing) == true)
        #expect(refusal(["UPLOAD_ACCEPTS_SYNC_TOKEN": "false"])?.hasPrefix(missing) == true)
        for settings in Self.signIns {
            #expect(refusal(production.merging(settings) { $1 }, to: Self.production) == nil)
            #expect(refusal(development.merging(settings) { $1 }) == nil)
        }
        for settings in [
            ["UPLOAD_AUDIENCE": "uploads"], ["DEV_OPEN_UPLOADS": "true"],
            ["UPLOAD_ACCEPTS_SYNC_TOKEN": "true"],
        ] { #expect(refusal(development.merging(settings) { $1 }) == nil, "\(settings)") }
    }
}
