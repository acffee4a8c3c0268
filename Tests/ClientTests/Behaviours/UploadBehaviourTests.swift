import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// Client-api 7 H: what the tests beside their sources do not say of it.
@Suite(.patient())
struct UploadBehaviourTests {
    /// Replaces the user 'u' by a row of the service, in a checkpoint that shows write checkpoint 1.
    private func replaceUser(_ stream: ScriptedStream) {
        stream.send(
            SyncLines.checkpoint(1, [.init("b", checksum: 5)], writeCheckpoint: 1),
            SyncLines.data(
                "b", SyncLines.put(1, "u", checksum: 5, type: "users", data: #"{"name":"from server"}"#)),
            SyncLines.complete(1))
    }

    private func hasAskedForAWriteCheckpoint(_ transport: ScriptedTransport) -> Bool {
        transport.requests.contains { $0.method == "GET" }
    }

    @Test("A row whose upload fails stays, until it is uploaded and the service replaces it", .behaviour(112))
    func aRowWhoseUploadFailsStays() async throws {
        let clock = SteppedClock()
        let bench = try ConnectedBench(environment: clock.environment)
        try await bench.database.execute("INSERT INTO users (id, name) VALUES ('u', 'local write')")
        let attempts = Lock(0)
        let connector = TestConnector { database in
            let isFirst = attempts.withLock { count in
                count += 1
                return count == 1
            }
            if isFirst { throw TestError(text: "backend is down") }
            try await database.getNextCrudTransaction()?.complete()
        }
        try await bench.connect(connector, options: ConnectOptions(retryDelay: 0.5))
        let stream = try await bench.stream()
        try await wait(for: "the error") { bench.status.uploadError != nil }
        #expect(bench.status.uploadError as? TestError == TestError(text: "backend is down"))
        #expect(try await bench.users() == ["local write"])
        try await wait(for: "the retry delay") { clock.waiting.contains(.milliseconds(500)) }
        #expect(connector.uploads == 1)
        clock.advance(by: .milliseconds(500))
        try await wait(for: "the request for a write checkpoint") {
            hasAskedForAWriteCheckpoint(bench.transport)
        }
        replaceUser(stream)
        try await wait(for: "the row of the service") { try await bench.users() == ["from server"] }
        try await wait(for: "the error to go") { bench.status.uploadError == nil }
        #expect(connector.uploads == 2)
        try await bench.database.close()
    }

    @Test("What is written while the service is out of reach comes back once it is not", .behaviour(113))
    func whatIsWrittenOutOfReachComesBack() async throws {
        let clock = SteppedClock()
        let isReachable = Lock(false)
        let bench = try ConnectedBench(environment: clock.environment) {
            UnreachableTransport(transport: $0, isReachable: isReachable)
        }
        let connector = TestConnector()
        try await bench.connect(connector, options: ConnectOptions(retryDelay: 0.1))
        try await wait(for: "the error") { bench.status.downloadError is ScriptError }
        try await wait(for: "the pause") { !clock.waiting.isEmpty }
        #expect(!bench.status.connected)
        try await bench.database.execute("INSERT INTO users (id, name) VALUES ('u', 'local write')")
        try await wait(for: "the uploader to find no stream") {
            bench.database.group.coordinator?.uploads.isAwaited == true
        }
        #expect(connector.uploads == 0)
        isReachable.withLock { $0 = true }
        // The retry delay, and what is lost of it in floating point.
        clock.advance(by: .milliseconds(101))
        let stream = try await bench.stream()
        try await wait(for: "the request for a write checkpoint") {
            hasAskedForAWriteCheckpoint(bench.transport)
        }
        replaceUser(stream)
        try await wait(for: "the row of the service") { try await bench.users() == ["from server"] }
        #expect(connector.uploads == 1)
        try await wait(for: "the error to go") { bench.status.downloadError == nil }
        try await bench.database.close()
    }

    /// Completes a checkpoint and waits until the uploader rests.
    private func connect(_ rig: SyncRig) async throws {
        let stream = try await rig.stream(0)
        stream.send(SyncLines.checkpoint(0, []), SyncLines.complete(0))
        try await wait(for: "the first line to be handled") { rig.isSynced }
        try await rig.finishUploads()
    }

    @Test("A write while connected is one upload", .behaviour(114)) func aWriteIsOneUpload() async throws {
        let transport = ScriptedTransport(answers: [.writeCheckpoint(1)])
        try await SyncRig.run(try await SyncRig(transport: transport)) { rig in
            try await connect(rig)
            #expect(rig.uploads == 0)
            try await rig.writeLocally()
            try await wait(for: "the upload") { rig.uploads == 1 }
            try await rig.finishUploads()
            #expect(rig.uploads == 1)
        }
    }

    @Test("A handler that completes nothing is warned of in these words, at once", .behaviour(117))
    func aHandlerThatCompletesNothingIsWarnedOf() async throws {
        let warning = """
            Potentially previously uploaded CRUD entries are still present in the upload queue. \
            Make sure to handle uploads and complete CRUD transactions or batches by calling and \
            awaiting their [.complete()] method. The next upload iteration will be delayed.
            """
        let rig = try await SyncRig(upload: { _, _ in })
        try await rig.writeLocally()
        try await SyncRig.run(rig) { rig in
            _ = try await rig.stream(0)
            try await wait(for: "the warning") { rig.log.contains("WARNING \(warning)") }
            try await wait(for: "the retry delay") { rig.clock.waiting.contains(.seconds(5)) }
            #expect(rig.clock.now == .zero)
            #expect(rig.uploads == 1)
            #expect(rig.log.count { $0.hasPrefix("WARNING") } == 1)
        }
    }

    @Test("What a round has uploaded is not held against the next one", .behaviour(120))
    func theNextRoundBeginsAnew() async throws {
        let transport = ScriptedTransport(answers: [.writeCheckpoint(1), .writeCheckpoint(2)])
        try await SyncRig.run(try await SyncRig(transport: transport)) { rig in
            try await connect(rig)
            for (number, id) in ["a", "b"].enumerated() {
                try await rig.writeLocally(id)
                try await wait(for: "upload \(number + 1)") { rig.uploads == number + 1 }
                try await rig.finishUploads()
            }
            #expect(rig.uploads == 2)
            #expect(!rig.log.contains { $0.contains("Potentially") || $0.contains("Delaying") })
            #expect(!rig.snapshots.contains { $0.uploadError != nil })
            #expect(transport.requests.count { $0.method == "GET" } == 2)
        }
    }

    /// Where an upload throws, see `UploaderTests.uploadsWhileDisconnectedWhereTheAppWantsThat` (127).
    @Test("Without a stream, where the app wants that, each write is one upload", .behaviour(126))
    func eachWriteIsOneUploadWithoutAStream() async throws {
        let transport = ScriptedTransport(
            statuses: Array(repeating: 500, count: 9), answers: [.status(503)])
        let rig = try await SyncRig(transport: transport, options: { $0.uploadsWhileDisconnected = true })
        try await rig.writeLocally()
        try await SyncRig.run(rig) { rig in
            try await wait(for: "the upload") { rig.uploads == 1 }
            try await rig.finishUploads()
            #expect(rig.uploads == 1)
            try await rig.writeLocally("second")
            try await wait(for: "the second upload") { rig.uploads == 2 }
            try await rig.finishUploads()
            #expect(rig.uploads == 2)
            #expect(!rig.snapshots.contains { $0.connected })
        }
    }
}
