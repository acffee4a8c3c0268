import Foundation
import PowerSync
import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Tokens that are missing, expired or about to, against the real backend and the real service.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct StackTokenTests {
    /// Signs tokens as the backend does, with the key that it keeps in the stack's folder.
    struct Signer: Sendable {
        let key: JSONWebKey

        init(folder: String) throws {
            let file = try #require(
                try FileManager.default.contentsOfDirectory(atPath: folder + "/keys").first {
                    $0.hasSuffix(".jwk")
                })
            key = try JSONWebKey(json: Array(Data(contentsOf: URL(filePath: folder + "/keys/" + file))))
        }

        /// A token of the first user that expires so many seconds from now.
        func token(expiresIn seconds: Int, now: Int = Int(Date().timeIntervalSince1970)) throws -> String {
            let exp = now + seconds
            let payload = "{\"sub\":\"alice\",\"aud\":[\"powersync\"],\"iat\":\(exp - 600),\"exp\":\(exp)}"
            return try JSONWebToken.signed(
                payload: Array(payload.utf8), with: key, algorithm: .ES256, kid: key.kid ?? key.thumbprint)
        }
    }

    private func open(_ service: String, _ token: String?, _ client: HTTPClient) async throws
        -> HTTPClientStream
    {
        var request = HTTPClientRequest(
            url: service + "/sync/stream", connectTimeout: TestOptions.deadline,
            idleTimeout: TestOptions.deadline)
        request.method = "POST"
        request.fields = ["content-type": "application/json"]
        if let token { request.fields["authorization"] = "Bearer \(token)" }
        request.body = Array("{\"raw_data\":true}".utf8)
        return try await client.open(request)
    }

    private func upload(_ backend: String, _ token: String?, _ client: HTTPClient) async throws -> Int {
        var request = HTTPClientRequest(
            url: backend + "/api/data", connectTimeout: TestOptions.deadline,
            idleTimeout: TestOptions.deadline)
        request.method = "POST"
        request.fields = ["content-type": "application/json"]
        if let token { request.fields["authorization"] = "Bearer \(token)" }
        request.body = Array("{\"batch\":[]}".utf8)
        return try await client.send(request).status
    }

    @Test func toleranceIs60SecondsForRequestsAndNoneForAStream() async throws {
        try await EndToEnd.withWorld { world in
            let backend = try await world.stack.url(.backend)
            let service = try await world.stack.url(.service)
            let signer = try Signer(folder: world.stack.folder)
            let client = try HTTPClient()
            defer { client.close() }
            for token in [nil, try signer.token(expiresIn: -90)] {
                #expect(try await upload(backend, token, client) == 401)
                #expect(try await open(service, token, client).status == 401)
            }
            // Each made when it is used: a machine that stands still makes it older.
            #expect(try await upload(backend, signer.token(expiresIn: -30), client) == 200)
            let ended = try await open(service, signer.token(expiresIn: -30), client)
            #expect(ended.status == 200)
            #expect(try await lines(of: ended, limit: 2) == [.tokenExpiresIn(0)])
            let valid = try signer.token(expiresIn: 300)
            #expect(try await upload(backend, valid, client) == 200)
            let running = try await open(service, valid, client)
            #expect(running.status == 200)
            guard case .checkpoint = try await lines(of: running, limit: 1).first else {
                Issue.record("a valid token gets no checkpoint")
                return
            }
            running.cancel()
        }
    }

    /// Reads until so many lines are there or the stream ends.
    private func lines(of stream: HTTPClientStream, limit: Int) async throws -> [SyncLine] {
        var splitter = LineSplitter(limit: 1 << 20)
        var lines: [SyncLine] = []
        while lines.count < limit, let chunk = try await stream.next() {
            splitter.append(chunk)
            while let line = try splitter.next() { lines.append(try SyncLine(parsing: line)) }
        }
        return lines
    }

    @Test func clientGoesOnWithANewTokenWhenItsStreamExpires() async throws {
        try await EndToEnd.withWorld { world in
            let signer = try Signer(folder: world.stack.folder)
            let connector = ExpiringConnector(
                endpoint: try await world.stack.url(.service), short: try signer.token(expiresIn: 4),
                long: try signer.token(expiresIn: 600))
            let database = world.b.database
            try await database.connect(connector: connector, options: ConnectOptions(retryDelay: 0.2))
            try await database.waitForFirstSync()
            try await wait(
                for: "a second token to be fetched", read: { connector.fetched.withLock { $0 } },
                until: { $0 >= 2 })
            _ = try await world.query(
                "INSERT INTO lists (id, owner_id, name) VALUES (gen_random_uuid(), 'alice', 'after the first token')"
            )
            try await world.b.watch("SELECT name FROM lists", for: "a row of the second stream") {
                $0 == ["after the first token"]
            }
            try await database.disconnect()
        }
    }
}

/// Gives out one token that expires soon, then one that does not.
private final class ExpiringConnector: PowerSyncBackendConnectorProtocol {
    let fetched = Lock(0)
    private let endpoint: String
    private let short: String
    private let long: String

    init(endpoint: String, short: String, long: String) {
        self.endpoint = endpoint
        self.short = short
        self.long = long
    }

    func fetchCredentials() async throws -> PowerSyncCredentials? {
        let count = fetched.withLock { count in
            count += 1
            return count
        }
        return PowerSyncCredentials(endpoint: endpoint, token: count == 1 ? short : long)
    }

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {}
}
