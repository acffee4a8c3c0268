import PowerSyncCommandLine
import Foundation
import PowerSyncBackend
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// The command `config check` (Backend/Start/SPEC.md).
@Suite(.patient())
struct ConfigCheckTests {
    private static let secret = "postgres://app:hush@db/app"
    private static let minimum = [
        "DATABASE_URI": secret, "POWERSYNC_URL": "http://localhost:8080", "ENV": "development",
        "DEV_EPHEMERAL_KEYS": "true", "DEV_OPEN_SCHEMA": "true", "DEV_TOKENS": "true",
    ]

    private func run(
        _ environment: [String: String], _ arguments: String...
    ) async -> (status: Int32, text: String) {
        let lines = Lock<[String]>([])
        let command = BackendCommand.named(
            "powersync-backend", environment: { environment },
            output: { line in lines.withLock { $0.append(line) } })
        let status = await command.main(["config", "check"] + arguments, errors: { _ in })
        return (status, lines.withLock { $0.joined(separator: "\n") })
    }

    private func origin(_ name: String, _ json: JSON) -> [String?] {
        let row = json["settings"]?.arrayValue?.first { $0["name"]?.stringValue == name }
        return [row?["value"]?.stringValue, row?["origin"]?.stringValue]
    }

    @Test func everySettingIsShownAndWhereItComesFrom() async throws {
        let more = ["PORT": "7000", "POWERSYNC_PRIVATE_KEY_FILE": "", "JWT_TTL": ""]
        let (status, text) = await run(Self.minimum.merging(more) { $1 }, "--json")
        let json = try JSON.parse(text)
        #expect(status == 0 && json["problems"] == .array([]))
        let names = (json["settings"]?.arrayValue ?? []).compactMap { $0["name"]?.stringValue }
        #expect(names == Setting.all.map(\.name))
        #expect(origin("PORT", json) == ["7000", "environment"])
        #expect(origin("JWT_TTL", json) == ["10m", "default"])
        #expect(origin("JWT_ISSUER", json) == [nil, "default"])
        #expect(origin("HOST", json) == ["127.0.0.1", "default"])
        #expect(origin("DATABASE_URI", json) == ["(set)", "environment"])
        #expect(!text.contains("hush"))
    }

    @Test func aSecretInAFileIsNeitherShownNorItsContent() async throws {
        let folder = try TemporaryDirectory(prefix: "config-")
        defer { folder.remove() }
        let path = folder.path + "/uri"
        try Self.secret.write(toFile: path, atomically: true, encoding: .utf8)
        var environment = Self.minimum
        environment["DATABASE_URI"] = nil
        environment["DATABASE_URI_FILE"] = path
        let (status, text) = await run(environment, "--json")
        let json = try JSON.parse(text)
        #expect(status == 0 && origin("DATABASE_URI", json) == ["(set)", "file \(path)"])
        #expect(!text.contains("hush"))
    }

    /// One of each part of the settings, none hiding another.
    @Test func everyViolationIsTold() async throws {
        let environment = [
            "PSB_TABELMAP": "x", "DATABASE_TYPE": "mysql", "POWERSYNC_URL": "dev", "ENV": "prod", "PORT": "x",
            "DEV_PUBLIC": "true",
            "JWT_TTL": "1s", "DEV_TOKENS": "true", "DEV_OPEN_UPLOADS": "maybe",
            "BATCH_ON_FATAL_ERROR": "never",
            "MAX_BODY_BYTES": "1", "BODY_TIMEOUT": "0", "POOL_SIZE": "0", "LOCK_TIMEOUT_MS": "0",
            "SCHEMA_DRIFT_GRACE": "x", "DRAIN_DELAY": "11s", "JWT_KEYS_SQL": "x", "CORS_ORIGINS": "*",
            "UPLOAD_ACCEPTS_SYNC_TOKEN": "false", "ATTACHMENTS_STORE": "ftp://x", "AUTH_ISSUER": "x",
            "SESSION_COOKIE": "a;b", "TRUSTED_PROXIES": "x", "DB_ROLE_CLAIM": "x", "TOKENS_PER_MINUTE": "-1",
            "PREPARED": "maybe", "METRICS_PORT": "0", "LOG_LEVEL": "loud", "LOG_FORMAT": "xml",
        ]
        let (status, text) = await run(environment, "--json")
        let problems = (try JSON.parse(text)["problems"]?.arrayValue ?? []).compactMap(\.stringValue)
        #expect(status == 1)
        let missing = ["DATABASE_URI", "JWT_KEYS_DIR", "PSB_TABLE_MAP", "AUTH_JWKS_URI"]
        for name in environment.keys.filter({ $0 != "UPLOAD_ACCEPTS_SYNC_TOKEN" }) + missing {
            #expect(problems.contains { $0.hasPrefix(name) }, "\(name)")
        }
        let plain = await run(environment)
        #expect(plain.status == 1)
        for problem in problems { #expect(plain.text.contains(problem), "\(problem)") }
    }

    /// What is not set is shown as a start has it.
    @Test func withoutAnEnvironmentTheDefaultsAreThoseOfProduction() async throws {
        var environment = Self.minimum
        environment["ENV"] = nil
        let (status, text) = await run(environment, "--json")
        let json = try JSON.parse(text)
        #expect(status == 1)
        for (name, value) in [
            ("ENV", "production"), ("HOST", "0.0.0.0"), ("DRAIN_DELAY", "5s"),
            ("UPLOAD_ACCEPTS_SYNC_TOKEN", "false"),
        ] { #expect(origin(name, json) == [value, "default"], "\(name)") }
    }

    @Test func whatIsWrongInAMapIsTold() async throws {
        let folder = try TemporaryDirectory(prefix: "config-")
        defer { folder.remove() }
        let file = folder.path + "/map.yaml"
        try "tables:\n  lists: { owners: x }\n".write(toFile: file, atomically: true, encoding: .utf8)
        let wrong = await run(Self.minimum.merging(["PSB_TABLE_MAP": file]) { $1 })
        #expect(wrong.status == 1 && wrong.text.contains("line 2, column"))
        let gone = await run(Self.minimum.merging(["PSB_TABLE_MAP": file + "x"]) { $1 })
        #expect(gone.status == 1 && gone.text.contains("the table map cannot be read"))
    }

    @Test func aFolderOfKeysThatAStartRefusesIsTold() async throws {
        try await KeysFixture.with { keys in
            func check(_ path: String) async -> (status: Int32, text: String) {
                await run(Self.minimum.merging(["JWT_KEYS_DIR": path]) { $1 })
            }
            let path = keys.folder.path
            #expect(await check(path).status == 0, "a start makes a key")
            #expect(await check(path + "/inner").status == 0)
            let lost = await check(path + "/inner/keys")
            #expect(lost.status == 1 && lost.text.contains("the folder above it"), "\(lost.text)")
            #expect(try keys.names == [], "nothing is made")
            let names = ["a.jwk", "b.jwk"]
            for name in names { try keys.put(name) }
            let several = await check(path)
            #expect(several.status == 1 && several.text.contains("keys promote KID"), "\(several.text)")
            try keys.remove("b.jwk")
            #expect(await check(path).status == 0)
            try keys.put("broken.pem", "nothing")
            let broken = await check(path)
            #expect(broken.status == 1 && broken.text.contains("broken.pem"), "\(broken.text)")
        }
    }

    @Test(.enabled(if: TestOptions.hasDatabase))
    func theDatabaseIsLookedAtAndNotChanged() async throws {
        try await OperatorDesk.with { backend, desk in
            #expect(await desk.run("config", "check", "--database").status == 0)
            _ = try await backend.query("ALTER TABLE lists RENAME COLUMN owner_id TO whose")
            let renamed = await desk.run("config", "check", "--database")
            #expect(renamed.status == 1 && renamed.text.contains("owner_id"), "\(renamed.text)")
            #expect(await desk.run("config", "check").status == 0, "nobody has asked the database")
            _ = try await backend.query("DROP SCHEMA psb CASCADE")
            let empty = await desk.run("config", "check", "--database")
            #expect(empty.status == 1 && empty.text.contains("has not yet what version"), "\(empty.text)")
            #expect(
                try await backend.scalar("SELECT count(*) FROM pg_namespace WHERE nspname = 'psb'") == "0")
        }
    }
}
