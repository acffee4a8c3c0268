import PowerSyncCommandLine
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncPostgresSource
import PowerSyncServiceEngine
import PowerSyncSystem

extension Authenticator {
    /// Makes an authenticator of all keys that a configuration names (service 2.3).
    ///
    /// - Parameters:
    ///   - configuration: Names keys and addresses of keys.
    ///   - client: Fetches them.
    ///   - clock: The service's.
    ///   - log: Is told of addresses that may not be asked.
    package init(
        _ configuration: MockServiceConfiguration, _ client: HTTPClient, clock: ServiceClock, log: Log
    ) {
        let rejected = configuration.rejectedKeyAddresses
        // Whoever has an address can have it asked every second, with a token that nobody has signed.
        let failures = Lock<[String: RepeatedFailures]>([:])
        let fetch: RemoteKeys.Fetch = { uri, timeout in
            // Redirects are not followed, so that they lead nowhere else.
            var request = HTTPClientRequest(url: uri)
            request.fields["accept"] = "application/json"
            request.totalTimeout = timeout
            request.rejectedAddresses = rejected
            do {
                let response = try await client.send(request, bodyLimit: 1 << 20)
                guard response.status == 200 else {
                    throw AuthorizationError("PSYNC_S2204", "The answer has status \(response.status)")
                }
                return response.body
            } catch let error as HTTPClientError where error.code == .rejectedAddress {
                let host = Self.host(of: uri)
                if failures.withLock({ $0[host, default: RepeatedFailures()].isNew("rejected", at: .now) }) {
                    log.warning(
                        "keys are not fetched: their address is in a rejected range", ["jwks.host": host])
                }
                throw AuthorizationError.rejectedAddress
            }
        }
        var addresses: [(uri: String, rules: TokenRules?)] = configuration.jwksURIs.map { ($0, nil) }
        var keys = configuration.keys.map { TrustedKey($0) }
        if let supabase = configuration.supabase {
            if let uri = supabase.uri { addresses.append((uri, SupabaseKeys.rules)) }
            if let secret = supabase.secret { keys.append(TrustedKey(secret, rules: SupabaseKeys.rules)) }
        }
        self.init(
            verifier: TokenVerifier(audience: configuration.audience), staticKeys: keys,
            remoteKeys: addresses.map { uri, rules in
                RemoteKeys(uri: uri, rules: rules, clock: clock, fetch: fetch)
            }, clock: clock)
    }

    /// The host and port of an address, without the name and password that may stand before them.
    private static func host(of uri: String) -> String {
        let authority = uri.drop { $0 != "/" }.dropFirst(2).prefix { !"/?#".contains($0) }
        return authority.split(separator: "@").last.map(String.init) ?? ""
    }
}
