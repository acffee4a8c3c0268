import PowerSync
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncHTTPTestSupport
import PowerSyncPostgres
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// The whole stack in production: the roles of docker/init.sql, a table map, and users whom a provider knows whose keys and
/// signatures are not ours.
@Suite(.enabled(if: TestOptions.hasDatabase && PyJWTIssuer.isWanted), .patient())
struct ProductionTests {
    /// What runs, and who signs.
    private struct World: Sendable {
        let containers: Containers
        let issuer: PyJWTIssuer
        let backend: String
        let service: String
        let api: JSONClient

        /// The sync token of somebody who has signed in.
        func syncToken(_ user: String, _ algorithm: String = "ES256") async throws -> String {
            let session = try await issuer.token(user, algorithm)
            let answer = try await api.send("GET", "/api/auth/token", token: session)
            return try #require(try answer.json["token"]?.stringValue, "\(answer.status)")
        }

        /// Uploads a list of this name; returns status and code.
        func upload(_ token: String?, id: String) async throws -> String {
            let put = #"{"op":"PUT","table":"lists","id":"\#(id)","data":{"name":"of production"}}"#
            return try await outcome("POST", "/api/data", token, body: "{\"batch\":[\(put)]}")
        }

        /// Asks, and returns the status, with the code of a problem.
        func outcome(
            _ method: String, _ path: String, _ token: String?, body: String? = nil
        ) async throws -> String {
            let answer = try await api.send(method, path, body, token: token)
            let code = try answer.json["code"]?.stringValue
            return code.map { "\(answer.status) \($0)" } ?? "\(answer.status)"
        }

        /// The owners of the lists in Postgres that are not there from the beginning.
        func owners() async throws -> [String] {
            try await containers.rows("SELECT owner_id FROM lists WHERE name = 'of production' ORDER BY 1")
                .compactMap { $0[0] }
        }
    }

    /// Runs backend and service; what is for development is off.
    private func with(_ body: (World) async throws -> Void) async throws {
        let issuer = try await PyJWTIssuer()
        let settings = [
            "ENV": "production", "DEV_TOKENS": "", "DEV_OPEN_SCHEMA": "", "DEV_OPEN_UPLOADS": "",
            "DEV_HOSTS": "",
            "DEV_PUBLIC": "", "AUTH_JWKS_URI": issuer.keysURL, "AUTH_ALLOW_LOCAL_HTTP": "true",
            "AUTH_ISSUER": PyJWTIssuer.name, "AUTH_AUDIENCE": PyJWTIssuer.audience, "DRAIN_DELAY": "0",
        ]
        try await Containers.with(changes: ["PSB_TABLE_MAP": "/etc/powersync/tables.yaml"]) { containers in
            let backend = try await containers.start(
                "backend", "powersync-backend", ready: "backend", settings: settings)
            let service = try await containers.start(
                "mock-service", "powersync-mock-service", ready: "service", backend: backend)
            try await body(
                World(
                    containers: containers, issuer: issuer, backend: backend, service: service,
                    api: try JSONClient(backend)))
            try await containers.stopAll()
        }
    }

    // MARK: Rows

    /// Opens a client that signs in as a user and syncs, until `body` has ended.
    private func client(
        of user: String, _ algorithm: String, in world: World, folder: String,
        _ body: (any PowerSyncDatabaseProtocol) async throws -> Void
    ) async throws {
        let database = PowerSyncDatabase(
            schema: Schema(Table(name: "lists", columns: [.text("owner_id"), .text("name")])),
            dbFilename: "\(folder)/\(user)-\(algorithm).db", logger: DefaultLogger(writers: []))
        let issuer = world.issuer
        let connector = BackendConnector(
            url: world.backend, session: { "Bearer " + (try await issuer.token(user, algorithm)) },
            endpoint: world.service)
        do {
            try await database.connect(connector: connector, options: ConnectOptions(retryDelay: 0.2))
            try await database.waitForFirstSync()
            try await body(database)
        } catch {
            try await database.close()
            throw error
        }
        try await database.close()
    }

    private func names(_ database: any PowerSyncDatabaseProtocol) async throws -> [String] {
        try await database.getAll("SELECT name FROM lists ORDER BY name") { try $0.getString(index: 0) }
    }

    /// Written by the app's connector on one device, and seen on another of the same user; nobody else sees it.
    @Test func aRowOfOneDeviceReachesTheOther() async throws {
        let folder = try TemporaryDirectory(prefix: "powersync-production-")
        defer { folder.remove() }
        try await with { world in
            try await client(of: "dora", "RS256", in: world, folder: folder.path) { first in
                try await client(of: "dora", "EdDSA", in: world, folder: folder.path) { second in
                    #expect(try await names(second) == [])
                    try await first.execute(
                        sql: "INSERT INTO lists (id, owner_id, name) VALUES (uuid(), ?, ?)",
                        parameters: ["dora", "of production"])
                    try await wait(
                        for: "the row of the other device", read: { try await names(second) },
                        until: { $0 == ["of production"] })
                }
            }
            #expect(try await world.owners() == ["dora"])
            // What was there before is of u1.
            for (user, rows) in [("carl", []), ("u1", ["Getting Started"])] as [(String, [String])] {
                try await client(of: user, "ES256", in: world, folder: folder.path) { database in
                    let found = try await names(database)
                    #expect(found == rows, "\(user)")
                }
            }
        }
    }

    // MARK: Tokens

    /// It stands in URLs and logs of others: what it is good for is reading, and no setting had to say so.
    @Test func aSyncTokenUploadsNothing() async throws {
        try await with { world in
            let token = try await world.syncToken("dora")
            let id = "b0000000-0000-4000-8000-000000000001"
            for (method, path, body) in [
                ("POST", "/api/v1/upload", "{\"batch\":[]}"), ("GET", "/api/v1/rejections", nil),
                ("GET", "/api/v1/attachments/a/download-url", nil), ("GET", "/api/auth/token", nil),
            ] as [(String, String, String?)] {
                #expect(
                    try await world.outcome(method, path, token, body: body) == "401 TOKEN_KIND", "\(path)")
            }
            #expect(try await world.upload(token, id: id) == "401 TOKEN_KIND")
            #expect(try await world.owners() == [])
            #expect(try await world.upload(try await world.issuer.token("dora"), id: id) == "200")
            #expect(try await world.owners() == ["dora"])
            #expect(try await streamStatus(world.service, token) == 200)
        }
    }

    private func streamStatus(_ service: String, _ token: String) async throws -> Int {
        let client = try HTTPClient()
        defer { client.close() }
        var request = HTTPClientRequest(
            method: "POST", url: service + "/sync/stream", body: Array(#"{"raw_data":true}"#.utf8),
            totalTimeout: TestOptions.deadline)
        request.fields = ["content-type": "application/json", "authorization": "Bearer \(token)"]
        let stream = try await client.open(request)
        defer { stream.cancel() }
        return stream.status
    }

    /// However it signs; and what is wrong with a token is told.
    @Test func whomTheProviderKnowsSignsIn() async throws {
        try await with { world in
            let issuer = world.issuer
            for (number, algorithm) in PyJWTIssuer.algorithms.enumerated() {
                let session = try await issuer.token("user-\(number)", algorithm)
                #expect(try await world.outcome("GET", "/api/auth/token", session) == "200", "\(algorithm)")
                let id = "b0000000-0000-4000-8000-00000000000\(number)"
                #expect(try await world.upload(session, id: id) == "200", "\(algorithm)")
            }
            #expect(try await world.owners() == ["user-0", "user-1", "user-2"])
            let id = "c0000000-0000-4000-8000-000000000001"
            let late = try await issuer.token("eve", lifetime: -90)
            let elsewhere = try await issuer.token("eve", changes: [JSONMember("aud", .string("elsewhere"))])
            let others = try await issuer.token(
                "eve", changes: [JSONMember("iss", .string("https://evil.example.com"))])
            for (shown, code) in [
                (late, "TOKEN_EXPIRED"), (elsewhere, "TOKEN_AUDIENCE"), (others, "TOKEN_ISSUER"),
                (nil, "UNAUTHENTICATED"), ("x", "CREDENTIALS_MALFORMED"),
            ] as [(String?, String)] {
                #expect(try await world.upload(shown, id: id) == "401 " + code)
                let asked = try await world.outcome("GET", "/api/auth/token?user_id=u1", shown)
                #expect(asked == "401 " + code)
            }
            #expect(try await world.owners().count == 3)
        }
    }

    /// What is minted here PyJWT takes by the published keys, and for whom it is alone.
    @Test func whatIsMintedIsGoodForOthers() async throws {
        try await with { world in
            let token = try await world.syncToken("dora", "RS256")
            let compose = world.containers.compose
            let (audience, issuer) = (try compose.setting("JWT_AUDIENCE"), try compose.setting("JWT_ISSUER"))
            for path in ["/api/auth/keys", "/.well-known/jwks.json"] {
                let keys = world.backend + path
                let read = try await world.issuer.reading(
                    of: token, keys: keys, audience: audience, issuer: issuer)
                #expect(read["claims"]?["sub"] == .string("dora"), "\(read.text)")
                let elsewhere = try await world.issuer.reading(
                    of: token, keys: keys, audience: "elsewhere", issuer: issuer)
                #expect(elsewhere["error"] == .string("InvalidAudienceError"), "\(elsewhere.text)")
            }
        }
    }

    /// From one moment to the next, whatever is remembered of his tokens.
    @Test func whoeverIsDisabledIsOut() async throws {
        try await with { world in
            let session = try await world.issuer.token("dora")
            let id = "b0000000-0000-4000-8000-000000000001"
            #expect(try await world.upload(session, id: id) == "200")
            try await world.containers.postgres.script(
                "INSERT INTO psb.disabled_users (user_id, reason) VALUES ('dora', 'left')")
            #expect(try await world.upload(session, id: id) == "403 ACCOUNT_DISABLED")
            let asked = try await world.outcome("GET", "/api/auth/token", session)
            #expect(asked == "403 ACCOUNT_DISABLED")
            let other = "b0000000-0000-4000-8000-000000000002"
            #expect(try await world.upload(try await world.issuer.token("carl"), id: other) == "200")
            #expect(try await world.owners() == ["carl", "dora"])
        }
    }
}
