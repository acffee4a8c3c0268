import Foundation
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncPostgresServer
import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What `up`, `demo --json`, `token` and the two commands of the containers do for a user.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct UpTests {
    private static let schema = """
        CREATE TABLE notes (id text PRIMARY KEY, owner_id text NOT NULL, body text, stamp text DEFAULT 'server');
        CREATE TABLE hidden (id text PRIMARY KEY);
        """
    private static let syncConfig = """
        config:
          edition: 3
        streams:
          mine:
            auto_subscribe: true
            query: SELECT * FROM notes WHERE owner_id = auth.user_id()
        """
    private static let tables = """
        tables:
          notes:
            owner: owner_id
            ops: [PUT, PATCH]
            columns: { stamp: { write: server } }
        """

    private func withFiles(_ body: (_ folder: String, _ temporary: String) async throws -> Void) async throws
    {
        try await EndToEnd.withFolder { folder, temporary in
            for (name, text) in [
                ("schema.sql", Self.schema), ("sync.yaml", Self.syncConfig), ("tables.yaml", Self.tables),
            ] {
                try text.write(toFile: folder + "/" + name, atomically: true, encoding: .utf8)
            }
            try await body(folder, temporary)
        }
    }

    private func upload(_ batch: String, to backend: String, user: String, _ client: HTTPClient) async throws
        -> JSON
    {
        let token = try await TokenRequest.send(backend: backend, user: user, client: client).token
        var request = HTTPClientRequest(url: backend + "/api/data")
        request.method = "POST"
        request.fields = ["content-type": "application/json", "authorization": "Bearer \(token)"]
        request.body = Array("{\"batch\":[\(batch)]}".utf8)
        let answer = try await client.send(request)
        #expect(answer.status == 200)
        return try JSON.parse(answer.body)
    }

    @Test func schemaTablesAndSyncConfigDecideWhatGoesWhere() async throws {
        try await withFiles { folder, temporary in
            let up = try StackProcess(
                [
                    "up", "--schema", folder + "/schema.sql", "--sync-config", folder + "/sync.yaml",
                    "--tables",
                    folder + "/tables.yaml", "--backend-port", "0", "--service-port", "0",
                ], temporary: temporary)
            let places = try await up.endpoints()
            let client = try HTTPClient()
            defer { client.close() }
            let put =
                "{\"op\":\"PUT\",\"table\":\"notes\",\"id\":\"n1\",\"data\":{\"body\":\"hello\",\"stamp\":\"mine\"}}"
            let accepted = try await upload(put, to: places.backend, user: "alice", client)
            #expect(accepted["summary"]?["applied"] == .number("1"))
            for refused in [
                "{\"op\":\"PUT\",\"table\":\"hidden\",\"id\":\"h\",\"data\":{}}",
                "{\"op\":\"DELETE\",\"table\":\"notes\",\"id\":\"n1\"}",
            ] {
                let answer = try await upload(refused, to: places.backend, user: "alice", client)
                #expect(answer["results"]?.arrayValue?.first?["status"]?.stringValue == "fatal_error")
            }
            let foreign =
                "{\"op\":\"PATCH\",\"table\":\"notes\",\"id\":\"n1\",\"data\":{\"body\":\"stolen\"}}"
            _ = try await upload(foreign, to: places.backend, user: "mallory", client)
            let poller = try Poller()
            defer { poller.stop() }
            let postgres = try await PostgresConnection.connect(places.postgres, poller: poller)
            let row = try await postgres.query("SELECT owner_id, body, stamp FROM notes")
            #expect(row.rowCount == 1)
            #expect([row[0, 0], row[0, 1], row[0, 2]] == ["alice", "hello", "server"])
            await postgres.close()
            up.process.signal(SIGTERM)
            #expect(try await up.end() == .exited(0))
            try await up.leavesNothingBehind()
        }
    }

    @Test func curlLineOfTheReadmeFollowsAStream() async throws {
        let example = Repository.root.path + "/Examples/Todos/"
        try await withFiles { _, temporary in
            let up = try StackProcess(
                [
                    "up", "--schema", example + "schema.sql", "--sync-config", example + "sync-config.yaml",
                    "--tables",
                    example + "tables.yaml", "--backend-port", "0", "--service-port", "0",
                ], temporary: temporary)
            let places = try await up.endpoints()
            let readme = try Repository.text("README.md")
            let start = try #require(readme.range(of: "curl -N"))
            let end = try #require(readme[start.lowerBound...].range(of: "```"))
            let line = readme[start.lowerBound..<end.lowerBound]
                .replacingOccurrences(of: "http://127.0.0.1:6060", with: places.backend)
                .replacingOccurrences(of: "http://127.0.0.1:8080", with: places.service)
                .replacingOccurrences(of: ".build/debug/powersync-stack", with: EndToEnd.executable)
            let curl = try StackProcess(shell: "exec " + line, temporary: temporary)
            let first = try await curl.line()
            #expect(try JSON.parse(first)["checkpoint"]?["buckets"]?.arrayValue?.count == 1)
            curl.process.signal(SIGTERM)
            _ = try await curl.end()
            up.process.signal(SIGINT)
            #expect(try await up.end() == .exited(0))
        }
    }

    @Test func openUploadsTakeWhatTheDemoAppsSend() async throws {
        try await withFiles { folder, temporary in
            let up = try StackProcess(
                [
                    "up", "--schema", folder + "/schema.sql", "--tables", folder + "/tables.yaml",
                    "--backend-port", "0", "--service-port", "0", "--open-uploads",
                ], temporary: temporary)
            let places = try await up.endpoints()
            let client = try HTTPClient()
            defer { client.close() }
            let page = "http://localhost:5173"
            var request = HTTPClientRequest(
                method: "OPTIONS", url: places.backend + "/api/data",
                fields: [
                    "origin": page, "access-control-request-method": "POST",
                    "access-control-request-headers": "content-type",
                ])
            #expect(try await client.send(request).fields["access-control-allow-origin"] == page)
            request = HTTPClientRequest(
                method: "POST", url: places.backend + "/api/data",
                fields: ["origin": page, "content-type": "application/json"],
                body: Array(
                    "{\"batch\":[{\"op\":\"PUT\",\"table\":\"notes\",\"id\":\"n1\",\"data\":{\"body\":\"b\"}}]}"
                        .utf8
                ))
            let answer = try await client.send(request)
            #expect(answer.status == 200 && answer.fields["access-control-allow-origin"] == page)
            let poller = try Poller()
            defer { poller.stop() }
            let postgres = try await PostgresConnection.connect(places.postgres, poller: poller)
            #expect(try await postgres.query("SELECT owner_id FROM notes").scalar == "dev-user")
            await postgres.close()
            up.process.signal(SIGTERM)
            #expect(try await up.end() == .exited(0))
        }
    }

    /// Whoever names an address that other machines reach is asked for nothing more, and told.
    @Test func hostOpensTheBackendToOthers() async throws {
        try await withFiles { folder, temporary in
            let up = try StackProcess(
                [
                    "up", "--schema", folder + "/schema.sql", "--tables", folder + "/tables.yaml",
                    "--backend-port", "0", "--service-port", "0", "--host", "0.0.0.0",
                ], temporary: temporary)
            let places = try await up.endpoints()
            let client = try HTTPClient()
            defer { client.close() }
            let put = "{\"op\":\"PUT\",\"table\":\"notes\",\"id\":\"n1\",\"data\":{\"body\":\"b\"}}"
            let answer = try await upload(put, to: places.backend, user: "alice", client)
            #expect(answer["summary"]?["applied"] == .number("1"))
            up.process.signal(SIGTERM)
            #expect(try await up.end() == .exited(0))
        }
    }

    @Test func malformedSyncConfigIsToldWithItsLine() async throws {
        try await withFiles { folder, temporary in
            try "config:\n  edition: 3\nstreams: [\n".write(
                toFile: folder + "/bad.yaml", atomically: true, encoding: .utf8)
            let result = try await ChildProcess.run(
                EndToEnd.executable, ["up", "--sync-config", folder + "/bad.yaml"],
                timeout: TestOptions.deadline)
            #expect(result.status == .exited(1))
            #expect(result.error.contains("/bad.yaml:4:1: error: "), "\(result.error)")
            #expect(result.output.isEmpty)
            // What the language refuses is told as early, with its line and a mark.
            try "config: {edition: 3}\nstreams:\n  a: {query: SELECT * FROM t LIMIT 1}\n".write(
                toFile: folder + "/bad.yaml", atomically: true, encoding: .utf8)
            let refused = try await ChildProcess.run(
                EndToEnd.executable,
                ["up", "--sync-config", folder + "/bad.yaml", "--data", folder + "/kept"],
                timeout: TestOptions.deadline)
            #expect(refused.status == .exited(1) && refused.output.isEmpty)
            #expect(
                refused.error.contains("/bad.yaml:3:36: error: LIMIT is not supported"), "\(refused.error)")
            #expect(!FileManager.default.fileExists(atPath: folder + "/kept"))
        }
    }

    /// With the configuration files that docker-compose.yml gives them.
    @Test func commandsOfTheContainersRunAlone() async throws {
        let root = Repository.root.path
        try await withFiles { folder, temporary in
            let server = try await PostgresServer.start(directory: nil)
            let poller = try Poller()
            defer { poller.stop() }
            let postgres = try await PostgresConnection.connect(server.uri(), poller: poller)
            _ = try await postgres.script(
                String(contentsOfFile: root + "/Examples/Todos/schema.sql", encoding: .utf8)
                    + "CREATE PUBLICATION powersync FOR TABLES IN SCHEMA public;")
            let port = try FreePort.find(host: "127.0.0.1")
            let backend = try StackProcess(
                ["start"],
                environment: [
                    "DATABASE_URI": EndToEnd.patient(server.uri()), "HOST": "127.0.0.1", "PORT": "0",
                    "POWERSYNC_URL": "http://127.0.0.1:\(port)", "JWT_AUDIENCE": "powersync-dev",
                    "JWT_KEYS_DIR": folder + "/keys", "PSB_TABLE_MAP": root + "/Examples/Todos/tables.yaml",
                    "ENV": "development", "DEV_TOKENS": "true",
                ], temporary: temporary, executable: "powersync-backend")
            let backendURL = try #require(try JSON.parse(try await backend.line())["backend"]?.stringValue)
            let service = try StackProcess(
                ["start"],
                environment: [
                    "POWERSYNC_CONFIG_PATH": root + "/docker/mock-service.yaml",
                    "PS_DATA_SOURCE_URI": server.uri(),
                    "PS_STATE_PATH": folder + "/state.sqlite", "PS_PORT": String(port),
                    "PS_JWKS_URL": backendURL + "/api/auth/keys", "PS_LOG_LEVEL": "info",
                    "PS_LOG_FORMAT": "json",
                ], temporary: temporary, executable: "powersync-mock-service")
            let serviceURL = try #require(try JSON.parse(try await service.line())["service"]?.stringValue)
            let client = try HTTPClient()
            defer { client.close() }
            let id = "b0000000-0000-4000-8000-000000000001"
            let put = "{\"op\":\"PUT\",\"table\":\"lists\",\"id\":\"\(id)\",\"data\":{\"name\":\"hello\"}}"
            let answer = try await upload(put, to: backendURL, user: "bob", client)
            #expect(answer["summary"]?["applied"] == .number("1"))
            let token = try await TokenRequest.send(backend: backendURL, user: "bob", client: client)
            #expect(token.powersyncURL == serviceURL)
            var request = HTTPClientRequest(url: serviceURL + "/sync/stream")
            request.method = "POST"
            request.fields = ["content-type": "application/json", "authorization": "Bearer \(token.token)"]
            request.body = Array("{\"raw_data\":true}".utf8)
            let stream = try await client.open(request)
            #expect(stream.status == 200)
            var splitter = LineSplitter(limit: 1 << 20)
            var rows: [String?] = []
            while rows.isEmpty, let chunk = try await stream.next() {
                splitter.append(chunk)
                while let line = try splitter.next() {
                    if case .data(let data) = try SyncLine(parsing: line) {
                        rows += data.operations.map(\.objectID)
                    }
                }
            }
            #expect(rows == [id])
            stream.cancel()
            for part in [service, backend] {
                part.process.signal(SIGTERM)
                #expect(try await part.end() == .exited(0))
            }
            await postgres.close()
            await server.stop()
        }
    }
}
