import Foundation
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A server of the user's that takes encrypted connections alone, as managed ones do.
@Suite(
    .enabled("needs a Postgres with TLS") {
        TestOptions.hasDatabase ? try await TestPostgres.hasTLS : false
    }, .patient())
struct EncryptedServerTests {
    /// Certificate and key of a server called 127.0.0.1.
    private static func makeCertificate(in folder: String) async throws {
        let made = try await ChildProcess.run(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-days",
                "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
                folder + "/server.key", "-out", folder + "/server.crt",
            ], timeout: TestOptions.deadline)
        try #require(made.status == .exited(0), "\(made.error)")
    }

    /// Lets the server take encrypted connections alone.
    private static func encrypt(_ users: UsersServer, certificate folder: String) async throws {
        let connection = try await PostgresConnection.connect(users.server.uri(), poller: users.poller)
        let data = try #require(try await connection.query("SHOW data_directory")[0, 0])
        var owner = stat()
        try #require(stat(data, &owner) == 0)
        for name in ["server.key", "server.crt"] {
            let copy = "\(data)/\(name)"
            try FileManager.default.copyItem(atPath: "\(folder)/\(name)", toPath: copy)
            try #require(chmod(copy, 0o600) == 0 && chown(copy, owner.st_uid, owner.st_gid) == 0)
        }
        try """
        local all all trust
        hostssl all all all scram-sha-256
        hostssl replication all all scram-sha-256
        """.write(toFile: data + "/pg_hba.conf", atomically: false, encoding: .utf8)
        try await connection.script("ALTER SYSTEM SET ssl = on")
        try await connection.script("SELECT pg_reload_conf()")
        // The connection that is there stays; new ones are encrypted.
        try await wait(for: "the server to refuse what is not encrypted") {
            do {
                let plain = try await PostgresConnection.connect(
                    users.server.uri() + "?sslmode=disable", poller: users.poller)
                await plain.close()
                return false
            } catch let error as PostgresError { return error.sqlstate == "28000" }
        }
        await connection.close()
    }

    /// How a user says what TLS shall be, and what libpq makes of it.
    enum Form: String, CaseIterable, Sendable {
        case nothing, query, verified, verifiedFromHome, signedFromHome, oldQuery, keywords, environment,
            serviceFile

        var mode: String {
            switch self {
            case .nothing: "prefer"
            case .verified, .verifiedFromHome: "verify-full"
            case .signedFromHome: "verify-ca"
            default: "require"
            }
        }

        /// The variables of a shell that say it so.
        func environment(_ users: UsersServer, folder: String) throws -> [String: String] {
            switch self {
            case .nothing: return ["DATABASE_URI": users.uri]
            case .query: return ["DATABASE_URI": users.uri + "&sslmode=require"]
            case .verified:
                return [
                    "DATABASE_URI": users.uri + "&sslmode=verify-full&sslrootcert=\(folder)/server.crt"
                ]
            case .verifiedFromHome, .signedFromHome:
                let own = folder + "/user/.postgresql"
                try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
                let authorities = try String(contentsOfFile: folder + "/server.crt", encoding: .utf8)
                try authorities.write(toFile: own + "/root.crt", atomically: true, encoding: .utf8)
                return [
                    "DATABASE_URI": users.uri + "&sslmode=" + mode, "HOME": folder + "/user",
                ]
            case .oldQuery: return ["DATABASE_URI": users.uri + "&ssl=true"]
            case .keywords:
                let port = users.server.port
                return [
                    "DATABASE_URI":
                        "host=127.0.0.1 port=\(port) user=somebody password=\(users.server.password) "
                        + "dbname=theirs sslmode = require"
                ]
            case .environment: return ["DATABASE_URI": users.uri, "PGSSLMODE": "require"]
            case .serviceFile:
                let file = folder + "/services"
                try "[theirs]\nsslmode=require\n".write(toFile: file, atomically: true, encoding: .utf8)
                return ["DATABASE_URI": users.uri + "&service=theirs", "PGSERVICEFILE": file]
            }
        }
    }

    /// To every part TLS is what the connection text, with environment and service file, means to libpq.
    @Test func everyPartIsEncryptedAsTheUserSays() async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let users = try await UsersServer.start(poller)
        try await EndToEnd.withFolder { folder, temporary in
            try await Self.makeCertificate(in: folder)
            try await Self.encrypt(users, certificate: folder)
            for form in Form.allCases {
                let up = try StackProcess(
                    ["up", "--backend-port", "0", "--service-port", "0"],
                    environment: try form.environment(users, folder: folder), temporary: temporary)
                let places = try await up.endpoints()
                try await SyncedRows.wait(for: ["first"], backend: places.backend, service: places.service)
                let connection = try await PostgresConnection.connect(users.server.uri(), poller: poller)
                let sessions = try await connection.query(
                    """
                    SELECT bool_and(ssl), count(*) FILTER (WHERE backend_type = 'walsender')
                    FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'somebody'
                    """)
                #expect(sessions[0, 0] == "t" && sessions[0, 1] == "1", "\(form)")
                await connection.close()
                // `prefer` would have connected as well: what the service was told is in its file.
                let folders = try FileManager.default.contentsOfDirectory(atPath: temporary)
                let own = try #require(folders.first { $0.hasPrefix("powersync-stack-") })
                let file = try String(
                    contentsOfFile: "\(temporary)/\(own)/service/service.yaml", encoding: .utf8)
                #expect(file.contains("sslmode=\(form.mode)\""), "\(form): \(file)")
                up.process.signal(SIGINT)
                #expect(try await up.end() == .exited(0))
                try await up.leavesNothingBehind()
            }
        }
        await users.server.stop()
    }

    /// The service alone, with the certificate in its configuration file, as the real service is set up with a managed
    /// database.
    @Test func theServiceChecksTheServerByAnInlineCertificate() async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let users = try await UsersServer.start(poller)
        try await EndToEnd.withFolder { folder, temporary in
            try await Self.makeCertificate(in: folder)
            try await users.script("CREATE PUBLICATION powersync FOR TABLE notes")
            try await Self.encrypt(users, certificate: folder)
            let certificate = try String(contentsOfFile: folder + "/server.crt", encoding: .utf8)
            func run(_ authorities: String) async throws -> ChildProcess.ExitStatus {
                let configuration = JSON.object([
                    JSONMember(
                        "replication",
                        .object([
                            JSONMember(
                                "connections",
                                .array([
                                    .object([
                                        JSONMember("type", .string("postgresql")),
                                        JSONMember("uri", .string(users.uri)),
                                        JSONMember("sslmode", .string("verify-full")),
                                        JSONMember("cacert", .string(authorities)),
                                    ])
                                ]))
                        ])),
                    JSONMember("port", .integer(0)),
                    JSONMember(
                        "sync_config",
                        .object([
                            JSONMember(
                                "content",
                                .string("config: {edition: 3}\nstreams: {s: {query: SELECT * FROM notes}}"))
                        ])),
                ])
                try configuration.text.write(
                    toFile: folder + "/service.yaml", atomically: true, encoding: .utf8)
                let service = try StackProcess(
                    ["service", "start", "-c", folder + "/service.yaml"], temporary: temporary)
                if authorities == certificate {
                    #expect(try await service.line().hasPrefix("{\"service\":\"http://"))
                } else {
                    try await wait(for: "the refusal") {
                        service.errorLines
                    } until: {
                        $0.contains { $0.contains("certificate verify failed") || $0.contains("self-signed") }
                    }
                }
                service.process.signal(SIGTERM)
                return try await service.end()
            }
            #expect(try await run(certificate) == .exited(0))
            try await Self.makeCertificate(in: temporary)
            let another = try String(contentsOfFile: temporary + "/server.crt", encoding: .utf8)
            for name in ["server.crt", "server.key"] {
                try FileManager.default.removeItem(atPath: "\(temporary)/\(name)")
            }
            #expect(try await run(another) == .exited(0))
            // Neither certificates nor anything else stays.
            try await wait(for: "an empty folder") {
                try FileManager.default.contentsOfDirectory(atPath: temporary)
            } until: {
                $0.isEmpty
            }
        }
        await users.server.stop()
    }
}
