import Foundation
import PowerSyncCrypto
import PowerSyncMockService
import PowerSyncPostgresSource
import PowerSyncSystem
import PowerSyncWire

/// The readers of configuration files; the second byte chooses what is repeated.
///
/// | first byte modulo 2 | the rest |
/// |---|---|
/// | 0 | the service's configuration |
/// | 1 | a sync configuration |
struct ConfigurationTarget: FuzzTarget {
    static let words = [
        "\n", ": ", "- ", "{", "}", "[", "]", ", ", "&a ", "*a", "!env ", "PS_TEXT", "PS_PORT::number", "|\n",
        ">-\n",
        "'", "\"", "\\x41", "# ", "---\n", "...\n", "%YAML 1.1\n", "\u{85}", "\u{2028}", "\u{FEFF}", "\r",
        "replication:", "connections:", "type: postgresql", "uri:", "hostname:", "port:", "username:",
        "password:",
        "database:", "sslmode:", "verify-ca", "disable", "cacert:", "client_certificate:",
        "client_private_key:",
        "slot_name_prefix:", "heartbeat_interval_seconds:", "storage:", "type: sqlite", "path:",
        "sync_config:",
        "content:", "client_auth:", "jwks_uri:", "http://a", "jwks:", "keys:", "audience:", "supabase: false",
        "kty:",
        "oct", "alg:", "HS256", "k:", "key_ops:", "api:", "parameters:", "max_concurrent_connections:",
        "telemetry:",
        "prometheus_port:", "system:", "logging:", "level:", "format: json", "config:", "edition: 3",
        "streams:",
        "query:", "queries:", "auto_subscribe: true", "priority: 1", "SELECT * FROM t", "storage_version: 2",
        "timestamp_max_precision: seconds",
    ]

    private(set) var tally = Tally()

    static func firstInputs(fixtures: URL) throws -> [[UInt8]] {
        let scenarios = try Recordings.read(fixtures.appending(path: "service/curated"))
        var inputs: [[UInt8]] = []
        for text in scenarios.compactMap({ $0["sync_config"]?.stringValue }) {
            inputs.append([1, 0] + Array(text.utf8))
        }
        for text in written { inputs.append([0, 0] + Array(text.utf8)) }
        for text in repeated { inputs.append([1, 255] + Array(text.utf8)) }
        return inputs
    }

    private static let written = [
        """
        replication:
          connections:
            - type: postgresql
              uri: !env PS_TEXT
              sslmode: verify-ca
              cacert: |
                CA
              client_certificate: "C\\x41"
              client_private_key: 'K'
              slot_name_prefix: a_1
              heartbeat_interval_seconds: 5
        storage: { type: sqlite, path: s.db }
        sync_config: { content: "streams: {}" }
        port: !env PS_PORT::number
        host: 127.0.0.1
        client_auth:
          audience: [a, b]
          jwks_uri: [http://a/keys, https://b]
          supabase: false
          jwks: { keys: [ { kty: oct, alg: HS256, kid: k, k: MDEyMzQ1Njc4OWFiY2RlZg, key_ops: [sign, verify] } ] }
        api: { parameters: { max_concurrent_connections: 7, max_buckets_per_connection: 8 } }
        telemetry: { prometheus_port: 9090 }
        system: { logging: { level: debug, format: json } }
        """,
        #"""
        {"replication":{"connections":[{"type":"postgresql","hostname":"db","port":5433,"username":"a b",
        "password":"p","database":"d","sslmode":"disable"}]},"storage":{"type":"postgresql"},
        "sync_rules":{"path":"sync.yaml"}}
        """#,
    ]

    private static let repeated = [
        "config: {edition: 3}\nstreams:\n  a:\n    queries:\n\0      - SELECT * FROM t\n\0",
        "\0[\0\0a: \0\0- \0", "a: &a [b]\nb: [\0*a,\0]",
    ]

    mutating func check(_ input: [UInt8]) {
        guard let kind = input.first else { return }
        let bytes = Repetition.unfold(Array(input.dropFirst()), limit: 1 << 14)
        let text = String(decoding: bytes, as: UTF8.self)
        if kind % 2 == 0 { checkService(text) } else { LanguageProperties.check(text, &tally) }
    }

    private mutating func checkService(_ text: String) {
        let results = (0..<2).map { _ in Self.read(text) }
        guard results[0] == results[1] else { fatalError("two answers for one text") }
        switch results[0] {
        case .success: tally.count("configurations")
        case .failure(let error):
            tally.count("configurations refused")
            guard Self.hasPlace(error, in: TextPlaces(text)) else {
                fatalError("an error that is nowhere in the text: \(error)")
            }
        }
    }

    private static func hasPlace(_ error: ConfigurationError, in places: TextPlaces) -> Bool {
        guard let place = error.message.prefixMatch(of: /file:([0-9]+):([0-9]+): ./),
            let line = Int(place.1), let column = Int(place.2)
        else { return false }
        return places.have(line: line, column: column)
    }

    /// What a configuration says, as texts.
    private static func read(_ text: String) -> Result<[String], ConfigurationError> {
        let inputs = ConfigurationReader.Inputs(
            environment: ["PS_TEXT": "text", "PS_PORT": "80"],
            readFile: { path throws(SystemError) in
                guard path == "sync.yaml" else { throw SystemError(.file, "cannot read \(path)") }
                return "streams: {}"
            }, statePath: { "state" }, systemAuthorities: { "authorities" })
        return Result { () throws(ConfigurationError) in
            let settings = try ConfigurationReader.read(text, name: "file", inputs: inputs)
            let service = settings.service
            guard (0...65_535).contains(service.port), (0...65_535).contains(service.metricsPort ?? 0),
                service.jwksURIs.allSatisfy({ $0.hasPrefix("http") })
            else { fatalError("a setting out of its bounds") }
            let parameters = service.source.parameters.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }
            return [
                service.source.uri, "\(parameters)", "\(service.source.certificates as Any)",
                service.slotNamePrefix,
                "\(service.heartbeat)", service.statePath, service.host, "\(service.port)",
                "\(service.metricsPort ?? -1)", service.syncConfig.text, service.syncConfig.file,
                "\(service.keys.map { "\($0) \($0.thumbprint)" })", "\(service.jwksURIs)",
                "\(service.audience)",
                "\(service.maxConcurrentConnections)", "\(service.maxBucketsPerConnection)",
                "\(service.maxDataFetchConcurrency)", "\(settings.logLevel)", "\(settings.logFormat)",
                "\(settings.notes)",
            ]
        }
    }
}
