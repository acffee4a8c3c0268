import Foundation
import Foundation
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncHTTPTestSupport
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What docker/init.sql promises of its roles, with the environment that docker-compose.yml and .env give.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct ContainerRoleTests {
    private static let backend = "powersync_backend"
    private static let replication = "powersync_replication"

    @Test func uploadUnderOneRoleReachesTheStreamUnderTheOther() async throws {
        try await Containers.with { containers in
            let backend = try await containers.start("backend", "powersync-backend", ready: "backend")
            let service = try await containers.start(
                "mock-service", "powersync-mock-service", ready: "service", backend: backend)
            let api = try JSONClient(backend)
            let minted = try await api.send("GET", "/api/auth/token?user_id=dora").json
            let named = try containers.compose.setting("POWERSYNC_URL")
            #expect(minted["powersync_url"]?.stringValue == named)
            let token = try #require(minted["token"]?.stringValue)

            let id = "b0000000-0000-4000-8000-000000000001"
            let put =
                #"{"op":"PUT","table":"lists","id":"\#(id)","data":{"name":"of init.sql","owner_id":"dora"}}"#
            let answer = try await upload(put, api, token)
            try #require(answer["summary"]?["applied"] == .number("1"), "\(answer.text)")
            let row = try await containers.rows(
                "SELECT owner_id, name FROM public.lists WHERE id = '\(id)'")
            #expect(row == [["dora", "of init.sql"]])
            #expect(try await firstRow(of: service, token: token) == id)

            // Both worked as the roles that the compose file names, and the backend's own tables stay private.
            let roles = try await containers.rows(
                "SELECT DISTINCT usename FROM pg_stat_activity WHERE usename LIKE 'powersync%' ORDER BY 1")
            #expect(roles == [[Self.backend], [Self.replication]])
            #expect(
                try await containers.rows(
                    "SELECT (SELECT count(*) FROM psb.ledger) + (SELECT count(*) FROM psb.commits)") == [
                        ["1"]
                    ])
            let published = try await containers.rows(
                """
                SELECT schemaname, tablename FROM pg_publication_tables WHERE pubname = 'powersync'
                ORDER BY 1, 2
                """)
            #expect(published == [["public", "lists"], ["public", "todos"]])
            try await containers.stopAll()
        }
    }

    /// Of a list of somebody else nobody can tell that it is there.
    @Test func mapThatOpenPortsCallForLeavesEveryUserTheirOwnRows() async throws {
        let changes = ["DEV_OPEN_SCHEMA": "false", "PSB_TABLE_MAP": "/etc/powersync/tables.yaml"]
        try await Containers.with(changes: changes) { containers in
            let backend = try await containers.start("backend", "powersync-backend", ready: "backend")
            let api = try JSONClient(backend)
            let list = "75f89104-d95a-4f16-8309-5363f1bb377a"
            for user in ["dora", "u1"] {
                let minted = try await api.send("GET", "/api/auth/token?user_id=\(user)").json
                let token = try #require(minted["token"]?.stringValue)
                let patch =
                    #"{"op":"PATCH","table":"lists","id":"\#(list)","data":{"name":"of \#(user)"}}"#
                _ = try await upload(patch, api, token)
                let name = try await containers.rows("SELECT name FROM lists")
                #expect(name == [[user == "u1" ? "of u1" : "Getting Started"]], "\(user)")
                let id = UUID().uuidString.lowercased()
                let put =
                    #"{"op":"PUT","table":"todos","id":"\#(id)","data":{"description":"x","list_id":"\#(list)"}}"#
                let result = try await upload(put, api, token)["results"]?.arrayValue?.first
                let code: String? = user == "u1" ? nil : "PARENT_MISSING"
                #expect(result?["failed_operation"]?["error_code"]?.stringValue == code, "\(user)")
            }
            try await containers.stopAll()
        }
    }

    /// A setting that does not reach the container does nothing, and says nothing.
    @Test func settingsOfWhatUploadsMayTakeReachTheBackend() async throws {
        let changes = [
            "MAX_BODY_BYTES": "2048", "UPLOADS_PER_USER": "3", "BODY_TIMEOUT": "90",
            "BODY_BYTES_PER_SECOND": "4096", "UPLOADS_WAITING_PER_USER": "5",
            "UPLOAD_MEMORY_BYTES": "70000000",
            "DEAD_LETTER_ROWS": "6", "DEAD_LETTER_BYTES": "7", "DEAD_LETTER_RETENTION": "8d",
            "DEV_OPEN_UPLOADS": "true",
        ]
        try await Containers.with(changes: changes) { containers in
            let environment = try containers.compose.container("backend").environment
            for (name, value) in changes { #expect(environment[name] == value, "\(name)") }
            let backend = try await containers.start("backend", "powersync-backend", ready: "backend")
            let limits = try await JSONClient(backend).send("GET", "/api/capabilities").json["limits"]
            for (name, value) in [
                ("body_bytes", 2048), ("uploads_per_user", 3), ("body_seconds", 90),
                ("body_bytes_per_second", 4096),
            ] {
                #expect(limits?[name]?.int64Value == Int64(value), "\(name)")
            }
        }
    }

    /// Nobody may rule the store by what stands in a public file, and the backend never.
    @Test func theStoreHasNoKeyThatEverybodyKnows() throws {
        let names = [
            "ATTACHMENTS_S3_ACCESS_KEY", "ATTACHMENTS_S3_SECRET_KEY", "S3_ROOT_USER", "S3_ROOT_PASSWORD",
        ]
        let written = try ComposeFile()
        for name in names { #expect(try written.setting(name).isEmpty, "\(name)") }
        let changed = try ComposeFile(
            changes: Dictionary(uniqueKeysWithValues: names.map { ($0, "value of \($0)") }))
        let store = try changed.container("object-store").environment
        let backend = try changed.container("backend").environment
        #expect(store["MINIO_ROOT_USER"] == "value of S3_ROOT_USER")
        #expect(store["MINIO_ROOT_PASSWORD"] == "value of S3_ROOT_PASSWORD")
        #expect(backend["ATTACHMENTS_S3_ACCESS_KEY"] == "value of ATTACHMENTS_S3_ACCESS_KEY")
        #expect(backend["ATTACHMENTS_S3_SECRET_KEY"] == store["SECRET_KEY"])
        #expect(!backend.values.contains { $0.contains("ROOT") })
    }

    @Test func settingsOfAttachmentsReachTheBackend() async throws {
        let changes = [
            "DEV_OPEN_SCHEMA": "false", "PSB_TABLE_MAP": "/etc/powersync/tables.yaml",
            "ATTACHMENTS_MAX_BYTES": "1000", "ATTACHMENTS_QUOTA_BYTES": "2000",
            "ATTACHMENTS_QUOTA_FILES": "3",
            "ATTACHMENTS_TYPES": "image/png", "ATTACHMENTS_PUBLIC_URL": "http://files.example.com",
        ]
        try await Containers.with(changes: changes) { containers in
            let environment = try containers.compose.container("backend").environment
            for (name, value) in changes { #expect(environment[name] == value, "\(name)") }
            let backend = try await containers.start("backend", "powersync-backend", ready: "backend")
            let api = try JSONClient(backend)
            let told = try await api.send("GET", "/api/capabilities").json["attachments"]
            for (name, value) in [("file_bytes", 1_000), ("user_bytes", 2_000), ("user_files", 3)] {
                #expect(told?[name]?.int64Value == Int64(value), "\(name)")
            }
            // Whose the list is that is there already: a todo in it is for nobody else.
            let minted = try await api.send("GET", "/api/auth/token?user_id=u1").json
            let token = try #require(minted["token"]?.stringValue)
            let (todo, photo) = (
                "b0000000-0000-4000-8000-000000000002", "b0000000-0000-4000-8000-000000000003"
            )
            let put =
                #"{"op":"PUT","table":"todos","id":"\#(todo)","data":{"description":"with a picture","#
                + #""list_id":"75f89104-d95a-4f16-8309-5363f1bb377a","photo_id":"\#(photo)"}}"#
            let answer = try await upload(put, api, token)
            try #require(answer["summary"]?["applied"] == .number("1"), "\(answer.text)")
            let digest = String(repeating: "0", count: 64)
            let ticket = try await api.send(
                "POST", "/api/v1/attachments/upload-url",
                #"{"id":"\#(photo)","filename":"a.png","contentType":"image/png","size":3,"sha256":"\#(digest)"}"#,
                token: token)
            #expect(ticket.status == 200)
            let url = try ticket.json["uploadUrl"]?.stringValue
            #expect(url?.hasPrefix("http://files.example.com/api/v1/blobs/") == true)
            try await containers.stopAll()
        }
    }

    /// A page of somewhere else that a developer visits gets no token.
    @Test func pagesOfThisMachineAloneMayCallTheBackend() async throws {
        try await Containers.with { containers in
            let backend = try await containers.start("backend", "powersync-backend", ready: "backend")
            let api = try JSONClient(backend)
            for (origin, isAllowed) in [("http://localhost:5173", true), ("https://evil.example.com", false)]
            {
                let answer = try await api.send(
                    "GET", "/api/auth/token?user_id=dora", fields: ["origin": origin])
                #expect(answer.status == 200)
                #expect(answer.fields["access-control-allow-origin"] == (isAllowed ? origin : nil))
            }
            try await containers.stopAll()
        }
    }

    /// A role logs in by what libcrypto computes; a signal behind the ready line meets that about once in thirteen times.
    @Test func aStopDuringALoginIsAStop() async throws {
        try await Containers.with { containers in
            for _ in 1...6 {
                _ = try await containers.start("backend", "powersync-backend", ready: "backend")
                try await containers.stopAll()
            }
        }
    }

    @Test func rolesMayDoNoMoreThanTheyMust() async throws {
        try await Containers.with { containers in
            for role in [Self.backend, Self.replication] {
                let rights = try await containers.rows(
                    """
                    SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls FROM pg_roles
                    WHERE rolname = '\(role)'
                    """)
                let reads = role == Self.replication ? "t" : "f"
                #expect(rights == [["f", "f", "f", reads, reads]], "\(role)")
            }
            let reader = try await containers.connect(as: "mock-service", "PS_DATA_SOURCE_URI")
            #expect(try await reader.query("SELECT name FROM lists").scalar == "Getting Started")
            for write in [
                "INSERT INTO lists (name, owner_id) VALUES ('x', 'x')", "UPDATE lists SET name = 'x'",
                "DELETE FROM todos", "TRUNCATE todos", "CREATE TABLE public.x ()", "CREATE SCHEMA x",
                "DROP TABLE todos",
            ] {
                #expect(await refusal(of: write, reader) == "42501", "\(write) as \(Self.replication)")
            }
            await reader.close()
            let writer = try await containers.connect(as: "backend", "DATABASE_URI")
            for step in [
                "SELECT pg_create_logical_replication_slot('x', 'pgoutput')", "DROP TABLE todos",
                "ALTER TABLE todos ADD COLUMN x text", "CREATE TABLE public.x ()", "TRUNCATE todos",
                "ALTER PUBLICATION powersync SET (publish = 'insert')",
            ] {
                #expect(await refusal(of: step, writer) == "42501", "\(step) as \(Self.backend)")
            }
            await writer.close()
        }
    }

    @Test func tableMadeLaterIsPublishedReadAndWritten() async throws {
        try await Containers.with { containers in
            try await containers.postgres.script(
                "CREATE TABLE public.notes (id text PRIMARY KEY, body text)")
            let writer = try await containers.connect(as: "backend", "DATABASE_URI")
            _ = try await writer.query("INSERT INTO notes VALUES ('n1', 'first'), ('n2', 'second')")
            _ = try await writer.query("UPDATE notes SET body = 'changed' WHERE id = 'n1'")
            _ = try await writer.query("DELETE FROM notes WHERE id = 'n2'")
            await writer.close()
            let reader = try await containers.connect(as: "mock-service", "PS_DATA_SOURCE_URI")
            #expect(try await reader.query("SELECT body FROM notes").scalar == "changed")
            await reader.close()
            let published = try await containers.rows(
                "SELECT pubname FROM pg_publication_tables WHERE tablename = 'notes'")
            #expect(published == [["powersync"]])
        }
    }

    /// `docker compose run` puts what it is given behind the entry point of the image.
    @Test func theHelpThatTheSettingsNameIsThere() async throws {
        let named = try #require(
            Repository.text(".env").firstMatch(of: /docker compose run --rm (\S+) ([^)]+)\)/), "no such line")
        let image = try #require(
            Repository.text("Dockerfile").split(separator: "\n\n").first { $0.contains(" AS \(named.1)\n") })
        let entry = try #require(image.firstMatch(of: /ENTRYPOINT \["(\S+)"\]/))
        let help = try await ChildProcess.run(
            Repository.executable(String(entry.1)), named.2.split(separator: " ").map(String.init),
            timeout: TestOptions.deadline)
        #expect(help.status == .exited(0) && help.output.contains("MAX_BODY_BYTES"), "\(help.error)")
    }

    private func upload(_ operation: String, _ api: JSONClient, _ token: String) async throws -> JSON {
        let answer = try await api.send("POST", "/api/data", "{\"batch\":[\(operation)]}", token: token)
        let json = try answer.json
        try #require(answer.status == 200, "\(json.text)")
        return json
    }

    /// The SQLSTATE with which a statement is refused; nil if it is not.
    private func refusal(of statement: String, _ connection: PostgresConnection) async -> String? {
        do {
            _ = try await connection.query(statement)
            return nil
        } catch let error as PostgresError {
            return error.sqlstate
        } catch {
            return "\(error)"
        }
    }

    /// The id of the first row that a stream of the token's user brings; the request ends at the deadline.
    private func firstRow(of service: String, token: String) async throws -> String? {
        let client = try HTTPClient()
        defer { client.close() }
        var request = HTTPClientRequest(
            method: "POST", url: service + "/sync/stream", body: Array(#"{"raw_data":true}"#.utf8),
            totalTimeout: TestOptions.deadline)
        request.fields = ["content-type": "application/json", "authorization": "Bearer \(token)"]
        let stream = try await client.open(request)
        #expect(stream.status == 200)
        defer { stream.cancel() }
        var splitter = LineSplitter(limit: 1 << 20)
        while let chunk = try await stream.next() {
            splitter.append(chunk)
            while let line = try splitter.next() {
                if case .data(let data) = try SyncLine(parsing: line), let row = data.operations.first {
                    return row.objectID
                }
            }
        }
        return nil
    }
}
