import Foundation
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSync

/// Uploads through the connector of this package, whatever the backend answers (backend 1.5 to 1.9).
@Suite(.patient()) struct BackendConnectorTests {
    private static let success = #"{"status":"success"}"#
    private static let notAttempted = #"{"status":"not_attempted"}"#
    private static let undecided = """
        {"status":"fatal_error","requires_client_handling":true,\
        "failed_operation":{"error_code":"CONFLICT","message":"m"}}
        """
    private static let rejected = """
        {"status":"fatal_error","replayed":true,"requires_client_handling":false,\
        "failed_operation":{"operation_index":0,"error_code":"CHECK_VIOLATION","message":"must be positive",\
        "details":{"constraint":"positive","table":"users"}},"rejection_id":"0190",\
        "ops":[{"i":0,"op_id":1,"status":"rejected","code":"CHECK_VIOLATION"}]}
        """

    // MARK: Requests

    @Test func anUploadHasTheIdsAndTheTypesOfTheQueue() async throws {
        let rig = try BackendRig(url: "https://backend.test/base//")
        let clientID = try await rig.test.database.get("SELECT powersync_client_id()") {
            try $0.getString(index: 0)
        }
        try await rig.test.database.writeTransaction { transaction in
            try transaction.execute(
                sql: "INSERT INTO users (id, name, favorite_number, weight) VALUES ('u', 'A', 7, 1.5)",
                parameters: [])
            try transaction.execute(sql: "UPDATE users SET name = NULL WHERE id = 'u'", parameters: [])
        }
        try await rig.test.database.execute("DELETE FROM users WHERE id = 'u'")
        var queued: [CrudTransaction] = []
        for try await transaction in rig.test.database.getCrudTransactions() { queued.append(transaction) }
        try #require(queued.map(\.crud.count) == [2, 1])

        try await rig.upload()
        #expect(try await rig.queued() == 0)
        let request = try #require(rig.backend.uploads.first)
        #expect(rig.backend.uploads.count == 1)
        #expect(request.method == "POST")
        #expect(request.url == "https://backend.test/base/api/data")
        #expect(request.fields["content-type"] == "application/json")
        #expect(request.fields["authorization"] == "Bearer token-1")
        #expect(request.fields["user-agent"] == UserAgent.current())
        #expect(request.idleTimeout == .seconds(45))
        #expect(request.totalTimeout == nil)
        #expect(request.answerTimeout == .seconds(120))
        let body = try rig.backend.bodies()[0]
        #expect(body.dialect == .versioned)
        #expect(body.clientID == clientID)
        #expect(body.transactions.map(\.id) == queued.map(\.transactionId))
        let operations = body.transactions.flatMap(\.operations)
        #expect(operations.map(\.opID) == queued.flatMap(\.crud).map(\.clientId))
        #expect(operations.map(\.kind) == [.put, .patch, .delete])
        #expect(operations.allSatisfy { $0.table == "users" && $0.id == "u" })
        #expect(
            operations[0].data == [
                JSONMember("favorite_number", .number("7")), JSONMember("name", .string("A")),
                JSONMember("weight", .number("1.5")),
            ])
        #expect(operations[1].data == [JSONMember("name", .null)])
        #expect(operations[2].data == nil)
    }

    @Test func previousValuesGoWithTheChange() async throws {
        let rig = try BackendRig()
        try await rig.test.database.execute("INSERT INTO notes (id, text) VALUES ('n', 'old')")
        try await rig.test.database.execute("UPDATE notes SET text = 'new' WHERE id = 'n'")
        try await rig.upload()
        let change = try #require(try rig.backend.bodies()[0].transactions.last?.operations.first)
        #expect(change.data == [JSONMember("text", .string("new"))])
        #expect(change.old == [JSONMember("text", .string("old"))])
    }

    @Test func anEmptyQueueAsksNobody() async throws {
        let rig = try BackendRig()
        try await rig.upload()
        #expect(rig.backend.uploads.isEmpty && rig.backend.tokens.isEmpty)
    }

    @Test func aHundredThousandChangesGoInBoundedRequestsAndInTheirOrder() async throws {
        let sent = Lock<[Int64]>([])
        let rig = try BackendRig(
            ScriptedBackend { _, request in
                let operations = request.transactions.flatMap(\.operations)
                #expect(request.transactions.count <= 50)
                #expect(operations.count <= 1_000)
                sent.withLock { $0 += operations.compactMap(\.opID) }
                return .accepting(request)
            })
        try await rig.queueAtOnce(100_000, inTransactionsOf: 40)
        while try await rig.queued() > 0 { try await rig.upload() }
        #expect(sent.withLock { $0 } == Array(1...100_000))
        // 25 transactions of 40 changes are a thousand.
        #expect(rig.backend.uploads.count == 100)
        #expect(rig.backend.uploads.allSatisfy { ($0.body?.count ?? 0) <= 1 << 20 })
    }

    // MARK: Too large

    @Test func anUploadThatIsTooLargeIsHalvedDownToOneAndGrowsAgain() async throws {
        let most = Lock(1)
        let rig = try BackendRig(
            ScriptedBackend { _, request in
                request.transactions.count > most.withLock { $0 } ? .status(413) : .accepting(request)
            })
        try await rig.queue(70)
        try await rig.upload()
        #expect(try rig.backend.bodies().map(\.transactions.count) == [50, 25, 12, 6, 3, 1])
        #expect(try await rig.queued() == 69)
        // It is remembered for a while.
        rig.clock.advance(by: .seconds(59))
        try await rig.upload()
        #expect(try rig.backend.bodies().map(\.transactions.count).suffix(1) == [1])
        most.withLock { $0 = 50 }
        rig.clock.advance(by: .seconds(1))
        try await rig.upload()
        rig.clock.advance(by: .seconds(60))
        try await rig.upload()
        #expect(try rig.backend.bodies().map(\.transactions.count).suffix(2) == [2, 4])
        rig.clock.advance(by: .seconds(600))
        try await rig.upload()
        #expect(try rig.backend.bodies().map(\.transactions.count).suffix(1) == [50])
        #expect(try await rig.queued() == 12)
        // One token for all of that, and every change once in the end, in order.
        #expect(rig.backend.tokens.count == 1)
    }

    @Test func oneTransactionThatIsTooLargeIsAnErrorThatSaysSo() async throws {
        let rig = try BackendRig(ScriptedBackend { _, _ in .status(413) })
        try await rig.test.database.writeTransaction { transaction in
            for _ in 0..<3 {
                try transaction.execute(
                    sql: "INSERT INTO users (id, name) VALUES (uuid(), 'secret')", parameters: [])
            }
        }
        try await rig.queue(2)
        let error = try #require(await rig.failure())
        #expect(error.code == .uploadTooLarge)
        #expect(error.httpStatus == 413)
        #expect(
            error.localizedDescription == """
                The oldest transaction of the upload queue (changes: 3) alone is larger than the backend takes: \
                POST https://backend.test/api/data answered 413
                """)
        #expect(try rig.backend.bodies().map(\.transactions.count) == [3, 1])
        #expect(try await rig.queued() == 5)
        #expect(rig.verdicts.isEmpty)
    }

    // MARK: Large answers

    /// Each value takes many times the bytes that it is written with.
    @Test func anAnswerOfFarMoreValuesThanResultsHaveIsRefused() async throws {
        let more = Array(repeating: "[0]", count: 60_000).joined(separator: ",")
        let rig = try BackendRig(
            ScriptedBackend { number, request in
                number > 1
                    ? .accepting(request) : .json("{\"results\":[\(Self.success)],\"more\":[\(more)]}")
            })
        try await rig.queue(1)
        let error = try #require(await rig.failure())
        #expect(error.code == .protocolViolation)
        #expect(try await rig.queued() == 1)
        try await rig.upload()
        #expect(try await rig.queued() == 0)
    }

    @Test func aTransactionMayHaveAsManyStatesAsChanges() async throws {
        let states = (0..<50_000).map { #"{"i":\#($0),"op_id":\#($0),"status":"noop","code":"ROW_MISSING"}"# }
        let result = #"{"status":"success","ops":[\#(states.joined(separator: ","))]}"#
        let rig = try BackendRig(ScriptedBackend { _, _ in .results(result) })
        try await rig.queueAtOnce(50_000, inTransactionsOf: 50_000)
        try await rig.upload()
        #expect(try await rig.queued() == 0)
        #expect(rig.verdicts.map(\.operations.count) == [50_000])
    }

    @Test(arguments: [
        ("1", true), ("\"\(String(repeating: "x", count: 16 << 10))\"", false),
        ("[\(Array(repeating: "0", count: 2_000).joined(separator: ","))]", false),
    ])
    func theCodeOfAProblemIsLookedForInAShortAnswerAlone(_ more: String, _ isShown: Bool) async throws {
        let body = #"{"code":"OVERLOADED","more":\#(more)}"#
        let rig = try BackendRig(ScriptedBackend { _, _ in .json(body, status: 502) })
        try await rig.queue(1)
        let error = try #require(await rig.failure())
        #expect(error.code == .serviceUnavailable)
        #expect(error.localizedDescription.contains("(OVERLOADED)") == isShown)
    }

    // MARK: Pauses

    @Test(arguments: [
        (429, "7", 7), (503, "7", 7), (503, "0", 0), (503, "86400", 60),
        (503, "Sat, 01 Mar 2025 10:00:09 GMT", 9), (503, "Sat, 01 Mar 2025 09:00:00 GMT", 0),
        (503, "Saturday, 01-Mar-25 10:00:09 GMT", 9), (503, "Sat Mar  1 10:00:09 2025", 9),
        (503, "soon", 0), (503, "-7", 0), (500, "7", 0), (200, "7", 0),
    ])
    func aPauseThatTheBackendAsksForIsKept(_ status: Int, _ value: String, _ seconds: Int) async throws {
        let rig = try BackendRig(
            ScriptedBackend { number, request in
                guard number == 1 else { return .accepting(request) }
                return .json(#"{"code":"OVERLOADED"}"#, status: status, ["Retry-After": value])
            })
        try await rig.queue(1)
        // The error shows at once.
        let error = try #require(await rig.failure())
        #expect(error.code == (status == 200 ? .protocolViolation : .serviceUnavailable))
        let next = Task { try await rig.upload() }
        defer { next.cancel() }
        if seconds > 0 {
            try await wait(for: "the pause", read: { rig.clock.waiting }, until: { !$0.isEmpty })
            #expect(rig.clock.waiting == [.seconds(seconds)])
            #expect(rig.backend.uploads.count == 1)
            rig.clock.advance(by: .seconds(seconds))
        }
        try await wait(forEndOf: next)
        #expect(rig.backend.uploads.count == 2)
        #expect(try await rig.queued() == 0)
    }

    @Test func disconnectingCutsAPauseShort() async throws {
        let backend = ScriptedBackend { _, _ in .status(503, ["Retry-After": "60"]) }
        let clock = SteppedClock()
        let connector = BackendConnector(
            url: "https://backend.test", access: .developmentUser("alice"), environment: clock.environment,
            send: { try await backend.send($0) })
        let bench = try ConnectedBench()
        try await bench.database.execute("INSERT INTO users (id, name) VALUES ('u', 'A')")
        try await bench.database.connect(connector: connector, crudThrottle: 0, retryDelay: 0.001)
        _ = try await bench.stream()
        try await wait(for: "the pause", read: { clock.waiting }, until: { $0 == [.seconds(60)] })
        #expect(
            bench.transport.requests[0].headers.contains(SyncHTTPHeader("Authorization", "Token token-1")))
        #expect((bench.status.uploadError as? PowerSyncError)?.code == .serviceUnavailable)
        try await bench.database.disconnect()
        #expect(clock.waiting.isEmpty)
        #expect(backend.uploads.count == 1)
        #expect(!bench.log.has("has not ended within"))
        #expect(try await bench.database.get("SELECT count(*) FROM ps_crud") { try $0.getInt(index: 0) } == 1)
        try await bench.database.close()
    }

    @Test func aTransactionThatIsWantedLaterMayAskForAPauseToo() async throws {
        let rig = try BackendRig(
            ScriptedBackend { number, request in
                number > 1
                    ? .accepting(request)
                    : .results(#"{"status":"retryable_error","retry_after_ms":1500}"#, Self.notAttempted)
            })
        try await rig.queue(2)
        let error = try #require(await rig.failure())
        #expect(error.code == .serviceUnavailable)
        #expect(
            error.localizedDescription
                == "The backend asks for the oldest transaction of the upload queue again later")
        #expect(rig.verdicts.map(\.outcome) == [.retryLater, .notAttempted])
        #expect(try await rig.queued() == 2)
        let next = Task { try await rig.upload() }
        defer { next.cancel() }
        try await wait(for: "the pause", read: { rig.clock.waiting }, until: { !$0.isEmpty })
        #expect(rig.clock.waiting == [.milliseconds(1_500)])
        rig.clock.advance(by: .milliseconds(1_500))
        try await wait(forEndOf: next)
        #expect(try await rig.queued() == 1)
        try await rig.upload()
        #expect(try await rig.queued() == 0)
    }

    // MARK: Verdicts

    @Test func anAcceptedTransactionTellsWhatBecameOfEachChange() async throws {
        let result = """
            {"status":"success","replayed":true,"ops":[{"i":0,"op_id":1,"status":"applied"},\
            {"i":1,"op_id":2,"status":"noop","code":"ROW_MISSING"},{"i":2,"status":"adjusted"},\
            {"i":3,"status":"conflict"},{"i":4,"status":"replayed"},{"i":5,"status":"new"}]}
            """
        let rig = try BackendRig(ScriptedBackend { _, _ in .results(result) })
        try await rig.queue(1)
        try await rig.upload()
        #expect(try await rig.queued() == 0)
        let verdict = try #require(rig.verdicts.first)
        #expect(rig.verdicts.count == 1)
        #expect(verdict.outcome == .accepted)
        #expect(verdict.transactionId == 1)
        #expect(verdict.isReplayed)
        #expect(verdict.code == nil && verdict.message == nil && verdict.rejectionId == nil)
        #expect(verdict.failedOperation == nil && verdict.details.isEmpty)
        #expect(
            verdict.operations.map(\.state) == [
                .applied, .noop, .adjusted, .conflict, .replayed, .init(rawValue: "new"),
            ])
        #expect(verdict.operations.map(\.index) == Array(0...5))
        #expect(verdict.operations.map(\.clientId) == [1, 2, nil, nil, nil, nil])
        #expect(verdict.operations.map(\.code) == [nil, "ROW_MISSING", nil, nil, nil, nil])
    }

    @Test func aRejectedTransactionLeavesTheQueueAndSaysWhy() async throws {
        let rig = try BackendRig(
            ScriptedBackend { number, request in
                number > 1
                    ? .accepting(request) : .results(Self.success, Self.rejected, Self.notAttempted)
            })
        try await rig.queue(3)
        try await rig.upload()
        #expect(try await rig.queued() == 1)
        #expect(rig.verdicts.map(\.outcome) == [.accepted, .rejected, .notAttempted])
        #expect(rig.verdicts.map(\.transactionId) == [1, 2, 3])
        let verdict = rig.verdicts[1]
        #expect(verdict.code == "CHECK_VIOLATION")
        #expect(verdict.message == "must be positive")
        #expect(verdict.failedOperation == 0)
        #expect(verdict.details == ["constraint": .string("positive"), "table": .string("users")])
        #expect(verdict.rejectionId == "0190")
        #expect(verdict.isReplayed)
        #expect(verdict.operations.map(\.state) == [.rejected])
        // What was not attempted goes next.
        try await rig.upload()
        #expect(try await rig.queued() == 0)
        #expect(try rig.backend.bodies()[1].transactions.map(\.id) == [3])
    }

    @Test func aVerdictIsToldWhenItsTransactionHasLeftTheQueue() async throws {
        let test = try TestDatabase()
        let left = Lock<[Int]>([])
        let backend = ScriptedBackend { _, _ in .results(Self.success, Self.rejected) }
        let connector = BackendConnector(
            url: "https://backend.test", access: .developmentUser(nil),
            onVerdict: { _ in
                guard let count = try? await test.count("ps_crud") else { return }
                left.withLock { $0.append(count) }
            }, send: { try await backend.send($0) })
        try await test.insertUser("A")
        try await test.insertUser("B")
        try await connector.uploadData(database: test.database)
        #expect(left.withLock { $0 } == [0, 0])
    }

    @Test func whatTheAppMustDecideStaysAndSaysSo() async throws {
        let rig = try BackendRig(
            ScriptedBackend { number, _ in
                number > 1
                    ? .results(Self.undecided)
                    : .results(Self.success, Self.undecided, Self.notAttempted)
            })
        try await rig.queue(3)
        for attempt in 1...2 {
            let error = try #require(await rig.failure())
            #expect(error.code == .uploadUndecided)
            #expect(
                error.localizedDescription == """
                    The backend will never take the oldest transaction of the upload queue (CONFLICT) and leaves it to \
                    the app what becomes of it: it stays in the queue until the app decides
                    """)
            #expect(try await rig.queued() == 2)
            #expect(rig.backend.uploads.count == attempt)
        }
        #expect(
            rig.verdicts.map(\.outcome) == [.accepted, .needsDecision, .notAttempted, .needsDecision])
    }

    @Test(arguments: [true, false])
    func aTransactionThatStaysGoesAloneUntilItIsDone(_ isUndecided: Bool) async throws {
        let isTaken = Lock(false)
        let first = isUndecided ? Self.undecided : #"{"status":"retryable_error"}"#
        let rig = try BackendRig(
            ScriptedBackend { _, request in
                if isTaken.withLock({ $0 }) { return .accepting(request) }
                let others = request.transactions.dropFirst().map { _ in Self.notAttempted }
                return .json("{\"results\":[\(([first] + others).joined(separator: ","))]}")
            })
        try await rig.queue(60)
        for _ in 0..<3 { #expect(await rig.failure() != nil) }
        #expect(try rig.backend.bodies().map(\.transactions.count) == [50, 1, 1])
        isTaken.withLock { $0 = true }
        for _ in 0..<2 { try await rig.upload() }
        #expect(try rig.backend.bodies().map(\.transactions.count) == [50, 1, 1, 1, 50])
        #expect(try await rig.queued() == 9)
    }

    @Test func theAppCanDiscardWhatItMustDecide() async throws {
        let asked = Lock<[(code: String?, rows: [String])]>([])
        let rig = try BackendRig(
            ScriptedBackend { number, request in
                number > 1
                    ? .accepting(request) : .results(Self.success, Self.undecided, Self.notAttempted)
            },
            decide: { verdict, transaction in
                asked.withLock { $0.append((verdict.code, transaction.crud.map(\.id))) }
                return .discard
            })
        for id in ["a", "b", "c"] { try await rig.test.insertUser("A", id: id) }
        try await rig.upload()
        #expect(asked.withLock { $0.map(\.code) } == ["CONFLICT"])
        #expect(asked.withLock { $0.map(\.rows) } == [["b"]])
        #expect(try await rig.queued() == 1)
        try await rig.upload()
        #expect(try await rig.queued() == 0)
        #expect(try rig.backend.bodies()[1].transactions.flatMap(\.operations).map(\.id) == ["c"])
    }

    @Test func theAppCanKeepWhatItMustDecideAndIsAskedAgain() async throws {
        let asked = Lock(0)
        let rig = try BackendRig(
            ScriptedBackend { number, _ in
                number > 1 ? .results(Self.undecided) : .results(Self.undecided, Self.success)
            },
            decide: { _, _ in
                try asked.withLock { asked in
                    asked += 1
                    if asked == 2 { throw TestError(text: "own") }
                }
                return .keep
            })
        try await rig.queue(2)
        #expect(await rig.failure()?.code == .uploadUndecided)
        #expect(try await rig.queued() == 2)
        // What the app throws itself stays as it is.
        await #expect(throws: TestError(text: "own")) { try await rig.upload() }
        #expect(try await rig.queued() == 2)
        #expect(asked.withLock { $0 } == 2)
    }

    @Test func nothingBehindATransactionThatStaysIsCompleted() async throws {
        let rig = try BackendRig(
            ScriptedBackend { _, _ in
                .results(Self.success, #"{"status":"retryable_error"}"#, Self.success, Self.rejected)
            })
        try await rig.queue(4)
        #expect(await rig.failure()?.code == .serviceUnavailable)
        #expect(try await rig.queued() == 3)
        let next = try #require(try await rig.test.database.getNextCrudTransaction())
        #expect(next.transactionId == 2)
    }

    @Test func aTransactionThatWasNotAttemptedForNoReasonIsAnError() async throws {
        let rig = try BackendRig(ScriptedBackend { _, _ in .results(Self.notAttempted) })
        try await rig.queue(1)
        #expect(await rig.failure()?.code == .serviceUnavailable)
        #expect(try await rig.queued() == 1)
        #expect(rig.verdicts.map(\.outcome) == [.notAttempted])
    }

    // MARK: Answers that are none

    static let answersThatAreNone = [
        "", "{}", "[]", "null", "<html>", "{\"results\":[", "{\"results\":7}", "{\"results\":[]}",
        "{\"message\":\"Batch completed\"}", "{\"results\":[\(success)]}",
        "{\"results\":[\(success),\(success),\(success)]}", "{\"results\":[\(success),7]}",
        "{\"results\":[\(success),{\"status\":\"done\"}]}",
        "{\"results\":[\(success),{\"status\":\"fatal_error\"}]}",
        "{\"results\":[{\"status\":\"success\",\"tx_id\":2},{\"status\":\"success\",\"tx_id\":1}]}",
    ]

    @Test(arguments: BackendConnectorTests.answersThatAreNone)
    func anAnswerThatIsNoneCompletesNothing(_ body: String) async throws {
        let rig = try BackendRig(ScriptedBackend { _, _ in .json(body) })
        try await rig.queue(2)
        let error = try #require(await rig.failure())
        #expect(error.code == .protocolViolation)
        let text =
            "The backend sent what this client does not understand: POST https://backend.test/api/data: "
        #expect(error.localizedDescription.hasPrefix(text))
        #expect(try await rig.queued() == 2)
        #expect(rig.verdicts.isEmpty)
    }

    @Test(
        arguments: [
            (201, .requestRefused, "The backend refuses the request"),
            (204, .requestRefused, "The backend refuses the request"),
            (302, .requestRefused, "The backend refuses the request"),
            (400, .requestRefused, "The backend refuses the request"),
            (403, .forbidden, "The backend refuses access"),
            (404, .notFound, "The backend does not know the address"),
            (407, .proxyRefused, "The proxy does not let requests to the backend through"),
            (408, .serviceUnavailable, "The backend cannot answer now"),
            (429, .serviceUnavailable, "The backend cannot answer now"),
            (500, .serviceUnavailable, "The backend cannot answer now"),
            (503, .serviceUnavailable, "The backend cannot answer now"),
        ] as [(Int, PowerSyncError.Code, String)])
    func anyOtherStatusCompletesNothing(_ status: Int, _ code: PowerSyncError.Code, _ text: String)
        async throws
    {
        let accepted = "{\"results\":[\(Self.success)],\"code\":\"A_CODE\",\"detail\":\"secret\"}"
        let rig = try BackendRig(
            ScriptedBackend { _, _ in .json(accepted, status: status) },
            url: "https://user:secret@backend.test")
        try await rig.queue(1)
        let error = try #require(await rig.failure())
        #expect(error.code == code)
        #expect(error.httpStatus == status)
        #expect(
            error.localizedDescription
                == "\(text): POST https://backend.test/api/data answered \(status) (A_CODE)")
        #expect(!shownTexts(of: error).contains("secret"))
        #expect(!shownTexts(of: error).contains("token-1"))
        #expect(try await rig.queued() == 1)
    }

    @Test(
        arguments: [
            (.couldNotResolve, .unknownHost, "The name of the backend's host is unknown"),
            (.couldNotConnect, .connectionRefused, "The backend cannot be reached"),
            (.tls, .connectionInsecure, "The connection to the backend cannot be secured"),
            (
                .identityRefused, .clientCertificateRefused,
                "The backend does not accept the client's certificate, or that there is none"
            ),
            (.proxyRefused, .proxyRefused, "The proxy does not let requests to the backend through"),
            (.unreadableFile, .fileAccess, "A file of the transport options cannot be read"),
            (.badConfiguration, .invalidArgument, "The transport options cannot be used"),
            (.silent, .connectionSilent, "The backend says nothing"),
            (.timedOut, .connectionSilent, "The backend says nothing"),
            (.cut, .connectionCut, "The connection to the backend broke"),
            (.tooLarge, .protocolViolation, "The backend sent what this client does not understand"),
            (.badURL, .invalidArgument, "The URL of the backend cannot be used"),
            (.badRequest, .invalidCredentials, "The credentials cannot be used"),
            (.other, .network, "Talking to the backend failed"),
        ] as [(HTTPClientError.Code, PowerSyncError.Code, String)])
    func aRequestWithoutAnAnswerCompletesNothing(
        _ kind: HTTPClientError.Code, _ code: PowerSyncError.Code, _ text: String
    ) async throws {
        let rig = try BackendRig(ScriptedBackend { _, _ in throw HTTPClientError(kind, "why") })
        try await rig.queue(1)
        let error = try #require(await rig.failure())
        #expect(error.code == code)
        #expect(error.localizedDescription == "\(text): why")
        #expect(try await rig.queued() == 1)
    }

    @Test func cancellationPassesThrough() async throws {
        let rig = try BackendRig(ScriptedBackend { _, _ in throw CancellationError() })
        try await rig.queue(1)
        await #expect(throws: CancellationError.self) { try await rig.upload() }
        #expect(try await rig.queued() == 1)
    }

    // MARK: Over sockets

    @Test func uploadsReachABackendOverTheNetwork() async throws {
        let requests = Lock<[String]>([])
        let server = try RawServer { connection in
            while let request = connection.request() {
                requests.withLock { $0.append(request) }
                let body =
                    request.hasPrefix("POST /api/data ")
                    ? "{\"results\":[\(Self.success)]}"
                    : #"{"token":"t","powersync_url":"http://127.0.0.1:1"}"#
                let head =
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)"
                connection.send("\(head)\r\n\r\n\(body)")
            }
        }
        let test = try TestDatabase()
        let connector = BackendConnector(url: server.url(), user: "alice")
        for name in ["A", "B"] {
            try await test.insertUser(name)
            try await connector.uploadData(database: test.database)
        }
        #expect(try await test.count("ps_crud") == 0)
        let seen = requests.withLock { $0 }
        #expect(
            seen.map { $0.prefix { $0 != "\r\n" } } == [
                "GET /api/auth/token?user_id=alice HTTP/1.1", "POST /api/data HTTP/1.1",
                "POST /api/data HTTP/1.1",
            ])
        #expect(seen.dropFirst().allSatisfy { $0.contains("authorization: Bearer t\r\n") })
        // They share a connection.
        #expect(server.connections == 1)
    }

    @Test func aConnectorShowsNoToken() async throws {
        let rig = try BackendRig(url: "https://user:secret@backend.test/")
        _ = try await rig.connector.fetchCredentials()
        #expect(rig.backend.tokens.count == 1)
        let shown = shownTexts(of: rig.connector)
        #expect(shown.contains("https://backend.test"))
        #expect(!shown.contains("token-1") && !shown.contains("secret"))
    }
}
