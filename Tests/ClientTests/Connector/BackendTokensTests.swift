import Foundation
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// With what requests to a backend are authorised, and when a new token is asked for (backend 4.4).
@Suite(.patient()) struct BackendTokensTests {
    // MARK: The sync token

    @Test func oneTokenIsEnoughForThreeHundredUploads() async throws {
        let rig = try BackendRig()
        for _ in 0..<300 {
            try await rig.queue(1)
            try await rig.upload()
        }
        #expect(rig.backend.uploads.count == 300)
        #expect(rig.backend.tokens.count == 1)
        #expect(try await rig.queued() == 0)
    }

    @Test func aTokenForTheStreamServesUploadsToo() async throws {
        let rig = try BackendRig(endpoint: "http://127.0.0.1:1")
        let credentials = try #require(try await rig.connector.fetchCredentials())
        #expect(credentials.token == "token-1")
        #expect(credentials.endpoint == "http://127.0.0.1:1")
        try await rig.queue(1)
        try await rig.upload()
        #expect(rig.backend.authorizations == ["Bearer token-1"])
        // Whoever asks for credentials gets new ones.
        #expect(try await rig.connector.fetchCredentials()?.token == "token-2")
        try await rig.queue(1)
        try await rig.upload()
        #expect(rig.backend.authorizations == ["Bearer token-1", "Bearer token-2"])
    }

    @Test(arguments: [("alice", "?user_id=alice"), ("å b&c", "?user_id=%C3%A5%20b%26c"), (nil, "")])
    func aDevelopmentBackendIsToldTheUser(_ user: String?, _ query: String) async throws {
        let rig = try BackendRig(access: .developmentUser(user))
        let credentials = try #require(try await rig.connector.fetchCredentials())
        #expect(credentials.endpoint == "https://service.test")
        let request = try #require(rig.backend.tokens.first)
        #expect(request.method == "GET")
        #expect(request.url == "https://backend.test/api/auth/token\(query)")
        #expect(request.fields["authorization"] == nil)
        #expect(request.body == nil)
    }

    @Test(
        arguments: [
            // The last moment at which the token is used, if it is ever not used any more.
            (#","expires_in":600"#, 569), (#","expires_in":20"#, 14),
            (#","expires_at":"2025-03-01T10:10:00Z""#, 569),
            (#","expires_in":600,"expires_at":"2025-03-01T10:00:01Z""#, 569), ("", nil),
            // A token that is over when it comes: the clock of this device is wrong.
            (#","expires_at":"2025-03-01T09:00:00Z""#, nil), (#","expires_in":0"#, nil),
            (#","expires_in":-5"#, nil), (#","expires_at":"soon""#, nil),
        ] as [(String, Int?)])
    func aTokenThatIsNearlyOverIsReplaced(_ life: String, _ lastSecond: Int?) async throws {
        let rig = try BackendRig(ScriptedBackend(token: { .token($0, life: life) }))
        try await rig.queue(1)
        try await rig.upload()
        rig.clock.advance(by: .seconds(lastSecond ?? 100_000))
        try await rig.queue(1)
        try await rig.upload()
        #expect(rig.backend.authorizations == ["Bearer token-1", "Bearer token-1"])
        guard lastSecond != nil else { return }
        rig.clock.advance(by: .seconds(1))
        for _ in 0..<2 {
            try await rig.queue(1)
            try await rig.upload()
        }
        #expect(rig.backend.authorizations.suffix(2) == ["Bearer token-2", "Bearer token-2"])
        #expect(rig.backend.tokens.count == 2)
    }

    @Test func aRefusedTokenIsReplacedOnceAndTheUploadRepeatedOnce() async throws {
        let rig = try BackendRig(
            ScriptedBackend { number, request in number == 1 ? .status(401) : .accepting(request) })
        try await rig.queue(3)
        try await rig.upload()
        #expect(rig.backend.tokens.count == 2)
        #expect(rig.backend.authorizations == ["Bearer token-1", "Bearer token-2"])
        let bodies = rig.backend.uploads.map(\.body)
        #expect(bodies[0] == bodies[1])
        #expect(try await rig.queued() == 0)
    }

    @Test func aBackendThatRefusesEveryTokenIsAskedForOneEachTime() async throws {
        let rig = try BackendRig(ScriptedBackend { _, _ in .status(401) })
        try await rig.queue(1)
        for attempt in 1...2 {
            let error = try #require(await rig.failure())
            #expect(error.code == .unauthorized)
            #expect(error.httpStatus == 401)
            #expect(
                error.localizedDescription == """
                    The backend does not accept the token: POST https://backend.test/api/data answered 401
                    """)
            #expect(rig.backend.uploads.count == 2 * attempt)
            #expect(rig.backend.tokens.count == 1 + attempt)
        }
        #expect(try await rig.queued() == 1)
    }

    @Test func aTokenThatSomebodyElseGotMeanwhileIsUsed() async throws {
        let connector = Lock<BackendConnector?>(nil)
        let rig = try BackendRig(
            ScriptedBackend { number, request in
                guard number == 1 else { return .accepting(request) }
                // The stream was refused at the same time.
                _ = try await connector.withLock { $0 }?.fetchCredentials()
                return .status(401)
            })
        connector.withLock { $0 = rig.connector }
        try await rig.queue(1)
        try await rig.upload()
        #expect(rig.backend.tokens.count == 2)
        #expect(rig.backend.authorizations == ["Bearer token-1", "Bearer token-2"])
        connector.withLock { $0 = nil }
    }

    @Test func noTwoTokensAreAskedForAtOnce() async throws {
        let gate = Gate()
        defer { gate.open() }
        let rig = try BackendRig(
            ScriptedBackend(
                token: { number in
                    await gate.pass()
                    return .token(number)
                }))
        try await rig.queue(1)
        var fetching: [Task<String?, any Error>] = []
        for _ in 0..<20 {
            fetching.append(Task { try await rig.connector.fetchCredentials()?.token })
        }
        let uploading = Task { try await rig.upload() }
        try await wait(for: "a request for a token") { gate.arrivals > 0 }
        // Time for all to come; those who are late ask for a token of their own, behind the first.
        for _ in 0..<1_000 { await Task.yield() }
        gate.open()
        for task in fetching { #expect(try await wait(forEndOf: task) != nil) }
        try await wait(forEndOf: uploading)
        #expect(rig.backend.mostTokensInFlight == 1)
        #expect(try await rig.queued() == 0)
    }

    @Test(
        arguments: [
            (
                401, .unauthorized,
                "The backend gives no token without a session, unless DEV_TOKENS is set there"
            ),
            (403, .forbidden, "The backend refuses access"),
            (404, .notFound, "The backend does not know the address"),
            (500, .serviceUnavailable, "The backend cannot answer now"),
        ] as [(Int, PowerSyncError.Code, String)])
    func aBackendThatGivesNoTokenSaysWhy(_ status: Int, _ code: PowerSyncError.Code, _ text: String)
        async throws
    {
        let rig = try BackendRig(ScriptedBackend(token: { _ in .status(status) }))
        let error = await #expect(throws: PowerSyncError.self) {
            try await rig.connector.fetchCredentials()
        }
        #expect(error?.code == code)
        #expect(error?.httpStatus == status)
        #expect(
            error?.localizedDescription
                == "\(text): GET https://backend.test/api/auth/token answered \(status)")
        try await rig.queue(1)
        #expect(await rig.failure()?.code == code)
        #expect(rig.backend.uploads.isEmpty)
        #expect(try await rig.queued() == 1)
    }

    @Test(arguments: ["", "{}", #"{"token":7,"powersync_url":"x"}"#, #"{"token":"secret"}"#])
    func anAnswerWithoutATokenIsNone(_ body: String) async throws {
        let rig = try BackendRig(ScriptedBackend(token: { _ in .json(body) }))
        let error = await #expect(throws: PowerSyncError.self) {
            try await rig.connector.fetchCredentials()
        }
        #expect(error?.code == .protocolViolation)
        #expect(
            error?.localizedDescription.hasPrefix(
                "The backend sent what this client does not understand: GET ")
                == true)
        #expect(!shownTexts(of: error as Any).contains("secret"))
    }

    @Test func aPauseThatIsAskedForTokensIsKeptAndHoldsNoUploadUp() async throws {
        let rig = try BackendRig(
            ScriptedBackend(
                token: { $0 == 2 ? .status(429, ["retry-after": "5"]) : .token($0) }))
        _ = try await rig.connector.fetchCredentials()
        await #expect(throws: PowerSyncError.self) { try await rig.connector.fetchCredentials() }
        try await rig.queue(1)
        try await rig.upload()
        #expect(rig.backend.authorizations == ["Bearer token-1"])
        let next = Task { try await rig.connector.fetchCredentials()?.token }
        defer { next.cancel() }
        try await wait(for: "the pause", read: { rig.clock.waiting }, until: { !$0.isEmpty })
        #expect(rig.clock.waiting == [.seconds(5)])
        #expect(rig.backend.tokens.count == 2)
        rig.clock.advance(by: .seconds(5))
        #expect(try await wait(forEndOf: next) == "token-3")
    }

    @Test func disconnectingCutsAPauseForTokensShort() async throws {
        let backend = ScriptedBackend(token: { _ in .status(429, ["retry-after": "60"]) })
        let clock = SteppedClock()
        let connector = BackendConnector(
            url: "https://backend.test", access: .developmentUser("alice"), environment: clock.environment,
            send: { try await backend.send($0) })
        let bench = try ConnectedBench()
        try await bench.database.connect(connector: connector, crudThrottle: 0, retryDelay: 0.001)
        try await wait(for: "the pause", read: { clock.waiting }, until: { $0 == [.seconds(60)] })
        #expect((bench.status.downloadError as? PowerSyncError)?.code == .serviceUnavailable)
        try await bench.database.disconnect()
        try await wait(for: "the pause to end") { clock.waiting.isEmpty }
        #expect(backend.tokens.count == 1)
        #expect(bench.transport.requests.isEmpty)
        #expect(!bench.log.has("has not ended within"))
        try await bench.database.close()
    }

    // MARK: The app's session

    @Test func theSessionAuthorisesTokensAndUploads() async throws {
        let asked = Lock(0)
        let rig = try BackendRig(
            access: .session {
                asked.withLock { $0 += 1 }
                return "Basic session"
            })
        #expect(try await rig.connector.fetchCredentials()?.token == "token-1")
        #expect(rig.backend.tokens.map(\.url) == ["https://backend.test/api/auth/token"])
        #expect(rig.backend.tokens[0].fields["authorization"] == "Basic session")
        try await rig.queue(1)
        try await rig.upload()
        #expect(rig.backend.authorizations == ["Basic session"])
        // An upload needs no token of its own then.
        #expect(rig.backend.tokens.count == 1)
        #expect(asked.withLock { $0 } == 2)
    }

    @Test func aRefusedSessionIsAskedOnceMore() async throws {
        let asked = Lock(0)
        let rig = try BackendRig(
            ScriptedBackend(
                upload: { $0 == 1 ? .status(401) : .accepting($1) },
                token: { $0 == 1 ? .status(401) : .token($0) }),
            access: .session {
                asked.withLock { asked in
                    asked += 1
                    return "Bearer session-\(asked)"
                }
            })
        #expect(try await rig.connector.fetchCredentials()?.token == "token-2")
        #expect(
            rig.backend.tokens.map { $0.fields["authorization"] } == ["Bearer session-1", "Bearer session-2"])
        try await rig.queue(1)
        try await rig.upload()
        #expect(rig.backend.authorizations == ["Bearer session-3", "Bearer session-4"])
        #expect(try await rig.queued() == 0)
    }

    @Test func aSessionThatTheBackendDoesNotAcceptIsAnError() async throws {
        let rig = try BackendRig(
            ScriptedBackend(upload: { _, _ in .status(401) }, token: { _ in .status(401) }),
            access: .session { "Bearer secret" })
        let error = await #expect(throws: PowerSyncError.self) {
            try await rig.connector.fetchCredentials()
        }
        #expect(error?.code == .unauthorized)
        #expect(
            error?.localizedDescription == """
                The backend does not accept the session: GET https://backend.test/api/auth/token answered 401
                """)
        #expect(rig.backend.tokens.count == 2)
        try await rig.queue(1)
        let failure = try #require(await rig.failure())
        #expect(failure.code == .unauthorized)
        #expect(
            failure.localizedDescription == """
                The backend does not accept the session: POST https://backend.test/api/data answered 401
                """)
        #expect(rig.backend.uploads.count == 2)
        #expect(!shownTexts(of: failure).contains("secret"))
        #expect(try await rig.queued() == 1)
    }

    @Test func nobodyWhoIsNotSignedInAsksForAnything() async throws {
        let rig = try BackendRig(access: .session { nil })
        #expect(try await rig.connector.fetchCredentials() == nil)
        try await rig.queue(1)
        let error = try #require(await rig.failure())
        #expect(error.code == .missingCredentials)
        #expect(error.localizedDescription == "Nobody is signed in, so nothing can be uploaded")
        #expect(rig.backend.tokens.isEmpty && rig.backend.uploads.isEmpty)
        #expect(try await rig.queued() == 1)
    }

    @Test func whoSignsOutMeanwhileIsNotSignedIn() async throws {
        let asked = Lock(0)
        let rig = try BackendRig(
            ScriptedBackend(token: { _ in .status(401) }),
            access: .session {
                asked.withLock { asked in
                    asked += 1
                    return asked == 1 ? "Bearer session" : nil
                }
            })
        #expect(try await rig.connector.fetchCredentials() == nil)
        #expect(rig.backend.tokens.count == 1)
    }

    @Test func whatTheSessionThrowsStaysAsItIs() async throws {
        let rig = try BackendRig(access: .session { throw TestError(text: "own") })
        await #expect(throws: TestError(text: "own")) { try await rig.connector.fetchCredentials() }
        try await rig.queue(1)
        await #expect(throws: TestError(text: "own")) { try await rig.upload() }
    }
}
