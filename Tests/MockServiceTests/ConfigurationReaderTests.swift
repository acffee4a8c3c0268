import Foundation
import PowerSyncCommandLine
import PowerSyncCrypto
import PowerSyncMockService
import PowerSyncPostgres
import PowerSyncPostgresSource
import PowerSyncSystem
import Testing

/// Service 8.
struct ConfigurationReaderTests {
    private func read(_ text: String, _ environment: [String: String] = [:]) throws(ConfigurationError)
        -> ServiceSettings
    {
        try ConfigurationReader.read(
            text, name: "powersync.yaml",
            inputs: .init(
                environment: environment,
                readFile: { path throws(SystemError) in
                    guard path == "sync.yaml" else {
                        throw SystemError(.file, "cannot read \(path)", errno: ENOENT)
                    }
                    return "streams: {}"
                },
                statePath: { environment["HOME"].map { "\($0)/powersync.state.sqlite" } },
                systemAuthorities: { environment["BUNDLE"] }))
    }

    private static let minimal = """
        replication:
          connections:
            - { type: postgresql, uri: !env PS_DATA_URI, sslmode: disable }
        storage: { type: sqlite, path: state.db }
        sync_config: { path: sync.yaml }
        """

    @Test func readsTheExampleOfTheRealService() throws {
        let settings = try read(
            """
            \(Self.minimal)
            port: !env PS_PORT::number
            host: 127.0.0.1
            client_auth:
              audience: [powersync-dev]
              jwks_uri: [http://localhost:1/keys, https://example.com/keys]
              jwks: { keys: [ { kty: oct, alg: HS256, kid: test-key, k: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY } ] }
            api:
              tokens: [admin-token]
              parameters:
                { max_concurrent_connections: 7, max_buckets_per_connection: 8, max_parameter_query_results: 10,
                  checkpoint_request_retention_minutes: 9 }
            system: { logging: { level: debug, format: json } }
            """, ["PS_DATA_URI": "postgresql://u@h/d", "PS_PORT": "4000"])
        let service = settings.service
        #expect(service.source.uri == "postgresql://u@h/d")
        #expect(service.source.parameters == ["sslmode": "disable"])
        #expect(service.port == 4000 && service.host == "127.0.0.1")
        #expect(service.statePath == "state.db" && service.syncConfig.text == "streams: {}")
        #expect(service.syncConfig.file == "sync.yaml")
        #expect(service.audience == ["powersync-dev"])
        #expect(service.jwksURIs == ["http://localhost:1/keys", "https://example.com/keys"])
        #expect(service.keys.map(\.kid) == ["test-key"])
        #expect(service.maxConcurrentConnections == 7 && service.maxBucketsPerConnection == 8)
        #expect(service.maxParameterQueryResults == 10)
        #expect(service.checkpointRequestRetention == .seconds(540))
        #expect(service.apiTokens == ["admin-token"])
        #expect(settings.logLevel == .debug && settings.logFormat == .json)
    }

    @Test func readsJSONAndPartsOfAConnection() throws {
        let service = try read(
            #"""
            {"replication":{"connections":[{"type":"postgresql","hostname":"db","port":5433,"username":"a b",
            "password":"p/w","database":"d"}]},"storage":{"type":"sqlite","path":"s"},"sync_config":{"content":"x"}}
            """#
        ).service
        #expect(service.source.uri == "postgresql://a%20b:p%2Fw@db:5433/d")
        #expect(service.source.parameters == ["sslmode": "verify-full"])
        #expect(service.port == 8080 && service.host == "0.0.0.0" && service.syncConfig.text == "x")
    }

    /// The minimal configuration with other keys of the connection.
    private static func connection(_ keys: String) -> String {
        minimal.replacing("uri: !env PS_DATA_URI, sslmode: disable", with: keys)
    }

    private func refusal(_ text: String, _ environment: [String: String] = [:]) -> String {
        let error = #expect(throws: ConfigurationError.self, "\(text)") { try read(text, environment) }
        return error?.description ?? ""
    }

    /// Only libpq knows what it will read: the word alone may stand in a password or in the name of a database.
    @Test(arguments: [
        ("postgresql://h/d?sslmode=require", [:]), ("postgresql://h/d?ssl=true", [:]),
        ("host=h dbname=d sslmode = require", [:]),
        ("postgresql://u:sslmode=require@h/d", ["sslmode": "verify-full"]),
        ("postgresql://h/sslmode=require", ["sslmode": "verify-full"]),
    ])
    func whatTheURISaysOfTLSStands(_ uri: String, _ expected: [String: String]) throws {
        let service = try read(Self.connection("uri: !env PS_DATA_URI"), ["PS_DATA_URI": uri]).service
        #expect(service.source.parameters == expected)
    }

    /// The rules of authorities hold for the mode that is effective, wherever it stands.
    @Test func authoritiesGoWithTheModeThatIsEffective() throws {
        let bundle = ["BUNDLE": "/b.crt"]
        func parameters(_ keys: String, _ more: [String: String] = [:]) throws -> [String: String] {
            try read(Self.connection(keys), bundle.merging(more) { $1 }).service.source.parameters
        }
        let full = "uri: 'postgresql://h/d?sslmode=verify-full'"
        #expect(try parameters(full) == ["sslrootcert": "/b.crt"])
        #expect(try parameters("\(full), cacert: CA") == [:])
        #expect(try parameters("uri: 'postgresql://h/d?sslmode=verify-full&sslrootcert=ca.pem'") == [:])
        #expect(
            try parameters("uri: 'postgresql://h/d?sslrootcert=ca.pem', sslmode: verify-ca")
                == ["sslmode": "verify-ca"])
        #expect(try parameters("uri: 'postgresql://h/d?sslmode=verify-ca', cacert: CA") == [:])
        for own in [["PGSSLROOTCERT": "/own.crt"], ["PGSERVICE": "own"]] {
            #expect(try parameters(full, own) == [:])
        }
        #expect(try parameters("uri: 'postgresql://h/d?service=own'") == ["sslmode": "verify-full"])
        #expect(
            refusal(Self.connection("uri: 'postgresql://h/d?sslmode=verify-ca'"), bundle).hasSuffix(
                "[PSYNC_S1104] 'sslmode' verify-ca needs a 'cacert'"))
        for mode in ["disable", "allow", "prefer"] {
            let keys = "uri: 'postgresql://h/d?sslmode=\(mode)', cacert: CA"
            #expect(
                refusal(Self.connection(keys)).hasSuffix("'cacert' means nothing to 'sslmode' \(mode)"))
        }
        #expect(
            refusal(Self.connection("uri: 'postgresql://h/d', cacert: CA, sslmode: disable")).hasSuffix(
                "'cacert' means nothing to 'sslmode' disable"))
    }

    @Test func whatIsSaidTwiceMustBeTheSame() throws {
        let uri = "uri: 'postgresql://u:p@h:5433/d?sslmode=verify-full&sslrootcert=ca.pem'"
        let same = "hostname: h, port: 5433, username: u, password: p, database: d, sslmode: verify-full"
        #expect(try read(Self.connection("\(uri), \(same)")).service.source.parameters.isEmpty)
        for (key, expected) in [
            ("sslmode: disable", "'sslmode' is disable here and verify-full in the URI"),
            ("cacert: CA", "'cacert' is here and 'sslrootcert' in the URI: one of them"),
            ("hostname: g", "'hostname' says otherwise than the 'uri' beside it"),
            ("port: 5432", "'port' says otherwise than the 'uri' beside it"),
            ("username: v", "'username' says otherwise than the 'uri' beside it"),
            ("password: q", "'password' says otherwise than the 'uri' beside it"),
            ("database: e", "'database' says otherwise than the 'uri' beside it"),
        ] {
            let refusal = refusal(Self.connection("\(uri), \(key)"))
            #expect(refusal.hasPrefix("powersync.yaml:3:"), "\(key)")
            #expect(refusal.hasSuffix(expected), "\(refusal)")
        }
        // The environment may name the port.
        let port = Self.connection("uri: postgresql://h/d, port: 5434")
        #expect(try read(port, ["PGPORT": "5434"]).service.source.uri == "postgresql://h/d")
        #expect(refusal(port).hasSuffix("'uri' beside it"))
        // Where the URI says nothing, that is otherwise.
        #expect(refusal(Self.connection("uri: host=h dbname=d, password: p")).hasSuffix("'uri' beside it"))
    }

    @Test func aURIThatLibpqDoesNotUnderstandIsRefusedAndNotQuoted() throws {
        for uri in ["postgres://user:secret@[host/db", "secret", "postgres://u:secret@h/db?sslmod=x"] {
            let refusal = refusal(Self.minimal, ["PS_DATA_URI": uri])
            #expect(
                refusal.hasPrefix(
                    "powersync.yaml:3:32: [PSYNC_S1109] the connection URI is malformed"))
            #expect(!refusal.contains("secret"))
        }
        for (keys, code) in [
            ("uri: 'postgresql://h:80/d'", "[PSYNC_S1110]"), ("database: d", "[PSYNC_S1106]"),
            ("hostname: h", "[PSYNC_S1105]"), ("hostname: h, database: ''", "[PSYNC_S1105]"),
            ("hostname: 'a,b', database: d", "[PSYNC_S1106]"),
            ("hostname: 'h:5433', database: d", "[PSYNC_S1106]"),
        ] {
            #expect(refusal(Self.connection(keys)).contains(code), "\(keys)")
        }
        for (uri, code) in [
            ("", "S1109"), (" ", "S1109"), ("postgresql://u@h", "S1105"), ("host=h", "S1105"),
        ] {
            #expect(refusal(Self.minimal, ["PS_DATA_URI": uri]).contains("[PSYNC_\(code)]"), "\(uri)")
        }
        for own in [["PGDATABASE": "d"], ["PGSERVICE": "own"]] {
            let environment = own.merging(["PS_DATA_URI": "postgresql://u@h"]) { $1 }
            #expect(try read(Self.minimal, environment).service.source.uri == "postgresql://u@h")
        }
        #expect(
            try read(Self.connection("hostname: '::1', database: d")).service.source.uri
                == "postgresql://[::1]:5432/d")
    }

    @Test func rangesAndTheNameOfTheServerAreRead() throws {
        let source = try read(
            Self.connection(
                "uri: host=h dbname=d, reject_ip_ranges: [local, 8.8.8.0/24, '2606:4700::1'], tls_servername: db.example, "
                    + "max_pool_size: 5, connect_timeout: 7")
        ).service.source
        #expect(source.addresses.serverName == "db.example")
        for (address, isRejected) in [
            ("127.0.0.1", true), ("8.8.8.8", true), ("8.8.4.4", false), ("2606:4700::1", true),
            ("2606:4700::2", false),
        ] {
            #expect(source.addresses.rejected.contains(try #require(IPAddress(address))) == isRejected)
        }
        #expect(source.poolSize == 5 && source.connectTimeout == .seconds(7))
        let limits = source.poolLimits(patience: .seconds(1))
        #expect(limits.size == 5 && limits.connectTimeout == .seconds(7) && limits.patience == .seconds(1))
        let plain = try read(Self.connection("uri: host=h dbname=d, reject_ip_ranges: []")).service.source
        #expect(plain.addresses == PostgresAddressRules())
        #expect(plain.poolLimits(patience: .seconds(1)).connectTimeout == .seconds(5))
        for (keys, expected) in [
            ("reject_ip_ranges: local", "a list is expected here"),
            (
                "reject_ip_ranges: [locals]",
                "a range is 'local', an address, or an address with a length like 10.0.0.0/8"
            ),
            ("tls_servername: 'a,b'", "'tls_servername' is the name of a host"),
            ("tls_servername: 'a:443'", "'tls_servername' is the name of a host"),
            ("tls_servername: a, sslmode: disable", "'tls_servername' means nothing to 'sslmode' disable"),
            ("connect_timeout: soon", "a number from 1 to 3600 is expected here"),
        ] {
            #expect(refusal(Self.connection("uri: host=h dbname=d, \(keys)")).hasSuffix(expected), "\(keys)")
        }
        #expect(
            refusal(Self.connection("uri: host=h dbname=d sslmode=require, tls_servername: a")).hasSuffix(
                "'tls_servername' means nothing to 'sslmode' require"))
    }

    /// A snapshot may take its time; nothing else waits longer for that.
    @Test func theTimeOfASnapshotIsThatOfReadingTablesAlone() throws {
        let usual = try read(Self.connection("uri: host=h dbname=d")).service.linkTimes
        #expect(usual.reading == .seconds(30) && usual.statement == .seconds(10))
        let long = try read(Self.connection("uri: host=h dbname=d, snapshot_socket_timeout: 600")).service
            .linkTimes
        #expect(long.reading == .seconds(600) && long.statement == .seconds(10))
    }

    private func auth(_ keys: String, uri: String = "host=h dbname=d") throws(ConfigurationError)
        -> MockServiceConfiguration
    {
        try read("\(Self.minimal)\nclient_auth: {\(keys)}", ["PS_DATA_URI": uri]).service
    }

    @Test func addressesThatKeysAreNotFetchedFromAreRead() throws {
        let address = try #require(IPAddress("10.0.0.1"))
        #expect(try !auth("jwks_uri: 'https://h'").rejectedKeyAddresses.contains(address))
        #expect(try !auth("block_local_jwks: false").rejectedKeyAddresses.contains(address))
        for keys in [
            "block_local_jwks: true", "block_local_jwks: True", "jwks_reject_ip_ranges: [local]",
            "jwks_reject_ip_ranges: [10.0.0.0/8]",
        ] {
            #expect(try auth(keys).rejectedKeyAddresses.contains(address), "\(keys)")
        }
    }

    /// A key that is there for something else signs no token, be it fetched or written here (service 2.3).
    @Test(arguments: ["use: enc", "use: SIG", "key_ops: [deriveKey, sign]", "key_ops: []"])
    func keysForSomethingElseVerifyNoToken(member: String) throws {
        let key = "kty: oct, alg: HS256, k: c2VjcmV0"
        let keys = try auth(
            "jwks: {keys: [{\(key), kid: other, \(member)}, {\(key), kid: plain, use: null, key_ops: null}, "
                + "{\(key), kid: whole, use: sig, key_ops: [sign, verify]}]}"
        ).keys
        #expect(keys.map(\.kid) == ["plain", "whole"])
    }

    /// Sets of keys are written here as providers publish them.
    @Test func whatOtherwiseStandsInAKeyIsIgnored() throws {
        let keys = try auth(
            "jwks: {keys: [{kty: RSA, use: enc, alg: RSA-OAEP, kid: enc, n: AQAB, e: AQAB}, "
                + "{kty: oct, alg: HS256, k: c2VjcmV0, kid: sig, x5c: [MIIB], x5t: abc, issuer: {name: a}}]}"
        ).keys
        #expect(keys.map(\.kid) == ["sig"])
    }

    /// As the official parts spell levels.
    @Test(arguments: [("silly", LogLevel.trace), ("http", .debug), ("warn", .warning)])
    func levelsOfTheLogAreRead(name: String, level: LogLevel) throws {
        #expect(
            try read(
                "\(Self.minimal)\nsystem: {logging: {level: \(name)}}", ["PS_DATA_URI": "postgresql://u@h/d"]
            ).logLevel == level)
    }

    @Test func aSupabaseProjectIsKnownByTheHostOfTheSource() throws {
        let published = "https://abc.supabase.co/auth/v1/.well-known/jwks.json"
        let uri = "postgresql://postgres:p@db.abc.supabase.co/postgres"
        #expect(try auth("supabase: true", uri: uri).supabase?.uri == published)
        let both = try auth("supabase: true, supabase_jwt_secret: secret", uri: uri).supabase
        #expect(both?.uri == published && both?.secret?.algorithm == .HS256 && both?.secret?.kid == nil)
        let secret = try auth("supabase_jwt_secret: secret").supabase
        #expect(secret?.uri == nil && secret?.secret != nil)
        #expect(try auth("supabase: false", uri: uri).supabase == nil)
        #expect(try auth("supabase: true, jwks_uri: 'https://h'").supabase == nil)
    }

    /// What is written in another way than it is read must not be dropped.
    @Test(arguments: [
        ("client_auth: [{audience: a}]", "keys with values are expected here"),
        ("client_auth: {jwks: [{kty: oct}]}", "keys with values are expected here"),
        ("client_auth: {jwks: {keys: {kty: oct}}}", "a list is expected here"),
        ("client_auth: {jwks: {key: []}}", "'key' is no key of 'client_auth.jwks'"),
        ("client_auth: {jwks: {keys: [{kty: oct, k: c2VjcmV0}]}}", "the key needs 'alg'"),
        ("client_auth: {jwks: {keys: [{kty: RSA, alg: RS256, n: AQAB, e: AQAB}]}}", "the key needs 'kid'"),
        (
            "client_auth: {jwks: {keys: [{kty: OKP, crv: Ed25519, x: \(String(repeating: "A", count: 43))}]}}",
            "the key cannot be used: an Ed25519 key whose point has a small order"
        ),
        ("client_auth: {jwks_reject_ip_ranges: local}", "a list is expected here"),
        ("client_auth: {jwks_reject_ip_ranges: }", "a list is expected here"),
        ("client_auth: {block_local_jwks: }", "true or false is expected here"),
        ("client_auth: {block_local_jwks: 1}", "true or false is expected here"),
        ("client_auth: {supabase: maybe}", "true or false is expected here"),
        (
            "client_auth: {supabase: false, supabase_jwt_secret: s}",
            "'supabase_jwt_secret' is here although 'supabase' is false"
        ),
        ("client_auth: {supabase_jwt_secret: ''}", "an empty secret"),
        ("client_auth: {jwks_uri: 'http:///keys'}", "[PSYNC_S3102] 'jwks_uri' is not a valid address"),
        (
            "client_auth: {jwks_uri: 'ftp://h/keys'}",
            "[PSYNC_S3103] 'jwks_uri' must be an http or https address"
        ),
        ("api: {parameters: [max_concurrent_connections]}", "keys with values are expected here"),
        (
            "api: {parameters: {max_parameter_query_results: many}}",
            "a number from 1 to 1000000 is expected here"
        ),
        ("healthcheck: {probes: {use_http: 0}}", "true or false is expected here"),
        ("port: !env PS_NAME::number", "PS_NAME is no number"),
        ("host: !env PS_NAME::boolean", "PS_NAME is neither true nor false"),
        ("host: !env PS_NAME::text", "'text' is no kind of a variable: number or boolean"),
        ("metadata: 5", "keys with values are expected here"),
    ])
    func whatIsOfAnotherKindIsRefusedWithItsPlace(_ line: String, _ expected: String) {
        let refusal = refusal(
            "\(Self.minimal)\n\(line)", ["PS_DATA_URI": "host=h dbname=d", "PS_NAME": "somebody"])
        #expect(refusal.hasPrefix("powersync.yaml:6:"))
        #expect(refusal.hasSuffix(expected), "\(refusal)")
    }

    @Test func theProbesAreAskedAsTheFileSays() throws {
        func probes(_ keys: String) throws -> String {
            let probes = try read(
                "\(Self.minimal)\nhealthcheck: {probes: {\(keys)}}", ["PS_DATA_URI": "host=h dbname=d"]
            ).service.probes
            return "\(probes.usesHTTP ? "http" : "") \(probes.folder ?? "")"
        }
        #expect(try probes("") == "http ")
        #expect(try probes("use_filesystem: true") == "http .probes")
        #expect(try probes("use_http: false") == " ")
        #expect(try probes("use_http: false, use_filesystem: true") == " .probes")
        #expect(try probes("use_legacy: true") == "http .probes")
        #expect(try read(Self.minimal, ["PS_DATA_URI": "host=h dbname=d"]).service.probes == ProbeSettings())
    }

    @Test func whatMeansNothingHereIsSaid() throws {
        let settings = try read(
            """
            \(Self.minimal)
            api: { parameters: { max_connections: 5, checkpoint_request_retention_minutes: 60 } }
            healthcheck: { probes: { http: false } }
            """.replacing("sslmode: disable", with: "sslmode: disable, debug_api: true")
                .replacing("path: sync.yaml", with: "path: sync.yaml, exit_on_error: false"),
            ["PS_DATA_URI": "host=h dbname=d"])
        #expect(
            settings.notes == [
                "'debug_api' means nothing here: no route runs SQL",
                "'exit_on_error' is taken for true: a sync config with errors ends the service",
                "line 6, column 22: 'max_connections' is no key of 'api.parameters' and means nothing",
                "line 7, column 26: 'http' is no key of 'healthcheck.probes' and means nothing",
            ])
    }

    /// A file of the real service is taken as it is; its storage is named once.
    @Test func theRealServicesStorageIsAcceptedAndNotUsed() throws {
        let real = """
            replication:
              connections:
                - { type: postgresql, uri: host=h dbname=d, sslmode: disable }
            storage: { type: postgresql, uri: "postgresql://u:secret@h/s", sslmode: disable }
            sync_config: { path: sync.yaml }
            telemetry: { disable_telemetry_sharing: true, prometheus_port: 9090 }
            """
        let named = try read(real, ["POWERSYNC_STATE_PATH": "/state/s.db", "HOME": "/data"])
        #expect(named.service.statePath == "/state/s.db" && named.service.metricsPort == 9090)
        #expect(
            named.notes == ["the storage of type postgresql is not used; the state is kept in /state/s.db"])
        let beside = try read(
            real.replacing("type: postgresql, uri: \"", with: "type: mongodb, uri: \""), ["HOME": "/data"])
        #expect(beside.service.statePath == "/data/powersync.state.sqlite")
        #expect(beside.notes.first?.hasPrefix("the storage of type mongodb is not used") == true)
        let lines = real.split(separator: "\n").filter { !$0.hasPrefix("storage") }.joined(separator: "\n")
        #expect(try read(lines, ["HOME": "/data"]).notes.isEmpty)
        let other = #expect(throws: ConfigurationError.self) {
            try read(real.replacing("{ type: postgresql, uri: \"", with: "{ type: paper, uri: \""))
        }
        #expect(other?.description.contains("4:18: 'paper' is no storage") == true)
        for (storage, expected) in [
            ("{ path: s.db }", "4:10: 'storage' needs a 'type'"),
            ("s.db", "4:10: keys with values are expected here"),
        ] {
            let text = Self.minimal.replacing("{ type: sqlite, path: state.db }", with: storage)
            #expect(refusal(text, ["PS_DATA_URI": "host=h dbname=d", "HOME": "/data"]).contains(expected))
        }
        // What the file says itself wins.
        #expect(
            try read(Self.minimal, ["PS_DATA_URI": "host=h dbname=d", "POWERSYNC_STATE_PATH": "/p"]).service
                .statePath
                == "state.db")
    }

    /// The documented set-up in a cloud: certificates in the file itself.
    @Test func certificatesAreReadFromTheFileItself() throws {
        func connection(_ keys: String) -> String { Self.connection("uri: host=h dbname=d, \(keys)") }
        let inline = try read(
            connection("sslmode: verify-full, cacert: CA, client_certificate: C, client_private_key: K")
        ).service.source
        #expect(inline.certificates == SourceCertificates(authorities: "CA", certificate: "C", key: "K"))
        #expect(inline.parameters == ["sslmode": "verify-full"])
        // Without one, those of the system.
        #expect(
            try read(connection("id: a"), ["BUNDLE": "/b.crt"]).service.source.parameters
                == ["sslmode": "verify-full", "sslrootcert": "/b.crt"])
        #expect(
            try read(connection("sslmode: disable"), ["BUNDLE": "/b.crt"]).service.source.parameters == [
                "sslmode": "disable"
            ])
        for (keys, expected) in [
            ("sslmode: verify-ca", "[PSYNC_S1104] 'sslmode' verify-ca needs a 'cacert'"),
            ("client_certificate: C", "'client_certificate' and 'client_private_key' belong together"),
            ("reject_ip_range: [local]", "'reject_ip_range' is no key of a connection"),
        ] {
            let error = #expect(throws: ConfigurationError.self) { try read(connection(keys)) }
            #expect(error?.description.hasPrefix("powersync.yaml:3:") == true)
            #expect(error?.description.hasSuffix(expected) == true, "\(error?.description ?? "")")
        }
        let auth = #expect(throws: ConfigurationError.self) {
            try read(connection("id: a") + "\nclient_auth: {audience: [a], jwks_reject_ranges: [local]}")
        }
        #expect(auth?.description.hasSuffix("'jwks_reject_ranges' is no key of 'client_auth'") == true)
    }

    @Test func theEnvironmentsSyncConfigWins() throws {
        let environment = ["PS_DATA_URI": "host=h dbname=d", "POWERSYNC_SYNC_CONFIG_B64": "aGVsbG8="]
        #expect(try read(Self.minimal, environment).service.syncConfig.text == "hello")
        // A variable that is empty says nothing, as compose files leave them.
        let empty = ["PS_DATA_URI": "host=h dbname=d", "POWERSYNC_SYNC_CONFIG_B64": ""]
        #expect(try read(Self.minimal, empty).service.syncConfig.text == "streams: {}")
        let former = ["PS_DATA_URI": "host=h dbname=d", "POWERSYNC_SYNC_RULES_B64": "aGVsbG8="]
        #expect(try read(Self.minimal, former).service.syncConfig.text == "hello")
    }

    @Test func tokensOfTheAdminRoutesMayStandInTheEnvironment() throws {
        let environment = ["PS_DATA_URI": "host=h dbname=d", "PS_ADMIN": "secret"]
        let text = Self.minimal.replacing("sslmode:", with: "id: main, tag: eu, sslmode:")
        let service = try read("\(text)\napi: {tokens: [!env PS_ADMIN, 123]}", environment).service
        #expect(service.apiTokens == ["secret", "123"])
        #expect(service.connectionID == "main" && service.connectionTag == "eu")
        let without = try read(Self.minimal, environment).service
        #expect(without.apiTokens == [] && without.connectionID == "default")
        #expect(without.connectionTag == "default")
    }

    private static let wrong: [(String, String)] = [
        ("x", "1:1: the configuration must be a map"),
        (
            minimal.replacing("!env PS_DATA_URI", with: "host=h dbname=d") + "\napi: {tokens: [a, '']}",
            "6:19: a token of 'api.tokens' is a text without spaces, and not empty"
        ),
        (
            minimal.replacing("!env PS_DATA_URI", with: "host=h dbname=d") + "\napi: {tokens: [a b]}",
            "6:16: a token of 'api.tokens' is a text without spaces, and not empty"
        ),
        (
            minimal.replacing("!env PS_DATA_URI", with: "host=h dbname=d") + "\napi: {tokens: admin}",
            "6:15: a list is expected here"
        ),
        ("a: 1", "1:1: 'replication.connections' needs one connection"),
        (minimal, "3:32: PS_DATA_URI is not set"),
        (
            minimal.replacing("!env PS_DATA_URI", with: "!env DATA_URI"),
            "3:32: variables must begin with PS_: DATA_URI"
        ),
        (
            minimal.replacing("!env PS_DATA_URI", with: "host=h dbname=d").replacing(
                "type: sqlite", with: "type: postgresql"),
            "4:10: there is no place for the state: set POWERSYNC_STATE_PATH to a file that can be written, or write storage: {type: sqlite, path: FILE}"
        ),
        (
            minimal.replacing("!env PS_DATA_URI", with: "host=h dbname=d").replacing(
                "sync.yaml", with: "other.yaml"),
            "5:22: the sync config 'other.yaml' is not there"
        ),
        (
            minimal.replacing("!env PS_DATA_URI", with: "host=h dbname=d")
                + "\nclient_auth: {supabase: true}",
            "6:25: the host of the source is not db.PROJECT.supabase.co, so that it is not known where the keys are: 'supabase_jwt_secret' or 'jwks_uri' is missing"
        ),
        (
            minimal.replacing("!env PS_DATA_URI", with: "host=h dbname=d") + "\nport: high",
            "6:7: a number from 0 to 65535 is expected here"
        ),
        (
            minimal.replacing(
                "uri: !env PS_DATA_URI", with: "uri: host=h dbname=d, slot_name_prefix: No-Slot"),
            "3:67: 'slot_name_prefix' may hold at most 40 lower-case letters, digits and underscores"
        ),
    ]

    @Test(arguments: wrong)
    func saysWhatIsWrongAndWhere(_ text: String, _ expected: String) {
        do throws(ConfigurationError) {
            _ = try read(text)
            Issue.record("accepted")
        } catch {
            #expect(error.description == "powersync.yaml:\(expected)")
        }
    }
}
