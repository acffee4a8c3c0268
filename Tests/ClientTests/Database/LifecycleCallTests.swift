import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// What the app asks for within callbacks of its connector, and callbacks that do not end (client-api 2.3).
@Suite(.patient())
struct LifecycleCallTests {
    enum Ask: CaseIterable {
        case close, disconnect, clear, connect

        func perform(on database: any PowerSyncDatabaseProtocol) async throws {
            switch self {
            case .close: try await database.close()
            case .disconnect: try await database.disconnect()
            case .clear: try await database.disconnectAndClear()
            case .connect: try await database.connect(connector: TestConnector())
            }
        }
    }

    /// What came of something that nobody awaits; nil until it is over.
    private final class Outcome: Sendable {
        private let result = Lock<Result<Void, any Error>?>(nil)

        func record(_ body: () async throws -> Void) async {
            do {
                try await body()
                result.withLock { $0 = .success(()) }
            } catch {
                result.withLock { $0 = .failure(error) }
            }
        }

        func value() async throws {
            try await wait(for: "the end of what was asked for") { result.withLock { $0 != nil } }
            try result.withLock { $0 }?.get()
        }
    }

    /// Lets the first line come, with which uploads begin.
    private func begin(_ bench: ConnectedBench, _ connector: TestConnector) async throws {
        try await bench.database.execute("INSERT INTO users (id, name) VALUES ('u', 'A')")
        try await bench.connect(connector)
        try await bench.stream().send(SyncLines.tokenExpires(in: 3600))
    }

    /// Looks whether what was asked for is as it should be, and that the database is still of use.
    private func verify(_ ask: Ask, _ bench: ConnectedBench) async throws {
        switch ask {
        case .close:
            #expect(bench.lifecycle.phase == .closed)
            await #expect(throws: PowerSyncError.self) { try await bench.users() }
        case .disconnect:
            #expect(bench.transport.streams[0].isCancelled && !bench.status.connected)
            #expect(try await bench.users() == ["A"])
        case .clear:
            #expect(bench.transport.streams.allSatisfy(\.isCancelled) && !bench.status.connected)
            #expect(try await bench.users().isEmpty)
            #expect(try await bench.database.getCrudBatch() == nil)
        case .connect:
            try await wait(for: "the connection") { bench.status.connected }
            #expect(bench.lifecycle.phase == .syncing)
        }
        try await bench.database.close()
        #expect(bench.transport.streams.allSatisfy { $0.isCancelled })
    }

    @Test(arguments: Ask.allCases, [true, false]) func anUploadMayAskForAnything(
        _ ask: Ask, isAwaited: Bool
    ) async throws {
        let bench = try ConnectedBench()
        let outcome = Outcome()
        let connector = TestConnector { database in
            if isAwaited {
                await outcome.record { try await ask.perform(on: database) }
            } else {
                Task { await outcome.record { try await ask.perform(on: database) } }
            }
            // As an app that was told 401, and has signed its user out.
            throw TestError(text: "unauthorized")
        }
        try await begin(bench, connector)
        try await outcome.value()
        try await verify(ask, bench)
    }

    @Test(arguments: Ask.allCases, [true, false]) func fetchingCredentialsMayAskForAnything(
        _ ask: Ask, isAwaited: Bool
    ) async throws {
        let bench = try ConnectedBench()
        let database = bench.database
        let outcome = Outcome()
        let connector = TestConnector(fetch: { number in
            guard number == 2 else { return }
            if isAwaited {
                await outcome.record { try await ask.perform(on: database) }
            } else {
                Task { await outcome.record { try await ask.perform(on: database) } }
            }
        })
        try await database.execute("INSERT INTO users (id, name) VALUES ('u', 'A')")
        try await bench.connect(connector)
        // New credentials are fetched while the stream goes on.
        try await bench.stream().send(SyncLines.tokenExpires(in: 10))
        try await outcome.value()
        try await verify(ask, bench)
    }

    @Test func twoCallbacksThatEndSyncingDoNotWaitForEachOther() async throws {
        let bench = try ConnectedBench()
        let database = bench.database
        let (uploading, fetching) = (Gate(), Gate())
        let outcomes = [Outcome(), Outcome()]
        let connector = TestConnector(
            upload: { database in
                await uploading.pass()
                await outcomes[0].record { try await database.disconnectAndClear() }
            },
            fetch: { number in
                guard number == 2 else { return }
                await fetching.pass()
                await outcomes[1].record { try await database.disconnect() }
            })
        try await database.execute("INSERT INTO users (id, name) VALUES ('u', 'A')")
        try await bench.connect(connector)
        try await bench.stream().send(SyncLines.tokenExpires(in: 10))
        try await wait(for: "both callbacks") { uploading.arrivals == 1 && fetching.arrivals == 1 }
        uploading.open()
        fetching.open()
        for outcome in outcomes { try await outcome.value() }
        #expect(try await bench.users().isEmpty)
        try await database.close()
    }

    @Test func whoDisconnectsFromOutsideWaitsForACallbackThatDisconnectsItself() async throws {
        // Nobody's patience ends.
        let bench = try ConnectedBench(environment: SteppedClock().environment)
        let (before, after) = (Gate(), Gate())
        let isOver = Lock(false)
        let connector = TestConnector { database in
            await before.pass()
            try await database.disconnect()
            await after.pass()
            isOver.withLock { $0 = true }
        }
        try await begin(bench, connector)
        try await wait(for: "the upload") { before.arrivals == 1 }
        let outside = Task {
            try await bench.database.disconnect()
            return isOver.withLock { $0 }
        }
        try await wait(for: "syncing to end") { bench.lifecycle.phase == .stopping }
        before.open()
        // What it asked for is done, and nobody waits in the queue any more.
        try await wait(for: "the callback to go on") { after.arrivals == 1 }
        #expect(bench.lifecycle.phase == .open && bench.lifecycle.waiting == 0)
        after.open()
        #expect(try await wait(forEndOf: outside))
        try await bench.database.close()
    }

    @Test func theSDKsOwnCancellationReachesNobodyWhoWaitsInACallback() async throws {
        let bench = try ConnectedBench()
        let outcome = Outcome()
        let connector = TestConnector { database in
            // Ends when the task is cancelled.
            let never = AsyncStream<Void> { _ in }
            for await _ in never {}
            await outcome.record { try await database.disconnectAndClear() }
        }
        try await begin(bench, connector)
        try await wait(for: "the upload") { connector.uploads == 1 }
        let outside = Task { try await bench.database.disconnect() }
        try await outcome.value()
        try await wait(forEndOf: outside)
        #expect(try await bench.users().isEmpty)
        try await bench.database.close()
    }

    @Test func aCallbackThatIgnoresCancellationIsCutOff() async throws {
        let clock = SteppedClock()
        let bench = try ConnectedBench(environment: clock.environment)
        let gate = Gate()
        let outcome = Outcome()
        let connector = TestConnector { database in
            guard let transaction = try await database.getNextCrudTransaction() else { return }
            await gate.pass()
            await outcome.record {
                // In a task that is not cancelled: a write of this one would not begin.
                try await Task { try await transaction.complete() }.value
            }
        }
        try await begin(bench, connector)
        try await wait(for: "the upload") { gate.arrivals == 1 }
        let stop = Task { try await bench.database.disconnect() }
        try await wait(for: "the patience to begin") { clock.waiting == [.seconds(5)] }
        #expect(bench.lifecycle.phase == .stopping)
        clock.advance(by: .seconds(5))
        try await wait(forEndOf: stop)
        #expect(bench.lifecycle.phase == .open)
        #expect(bench.log.warnings(containing: "uploadData has not ended within 5.0 seconds") == 1)
        gate.open()
        let error = await #expect(throws: PowerSyncError.self) { try await outcome.value() }
        #expect(error?.errorDescription?.contains("uploadData was cut off") == true)
        #expect(try await bench.database.getCrudBatch()?.crud.count == 1)
        try await bench.database.close()
    }

    @Test func aCallbackThatEndsInTimeIsNotCutOff() async throws {
        let clock = SteppedClock()
        let bench = try ConnectedBench(environment: clock.environment)
        let gate = Gate()
        let connector = TestConnector { _ in await gate.pass() }
        try await begin(bench, connector)
        try await wait(for: "the upload") { gate.arrivals == 1 }
        let stop = Task { try await bench.database.close() }
        try await wait(for: "the patience to begin") { clock.waiting == [.seconds(5)] }
        gate.open()
        try await wait(forEndOf: stop)
        try await wait(for: "the patience to end") { clock.waiting.isEmpty }
        #expect(!bench.log.has("has not ended within"))
        #expect(bench.lifecycle.phase == .closed)
    }

    /// As that of a checkpoint request, which the app has made and nobody cancels: it would wait for ever.
    @Test func aCallThatComesWhileNothingSyncsIsRefused() async throws {
        let bench = try ConnectedBench()
        let database = bench.database
        let begun = Gate()
        begun.open()
        func call(in connection: Int) -> Task<Void, any Error> {
            Task {
                try await database.group.call(.postCheckpointRequest, of: database, in: connection) {
                    await begun.pass()
                }
            }
        }
        await #expect(throws: SyncStopped.self) { try await wait(forEndOf: call(in: 0)) }
        try await bench.connect()
        let connection = try #require(bench.connection)
        try await wait(forEndOf: call(in: connection))
        #expect(begun.arrivals == 1)
        // That of somebody else, perhaps.
        try await bench.connect()
        await #expect(throws: SyncStopped.self) { try await wait(forEndOf: call(in: connection)) }
        try await database.disconnect()
        await #expect(throws: SyncStopped.self) { try await wait(forEndOf: call(in: connection)) }
        try await database.close()
        await #expect(throws: SyncStopped.self) { try await wait(forEndOf: call(in: connection)) }
        #expect(begun.arrivals == 1)
        #expect(database.group.loop.withLock { $0.calls.isEmpty })
    }

    @Test func whoeverCallsIsLetGoAtTheEndAlthoughTheCallbackGoesOn() async throws {
        let clock = SteppedClock()
        let bench = try ConnectedBench(environment: clock.environment)
        let database = bench.database
        let gate = Gate()
        defer { gate.open() }
        try await bench.connect()
        let connection = try #require(bench.connection)
        let call = Task {
            try await database.group.call(.postCheckpointRequest, of: database, in: connection) {
                await gate.pass()
            }
        }
        try await wait(for: "the callback") { gate.arrivals == 1 }
        let isStopped = Lock(false)
        let stop = Task {
            try await database.disconnect()
            isStopped.withLock { $0 = true }
        }
        await #expect(throws: SyncStopped.self) { try await wait(forEndOf: call) }
        // It is waited for all the same, and then left alone.
        try await wait(for: "the patience to begin") { clock.waiting.contains(.seconds(5)) }
        #expect(!isStopped.withLock { $0 })
        // What had slept may have been another one that is ending.
        try await wait(for: "the patience to end") {
            clock.advance(by: .seconds(5))
            return isStopped.withLock { $0 }
        }
        try await wait(forEndOf: stop)
        #expect(bench.log.warnings(containing: "postCheckpointRequest has not ended within 5.0 seconds") == 1)
        gate.open()
        try await wait(for: "the callback to end") { database.group.loop.withLock { $0.calls.isEmpty } }
        try await database.close()
    }

    @Test func anUploadOfANewConnectionWaitsForTheOneBefore() async throws {
        let bench = try ConnectedBench(environment: SteppedClock().environment)
        let gate = Gate()
        let second = TestConnector()
        let connector = TestConnector { database in
            try await database.connect(connector: second)
            await gate.pass()
        }
        try await begin(bench, connector)
        try await wait(for: "the first upload") { gate.arrivals == 1 }
        try await bench.stream(1).send(SyncLines.tokenExpires(in: 3600))
        try await wait(for: "the second upload to be asked for") {
            bench.database.group.loop.withLock { $0.calls.values.contains { !$0.isStarted } }
        }
        #expect(second.uploads == 0)
        gate.open()
        try await wait(for: "the second upload") { second.uploads == 1 }
        try await bench.database.close()
    }
}
