import PowerSync
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// The loops around the reducer, against a scripted service (client-api 7 G and I).
@Suite(.patient()) struct SyncCoordinatorTests {
    private let checkpoint = SyncLines.checkpoint(2, [.init("b", checksum: 11, count: 2)])
    private let first = SyncLines.data("b", SyncLines.put(1, "r1", checksum: 5))
    private let second = SyncLines.data("b", SyncLines.put(2, "r2", checksum: 6))

    @Test(.behaviour(92)) func opensAStreamAndShowsWhatArrives() async throws {
        try await SyncRig.run(try await SyncRig()) { rig in
            let stream = try await rig.stream(0)
            try await wait(for: "the connection") { await rig.status.connected }
            stream.send(checkpoint, first)
            try await wait(for: "the progress of the download") {
                await rig.status.downloading?.first?.downloadedOperations == 1
            }
            stream.send(second, SyncLines.complete(2))
            try await wait(for: "the complete checkpoint") { await rig.status.downloading == nil }
            #expect(try await rig.items() == ["r1", "r2"])
            let priorities = await rig.status.priorities
            #expect(priorities.map(\.priority) == [PrioritySyncState.fullSync])

            let request = rig.transport.requests[0]
            #expect(request.method == "POST")
            #expect(request.url == "https://service.test/base/sync/stream")
            #expect(
                request.headers == [
                    SyncHTTPHeader("Authorization", "Token token-1"), SyncHTTPHeader("User-Agent", "test"),
                    SyncHTTPHeader("Content-Type", "application/json"),
                    SyncHTTPHeader(
                        "Accept",
                        "application/vnd.powersync.bson-stream;q=0.9,application/x-ndjson;q=0.8"),
                ])
            #expect(try rig.transport.body(0)["client_id"] == .string("test-client"))
            #expect(rig.snapshots.map(\.connecting).prefix(2) == [true, false])
        }
    }

    @Test func stoppingShowsTheStreamAsLostAndClosesIt() async throws {
        let rig = try await SyncRig()
        rig.start()
        let stream = try await rig.stream(0)
        try await wait(for: "the connection") { await rig.status.connected }
        await rig.stop()
        let status = await rig.status
        #expect(!status.connected && !status.connecting && status.downloadError == nil)
        #expect(stream.isCancelled)
        // It can be started again.
        rig.start()
        _ = try await rig.stream(1)
        await rig.stop()
        #expect(rig.fetches == 2)
    }

    @Test(.behaviour(107, 130)) func anUnauthorizedStreamMakesTheNextAttemptFetchANewToken() async throws {
        try await SyncRig.run(try await SyncRig(transport: ScriptedTransport(statuses: [401]))) { rig in
            _ = try await rig.stream(0)
            #expect(try await rig.pause() == .seconds(5))
            let error = await rig.status.downloadError as? SyncError
            #expect(error?.status == 401)
            #expect(
                error?.message == "POST https://service.test/base/sync/stream failed with status code 401")
            rig.clock.advance(by: .seconds(5))
            let stream = try await rig.stream(1)
            #expect(rig.transport.requests.map { $0.headers[0].value } == ["Token token-1", "Token token-2"])
            stream.send(SyncLines.checkpoint(0, []), SyncLines.complete(0))
            try await wait(for: "the error to go") { await rig.status.downloadError == nil }
            #expect(await rig.status.connected)
            #expect(rig.fetches == 2)
        }
    }

    @Test func anotherErrorKeepsTheToken() async throws {
        try await SyncRig.run(try await SyncRig(transport: ScriptedTransport(statuses: [500, 429]))) { rig in
            for attempt in 0..<2 {
                _ = try await rig.stream(attempt)
                rig.clock.advance(by: try await rig.pause())
            }
            _ = try await rig.stream(2)
            #expect(rig.fetches == 1)
        }
    }

    @Test(.behaviour(86)) func aResponseThatIsNoStreamIsAnError() async throws {
        let transport = ScriptedTransport()
        transport.setContentType("text/html")
        try await SyncRig.run(try await SyncRig(transport: transport)) { rig in
            _ = try await rig.pause()
            let error = await rig.status.downloadError as? SyncError
            #expect(error?.code == .unexpectedResponse)
            #expect(error?.message.hasPrefix("Invalid sync lines response") == true)
        }
    }

    @Test(.behaviour(132)) func aTokenThatExpiresSoonIsReplacedWhileTheStreamGoesOn() async throws {
        let gate = AsyncFlag()
        let rig = try await SyncRig(fetch: { number in
            if number == 2 { try await gate.wait() }
            return SyncCredentials(endpoint: "https://service.test", token: "token-\(number)")
        })
        try await SyncRig.run(rig) { rig in
            let stream = try await rig.stream(0)
            stream.send(SyncLines.tokenExpires(in: 10), SyncLines.tokenExpires(in: 9))
            try await wait(for: "a prefetch") { rig.fetches == 2 }
            stream.send(SyncLines.checkpoint(1, [.init("b")]))
            try await wait(for: "the stream to go on") { await rig.status.downloading != nil }
            #expect(await rig.status.connected)
            gate.raise()
            _ = try await rig.stream(1)
            #expect(rig.transport.requests[1].headers[0].value == "Token token-2")
            #expect(rig.fetches == 2)
            // No pause was made and no error shown.
            #expect(rig.clock.waiting.isEmpty || rig.clock.waiting == [.seconds(1)])
            #expect(await rig.status.downloadError == nil)
        }
    }

    /// Each connection was answered with a token that is nearly over, fetched anew at once, and closed.
    @Test func aServiceWhoseTokensAreAlwaysNearlyOverMakesNoLoopOfConnections() async throws {
        try await SyncRig.run(try await SyncRig()) { rig in
            // The first time nobody waits.
            try await rig.stream(0).send(SyncLines.tokenExpires(in: 30))
            for number in 1...3 {
                let stream = try await rig.stream(number)
                #expect(rig.fetches == number + 1)
                stream.send(SyncLines.tokenExpires(in: 30), SyncLines.tokenExpires(in: 29))
                try await wait(for: "the refresh to wait") { rig.clock.waiting.contains(.seconds(5)) }
                // The stream goes on meanwhile.
                stream.send(SyncLines.checkpoint(number, [.init("b")]))
                try await wait(for: "the stream to go on") { await rig.status.downloading != nil }
                #expect(rig.transport.streams.count == number + 1)
                #expect(rig.fetches == number + 1)
                #expect(await rig.status.connected)
                rig.clock.advance(by: .seconds(5))
            }
            _ = try await rig.stream(4)
            #expect(await rig.status.downloadError == nil)
        }
    }

    @Test(.behaviour(135)) func aFailedPrefetchIsAWarningOnly() async throws {
        let rig = try await SyncRig(fetch: { number in
            if number == 2 { throw ScriptError("offline") }
            return SyncCredentials(endpoint: "https://service.test", token: "t")
        })
        try await SyncRig.run(rig) { rig in
            let stream = try await rig.stream(0)
            stream.send(SyncLines.tokenExpires(in: 10))
            try await wait(for: "a warning") {
                rig.log.contains {
                    $0 == "WARNING Pre-fetching credentials that are about to expire has failed: offline"
                }
            }
            let status = await rig.status
            #expect(status.connected && status.downloadError == nil)
        }
    }

    @Test func aHangingPrefetchDoesNotHoldUpTheNextStream() async throws {
        let never = AsyncFlag()
        let rig = try await SyncRig(fetch: { number in
            // An app that does not notice cancellation.
            if number == 2 { await Task { try? await never.wait() }.value }
            return SyncCredentials(endpoint: "https://service.test", token: "t\(number)")
        })
        try await SyncRig.run(rig) { rig in
            let stream = try await rig.stream(0)
            stream.send(SyncLines.tokenExpires(in: 10))
            try await wait(for: "a prefetch") { rig.fetches == 2 }
            stream.end()
            try await wait(for: "the end of the connection") { await !rig.status.connected }
            try await wait(for: "a pause") { rig.clock.waiting.contains(.seconds(5)) }
            rig.clock.advance(by: .seconds(5))
            _ = try await rig.stream(1)
            never.raise()
        }
    }

    @Test func anExpiredTokenIsDroppedAndFetchedAgainAfterThePause() async throws {
        try await SyncRig.run(try await SyncRig()) { rig in
            let stream = try await rig.stream(0)
            stream.send(SyncLines.tokenExpires(in: 0))
            try await wait(for: "a pause") { rig.clock.waiting.contains(.seconds(5)) }
            #expect(rig.fetches == 1)
            #expect(await !rig.status.connected)
            rig.clock.advance(by: .seconds(5))
            _ = try await rig.stream(1)
            #expect(rig.transport.requests[1].headers[0].value == "Token token-2")
        }
    }

    @Test(.behaviour(133)) func withoutCredentialsItTriesAgain() async throws {
        let rig = try await SyncRig(fetch: { number in
            number == 1 ? nil : SyncCredentials(endpoint: "https://service.test", token: "t")
        })
        try await SyncRig.run(rig) { rig in
            let pause = try await rig.pause()
            let error = await rig.status.downloadError as? SyncError
            #expect(error?.description == "fetchCredentials() returned nil")
            rig.clock.advance(by: pause)
            _ = try await rig.stream(0)
        }
    }

    @Test(.behaviour(106)) func aCutInTheMiddleOfALineGoesOnBehindTheLastStoredOperation() async throws {
        for isCut in [true, false] {
            try await SyncRig.run(try await SyncRig()) { rig in
                let stream = try await rig.stream(0)
                stream.send(checkpoint, first)
                stream.sendRaw(String(second.dropLast(9)))
                if isCut { stream.cut() } else { stream.end() }
                try await wait(for: "a pause") { rig.clock.waiting.contains(.seconds(5)) }
                let status = await rig.status
                #expect(status.downloadError != nil && !status.connected && status.downloading == nil)
                rig.clock.advance(by: .seconds(5))
                let again = try await rig.stream(1)
                #expect(
                    try rig.transport.body(1)["buckets"]?.text == "[{\"name\":\"b\",\"after\":\"1\"}]")
                again.send(checkpoint, second, SyncLines.complete(2))
                try await wait(for: "the complete checkpoint") { await rig.status.downloadError == nil }
                #expect(try await rig.items() == ["r1", "r2"])
            }
        }
    }

    @Test func wholeLinesBeforeABrokenOneAreStored() async throws {
        try await SyncRig.run(try await SyncRig()) { rig in
            let stream = try await rig.stream(0)
            stream.send(checkpoint, first, second, "{\"data\":{}}")
            try await wait(for: "a pause") { rig.clock.waiting.contains(.seconds(5)) }
            #expect((await rig.status.downloadError as? SyncError)?.code == .protocolViolation)
            rig.clock.advance(by: .seconds(5))
            _ = try await rig.stream(1)
            #expect(try rig.transport.body(1)["buckets"]?.text == "[{\"name\":\"b\",\"after\":\"2\"}]")
        }
    }

    @Test func anOrderlyEndIsNoError() async throws {
        try await SyncRig.run(try await SyncRig()) { rig in
            let stream = try await rig.stream(0)
            stream.send(checkpoint)
            stream.end()
            try await wait(for: "a pause") { rig.clock.waiting.contains(.seconds(5)) }
            let status = await rig.status
            #expect(!status.connected && status.downloadError == nil && status.downloading == nil)
        }
    }

    @Test func aSilentConnectionIsReplacedAtOnceAndOnlyOnceUntilSomethingComes() async throws {
        try await SyncRig.run(try await SyncRig()) { rig in
            let dead = try await rig.stream(0)
            dead.send(checkpoint)
            dead.fallSilent()
            // The clock stands still.
            let silent = try await rig.stream(1)
            let error = await rig.status.downloadError as? SyncError
            #expect(error?.code == .silentConnection)
            silent.fallSilent()
            try await wait(for: "a pause") { rig.clock.waiting.contains(.seconds(5)) }
            #expect(rig.transport.streams.count == 2)
            rig.clock.advance(by: .seconds(5))
            let stream = try await rig.stream(2)
            stream.send(checkpoint)
            stream.fallSilent()
            let last = try await rig.stream(3)
            last.send(SyncLines.checkpoint(0, []), SyncLines.complete(0))
            try await wait(for: "the error to go") { await rig.status.downloadError == nil }
        }
    }

    @Test func aReplacedConnectionThatFailsOtherwiseWaits() async throws {
        let transport = ScriptedTransport(statuses: [200, 500])
        try await SyncRig.run(try await SyncRig(transport: transport)) { rig in
            try await rig.stream(0).fallSilent()
            _ = try await rig.stream(1)
            try await wait(for: "a pause") { rig.clock.waiting.contains(.seconds(5)) }
            #expect(rig.transport.streams.count == 2)
        }
    }

    @Test(.behaviour(104, 105)) func chunksMayBeCutAnywhere() async throws {
        try await SyncRig.run(try await SyncRig()) { rig in
            let stream = try await rig.stream(0)
            let text =
                "\n" + checkpoint + "\r\n\r\n"
                + SyncLines.data("b", SyncLines.put(1, "é\u{2028}", checksum: 11)) + "\n"
                + SyncLines.complete(2) + "\n"
            for byte in text.utf8 { stream.sendRaw(bytes: [byte]) }
            try await wait(for: "the complete checkpoint") { await !rig.status.priorities.isEmpty }
            #expect(try await rig.items() == ["é\u{2028}"])
        }
    }

    @Test func nothingMoreIsReadBeforeWhatWasReadIsStored() async throws {
        try await SyncRig.run(try await SyncRig()) { rig in
            let stream = try await rig.stream(0)
            try await wait(for: "the client to ask") { stream.asked == 1 }
            // What uploads wants the writer, too.
            try await rig.finishUploads()
            let release = BlockingGate()
            let pool = rig.pool
            // The thread of the writer is kept busy.
            async let holder: Void = pool.write { _ in release.wait() }
            defer { release.open() }
            try await wait(for: "the writer to be held") { release.arrivals == 1 }
            stream.send(checkpoint)
            stream.send(first)
            stream.send(second)
            try await wait(for: "what was read to wait for the writer") { pool.waitingWrites > 0 }
            #expect(stream.left == 2 && stream.asked == 1)
            release.open()
            try await holder
            try await wait(for: "all to be taken") { stream.asked == 4 }
        }
    }

    @Test func theSecondChecksumFailureIsShownAndTheDelayGrowsToItsLimit() async throws {
        let complete = SyncLines.complete(2)
        try await SyncRig.run(try await SyncRig()) { rig in
            var delays: [Duration] = []
            for attempt in 0..<8 {
                let stream = try await rig.stream(attempt)
                stream.send(SyncLines.checkpoint(2, [.init("b", checksum: 1)]), first, complete)
                try await wait(for: "a pause") { await !rig.status.connected && !rig.clock.waiting.isEmpty }
                try await wait(for: "the long wait") { (rig.clock.waiting.last ?? .zero) >= .seconds(5) }
                delays.append(rig.clock.waiting.last ?? .zero)
                let error = await rig.status.downloadError as? SyncError
                #expect((error?.code == .checksumMismatch) == (attempt > 0))
                rig.clock.advance(by: delays[attempt])
            }
            #expect(delays == [5, 5 * 2, 20, 40, 80, 160, 300, 300].map { .seconds($0) })
            let stream = try await rig.stream(8)
            #expect(try rig.transport.body(8)["buckets"]?.text == "[]")
            stream.send(checkpoint, first, second, complete)
            try await wait(for: "the error to go") { await rig.status.downloadError == nil }
            stream.end()
            try await wait(for: "the ordinary delay") { rig.clock.waiting.contains(.seconds(5)) }
        }
    }

    @Test func onlyMismatchesWaitLongerAndLonger() async throws {
        try await SyncRig.run(try await SyncRig()) { rig in
            for (attempt, delay) in [5, 10, 20].enumerated() {
                let stream = try await rig.stream(attempt)
                stream.send(
                    SyncLines.checkpoint(2, [.init("b", checksum: 1)]), first, SyncLines.complete(2))
                try await wait(for: "the pause") { rig.clock.waiting.contains(.seconds(delay)) }
                rig.clock.advance(by: .seconds(delay))
            }
            try await rig.stream(3).end()
            try await wait(for: "the ordinary pause") { rig.clock.waiting.contains(.seconds(5)) }
        }
    }

    @Test func whatIsSyncedIsNotShownWithAnErrorOfBefore() async throws {
        try await SyncRig.run(try await SyncRig()) { rig in
            try await rig.stream(0).fallSilent()
            let stream = try await rig.stream(1)
            stream.send(checkpoint, first, second, SyncLines.complete(2))
            try await wait(for: "the complete checkpoint") { await !rig.status.priorities.isEmpty }
            #expect(rig.snapshots.contains { $0.downloadError != nil })
            #expect(!rig.snapshots.contains { $0.downloadError != nil && !$0.priorities.isEmpty })
        }
    }

    @Test func subscribingOpensAnotherStreamAtOnce() async throws {
        try await SyncRig.run(try await SyncRig()) { rig in
            let stream = try await rig.stream(0)
            try await wait(for: "the connection") { await rig.status.connected }
            let key = StreamKey(name: "s", parameters: "{\"x\":1}")
            _ = try await rig.database.write { try $0.subscribe(key) }
            rig.setActive([key])
            rig.coordinator.subscriptionsChanged()
            _ = try await rig.stream(1)
            try await wait(for: "the old stream to be closed") { stream.isCancelled }
            #expect(
                try rig.transport.body(1)["streams"]?["subscriptions"]?.text
                    == "[{\"stream\":\"s\",\"parameters\":{\"x\":1},\"override_priority\":null}]")
        }
    }

    @Test func aSubscriptionMadeDuringAPauseIsShownAtOnce() async throws {
        try await SyncRig.run(try await SyncRig(transport: ScriptedTransport(statuses: [500]))) { rig in
            _ = try await rig.pause()
            _ = try await rig.database.write { try $0.subscribe(StreamKey(name: "s")) }
            rig.coordinator.subscriptionsChanged()
            try await wait(for: "the subscription to show") { await rig.status.streams.map(\.name) == ["s"] }
            #expect(rig.transport.streams.count == 1)
        }
    }
}
