import Foundation
import PowerSyncBackend
import PowerSyncPostgres
import PowerSyncTestSupport
import Testing

/// How the link to the database is protected (backend 7, number 22).
struct DatabaseTLSTests {
    private static let debian = "/etc/ssl/certs/ca-certificates.crt"

    /// A machine with the files, and a home.
    private static func files(
        _ readable: [String] = [DatabaseTLSTests.debian], named: String? = nil
    ) -> DatabaseTLS.Files {
        DatabaseTLS.Files(home: "/srv/app", named: named) { readable.contains($0) }
    }

    /// Decides for keywords as libpq has them: without a `sslmode` of its own it says `prefer`.
    private static func decide(
        _ keywords: [String: String], allowsInsecure: Bool = false,
        files: DatabaseTLS.Files = DatabaseTLSTests.files()
    ) throws -> DatabaseTLS {
        try DatabaseTLS(
            ["sslmode": "prefer"].merging(keywords) { $1 }, isModeNamed: keywords["sslmode"] != nil,
            allowsInsecure: allowsInsecure, files: files)
    }

    private static let here: [[String: String]] = [
        [:], ["host": ""], ["host": "/run/postgresql"], ["host": "@abstract"], ["host": "localhost"],
        ["host": "LOCALHOST"], ["host": "db.localhost"], ["host": "127.0.0.1"], ["host": "127.9.9.9"],
        ["host": "::1"], ["host": "::ffff:127.0.0.1"], ["hostaddr": "127.0.0.1"],
        ["host": "/run/postgresql", "hostaddr": "::1"], ["host": "localhost", "hostaddr": "127.0.0.1"],
        ["host": "localhost,127.0.0.1,/run/postgresql"],
    ]
    private static let elsewhere: [[String: String]] = [
        ["host": "db"], ["host": "db.example.com"], ["host": "10.0.0.1"], ["host": "128.0.0.1"],
        ["host": "::2"], ["host": "64:ff9b::7f00:1"], ["host": "localhost.example.com"],
        ["host": "notlocalhost"], ["host": "127.1"],
        ["hostaddr": "10.0.0.1"], ["host": "/run/postgresql", "hostaddr": "10.0.0.1"],
        ["host": "localhost", "hostaddr": "10.0.0.1"], ["host": "127.0.0.1", "hostaddr": "10.0.0.1"],
        ["host": "localhost,localhost", "hostaddr": "127.0.0.1,10.0.0.1"],
        // The certificate is that of the name, whatever the address.
        ["host": "db.test", "hostaddr": "127.0.0.1"],
        // The strictest of several.
        ["host": "localhost,db"], ["host": "localhost,", "hostaddr": "127.0.0.1,10.0.0.1"],
        // What libpq does not take is not overlooked.
        ["host": "localhost,db", "hostaddr": "127.0.0.1,::1,127.0.0.2"],
    ]

    @Test(arguments: here) func toThisMachineItIsAsTheTextSays(keywords: [String: String]) throws {
        for mode in [nil, "disable", "allow", "prefer", "require"] {
            let tls = try Self.decide(keywords.merging(mode.map { ["sslmode": $0] } ?? [:]) { $1 })
            #expect(tls.parameters.isEmpty && !tls.isInsecure, "\(mode ?? "none")")
        }
    }

    @Test(arguments: elsewhere) func aRemoteNameIsVerified(keywords: [String: String]) throws {
        for mode in [nil, "verify-full"] {
            for allowsInsecure in [false, true] {
                let tls = try Self.decide(
                    keywords.merging(mode.map { ["sslmode": $0] } ?? [:]) { $1 },
                    allowsInsecure: allowsInsecure)
                #expect(tls.parameters == ["sslmode": "verify-full", "sslrootcert": Self.debian])
                #expect(!tls.isInsecure)
            }
        }
    }

    @Test(arguments: elsewhere) func aLowerModeNeedsAWord(keywords: [String: String]) throws {
        for mode in ["disable", "allow", "prefer", "require", "verify-ca"] {
            let keywords = keywords.merging(["sslmode": mode]) { $1 }
            let error = thrown { try Self.decide(keywords) } as? BackendError
            #expect(error?.code == .configuration)
            let words = [
                "DATABASE_URI leads to another machine with sslmode=\(mode)", "verify-full",
                "sslrootcert=FILE", "DATABASE_TLS_INSECURE=true",
            ]
            for word in words {
                #expect(error?.message.contains(word) == true)
            }
            let tls = try Self.decide(keywords, allowsInsecure: true)
            #expect(tls.isInsecure && tls.parameters["sslmode"] == nil)
            // A file would have libpq check the server although nobody asked for that.
            #expect(tls.parameters["sslrootcert"] == (mode == "verify-ca" ? Self.debian : nil))
        }
    }

    /// From the environment of the process or a service file, of which libpq tells the value and not where it is from.
    @Test func aLowerModeFromElsewhereIsOne() {
        for mode in ["disable", "require", "verify-ca"] {
            #expect(throws: BackendError.self) {
                _ = try DatabaseTLS(
                    ["host": "db", "sslmode": mode], isModeNamed: false, allowsInsecure: false,
                    files: Self.files())
            }
        }
    }

    @Test func theAuthoritiesAreThoseThatAreNamedFirst() throws {
        let remote = ["host": "db"]
        let fedora = "/etc/pki/tls/certs/ca-bundle.crt"
        func file(_ keywords: [String: String], _ files: DatabaseTLS.Files) throws -> String? {
            try Self.decide(remote.merging(keywords) { $1 }, files: files).parameters["sslrootcert"]
        }
        #expect(try file(["sslrootcert": "/own.crt"], Self.files(named: "/named.crt")) == nil)
        #expect(try file([:], Self.files(["/srv/app/.postgresql/root.crt", Self.debian])) == nil)
        #expect(try file([:], Self.files(named: "/named.crt")) == "/named.crt")
        #expect(try file([:], Self.files([fedora, "/etc/ssl/cert.pem"])) == fedora)
        #expect(try file([:], Self.files([])) == nil)
        // Also of a server of this machine that is to be verified.
        let local = try Self.decide(["host": "localhost", "sslmode": "verify-full"])
        #expect(local.parameters == ["sslrootcert": Self.debian])
    }

    // MARK: The environment

    private func read(_ changes: [String: String]) throws -> BackendConfiguration {
        let variables = [
            "DATABASE_URI": "postgres://db.test/app", "POWERSYNC_URL": "http://localhost:8080",
            "ENV": "development", "DEV_EPHEMERAL_KEYS": "true", "DEV_OPEN_SCHEMA": "true",
            "DEV_TOKENS": "true", "SSL_CERT_FILE": "/named.crt",
        ]
        return try BackendConfiguration(environment: variables.merging(changes) { $1 }) { _ in "" }
    }

    @Test func eachConnectionIsMadeWithIt() throws {
        let parameters = try read([:]).connectionParameters
        #expect(parameters["sslmode"] == "verify-full" && parameters["sslrootcert"] == "/named.crt")
        let own = try read(["DATABASE_URI": "postgres://db.test/app?sslrootcert=/own.crt"])
        #expect(own.connectionParameters["sslmode"] == "verify-full")
        #expect(own.connectionParameters["sslrootcert"] == nil)
        let local = try read(["DATABASE_URI": "postgres://localhost/app"]).connectionParameters
        #expect(local["sslmode"] == nil && local["sslrootcert"] == nil)
        let parts = try read(["DATABASE_URI": "", "DATABASE_HOST": "db.test", "DATABASE_NAME": "app"])
        #expect(parts.connectionParameters["sslmode"] == "verify-full")
    }

    /// Of `start`, and of what an operator runs by hand.
    @Test func aLowerModeIsRefusedByEveryCommand() throws {
        let lower = ["DATABASE_URI": "postgres://db.test/app?sslmode=require"]
        let insecure = lower.merging(["DATABASE_TLS_INSECURE": "true"]) { $1 }
        let commands: [([String: String]) throws -> BackendConfiguration] = [
            { try read($0) }, { try BackendConfiguration.ofDatabase(environment: $0, readFile: { _ in "" }) },
        ]
        for command in commands {
            let error = thrown { try command(lower) } as? BackendError
            #expect(error?.message.hasPrefix("DATABASE_URI leads to another machine") == true)
            let allowed = try command(insecure)
            #expect(allowed.tls?.isInsecure == true && allowed.connectionParameters["sslmode"] == nil)
        }
    }

    /// Which file was used, that of an authority of one's own, and the word last.
    @Test func theErrorSaysWhatToDo() throws {
        let refused = PostgresError(.unavailable, "SSL error: certificate verify failed")
        let advised = try read([:]).advised(refused)
        let parts = [
            "certificate verify failed; ", "/named.crt", "sslrootcert=FILE", "DATABASE_TLS_INSECURE=true",
        ]
        let places = parts.compactMap { advised.message.range(of: $0)?.lowerBound }
        #expect(places.count == parts.count && places == places.sorted(), "\(advised.message)")
        #expect(advised.code == refused.code && advised.sqlstate == nil)
        // What is about something else says nothing of it.
        for other in [
            PostgresError(.unavailable, "connection refused"),
            PostgresError(.unavailable, "no SSL for this user", sqlstate: "28000"),
            PostgresError(.timedOut, "SSL is slow"),
        ] { #expect(try read([:]).advised(other) == other) }
        let local = try read(["DATABASE_URI": "postgres://localhost/app"])
        #expect(local.advised(refused) == refused)
    }

    /// What PgBouncer says of `options`, and what is missing where sessions change.
    @Test func behindAPoolerTheErrorNamesTheSetting() throws {
        for state in ["08P01", "26000", "42P05"] {
            let error = PostgresError(.unavailable, "unsupported startup parameter: options", sqlstate: state)
            #expect(try read([:]).advised(error).message.hasSuffix("say PREPARED=off"))
            #expect(try read(["PREPARED": "off"]).advised(error) == error)
        }
    }
}
