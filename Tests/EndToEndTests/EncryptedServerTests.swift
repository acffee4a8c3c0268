import Foundation
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
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
    }, .patient(minutes: 5))
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
        hostssl all all all trust
        hostssl replication all all trust
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
        case nothing, query, verified, oldQuery, keywords, environment, serviceFile

        var mode: String {
            switch self {
            case .nothing: "prefer"
            case .verified: "verify-full"
            default: "require"
            }
        }

        /// The variables of a shell that say it so.
        func environment(_ users: UsersServer, folder: String) throws -> [String: String] {
            switch self {
            case .nothing: return ["DATABASE_URI": users.uri]
            case .query: return ["DATABASE_URI": users.uri + "?sslmode=require"]
            case .verified:
                return [
                    "DATABASE_URI": users.uri + "?sslmode=verify-full&sslrootcert=\(folder)/server.crt"
                ]
            case .oldQuery: return ["DATABASE_URI": users.uri + "?ssl=true"]
            case .keywords:
                let port = users.server.port
                return [
                    "DATABASE_URI":
                        "host=127.0.0.1 port=\(port) user=somebody dbname=theirs sslmode = require"
                ]
            case .environment: return ["DATABASE_URI": users.uri, "PGSSLMODE": "require"]
            case .serviceFile:
                let file = folder + "/services"
                try "[theirs]\nsslmode=require\n".write(toFile: file, atomically: true, encoding: .utf8)
                return ["DATABASE_URI": users.uri + "?service=theirs", "PGSERVICEFILE": file]
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
}
