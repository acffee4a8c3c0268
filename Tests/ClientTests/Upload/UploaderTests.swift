import PowerSync
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// Upload rounds and write checkpoints (client-api 3, 7 H).
@Suite(.patient()) struct UploaderTests {
    private static func transport(
        _ answers: SyncHTTPResponse..., whileSending: @escaping @Sendable () async throws -> Void = {}
    ) -> ScriptedTransport {
        ScriptedTransport(answers: answers, whileSending: whileSending)
    }

    private func connect(_ rig: SyncRig) async throws -> ScriptedStream {
        let stream = try await rig.stream(0)
        stream.send(SyncLines.checkpoint(0, []), SyncLines.complete(0))
        try await wait(for: "the first line to be handled") { rig.isSynced }
        return stream
    }

    private func target(_ rig: SyncRig) async throws -> Int64? {
        try await rig.database.write { try $0.target() }
    }

    private func checkpointRequests(_ rig: SyncRig) -> [SyncHTTPRequest] {
        rig.transport.requests.filter { $0.method == "GET" }
    }

    @Test(.behaviour(121)) func aLocalWriteIsUploadedAndAcknowledgedThroughTheStream() async throws {
        try await SyncRig.run(try await SyncRig(transport: Self.transport(.writeCheckpoint(7)))) { rig in
            let stream = try await connect(rig)
            try await rig.restThrottle()
            try await rig.writeLocally()
            try await wait(for: "the target to be known") { try await target(rig) == 7 }
            #expect(rig.uploads == 1)
            let request = try #require(checkpointRequests(rig).first)
            #expect(request.url == "https://service.test/base/write-checkpoint2.json?client_id=test-client")
            #expect(request.headers[0].value == "Token token-1")
            // Remote changes wait for the checkpoint that includes the write.
            stream.send(
                SyncLines.diff(1, updated: [.init("b", checksum: 5)]),
                SyncLines.data("b", SyncLines.put(1, "remote", checksum: 5)), SyncLines.complete())
            try await wait(for: "the checkpoint to be blocked") {
                rig.log.contains { $0.contains("due to local data") }
            }
            #expect(try await rig.items() == ["local"])
            stream.send(SyncLines.diff(2, writeCheckpoint: 7), SyncLines.complete(2))
            try await wait(for: "the checkpoint to be applied") { try await rig.items() == ["remote"] }
            #expect(!rig.snapshots.contains { $0.uploadError != nil })
            #expect(rig.snapshots.contains { $0.uploading })
            #expect(await !rig.status.uploading)
        }
    }

    @Test(
        "R6 The checkpoint that came during the upload is applied when the round ends", .behaviour(118, 119))
    func theCheckpointThatCameDuringTheUploadIsAppliedWhenTheRoundEnds() async throws {
        let uploading = AsyncFlag()
        let release = AsyncFlag()
        let rig = try await SyncRig(
            transport: Self.transport(.writeCheckpoint(7)),
            upload: { _, pool in
                uploading.raise()
                try await release.wait()
                try await pool.write { try $0.run("DELETE FROM ps_crud") }
            })
        try await rig.writeLocally()
        try await SyncRig.run(rig) { rig in
            let stream = try await connect(rig)
            try await uploading.wait()
            #expect(await rig.status.uploading)
            stream.send(
                SyncLines.diff(1, updated: [.init("b", checksum: 5)], writeCheckpoint: 7),
                SyncLines.data("b", SyncLines.put(1, "remote", checksum: 5)), SyncLines.complete())
            try await wait(for: "the checkpoint to be blocked") {
                rig.log.filter { $0.contains("due to local data") }.count == 2
            }
            #expect(try await rig.items() == ["local"])
            release.raise()
            try await wait(for: "the checkpoint to be applied") { try await rig.items() == ["remote"] }
            try await wait(for: "the app to be told") {
                rig.log.contains("DEBUG Applied checkpoint request id 7")
            }
        }
    }

    @Test(
        "R1 A failed upload is repeated after the delay, until it succeeds, and its error goes",
        .behaviour(87, 115))
    func aFailedUploadIsRepeatedAfterTheDelayAndItsErrorGoes() async throws {
        let rig = try await SyncRig(
            transport: Self.transport(.writeCheckpoint(1)),
            upload: { number, pool in
                if number < 3 { throw ScriptError("refused \(number)") }
                try await pool.write { try $0.run("DELETE FROM ps_crud") }
            })
        try await rig.writeLocally()
        try await SyncRig.run(rig) { rig in
            _ = try await connect(rig)
            for attempt in 1...2 {
                try await wait(for: "the error to show") {
                    await rig.status.uploadError.map { "\($0)" } == "refused \(attempt)"
                }
                try await wait(for: "the retry delay") { rig.clock.waiting.contains(.seconds(5)) }
                #expect(rig.uploads == attempt)
                #expect(await !rig.status.uploading)
                #expect(try await rig.items() == ["local"])
                rig.clock.advance(by: .seconds(5))
            }
            try await wait(for: "the error to go") { await rig.status.uploadError == nil }
            try await rig.finishUploads()
            #expect(rig.uploads == 3)
            #expect(rig.log.contains("ERROR Error uploading crud: refused 1"))
        }
    }

    /// Also of an upload that outlasts its stream.
    @Test func anErrorGoesWithTheUploadThatSucceeds() async throws {
        let gate = Gate()
        defer { gate.open() }
        let rig = try await SyncRig(
            transport: Self.transport(.writeCheckpoint(1)),
            upload: { number, pool in
                if number == 1 { throw ScriptError("refused") }
                await gate.pass()
                try await pool.write { try $0.run("DELETE FROM ps_crud") }
            })
        try await rig.writeLocally()
        try await SyncRig.run(rig) { rig in
            let stream = try await connect(rig)
            try await wait(for: "the retry delay") { rig.clock.waiting.contains(.seconds(5)) }
            #expect(await rig.status.uploadError != nil)
            rig.clock.advance(by: .seconds(5))
            try await wait(for: "the second upload") { gate.arrivals == 1 }
            stream.end()
            try await wait(for: "the end of the stream") { await !rig.status.connected }
            gate.open()
            try await wait(for: "the error to go") { await rig.status.uploadError == nil }
        }
    }

    @Test(arguments: [0, -1]) func anAnswerThatIsNoWriteCheckpointIsAnError(_ answer: Int) async throws {
        let transport = Self.transport(.writeCheckpoint(answer), .writeCheckpoint(3))
        let rig = try await SyncRig(transport: transport)
        try await rig.writeLocally()
        try await SyncRig.run(rig) { rig in
            _ = try await connect(rig)
            try await wait(for: "the error to show") {
                (await rig.status.uploadError as? SyncError)?.code == .unexpectedResponse
            }
            #expect(try await target(rig) == .max)
            try await wait(for: "the retry delay") { rig.clock.waiting.contains(.seconds(5)) }
            rig.clock.advance(by: .seconds(5))
            try await wait(for: "the target to be known") { try await target(rig) == 3 }
        }
    }

    @Test func aFailedWriteCheckpointIsRepeatedWithoutUploadingAgain() async throws {
        let transport = Self.transport(.status(500), .status(401), .writeCheckpoint(3))
        let rig = try await SyncRig(transport: transport)
        try await rig.writeLocally()
        try await SyncRig.run(rig) { rig in
            _ = try await connect(rig)
            for status in [500, 401] {
                try await wait(for: "the error to show") {
                    (await rig.status.uploadError as? SyncError)?.message
                        == "Error getting write checkpoint: \(status)"
                }
                try await wait(for: "the retry delay") { rig.clock.waiting.contains(.seconds(5)) }
                rig.clock.advance(by: .seconds(5))
            }
            try await wait(for: "the target to be known") { try await target(rig) == 3 }
            try await wait(for: "the error to go") { await rig.status.uploadError == nil }
            #expect(rig.uploads == 1)
            // After a 401 the next request has a new token.
            #expect(
                checkpointRequests(rig).map { $0.headers[0].value }
                    == ["Token token-1", "Token token-1", "Token token-2"])
        }
    }

    @Test func aSilentRequestForAWriteCheckpointIsRepeatedAtOnceAndThenAfterTheDelay() async throws {
        let requests = Lock(0)
        let transport = Self.transport(.writeCheckpoint(3)) {
            let number = requests.withLock { count in
                count += 1
                return count
            }
            if number <= 2 { throw SyncError(.silentConnection, "nothing came") }
        }
        let rig = try await SyncRig(transport: transport)
        try await rig.writeLocally()
        try await SyncRig.run(rig) { rig in
            _ = try await connect(rig)
            try await wait(for: "the retry delay") { rig.clock.waiting.contains(.seconds(5)) }
            #expect(requests.withLock { $0 } == 2)
            #expect((await rig.status.uploadError as? SyncError)?.code == .silentConnection)
            rig.clock.advance(by: .seconds(5))
            try await wait(for: "the target to be known") { try await target(rig) == 3 }
            #expect(rig.uploads == 1)
        }
    }

    @Test func aQueueThatDoesNotMoveIsWarnedAboutAndDelayed() async throws {
        let rig = try await SyncRig(
            transport: Self.transport(.writeCheckpoint(1)),
            upload: { number, pool in
                if number > 2 { try await pool.write { try $0.run("DELETE FROM ps_crud") } }
            })
        try await rig.writeLocally()
        try await SyncRig.run(rig) { rig in
            _ = try await connect(rig)
            try await wait(for: "the error to show") {
                (await rig.status.uploadError as? SyncError)?.code == .stalledUpload
            }
            #expect(rig.uploads == 1)
            #expect(
                rig.log.contains {
                    $0.hasPrefix("WARNING Potentially previously uploaded CRUD entries are still present")
                })
            try await wait(for: "the retry delay") { rig.clock.waiting.contains(.seconds(5)) }
            rig.clock.advance(by: .seconds(5))
            // The front was forgotten with the error, so it is tried once more before the next warning.
            try await wait(for: "another delay") {
                rig.uploads == 2 && rig.clock.waiting.contains(.seconds(5))
            }
            rig.clock.advance(by: .seconds(5))
            try await wait(for: "the error to go") { await rig.status.uploadError == nil }
            #expect(rig.uploads == 3)
        }
    }

    @Test(.behaviour(116, 121)) func severalTransactionsAreUploadedWithoutThrottleInOneRound() async throws {
        let rig = try await SyncRig(
            transport: Self.transport(.writeCheckpoint(1)),
            upload: { _, pool in
                try await pool.write {
                    try $0.run("DELETE FROM ps_crud WHERE id = (SELECT min(id) FROM ps_crud)")
                }
            })
        for id in ["a", "b", "c"] { try await rig.writeLocally(id) }
        try await SyncRig.run(rig) { rig in
            _ = try await connect(rig)
            try await wait(for: "the target to be known") { try await target(rig) == 1 }
            #expect(rig.uploads == 3)
            #expect(checkpointRequests(rig).count == 1)
            #expect(!rig.log.contains { $0.contains("Potentially") })
        }
    }

    @Test func triggersDuringTheThrottleMakeOneMoreRound() async throws {
        try await SyncRig.run(try await SyncRig(transport: Self.transport(.writeCheckpoint(1)))) { rig in
            let stream = try await connect(rig)
            try await wait(for: "the first round to end") { rig.clock.waiting == [.seconds(1)] }
            for id in ["a", "b", "c"] { try await rig.writeLocally(id) }
            // Takes longer than a round that does not wait for the throttle.
            stream.send(SyncLines.checkpoint(0, []), SyncLines.complete(0))
            try await wait(for: "another checkpoint") {
                rig.log.contains { $0.contains("due to local data") }
            }
            #expect(rig.isUploadDue)
            #expect(rig.uploads == 0)
            rig.clock.advance(by: .seconds(1))
            try await wait(for: "the upload") { try await target(rig) == 1 }
            try await rig.finishUploads()
            #expect(rig.uploads == 1)
        }
    }

    @Test(.behaviour(128)) func nothingIsUploadedBeforeAStreamIsOpen() async throws {
        let transport = ScriptedTransport(statuses: [500], answers: [.writeCheckpoint(1)])
        let rig = try await SyncRig(transport: transport)
        try await rig.writeLocally()
        try await SyncRig.run(rig) { rig in
            let pause = try await rig.pause()
            try await rig.writeLocally("second")
            try await rig.finishUploads()
            #expect(rig.uploads == 0)
            #expect(await rig.status.uploadError == nil)
            rig.clock.advance(by: pause)
            _ = try await rig.stream(1)
            try await wait(for: "the upload") { try await target(rig) == 1 }
            try await rig.finishUploads()
            #expect(rig.uploads == 1)
        }
    }

    @Test("R4 What was written offline is uploaded when a stream opens, before it says anything")
    func aServiceWhoseFirstLineWaitsForAnUploadGetsIt() async throws {
        let rig = try await SyncRig(transport: Self.transport(.writeCheckpoint(7)))
        try await rig.writeLocally()
        try await SyncRig.run(rig) { rig in
            let stream = try await rig.stream(0)
            try await wait(for: "the request for a write checkpoint") { checkpointRequests(rig).count == 1 }
            stream.send(
                SyncLines.checkpoint(1, [.init("b", checksum: 5)], writeCheckpoint: 7),
                SyncLines.data("b", SyncLines.put(1, "remote", checksum: 5)), SyncLines.complete())
            try await wait(for: "the checkpoint to be applied") { try await rig.items() == ["remote"] }
            #expect(rig.uploads == 1)
        }
    }

    @Test(.behaviour(127)) func uploadsWhileDisconnectedWhereTheAppWantsThat() async throws {
        let transport = ScriptedTransport(statuses: Array(repeating: 500, count: 9))
        let rig = try await SyncRig(
            transport: transport, options: { $0.uploadsWhileDisconnected = true },
            upload: { _, _ in throw ScriptError("no network") })
        try await rig.writeLocally()
        try await SyncRig.run(rig) { rig in
            try await wait(for: "one attempt") { await rig.status.uploadError != nil }
            #expect(rig.uploads == 1)
            // Without a stream it is not repeated by itself, only for another write.
            try await wait(for: "the throttle") { rig.clock.waiting.contains(.seconds(1)) }
            try await rig.writeLocally("second")
            rig.clock.advance(by: .seconds(1))
            try await wait(for: "a second attempt") { rig.uploads == 2 }
        }
    }

    @Test(.behaviour(124)) func aKeepaliveTriggersAnUpload() async throws {
        let rig = try await SyncRig(transport: Self.transport(.writeCheckpoint(1)))
        try await SyncRig.run(rig) { rig in
            let stream = try await connect(rig)
            try await rig.restThrottle()
            // A write that nobody told the coordinator of.
            try await rig.pool.write { connection in
                try connection.transaction { try connection.run("INSERT INTO items(id) VALUES ('x')") }
            }
            #expect(rig.uploads == 0)
            stream.send(SyncLines.tokenExpires(in: 3600))
            try await wait(for: "the line to be handled") { stream.isIdle }
            try await rig.finishUploads()
            #expect(rig.uploads == 1)
            #expect(try await target(rig) == 1)
        }
    }

    @Test(.behaviour(125)) func losingTheStreamEndsTheRetryDelayAndTheNextOneBeginsAnew() async throws {
        let rig = try await SyncRig(
            transport: Self.transport(.writeCheckpoint(1)), options: { $0.retryDelay = .seconds(60) },
            upload: { number, pool in
                if number == 1 { throw ScriptError("refused") }
                try await pool.write { try $0.run("DELETE FROM ps_crud") }
            })
        try await rig.writeLocally()
        try await SyncRig.run(rig) { rig in
            let stream = try await connect(rig)
            try await wait(for: "the retry delay") { rig.clock.waiting == [.seconds(60)] }
            rig.clock.advance(by: .seconds(30))
            stream.end()
            // Only the pause of the stream is left.
            try await wait(for: "the end of the delay") { rig.clock.waiting == [.seconds(60)] }
            #expect(rig.uploads == 1)
            rig.clock.advance(by: .seconds(60))
            _ = try await rig.stream(1)
            try await wait(for: "the upload") { try await target(rig) == 1 }
        }
    }

    @Test(
        "R3 A write during the request for a write checkpoint makes that useless, and is uploaded",
        .behaviour(122))
    func aWriteDuringTheRequestMakesTheWriteCheckpointUseless() async throws {
        let pool = Lock<SQLitePool?>(nil)
        let hasWritten = Lock(false)
        let transport = Self.transport(.writeCheckpoint(1), .writeCheckpoint(2)) {
            let isFirst = hasWritten.withLock { written in
                defer { written = true }
                return !written
            }
            guard isFirst, let pool = pool.withLock({ $0 }) else { return }
            try await pool.write { connection in
                try connection.transaction { try connection.run("INSERT INTO items(id) VALUES ('x')") }
            }
        }
        let rig = try await SyncRig(transport: transport)
        pool.withLock { $0 = rig.pool }
        try await rig.writeLocally()
        try await SyncRig.run(rig) { rig in
            _ = try await connect(rig)
            try await wait(for: "the second one to count") { try await target(rig) == 2 }
            #expect(rig.uploads == 2)
            #expect(checkpointRequests(rig).count == 2)
        }
    }

    @Test(.behaviour(123)) func aTargetOfTheAppsOwnMakesNoRequest() async throws {
        let rig = try await SyncRig(upload: { _, pool in
            try await pool.write { connection in
                try connection.run("DELETE FROM ps_crud")
                _ = try SyncStore(connection: connection, now: 0).setTarget(123)
            }
        })
        try await rig.writeLocally()
        try await SyncRig.run(rig) { rig in
            _ = try await connect(rig)
            try await wait(for: "the upload") { try await target(rig) == 123 }
            try await rig.finishUploads()
            #expect(checkpointRequests(rig).isEmpty)
            let status = await rig.status
            #expect(status.uploadError == nil && !status.uploading)
        }
    }

    @Test func aConnectorsOwnCancellationErrorIsAFailureLikeAnyOther() async throws {
        let rig = try await SyncRig(upload: { _, _ in throw CancellationError() })
        try await rig.writeLocally()
        try await SyncRig.run(rig) { rig in
            _ = try await connect(rig)
            try await wait(for: "the error to show") { await rig.status.uploadError != nil }
            try await wait(for: "the retry delay") { rig.clock.waiting.contains(.seconds(5)) }
        }
    }

    @Test func stoppingEndsTheUploadAndShowsNoError() async throws {
        let uploading = AsyncFlag()
        let rig = try await SyncRig(upload: { _, _ in
            uploading.raise()
            try await AsyncFlag().wait()
        })
        try await rig.writeLocally()
        try await SyncRig.run(rig) { rig in
            _ = try await connect(rig)
            try await uploading.wait()
        }
        let status = await rig.status
        #expect(status.uploadError == nil && !status.uploading && !status.connected)
    }
}
