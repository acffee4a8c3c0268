import PowerSyncCrypto
import PowerSyncSystem

extension AuthenticationSettings {
    /// Reads who may sign in.
    ///
    /// - Parameters:
    ///   - reader: the environment.
    ///   - isProduction: whether what is for development is refused.
    ///   - corsOrigins: which web pages may call.
    ///   - problems: gets what is wrong.
    init(
        _ reader: EnvironmentReader, isProduction: Bool, corsOrigins: [String],
        _ problems: inout SettingProblems
    ) {
        provider = Self.provider(reader, isProduction: isProduction, &problems)
        session = Self.session(reader, corsOrigins, &problems)
        parameterClaims = problems.read { try reader.names("AUTH_PARAMETER_CLAIMS") } ?? []
        readProxies(reader, &problems)
    }

    // MARK: The provider

    private static func provider(
        _ reader: EnvironmentReader, isProduction: Bool, _ problems: inout SettingProblems
    ) -> Provider? {
        let project = supabase(reader, &problems)
        let named = problems.read { try reader.text("AUTH_JWKS_URI") }
        let replacement = problems.read { try reader.text("AUTH_JWKS_URI_OVERRIDE") }
        let issuer = problems.read { try reader.text("AUTH_ISSUER") }
        let instance = problems.read { try reader.text("AUTH_INSTANCE_URL") }
        var audiences = problems.read { try reader.list("AUTH_AUDIENCE") } ?? []
        let algorithms = problems.read { try Self.algorithms(reader) } ?? Self.asymmetric
        let subjectClaim = problems.read { try Self.subjectClaim(reader) } ?? "sub"
        let allowed = http(reader, isProduction: isProduction, &problems)
        guard let keys = named ?? project.map({ $0 + "/.well-known/jwks.json" }) else {
            for (name, isSet) in [
                ("AUTH_ISSUER", issuer != nil), ("AUTH_AUDIENCE", !audiences.isEmpty),
                ("AUTH_INSTANCE_URL", instance != nil), ("AUTH_JWKS_URI_OVERRIDE", replacement != nil),
            ] where isSet {
                problems.add(name, needs: "AUTH_JWKS_URI")
            }
            return nil
        }
        if audiences.isEmpty, let instance { audiences = [instance] }
        if audiences.isEmpty, project != nil { audiences = ["authenticated"] }
        let source = named == nil ? "AUTH_SUPABASE_URL" : "AUTH_JWKS_URI"
        check(keys, source, replacement == nil ? allowed : nil, &problems)
        if let replacement { check(replacement, "AUTH_JWKS_URI_OVERRIDE", allowed, &problems) }
        if issuer == nil, project == nil {
            problems.add("AUTH_ISSUER", "is missing: who makes the tokens whose keys are at AUTH_JWKS_URI")
        }
        if audiences.isEmpty {
            problems.add(
                "AUTH_AUDIENCE",
                "is missing: whom the provider's tokens are for; without it those of any app would be good here"
            )
        }
        return Provider(
            keysURL: replacement ?? keys, issuer: issuer ?? project ?? "", audiences: audiences,
            algorithms: algorithms, subjectClaim: subjectClaim)
    }

    /// What the URLs and the issuer of a project at Supabase begin with; nil for any other provider.
    private static func supabase(_ reader: EnvironmentReader, _ problems: inout SettingProblems) -> String? {
        let provider = problems.read { try reader.choice("AUTH_PROVIDER", ["oidc", "supabase"]) }
        let url = problems.read { try reader.text("AUTH_SUPABASE_URL") }
        guard provider == "supabase" else {
            if url != nil { problems.add("AUTH_SUPABASE_URL", needs: "AUTH_PROVIDER=supabase") }
            return nil
        }
        guard var url else {
            problems.add(
                "AUTH_SUPABASE_URL", "is missing: the URL of the project, which AUTH_PROVIDER=supabase needs")
            return nil
        }
        while url.hasSuffix("/") { url.removeLast() }
        return url + "/auth/v1"
    }

    private static func algorithms(
        _ reader: EnvironmentReader
    ) throws(BackendError) -> [SignatureAlgorithm]? {
        let names = try reader.list("AUTH_ALGORITHMS")
        guard !names.isEmpty else { return nil }
        let known = names.compactMap { SignatureAlgorithm(rawValue: $0) }.filter { $0.keyType != .oct }
        guard known.count == names.count else {
            throw .setting(
                "AUTH_ALGORITHMS",
                "must be some of \(asymmetric.map(\.rawValue).joined(separator: ", ")), separated by commas")
        }
        return known
    }

    private static func subjectClaim(_ reader: EnvironmentReader) throws(BackendError) -> String? {
        guard let name = try reader.text("AUTH_SUBJECT_CLAIM") else { return nil }
        guard !ValueConversion.trimmed(name).isEmpty else {
            throw .setting("AUTH_SUBJECT_CLAIM", "must be the name of a claim")
        }
        return name
    }

    /// From whom keys may come without TLS.
    private struct AllowedHTTP {
        let isLocal: Bool
        let hosts: [String]
    }

    private static func http(
        _ reader: EnvironmentReader, isProduction: Bool, _ problems: inout SettingProblems
    ) -> AllowedHTTP {
        let isLocal = problems.read { try reader.flag("AUTH_ALLOW_LOCAL_HTTP") } ?? false
        let name = "AUTH_ALLOW_INSECURE_HTTP_HOSTS"
        let hosts = problems.read { try reader.list(name) } ?? []
        if isProduction, !hosts.isEmpty { problems.refuseInProduction(name) }
        let names = hosts.compactMap { HostPolicy.name($0) }
        if names.count < hosts.count { problems.add(name, "must be names of hosts, separated by commas") }
        return AllowedHTTP(isLocal: isLocal, hosts: names)
    }

    /// Checks a URL of keys; one that is not fetched (`allowed` is nil) may be without TLS.
    private static func check(
        _ text: String, _ name: String, _ allowed: AllowedHTTP?, _ problems: inout SettingProblems
    ) {
        guard let url = KeysURL(text) else {
            problems.add(name, "must be a URL that begins with https://")
            return
        }
        if url.hasCredentials { problems.add(name, "must hold no user and no password") }
        guard !url.isEncrypted, let allowed else { return }
        if allowed.isLocal && url.isLoopback || allowed.hosts.contains(url.host) { return }
        problems.add(
            name,
            "must begin with https://; http:// is for addresses of this machine with AUTH_ALLOW_LOCAL_HTTP=true, and in "
                + "development for hosts of AUTH_ALLOW_INSECURE_HTTP_HOSTS")
    }

    // MARK: Sessions

    private static let secretBytes = 32

    /// Reads what session tokens are believed by.
    static func session(
        _ reader: EnvironmentReader, _ corsOrigins: [String], _ problems: inout SettingProblems
    ) -> Session? {
        let secret = problems.read { try reader.secret("SESSION_SECRET") }
        let issuer = problems.read { try reader.text("SESSION_ISSUER") }
        let audiences = problems.read { try reader.list("SESSION_AUDIENCE") } ?? []
        let cookie = problems.read { try reader.token("SESSION_COOKIE", of: "cookie") }
        guard let secret else {
            for (name, isSet) in [
                ("SESSION_ISSUER", issuer != nil), ("SESSION_AUDIENCE", !audiences.isEmpty),
                ("SESSION_COOKIE", cookie != nil),
            ] where isSet {
                problems.add(name, needs: "SESSION_SECRET")
            }
            return nil
        }
        if secret.utf8.count < secretBytes {
            problems.add("SESSION_SECRET", "must have \(secretBytes) bytes or more, as it stands")
        }
        if issuer == nil {
            problems.add("SESSION_ISSUER", "is missing: who makes the tokens of SESSION_SECRET")
        }
        if audiences.isEmpty {
            problems.add("SESSION_AUDIENCE", "is missing: whom the tokens of SESSION_SECRET are for")
        }
        if cookie != nil, corsOrigins.contains("*") {
            problems.add(
                "CORS_ORIGINS",
                "must name origins with SESSION_COOKIE: any page could act for whoever has signed in")
        }
        return Session(secret: Array(secret.utf8), issuer: issuer ?? "", audiences: audiences, cookie: cookie)
    }

    // MARK: Proxies

    /// Fields that say something else, or that a proxy hands on as clients send them.
    private static func isReserved(_ field: String) -> Bool {
        let name = field.lowercased()
        return ["authorization", "cookie", "host"].contains(name) || name.hasPrefix("x-forwarded-")
    }

    private mutating func readProxies(_ reader: EnvironmentReader, _ problems: inout SettingProblems) {
        let texts = problems.read { try reader.list("TRUSTED_PROXIES") } ?? []
        for text in texts {
            guard let range = IPRange(text) else {
                problems.add(
                    "TRUSTED_PROXIES",
                    "must be addresses and ranges, separated by commas, such as 10.0.0.0/8: \(text) is none")
                continue
            }
            trustedProxies.append(range)
        }
        userHeader = problems.read { try reader.token("TRUSTED_USER_HEADER", of: "field") }
        guard let userHeader else { return }
        if Self.isReserved(userHeader) {
            problems.add(
                "TRUSTED_USER_HEADER",
                "must be a field of its own, and not Authorization, Cookie, Host or one of X-Forwarded-")
        }
        if texts.isEmpty { problems.add("TRUSTED_USER_HEADER", needs: "TRUSTED_PROXIES") }
        if trustedProxies.contains(where: \.isEverything) {
            problems.add(
                "TRUSTED_PROXIES", "must not be everybody with TRUSTED_USER_HEADER: anybody could be anybody")
        }
    }
}
