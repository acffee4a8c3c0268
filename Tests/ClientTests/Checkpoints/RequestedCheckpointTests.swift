import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSync

/// Checkpoint requests of the app (client-api 1.20, 7 P).
@Suite(.patient())
struct RequestedCheckpointTests {
    /// A database on a clock moved by hand, and a service that answers checkpoint requests as it is told.
    private struct Bench {
        let clock: SteppedClock
        let client: ConnectedBench
        let connector: any PowerSyncBackendConnectorProtocol

        init(
            _ answers: SyncHTTPResponse..., statuses: [Int] = [],
            connector: any PowerSyncBackendConnectorProtocol = TestConnector(),
            whileSending: @escaping @Sendable () async throws -> Void = {}
        ) throws {
            self.connector = connector
            clock = SteppedClock()
            client = try ConnectedBench(
                transport: ScriptedTransport(
                    statuses: statuses, answers: answers, whileSending: whileSending),
                environment: clock.environment)
        }

        init(_ client: ConnectedBench, on clock: SteppedClock) {
            self.client = client
            self.clock = clock
            connector = TestConnector()
        }

        var database: LocalDatabase { client.database }

        func connect(_ mode: CheckpointMode = .requests()) async throws {
            try await database.connect(
                connector: connector, options: ConnectOptions(checkpointMode: mode))
        }

        /// The ids that the service was sent.
        var ids: [String?] {
            get throws {
                try client.transport.requests.filter { $0.url.hasSuffix("/sync/checkpoint-request") }
                    .map { try JSON.parse($0.body ?? [])["checkpoint_request_id"]?.stringValue }
            }
        }

        /// Waits for a request in a task of its own, and returns once it waits.
        func waiting(for request: any CheckpointRequest) async throws -> Task<Void, any Error> {
            let task = Task { try await request.waitForSync() }
            try await wait(for: "somebody to wait") {
                database.group.status.progress.state.waiterCount == 1
            }
            return task
        }

        /// Whether all requests that were sent are applied.
        var areAllApplied: Bool {
            database.group.coordinator?.checkpointRequests.sent.isAwaited == true
        }

        func close() async throws { try await database.close() }
    }

    private func error(of task: Task<some Sendable, any Error>) async -> (any Error)? {
        do {
            _ = try await wait(forEndOf: task)
            return nil
        } catch {
            return error
        }
    }

    private func isNotConnecting(_ error: (any Error)?) -> Bool {
        let refusal = error as? CheckpointRequestError
        return if case .notConnecting? = refusal { true } else { false }
    }

    private func isDisconnected(_ error: (any Error)?) -> Bool {
        if case CheckpointWaitError.disconnected? = error as? CheckpointWaitError { true } else { false }
    }

    private func isTimeout(_ error: (any Error)?) -> Bool {
        if case CheckpointWaitError.timeout? = error as? CheckpointWaitError { true } else { false }
    }

    @Test(
        "In legacy mode they are not enabled, and without a connection nothing is requested", .behaviour(205))
    func withoutAConnectionOrTheModeNothingIsRequested() async throws {
        let bench = try Bench(.writeCheckpoint(1))
        func refusal() async -> CheckpointRequestError? {
            do {
                _ = try await bench.database.requestCheckpoint()
                return nil
            } catch {
                return error as? CheckpointRequestError
            }
        }
        guard case .notConnecting = await refusal() else {
            Issue.record("not connected")
            return
        }
        try await bench.connect(.legacy)
        guard case .checkpointRequestsNotEnabled = await refusal() else {
            Issue.record("connected in legacy mode")
            return
        }
        try await bench.database.disconnect()
        guard case .notConnecting = await refusal() else {
            Issue.record("disconnected")
            return
        }
        #expect(try bench.ids.isEmpty)
        try await bench.close()
        await #expect(throws: PowerSyncError.self) { try await bench.database.requestCheckpoint() }
    }

    @Test("The first stream asks with 1, the app with 2, and the next stream with 2 again", .behaviour(206))
    func idsFollowEachOther() async throws {
        let bench = try Bench(.checkpointRequest(1), .checkpointRequest(2))
        try await bench.connect()
        let stream = try await bench.client.stream()
        _ = try await bench.database.requestCheckpoint()
        #expect(try bench.ids == ["1", "2"])
        stream.end()
        try await wait(for: "the pause") { bench.clock.waiting.contains(.seconds(5)) }
        bench.clock.advance(by: .seconds(5))
        try await wait(for: "the request of the next stream") { try bench.ids.count == 3 }
        #expect(try bench.ids == ["1", "2", "2"])
        try await bench.close()
    }

    @Test("An answer above the id is where the next one begins", .behaviour(207))
    func theAnswerIsTheFloor() async throws {
        let bench = try Bench(.checkpointRequest(7), .checkpointRequest(8))
        try await bench.connect()
        _ = try await bench.database.requestCheckpoint()
        #expect(try bench.ids == ["1", "8"])
        try await bench.close()

        let connector = StoringConnector(stored: 9)
        let own = try Bench(.status(500), connector: connector)
        try await own.connect()
        _ = try await own.database.requestCheckpoint()
        #expect(connector.posted == [1, 10])
        #expect(try own.ids.isEmpty)
        let clientID = try await own.database.get("SELECT powersync_client_id()") {
            try $0.getString(index: 0)
        }
        #expect(connector.clients == [clientID])
        try await own.close()
    }

    @Test("A request is answered by the id that the service has stored", .behaviour(208))
    func theEffectiveIdCounts() async throws {
        let bench = try Bench(.checkpointRequest(1), .checkpointRequest(5))
        try await bench.connect()
        let stream = try await bench.client.stream()
        let request = try await bench.database.requestCheckpoint()
        stream.send(SyncLines.checkpoint(0, [], writeCheckpoint: 4), SyncLines.complete(0))
        try await bench.database.waitForFirstSync()
        #expect(!request.hasSynced)
        stream.send(SyncLines.checkpoint(0, [], writeCheckpoint: 5), SyncLines.complete(0))
        try await request.waitForSync()
        #expect(request.hasSynced)
        try await bench.close()
    }

    @Test("It has synced once a checkpoint that shows it is complete", .behaviour(209))
    func itHasSyncedWithTheCheckpoint() async throws {
        let bench = try Bench(.checkpointRequest(1), .checkpointRequest(2))
        try await bench.connect()
        let stream = try await bench.client.stream()
        let request = try await bench.database.requestCheckpoint()
        let task = try await bench.waiting(for: request)
        stream.send(SyncLines.checkpoint(0, [], writeCheckpoint: 1), SyncLines.complete(0))
        try await bench.database.waitForFirstSync()
        stream.send(SyncLines.checkpoint(0, [], writeCheckpoint: 2))
        try await wait(for: "the line to be handled") { stream.isIdle }
        #expect(!request.hasSynced)
        stream.send(SyncLines.complete(0))
        try await task.value
        #expect(request.hasSynced)
        // Whoever asks later is answered at once.
        try await request.waitForSync()
        try await bench.close()
    }

    @Test("A request that does not show is sent again, until it is applied", .behaviour(210))
    func aRequestIsRepeated() async throws {
        let bench = try Bench(.checkpointRequest(1), .checkpointRequest(2))
        try await bench.connect(.requests(checkpointRequestRetryDelay: 15))
        let stream = try await bench.client.stream()
        let request = try await bench.database.requestCheckpoint()
        for count in [3, 4] {
            try await wait(for: "the patience") { bench.clock.waiting.contains(.seconds(15)) }
            bench.clock.advance(by: .seconds(15))
            try await wait(for: "it to be sent again") { try bench.ids.count == count }
        }
        #expect(try bench.ids == ["1", "2", "2", "2"])
        try await wait(for: "the patience") { bench.clock.waiting.contains(.seconds(15)) }
        stream.send(SyncLines.checkpoint(0, [], writeCheckpoint: 2), SyncLines.complete(0))
        try await request.waitForSync()
        bench.clock.advance(by: .seconds(15))
        try await wait(for: "nothing more to send") { bench.areAllApplied }
        bench.clock.advance(by: .seconds(3600))
        try await wait(for: "nothing more to send") { bench.areAllApplied }
        #expect(try bench.ids.count == 4)
        try await bench.close()
    }

    @Test("A shorter time than ten seconds is not taken for the repetition", .behaviour(210))
    func theShortestPatienceIsTenSeconds() async throws {
        let bench = try Bench(.checkpointRequest(1), .checkpointRequest(2))
        try await bench.connect(.requests(checkpointRequestRetryDelay: 1))
        _ = try await bench.client.stream()
        _ = try await bench.database.requestCheckpoint()
        try await wait(for: "the patience") { bench.clock.waiting.contains(.seconds(10)) }
        #expect(try bench.ids == ["1", "2"])
        try await bench.close()
    }

    @Test("Disconnecting ends the wait, and the request holds for the next connection", .behaviour(211))
    func disconnectingEndsTheWait() async throws {
        let bench = try Bench(.checkpointRequest(1), .checkpointRequest(2))
        try await bench.connect()
        _ = try await bench.client.stream()
        let request = try await bench.database.requestCheckpoint()
        let task = try await bench.waiting(for: request)
        try await bench.database.disconnect()
        #expect(isDisconnected(await error(of: task)))
        #expect(isDisconnected(await error(of: Task { try await request.waitForSync() })))
        try await bench.connect()
        let stream = try await bench.client.stream(1)
        let again = try await bench.waiting(for: request)
        stream.send(SyncLines.checkpoint(0, [], writeCheckpoint: 2), SyncLines.complete(0))
        try await again.value
        try await bench.close()
    }

    @Test func clearingMakesARequestWorthNothing() async throws {
        let bench = try Bench(.checkpointRequest(1), .checkpointRequest(2))
        try await bench.connect()
        _ = try await bench.client.stream()
        let request = try await bench.database.requestCheckpoint()
        try await bench.database.disconnectAndClear()
        try await bench.connect()
        let stream = try await bench.client.stream(1)
        stream.send(SyncLines.checkpoint(0, [], writeCheckpoint: 2), SyncLines.complete(0))
        try await bench.database.waitForFirstSync()
        #expect(!request.hasSynced)
        #expect(isDisconnected(await error(of: Task { try await request.waitForSync() })))
        try await bench.close()
    }

    @Test("A service without the endpoint is named, and shows as an error of the download", .behaviour(212))
    func aServiceWithoutTheEndpointIsNamed() async throws {
        let bench = try Bench(.status(404))
        try await bench.connect()
        let failure = await error(of: Task { try await bench.database.requestCheckpoint() })
        guard case CheckpointRequestError.instanceNotSupported? = failure as? CheckpointRequestError else {
            Issue.record("\(String(describing: failure))")
            return
        }
        try await wait(for: "the error to show") { bench.client.status.downloadError != nil }
        #expect((bench.client.status.downloadError as? PowerSyncError)?.code == .notFound)
        try await wait(for: "the end of the connection") { !bench.client.status.connected }
        try await bench.close()
    }

    @Test("An error that shows ends the wait with its text", .behaviour(108, 213))
    func anErrorEndsTheWait() async throws {
        let bench = try Bench(.checkpointRequest(1), .checkpointRequest(2))
        try await bench.connect()
        let stream = try await bench.client.stream()
        let request = try await bench.database.requestCheckpoint()
        let task = try await bench.waiting(for: request)
        stream.send(#"{"checkpoint":{"last_op_id":"x","buckets":[]}}"#)
        guard case CheckpointWaitError.errorDetected(let message)? = await error(of: task) else {
            Issue.record("no error was detected")
            return
        }
        let shown = try #require(bench.client.status.downloadError as? PowerSyncError)
        #expect(message == shown.errorDescription)
        // That error is an old one for whoever waits again.
        let again = try await bench.waiting(for: request)
        try await wait(for: "the pause") { bench.clock.waiting.contains(.seconds(5)) }
        bench.clock.advance(by: .seconds(5))
        try await bench.client.stream(1).send(
            SyncLines.checkpoint(0, [], writeCheckpoint: 2), SyncLines.complete(0))
        try await again.value
        try await bench.close()
    }

    @Test("A cancelled wait throws CancellationError", .behaviour(214))
    func aCancelledWaitEnds() async throws {
        let bench = try Bench(.checkpointRequest(1), .checkpointRequest(2))
        try await bench.connect()
        let request = try await bench.database.requestCheckpoint()
        let task = try await bench.waiting(for: request)
        task.cancel()
        #expect(await error(of: task) is CancellationError)
        try await bench.close()
    }

    @Test("A time limit of nothing only looks, and another one counts from the wait on", .behaviour(215))
    func aTimeLimitEndsTheWait() async throws {
        let bench = try Bench(.checkpointRequest(1), .checkpointRequest(2))
        try await bench.connect()
        let stream = try await bench.client.stream()
        let request = try await bench.database.requestCheckpoint()
        for limit in [0.0, -1, .nan] {
            #expect(isTimeout(await error(of: Task { try await request.waitForSync(timeout: limit) })))
        }
        let task = Task { try await request.waitForSync(timeout: 3) }
        try await wait(for: "the limit") { bench.clock.waiting.contains(.seconds(3)) }
        bench.clock.advance(by: .seconds(3))
        #expect(isTimeout(await error(of: task)))
        stream.send(SyncLines.checkpoint(0, [], writeCheckpoint: 2), SyncLines.complete(0))
        try await request.waitForSync(timeout: 60)
        try await request.waitForSync(timeout: 0)
        try await bench.close()
    }

    @Test("Lines are handled while the first request of a stream hangs", .behaviour(217))
    func linesAreHandledMeanwhile() async throws {
        let gate = Gate()
        defer { gate.open() }
        let bench = try Bench(.checkpointRequest(1), .checkpointRequest(2)) { await gate.pass() }
        try await bench.connect()
        let task = Task { try await bench.database.requestCheckpoint() }
        bench.client.completeEmptyCheckpoint(try await bench.client.stream())
        try await bench.database.waitForFirstSync()
        #expect(try bench.ids.isEmpty)
        gate.open()
        _ = try await task.value
        #expect(try bench.ids == ["1", "2"])
        try await bench.close()
    }

    @Test("A connector that stores requests, and none are made: a warning", .behaviour(218))
    func aConnectorForNothingIsWarnedOf() async throws {
        let connector = StoringConnector(stored: 0)
        let bench = try Bench(.writeCheckpoint(1), connector: connector)
        try await bench.connect(.legacy)
        bench.client.completeEmptyCheckpoint(try await bench.client.stream())
        try await bench.database.waitForFirstSync()
        #expect(bench.client.log.warnings(containing: "checkpointMode: .requests()") == 1)
        #expect(connector.posted.isEmpty)
        try await bench.close()
    }

    @Test("A service that counts from the beginning again is told what was asked for before", .behaviour(219))
    func aServiceThatForgotIsToldAgain() async throws {
        let bench = try Bench(.checkpointRequest(100), .checkpointRequest(100), .checkpointRequest(101))
        try await bench.connect()
        try await wait(for: "the first request") { try bench.ids == ["1"] }
        bench.client.completeEmptyCheckpoint(try await bench.client.stream())
        try await bench.database.waitForFirstSync()
        try await bench.database.disconnect()
        try await bench.connect()
        _ = try await bench.database.requestCheckpoint()
        #expect(try bench.ids == ["1", "100", "101"])
        try await bench.close()
    }

    @Test func aRequestWaitsForTheServiceAndEndsOnePause() async throws {
        let bench = try Bench(statuses: [503, 503])
        try await bench.connect()
        try await wait(for: "the pause") { bench.clock.waiting.contains(.seconds(5)) }
        let task = Task { try await bench.database.requestCheckpoint() }
        // Nobody has moved the clock.
        _ = try await bench.client.stream(1)
        try await wait(for: "the next pause") { bench.clock.waiting.contains(.seconds(5)) }
        #expect(bench.client.transport.streams.count == 2)
        bench.clock.advance(by: .seconds(5))
        let stream = try await bench.client.stream(2)
        let request = try await wait(forEndOf: task)
        let id = try #require(try bench.ids.compactMap { $0.flatMap { Int($0) } }.max())
        stream.send(SyncLines.checkpoint(0, [], writeCheckpoint: id), SyncLines.complete(0))
        try await request.waitForSync()
        try await bench.close()
    }

    @Test func aRequestWhoseAnswerFailsIsSentAgain() async throws {
        let bench = try Bench(.checkpointRequest(1), .status(503), .checkpointRequest(2))
        try await bench.connect()
        _ = try await bench.client.stream()
        let task = Task { try await bench.database.requestCheckpoint() }
        try await wait(for: "the pause") { bench.clock.waiting.contains(.seconds(5)) }
        bench.clock.advance(by: .seconds(5))
        _ = try await task.value
        #expect(try bench.ids == ["1", "2", "2"])
        try await bench.close()
    }

    @Test func aRequestThatIsRefusedFails() async throws {
        let bench = try Bench(.checkpointRequest(1), .status(422))
        try await bench.connect()
        let failure = await error(of: Task { try await bench.database.requestCheckpoint() })
        guard case CheckpointRequestError.operationFailed(_, let cause)? = failure as? CheckpointRequestError
        else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect((cause as? PowerSyncError)?.httpStatus == 422)
        try await bench.close()
    }

    @Test func aWaitingRequestEndsWithTheConnection() async throws {
        let bench = try Bench(.checkpointRequest(1), .checkpointRequest(2), statuses: [503])
        try await bench.connect()
        try await wait(for: "the pause") { bench.clock.waiting.contains(.seconds(5)) }
        let gate = Gate()
        defer { gate.open() }
        let task = Task { try await bench.database.requestCheckpoint() }
        try await bench.database.disconnect()
        let failure = await error(of: task)
        switch failure as? CheckpointRequestError {
        case .notConnecting: break
        // It was answered before the connection ended.
        case nil where failure == nil: break
        default: Issue.record("\(String(describing: failure))")
        }
        try await bench.close()
    }

    /// Before the request is sent, or when its answer is to be stored.
    @Test(arguments: [true, false])
    func anErrorOfTheDatabaseEndsARequest(isBeforeSending: Bool) async throws {
        let failure = TestError(text: "of the pool")
        let (folder, clock, count) = (try TemporaryDirectory(), SteppedClock(), Lock(0))
        let pool = try OwnPool(path: folder.file())
        let transport = ScriptedTransport(
            answers: [.checkpointRequest(1), .checkpointRequest(500)],
            whileSending: {
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                if number == 2 { pool.refuse(failure) }
            })
        let client = ConnectedBench(
            on: pool, in: folder, transport: transport, environment: clock.environment)
        let bench = Bench(client, on: clock)
        try await bench.connect()
        try await wait(for: "the connection and the first request") {
            let progress = bench.database.group.status.progress
            return client.status.connected && progress.state.current.seed == .answered
        }
        if isBeforeSending { pool.refuse(failure) }
        let thrown = await error(of: Task { try await bench.database.requestCheckpoint() })
        guard case CheckpointRequestError.operationFailed(_, let cause)? = thrown as? CheckpointRequestError
        else {
            Issue.record("\(String(describing: thrown))")
            return
        }
        #expect(cause as? TestError == failure)
        #expect(try bench.ids == (isBeforeSending ? ["1"] : ["1", "2"]))
        pool.refuse(nil)
        try await bench.close()
    }

    // MARK: The end of syncing

    /// What a request can wait for.
    enum Awaited: CaseIterable { case callback, credentials, service }

    /// What ends syncing.
    enum Ending: CaseIterable { case disconnect, clear, connect, close }

    private func end(_ bench: Bench, by ending: Ending) async throws {
        switch ending {
        case .disconnect: try await bench.database.disconnect()
        case .clear: try await bench.database.disconnectAndClear()
        case .connect: try await bench.connect()
        case .close: try await bench.database.close()
        }
    }

    /// Calls `hold` while the request of the app, which is the second one, waits.
    private func bench(
        holding awaited: Awaited, by hold: @escaping @Sendable () async throws -> Void
    ) throws -> Bench {
        switch awaited {
        case .callback:
            let connector = StoringConnector(stored: 0) { id in
                guard id == 2 else { return }
                try await hold()
            }
            return try Bench(.status(500), connector: connector)
        case .credentials:
            let connector = TestConnector(fetch: { number in
                guard number == 2 else { return }
                try await hold()
            })
            return try Bench(.checkpointRequest(1), .status(401), connector: connector)
        case .service:
            let count = Lock(0)
            return try Bench(.checkpointRequest(1)) {
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                guard number == 2 else { return }
                try await hold()
            }
        }
    }

    @Test(arguments: Awaited.allCases, Ending.allCases)
    func whatARequestWaitsForIsCancelledAtTheEndOfSyncing(_ awaited: Awaited, _ ending: Ending) async throws {
        let (begun, cancelled) = (Lock(0), Lock(0))
        let bench = try bench(holding: awaited) {
            begun.withLock { $0 += 1 }
            do {
                // Raised for nobody.
                try await AsyncFlag().wait()
            } catch {
                cancelled.withLock { $0 += 1 }
                throw error
            }
        }
        try await bench.connect()
        let request = Task { try await bench.database.requestCheckpoint() }
        if awaited == .credentials {
            // The service has refused those that there were.
            try await wait(for: "the pause") { bench.clock.waiting.contains(.seconds(5)) }
            bench.clock.advance(by: .seconds(5))
        }
        try await wait(for: "the request to wait") { begun.withLock { $0 } == 1 }
        // The clock stands still, so nobody's patience ends.
        try await wait(forEndOf: Task { try await end(bench, by: ending) })
        #expect(isNotConnecting(await error(of: request)))
        #expect(cancelled.withLock { $0 } == 1)
        try await bench.close()
        #expect(!bench.client.log.has("has not ended within"))
        #expect(bench.database.group.loop.withLock { $0.calls.isEmpty })
    }

    @Test func aRequestThatWaitsForTheWriterEndsWithTheConnection() async throws {
        let connector = StoringConnector(stored: 0)
        let bench = try Bench(.status(500), connector: connector)
        try await bench.connect()
        let database = bench.database
        try await wait(for: "the connection and the first request") {
            bench.client.status.connected && database.group.status.progress.state.current.seed == .answered
        }
        let pool = try #require(try await database.pool() as? SQLitePool)
        let gate = BlockingGate()
        async let writing: Void = database.writeLock { _ in gate.wait() }
        defer { gate.open() }
        try await wait(for: "the writer to be held") { gate.arrivals == 1 }
        let request = Task { try await database.requestCheckpoint() }
        // Others that belong to syncing may wait, too.
        try await wait(for: "the request to wait for the writer") { pool.waitingWrites > 0 }
        let stop = Task { try await database.disconnect() }
        try await wait(for: "syncing to end") { database.group.coordinator == nil }
        gate.open()
        try await writing
        try await wait(forEndOf: stop)
        #expect(isNotConnecting(await error(of: request)))
        #expect(connector.posted == [1])
        #expect(database.group.loop.withLock { $0.calls.isEmpty })
        try await bench.close()
    }

    /// Of a service that answers also whoever has gone; a pool of the app's own comes also to what was given up.
    @Test(arguments: [false, true])
    func whatIsAnsweredBehindTheEndOfTheSessionCountsForNothing(isOwnPool: Bool) async throws {
        let (gate, count) = (Gate(), Lock(0))
        defer { gate.open() }
        let transport = ScriptedTransport(
            answers: [.checkpointRequest(1), .checkpointRequest(500), .checkpointRequest(1)],
            whileSending: {
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                if number == 2 { await gate.pass() }
            })
        let (folder, clock) = (try TemporaryDirectory(), SteppedClock())
        let client =
            try isOwnPool
            ? ConnectedBench(
                on: OwnPool(path: folder.file()), in: folder, transport: transport,
                environment: clock.environment)
            : ConnectedBench(folder: folder, transport: transport, environment: clock.environment)
        let bench = Bench(client, on: clock)
        try await bench.connect()
        _ = try await client.stream()
        let request = Task { try await bench.database.requestCheckpoint() }
        try await wait(for: "the request to be sent") { gate.arrivals == 1 }
        try await bench.database.disconnectAndClear()
        gate.open()
        #expect(isNotConnecting(await error(of: request)))
        // Of the next user.
        try await bench.connect()
        let stream = try await client.stream(1)
        try await wait(for: "the first request") { try bench.ids.count == 3 }
        #expect(try bench.ids == ["1", "2", "1"])
        stream.send(SyncLines.checkpoint(0, [], writeCheckpoint: 500), SyncLines.complete(0))
        try await bench.database.waitForFirstSync()
        let state = bench.database.group.status.progress.state.current
        #expect(state.requests.isEmpty && state.awaited == nil)
        try await bench.close()
    }

    @Test func aRequestIsNotedInTheSessionAloneThatHasMadeIt() {
        let progress = SessionProgress()
        progress.begin(1, requestsCheckpoints: true)
        #expect(progress.add(2, in: 1) != nil)
        progress.end(1)
        #expect(progress.add(2, in: 1) == nil)
        progress.begin(2, requestsCheckpoints: true)
        #expect(progress.add(2, in: 1) == nil)
        #expect(progress.state.current.requests.count == 1)
    }

    @Test func anErrorOfTheConnectorIsBelowTheOneThatIsThrown() async throws {
        let connector = StoringConnector(stored: 0, failing: 2)
        let bench = try Bench(.status(500), connector: connector)
        try await bench.connect()
        let failure = await error(of: Task { try await bench.database.requestCheckpoint() })
        guard
            case CheckpointRequestError.operationFailed(let message, let cause)? =
                failure as? CheckpointRequestError
        else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(message == "Custom checkpoint request failed.")
        #expect(cause as? TestError == TestError(text: "not stored"))
        #expect(connector.posted == [1, 2])
        try await bench.close()
    }
}

/// A backend that stores checkpoint requests itself.
private final class StoringConnector: CustomCheckpointRequestConnector {
    private struct State {
        var stored: Int64
        var posted: [Int64] = []
        var clients: Set<String> = []
    }

    private let state: Lock<State>
    private let failing: Int64?
    private let whileStoring: @Sendable (Int64) async throws -> Void

    /// - Parameters:
    ///   - stored: the greatest id of this client so far.
    ///   - failing: the id that it does not store.
    ///   - whileStoring: runs before an id is stored, which it gets.
    init(
        stored: Int64, failing: Int64? = nil,
        whileStoring: @escaping @Sendable (Int64) async throws -> Void = { _ in }
    ) {
        state = Lock(State(stored: stored))
        self.failing = failing
        self.whileStoring = whileStoring
    }

    var posted: [Int64] { state.withLock { $0.posted } }
    var clients: Set<String> { state.withLock { $0.clients } }

    func fetchCredentials() async throws -> PowerSyncCredentials? {
        PowerSyncCredentials(endpoint: "https://powersynctest.example.org", token: "test-token")
    }

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        try await database.getNextCrudTransaction()?.complete()
    }

    func postCheckpointRequest(_ checkpointRequestId: Int64, clientId: String) async throws -> Int64 {
        state.withLock { state in
            state.posted.append(checkpointRequestId)
            state.clients.insert(clientId)
        }
        try await whileStoring(checkpointRequestId)
        return try state.withLock { state in
            if checkpointRequestId == failing { throw TestError(text: "not stored") }
            state.stored = max(state.stored, checkpointRequestId)
            return state.stored
        }
    }
}
