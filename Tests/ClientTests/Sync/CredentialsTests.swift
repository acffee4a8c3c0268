import PowerSyncHTTPClient
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSync

/// Tokens that are replaced while a stream is open (client-api 3.7, client-core 6.9).
@Suite(.patient())
struct CredentialsTests {
    @Test func noTwoFetchesAreUnderWayAtOnce() async throws {
        let gate = Gate()
        let fetches = Lock((running: 0, most: 0))
        let rig = try await SyncRig(
            transport: ScriptedTransport(answers: [.status(401), .writeCheckpoint(1)]),
            fetch: { number in
                fetches.withLock { fetches in
                    fetches.running += 1
                    fetches.most = max(fetches.most, fetches.running)
                }
                defer { fetches.withLock { $0.running -= 1 } }
                if number > 1 { await gate.pass() }
                return SyncCredentials(endpoint: "https://service.test", token: "token-\(number)")
            })
        try await rig.writeLocally()
        try await SyncRig.run(rig) { rig in
            defer { gate.open() }
            let stream = try await rig.stream(0)
            // An upload is refused its write checkpoint, so that it needs another token …
            try await wait(for: "the refusal") {
                (await rig.status.uploadError as? SyncError)?.message
                    == "Error getting write checkpoint: 401"
            }
            try await wait(for: "the retry delay") { rig.clock.waiting.contains(.seconds(5)) }
            // … while one is fetched ahead of the end of the one that the stream has.
            stream.send(SyncLines.tokenExpires(in: 20))
            try await wait(for: "the prefetch") { gate.arrivals == 1 }
            rig.clock.advance(by: .seconds(5))
            try await wait(for: "the upload to go on") { rig.clock.waiting.isEmpty }
            gate.open()
            try await wait(for: "the write checkpoint") {
                try await rig.database.write { try $0.target() } == 1
            }
            _ = try await rig.stream(1)
            #expect(fetches.withLock { $0.most } == 1)
            #expect(rig.fetches == 2)
            let last = rig.transport.requests.filter { $0.method == "GET" }.last
            #expect(last?.headers[0].value == "Token token-2")
        }
    }

    @Test(arguments: [0, 10]) func aTokenThatEndsDuringADownloadCostsNoData(_ seconds: Int) async throws {
        let checkpoint = SyncLines.checkpoint(3, [.init("b", checksum: 6, count: 3)])
        let rows = (1...3).map { number in
            SyncLines.data("b", SyncLines.put(number, "r\(number)", checksum: Int64(number)))
        }
        try await SyncRig.run(try await SyncRig()) { rig in
            // In one piece: what waits to be stored together with more is not lost either.
            try await rig.stream(0).send(
                checkpoint, rows[0], rows[1], SyncLines.tokenExpires(in: seconds))
            if seconds == 0 {
                try await wait(for: "a pause") { rig.clock.waiting.contains(.seconds(5)) }
                rig.clock.advance(by: .seconds(5))
            }
            let next = try await rig.stream(1)
            #expect(try rig.transport.body(1)["buckets"]?.text == #"[{"name":"b","after":"2"}]"#)
            #expect(rig.transport.requests[1].headers[0].value == "Token token-2")
            next.send(checkpoint, rows[2], SyncLines.complete(3))
            try await wait(for: "the complete checkpoint") { await !rig.status.priorities.isEmpty }
            #expect(try await rig.items() == ["r1", "r2", "r3"])
            #expect(rig.fetches == 2)
            #expect(!rig.snapshots.contains { $0.downloadError != nil })
        }
    }

    enum Cause: CaseIterable, Sendable {
        case prefetch, subscription
    }

    @Test(arguments: Cause.allCases)
    func aStreamThatTakesThePlaceOfAnotherShowsAsThatOne(_ cause: Cause) async throws {
        let gate = Gate()
        defer { gate.open() }
        let bench = try ConnectedBench { LateTransport($0, gate) }
        let connector = TestConnector()
        try await bench.connect(connector)
        let first = try await bench.stream()
        bench.completeEmptyCheckpoint(first)
        try await bench.database.waitForFirstSync()
        let shown = Lock<[[Bool]]>([])
        let flow = bench.status.asFlow()
        let following = Task {
            for await status in flow {
                shown.withLock { $0.append([status.connected, status.connecting]) }
            }
        }
        defer { following.cancel() }
        var handle: (any SyncStreamSubscription)?
        switch cause {
        case .prefetch: first.send(SyncLines.tokenExpires(in: 10))
        case .subscription:
            handle = try await bench.database.syncStream(name: "s", params: nil).subscribe()
        }
        try await wait(for: "the request for another stream") { gate.arrivals == 1 }
        #expect(first.isCancelled)
        #expect(bench.status.connected && !bench.status.connecting)
        gate.open()
        try await bench.stream(1).send(
            SyncLines.checkpoint(1, [.init("b", checksum: 5)]),
            SyncLines.data(
                "b", SyncLines.put(1, "u", checksum: 5, type: "users", data: #"{"name":"synced"}"#)),
            SyncLines.complete(1))
        try await wait(for: "what it brings") { try await bench.users() == ["synced"] }
        #expect(bench.status.anyError == nil)
        #expect(connector.fetches == (cause == .prefetch ? 2 : 1))
        #expect(!bench.log.has("Sync iteration failed"))
        #expect(shown.withLock { $0.allSatisfy { $0 == [true, false] } })
        try await handle?.unsubscribe()
        try await bench.database.close()
    }

    @Test func aStreamThatWaitsForCredentialsOfTheAppShowsAsConnecting() async throws {
        let gate = Gate()
        let rig = try await SyncRig(
            transport: ScriptedTransport(answers: [.status(401), .writeCheckpoint(1)]),
            fetch: { number in
                if number > 1 { await gate.pass() }
                return SyncCredentials(endpoint: "https://service.test", token: "token-\(number)")
            })
        try await rig.writeLocally()
        try await SyncRig.run(rig) { rig in
            defer { gate.open() }
            let stream = try await rig.stream(0)
            try await wait(for: "the refusal of a write checkpoint") {
                (await rig.status.uploadError as? SyncError)?.status == 401
            }
            #expect(await rig.status.connected)
            let key = StreamKey(name: "s")
            _ = try await rig.database.write { try $0.subscribe(key) }
            rig.setActive([key])
            rig.coordinator.subscriptionsChanged()
            try await wait(for: "the app to be asked") { gate.arrivals == 1 }
            #expect(stream.isCancelled)
            try await wait(for: "that to show") {
                let status = await rig.status
                return status.connecting && !status.connected
            }
            gate.open()
            _ = try await rig.stream(1)
            try await wait(for: "the connection") { await rig.status.connected }
        }
    }

    @Test func aStreamThatCannotTakeThePlaceOfAnotherShowsAsLost() async throws {
        let rig = try await SyncRig(transport: ScriptedTransport(statuses: [200, 503]))
        try await SyncRig.run(rig) { rig in
            let stream = try await rig.stream(0)
            try await wait(for: "the connection") { await rig.status.connected }
            stream.send(SyncLines.tokenExpires(in: 10))
            _ = try await rig.stream(1)
            try await wait(for: "the pause") { rig.clock.waiting.contains(.seconds(5)) }
            let status = await rig.status
            #expect(!status.connected && !status.connecting)
            #expect((status.downloadError as? SyncError)?.status == 503)
            #expect(!rig.snapshots.dropFirst().contains { $0.connecting })
            let failed = rig.snapshots.count
            // The next one takes nobody's place.
            rig.clock.advance(by: .seconds(5))
            _ = try await rig.stream(2)
            try await wait(for: "the connection") { await rig.status.connected }
            #expect(rig.snapshots[failed].connecting)
        }
    }

    static let unsendable = [
        SyncCredentials(endpoint: "", token: "t"),
        SyncCredentials(endpoint: "ftp://service.test", token: "t"),
        SyncCredentials(endpoint: "https://service.test", token: "two\nlines"),
    ]

    @Test(arguments: unsendable)
    func credentialsThatCannotBeSentAreNotUsedAgain(_ bad: SyncCredentials) async throws {
        let rig = try await SyncRig(
            fetch: {
                $0 == 1 ? bad : SyncCredentials(endpoint: "https://service.test", token: "token-\($0)")
            }, reaching: { try ParticularTransport($0) })
        try await SyncRig.run(rig) { rig in
            try await wait(for: "the pause") { rig.clock.waiting.contains(.seconds(5)) }
            #expect(await rig.status.downloadError is HTTPClientError)
            rig.clock.advance(by: .seconds(5))
            _ = try await rig.stream(0)
            #expect(rig.fetches == 2)
            #expect(rig.transport.requests[0].headers[0].value == "Token token-2")
        }
    }

    @Test(arguments: unsendable, [SyncStart.CheckpointMode.legacy, .requests])
    func anUploadDoesNotUseThemAgainEither(
        _ bad: SyncCredentials, _ mode: SyncStart.CheckpointMode
    ) async throws {
        let answers: [SyncHTTPResponse] =
            switch mode {
            case .legacy: [.status(401), .writeCheckpoint(4)]
            case .requests: [.checkpointRequest(1), .status(401), .checkpointRequest(4)]
            }
        let rig = try await SyncRig(
            transport: ScriptedTransport(answers: answers), options: { $0.start.checkpointMode = mode },
            fetch: {
                $0 == 2 ? bad : SyncCredentials(endpoint: "https://service.test", token: "token-\($0)")
            }, reaching: { try ParticularTransport($0) })
        try await rig.writeLocally()
        try await SyncRig.run(rig) { rig in
            try await wait(for: "the refusal") { (await rig.status.uploadError as? SyncError)?.status == 401 }
            try await wait(for: "the retry delay") { rig.clock.waiting.contains(.seconds(5)) }
            rig.clock.advance(by: .seconds(5))
            try await wait(for: "the failure") { await rig.status.uploadError is HTTPClientError }
            try await wait(for: "the retry delay") { rig.clock.waiting.contains(.seconds(5)) }
            rig.clock.advance(by: .seconds(5))
            try await wait(for: "the write checkpoint") {
                try await rig.database.write { try $0.target() } == 4
            }
            #expect(rig.fetches == 3)
        }
    }
}

/// A way to the service that leaves to libcurl what goes elsewhere, or has a header field of two lines.
private struct ParticularTransport: SyncTransport {
    private let scripted: ScriptedTransport
    private let curl: HTTPClientTransport

    init(_ scripted: ScriptedTransport) throws {
        self.scripted = scripted
        curl = try HTTPClientTransport()
    }

    private func way(of request: SyncHTTPRequest) -> any SyncTransport {
        let isInOrder =
            request.url.hasPrefix("https://service.test/")
            && !request.headers.contains { $0.value.contains("\n") }
        return isInOrder ? scripted : curl
    }

    func open(_ request: SyncHTTPRequest) async throws -> any SyncResponseStream {
        try await way(of: request).open(request)
    }

    func send(_ request: SyncHTTPRequest) async throws -> SyncHTTPResponse {
        try await way(of: request).send(request)
    }
}

/// A way to the service that holds back each request for a stream but the first, until the test lets it through.
private final class LateTransport: SyncTransport {
    private let transport: ScriptedTransport
    private let gate: Gate
    private let opened = Lock(0)

    init(_ transport: ScriptedTransport, _ gate: Gate) {
        self.transport = transport
        self.gate = gate
    }

    func open(_ request: SyncHTTPRequest) async throws -> any SyncResponseStream {
        let number = opened.withLock { opened in
            opened += 1
            return opened
        }
        if number > 1 { await gate.pass() }
        return try await transport.open(request)
    }

    func send(_ request: SyncHTTPRequest) async throws -> SyncHTTPResponse {
        try await transport.send(request)
    }
}
