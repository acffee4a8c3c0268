import Foundation
import PowerSyncHTTPClient
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// What the status tells an app when talking to the service fails, over real sockets where that is possible.
@Suite(.patient()) struct ServiceErrorTests {
    /// An error that the status shows, and all that can be seen of it and of the status.
    private struct Told {
        let error: any Error
        let texts: String
    }

    private func connect(
        _ database: any PowerSyncDatabaseProtocol, _ connector: any PowerSyncBackendConnectorProtocol,
        showing read: (any SyncStatusData) -> Any? = { $0.downloadError }
    ) async throws -> Told {
        try await database.connect(connector: connector, retryDelay: 0.02)
        var told: Told?
        for await status in database.currentStatus.asFlow() {
            guard let error = read(status) as? any Error else { continue }
            told = Told(error: error, texts: shownTexts(of: error) + shownTexts(of: status))
            break
        }
        try await database.close()
        return try #require(told)
    }

    private func check(
        _ told: Told, _ code: PowerSyncError.Code, _ text: String, httpStatus: Int? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let error = try #require(told.error as? PowerSyncError, sourceLocation: sourceLocation)
        #expect(error.code == code, sourceLocation: sourceLocation)
        #expect(error.httpStatus == httpStatus, sourceLocation: sourceLocation)
        // As code sees it that knows no more than that it is an error.
        let localized = told.error.localizedDescription
        #expect(localized.hasPrefix(text), "\(localized)", sourceLocation: sourceLocation)
        for secret in ["secret", "test-token"] {
            #expect(!told.texts.contains(secret), sourceLocation: sourceLocation)
        }
    }

    @Test(.behaviour(86), arguments: ServiceFailure.all)
    func theStatusTellsItInPlainWords(_ failure: ServiceFailure) async throws {
        let server = try RawServer(failure.script)
        let test = try TestDatabase()
        let told = try await connect(
            test.database,
            TestConnector(endpoint: "\(failure.scheme)://user:secret@127.0.0.1:\(server.port)"))
        try check(
            told, failure.code, failure.text.replacing("PORT", with: "\(server.port)"),
            httpStatus: failure.httpStatus)
        #expect(server.connections > 0)
    }

    @Test func aPortThatNobodyListensOn() async throws {
        let port = try RefusingPort()
        let told = try await connect(
            try TestDatabase().database, TestConnector(endpoint: "http://127.0.0.1:\(port.number)"))
        try check(told, .connectionRefused, "The service cannot be reached: ")
        #expect(port.number > 0)
    }

    static let hasProxy = ProcessInfo.processInfo.environment.keys.contains {
        ["http_proxy", "all_proxy"].contains($0.lowercased())
    }

    @Test(.disabled(if: ServiceErrorTests.hasProxy, "a proxy would be asked for the name"))
    func aHostThatNobodyKnows()
        async throws
    {
        // No name server is asked for a label of more than 63 characters.
        let host = String(repeating: "a", count: 64) + ".invalid"
        let told = try await connect(
            try TestDatabase().database, TestConnector(endpoint: "http://\(host)"))
        try check(told, .unknownHost, "The name of the service's host is unknown: ")
    }

    /// Gives a silent service up after a moment, as the client does after its own idle time.
    private struct ImpatientTransport: SyncTransport {
        let client: HTTPClient

        func open(_ request: SyncHTTPRequest) async throws -> any SyncResponseStream {
            throw ScriptError("the service answered \(try await send(request).status)")
        }

        func send(_ request: SyncHTTPRequest) async throws -> SyncHTTPResponse {
            let response = try await client.send(
                HTTPClientRequest(
                    method: request.method, url: request.url, body: request.body,
                    idleTimeout: .milliseconds(50)))
            return SyncHTTPResponse(status: response.status, body: response.body)
        }
    }

    /// A database whose way to the service is a test's.
    private func local(
        _ makeTransport: @escaping @Sendable () throws -> any SyncTransport
    ) -> LocalDatabase {
        LocalDatabase(
            schema: TestDatabase.schema, location: .success(.memory), logger: DefaultLogger(writers: []),
            initialStatements: [], groups: .shared, makeTransport: makeTransport)
    }

    @Test func aServiceThatSaysNothing() async throws {
        let server = try RawServer { $0.waitForHangUp() }
        let told = try await connect(
            local { ImpatientTransport(client: try HTTPClient()) },
            TestConnector(endpoint: server.url()))
        try check(told, .connectionSilent, "The service says nothing: ")
        #expect(server.connections > 0)
    }

    @Test func aClientWithoutAWayToTheNetwork() async throws {
        let database = local { throw HTTPClientError(.other, "No thread for the HTTP client") }
        let error = await #expect(throws: PowerSyncError.self) {
            try await database.connect(connector: TestConnector())
        }
        #expect(error?.code == .network)
        #expect(error?.localizedDescription == "Talking to the service failed: No thread for the HTTP client")
        try await database.close()
    }

    @Test func anEndpointThatIsNoAddress() async throws {
        let told = try await connect(
            try TestDatabase().database, TestConnector(endpoint: "ftp://user:secret@127.0.0.1"))
        try check(
            told, .invalidCredentials,
            "The credentials cannot be used: The address is not one of http or https")
    }

    @Test func aConnectorWithoutCredentials() async throws {
        let told = try await connect(try TestDatabase().database, TestConnector(endpoint: nil))
        try check(told, .missingCredentials, "fetchCredentials() returned nil")
        #expect(told.error.localizedDescription == "fetchCredentials() returned nil")
    }

    // MARK: Uploads

    /// A service whose stream says that it lives, and which answers other requests with a status.
    private func service(answering status: Int) throws -> RawServer {
        try RawServer { connection in
            guard let request = connection.request() else { return }
            guard request.hasPrefix("POST") else {
                connection.send("HTTP/1.1 \(status) No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                return
            }
            connection.send(String.chunkedHead)
            connection.chunk(SyncLines.tokenExpires(in: 3600) + "\n")
            connection.waitForHangUp()
        }
    }

    @Test func aWriteCheckpointThatTheServiceDoesNotGive() async throws {
        let server = try service(answering: 503)
        let test = try TestDatabase()
        try await test.insertUser("secret")
        let told = try await connect(
            test.database, TestConnector(endpoint: server.url()), showing: { $0.uploadError })
        try check(
            told, .serviceUnavailable,
            "The service cannot answer now: Error getting write checkpoint: 503", httpStatus: 503)
        #expect(server.connections > 0)
    }

    @Test func anUploadThatCompletesNothing() async throws {
        let server = try service(answering: 503)
        let test = try TestDatabase()
        try await test.insertUser("secret")
        let told = try await connect(
            test.database, TestConnector(endpoint: server.url(), upload: { _ in }),
            showing: { $0.uploadError })
        try check(told, .uploadStalled, "Delaying due to previously encountered CRUD item.")
        #expect(server.connections > 0)
    }

    // MARK: Errors of the app

    private struct ThrowingConnector: PowerSyncBackendConnectorProtocol {
        let error: any Error

        func fetchCredentials() async throws -> PowerSyncCredentials? { throw error }
        func uploadData(database: any PowerSyncDatabaseProtocol) async throws {}
    }

    @Test func whatTheConnectorThrowsStaysAsItIs() async throws {
        let own = try await connect(
            try TestDatabase().database, ThrowingConnector(error: TestError(text: "own")))
        #expect(own.error as? TestError == TestError(text: "own"))
        let cancelled = try await connect(
            try TestDatabase().database, ThrowingConnector(error: CancellationError()))
        #expect(cancelled.error is CancellationError)
        let foreign = try await connect(
            try TestDatabase().database, ThrowingConnector(error: CocoaError(.fileNoSuchFile)))
        #expect((foreign.error as? CocoaError)?.code == .fileNoSuchFile)
    }
}
