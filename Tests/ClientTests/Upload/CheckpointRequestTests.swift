import PowerSync
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Checkpoint requests of the SDK (client-core 8.4).
@Suite(.patient()) struct CheckpointRequestTests {
    private func rig(
        _ answers: SyncHTTPResponse..., whileSending: @escaping @Sendable () async throws -> Void = {}
    ) async throws -> SyncRig {
        try await SyncRig(
            transport: ScriptedTransport(answers: answers, whileSending: whileSending),
            options: { $0.start.checkpointMode = .requests })
    }

    /// The ids that the service was sent.
    private func ids(_ rig: SyncRig) throws -> [String] {
        let requests = rig.transport.requests.filter { $0.url.hasSuffix("/sync/checkpoint-request") }
        return try requests.map { request in
            #expect(request.method == "POST")
            let body = try JSON.parse(request.body ?? [])
            #expect(body["client_id"] == .string("test-client"))
            return body["checkpoint_request_id"]?.stringValue ?? "?"
        }
    }

    private func target(_ rig: SyncRig) async throws -> Int64? {
        try await rig.database.write { try $0.target() }
    }

    private func sync(_ rig: SyncRig, _ index: Int = 0) async throws -> ScriptedStream {
        let stream = try await rig.stream(index)
        stream.send(SyncLines.checkpoint(0, []), SyncLines.complete(0))
        try await wait(for: "the first line to be handled") { rig.isSynced }
        return stream
    }

    @Test func aWriteIsAcknowledgedThroughARequestAboveTheSeed() async throws {
        let rig = try await rig(.checkpointRequest(41), .checkpointRequest(42))
        try await SyncRig.run(rig) { rig in
            let stream = try await sync(rig)
            try await rig.restThrottle()
            try await rig.writeLocally()
            try await wait(for: "the target to be known") { try await target(rig) == 42 }
            #expect(try ids(rig) == ["1", "42"])
            #expect(!rig.transport.requests.contains { $0.method == "GET" })
            stream.send(
                SyncLines.diff(1, updated: [.init("b", checksum: 5)], writeCheckpoint: 42),
                SyncLines.data("b", SyncLines.put(1, "remote", checksum: 5)), SyncLines.complete())
            try await wait(for: "the checkpoint to be applied") { try await rig.items() == ["remote"] }
            try await wait(for: "the app to be told") {
                rig.log.contains("DEBUG Applied checkpoint request id 42")
            }
        }
    }

    @Test func anUploadThatEndsBeforeTheSeedWaitsForIt() async throws {
        let release = AsyncFlag()
        let isFirst = Lock(true)
        let rig = try await rig(.checkpointRequest(7), .checkpointRequest(8)) {
            if isFirst.withLock({ first in
                defer { first = false }; return first
            }) {
                try await release.wait()
            }
        }
        try await rig.writeLocally()
        try await SyncRig.run(rig) { rig in
            // The stream goes on meanwhile.
            _ = try await sync(rig)
            try await wait(for: "the upload to end") { rig.uploads == 1 }
            #expect(try await target(rig) == .max)
            #expect(try ids(rig).isEmpty)
            release.raise()
            try await wait(for: "the target to be known") { try await target(rig) == 8 }
            #expect(try ids(rig) == ["1", "8"])
        }
    }

    @Test func anIdThatIsTakenDuringTheSeedIsNotGivenOutAgain() async throws {
        let rig = Lock<SyncRig?>(nil)
        let made = try await self.rig(.checkpointRequest(1)) {
            _ = try await rig.withLock { $0 }?.database.write { store in
                try store.seedCheckpointRequest(1)
                return try store.nextCheckpointRequest()
            }
        }
        rig.withLock { $0 = made }
        defer { rig.withLock { $0 = nil } }
        try await SyncRig.run(made) { made in
            _ = try await sync(made)
            try await wait(for: "the request to be sent") { try ids(made) == ["1"] }
            try await made.restThrottle()
            #expect(try await made.database.write { try $0.currentCheckpointRequest() } == 2)
        }
    }

    @Test func aFailedSeedFailsTheIterationAndSaysWhy() async throws {
        // The answers come when the stream beside them is open: an iteration that fails sooner opens none.
        let (made, sent) = (Lock<SyncRig?>(nil), Lock(0))
        let rig = try await rig(.status(404), .status(401), .checkpointRequest(1)) {
            let number = sent.withLock { count in
                count += 1
                return count
            }
            try await wait(for: "the stream of request \(number)") {
                made.withLock { $0 }?.transport.streams.count ?? 0 >= number
            }
        }
        made.withLock { $0 = rig }
        defer { made.withLock { $0 = nil } }
        try await SyncRig.run(rig) { rig in
            _ = try await rig.stream(0)
            try await wait(for: "a pause") { rig.clock.waiting.contains(.seconds(5)) }
            let error = try #require(await rig.status.downloadError as? SyncError)
            #expect(error.status == 404)
            #expect(error.message.contains("1.24"))
            #expect(await !rig.status.connected)
            rig.clock.advance(by: .seconds(5))
            try await wait(for: "the second failure") {
                await (rig.status.downloadError as? SyncError)?.status == 401
            }
            try await wait(for: "a pause") { rig.clock.waiting.contains(.seconds(5)) }
            rig.clock.advance(by: .seconds(5))
            _ = try await sync(rig, 2)
            // The credentials that were refused are not used again.
            #expect(rig.fetches == 2)
            #expect(await rig.status.downloadError == nil)
        }
    }

    @Test func aRequestThatDoesNotShowIsSentAgain() async throws {
        let rig = try await rig(
            .checkpointRequest(1), .checkpointRequest(2), .status(500), .checkpointRequest(2))
        try await SyncRig.run(rig) { rig in
            let stream = try await sync(rig)
            try await rig.restThrottle()
            try await rig.writeLocally()
            try await wait(for: "the target to be known") { try await target(rig) == 2 }
            for count in [3, 4] {
                try await wait(for: "the patience of a request") { rig.clock.waiting.contains(.seconds(10)) }
                rig.clock.advance(by: .seconds(10))
                try await wait(for: "it to be sent again") { try ids(rig).count == count }
            }
            #expect(try ids(rig) == ["1", "2", "2", "2"])
            #expect(rig.log.contains { $0.hasPrefix("WARNING Repeating a checkpoint request has failed") })
            try await wait(for: "the patience of a request") { rig.clock.waiting.contains(.seconds(10)) }
            stream.send(SyncLines.checkpoint(0, [], writeCheckpoint: 2), SyncLines.complete(0))
            try await wait(for: "the checkpoint to be applied") {
                rig.log.contains("DEBUG Applied checkpoint request id 2")
            }
            rig.clock.advance(by: .seconds(10))
            // Behind what the end of the patience leads to: a fifth request would be sent by then.
            try await wait(for: "nothing more to send again") { rig.areCheckpointRequestsDone }
            #expect(try ids(rig).count == 4)
        }
    }

    @Test func anAnswerAboveTheIdRaisesTheCounter() async throws {
        let rig = try await rig(.checkpointRequest(1), .checkpointRequest(90), .checkpointRequest(91))
        try await SyncRig.run(rig) { rig in
            _ = try await sync(rig)
            try await rig.restThrottle()
            try await rig.writeLocally()
            try await wait(for: "the target to be known") { try await target(rig) == 90 }
            try await wait(for: "the throttle") { rig.clock.waiting.contains(.seconds(1)) }
            rig.clock.advance(by: .seconds(1))
            try await rig.writeLocally("second")
            try await wait(for: "the next target") { try await target(rig) == 91 }
            #expect(try ids(rig) == ["1", "2", "91"])
        }
    }

    @Test(arguments: [0, 1] as [Int64])
    func anAnswerOfAConnectorThatIsBelowTheIdIsNone(_ answer: Int64) async throws {
        let rig = try await SyncRig(
            options: { $0.start.checkpointMode = .requests },
            postCheckpointRequest: { id, _ in id == 1 ? 1 : answer })
        try await rig.writeLocally()
        try await SyncRig.run(rig) { rig in
            _ = try await sync(rig)
            try await wait(for: "the error to show") {
                await rig.status.uploadError is CheckpointRequestError
            }
            #expect(try await target(rig) == .max)
        }
    }

    @Test(arguments: [0, 1]) func anAnswerOfTheServiceThatIsBelowTheIdIsNone(_ answer: Int) async throws {
        let rig = try await rig(.checkpointRequest(1), .checkpointRequest(answer), .checkpointRequest(3))
        try await rig.writeLocally()
        try await SyncRig.run(rig) { rig in
            _ = try await sync(rig)
            try await wait(for: "the error to show") {
                (await rig.status.uploadError as? SyncError)?.code == .unexpectedResponse
            }
            #expect(try await target(rig) == .max)
            try await wait(for: "the retry delay") { rig.clock.waiting.contains(.seconds(5)) }
            rig.clock.advance(by: .seconds(5))
            try await wait(for: "the target to be known") { try await target(rig) == 3 }
            #expect(try ids(rig) == ["1", "2", "3"])
        }
    }

    @Test func withoutAStreamNoIdIsAllocated() async throws {
        let rig = try await SyncRig(
            transport: ScriptedTransport(answers: [.status(503)]),
            options: {
                $0.start.checkpointMode = .requests
                $0.uploadsWhileDisconnected = true
            })
        try await rig.writeLocally()
        try await SyncRig.run(rig) { rig in
            try await wait(for: "the upload") { rig.uploads == 1 }
            try await wait(for: "the round to end") { rig.clock.waiting.contains(.seconds(1)) }
            #expect(try await target(rig) == .max)
            #expect(await rig.status.uploadError == nil)
        }
    }

    @Test("A write that needs a checkpoint ends the pause before the next stream, once", .behaviour(216))
    func aWriteDuringAPauseReconnects() async throws {
        let rig = try await SyncRig(
            transport: ScriptedTransport(answers: [
                .checkpointRequest(1), .status(503), .checkpointRequest(1), .checkpointRequest(2),
            ]),
            options: {
                $0.start.checkpointMode = .requests
                $0.uploadsWhileDisconnected = true
                $0.retryDelay = .seconds(10)
            })
        try await SyncRig.run(rig) { rig in
            let stream = try await sync(rig)
            try await rig.finishUploads()
            stream.cut()
            try await wait(for: "the pause") { rig.clock.waiting.contains(.seconds(10)) }
            try await rig.writeLocally()
            // Nobody has moved the clock.
            _ = try await rig.stream(1)
            // That stream ends with its first request: the same write does not end the next pause.
            try await wait(for: "the pause after it") { rig.clock.waiting.contains(.seconds(10)) }
            try await rig.finishUploads()
            #expect(rig.transport.streams.count == 2)
            rig.clock.advance(by: .seconds(10))
            _ = try await rig.stream(2)
        }
    }
}
