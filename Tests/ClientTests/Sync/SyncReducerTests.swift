import PowerSync
import PowerSyncWire
import Testing

/// What the table of SyncReducerTableTests does not say.
@Suite struct SyncReducerTests {
    /// The states of Client/Sync/SPEC.md; `blocked` is tracking with a checkpoint that waits for local changes.
    enum Phase: String, CaseIterable { case idle, before, tracking, blocked }

    /// A state in which the status has been told and the stream is connected.
    static func state(_ phase: Phase) throws -> SyncState {
        var state = SyncState()
        guard phase != .idle else { return state }
        _ = try SyncReducer.reduce(&state, .start(SyncStart()))
        _ = try SyncReducer.reduce(&state, .prepared(preparation))
        _ = try SyncReducer.reduce(&state, .connectionEstablished)
        if phase == .before { return state }
        _ = try SyncReducer.reduce(&state, line(SyncLines.checkpoint(1, [.init("a")])))
        _ = try SyncReducer.reduce(&state, .tracked(tracked))
        if phase == .tracking { return state }
        _ = try SyncReducer.reduce(&state, .applied(request(nil), .blocked))
        return state
    }

    static var preparation: Preparation {
        Preparation(
            status: SyncIterationStatus(), clientID: "c", buckets: [BucketRequest(name: "old", after: 4)],
            subscriptions: [])
    }

    static var tracked: TrackOutcome { TrackOutcome(counters: [:], subscriptions: [], defaultRows: [:]) }

    static func line(_ text: String) throws -> SyncEvent {
        .line(try SyncLine(parsing: Array(text.utf8)), size: text.utf8.count)
    }

    static func request(_ priority: Int?, _ cause: ApplyRequest.Cause = .line) -> ApplyRequest {
        ApplyRequest(
            checkpoint: TrackedCheckpoint(Checkpoint(lastOpID: 1, buckets: [])), priority: priority,
            streamIDs: [],
            cause: cause)
    }

    @Test func aPendingCheckpointIsUsedOnceAndOnlyWhenItsWriteCheckpointIsHighEnough() throws {
        for (target, effects) in [(7, ["perform apply"]), (8, []), (nil, ["perform apply"])]
            as [(Int64?, [String])]
        {
            var state = try Self.state(.tracking)
            let checkpoint = TrackedCheckpoint(Checkpoint(lastOpID: 1, writeCheckpoint: 7, buckets: []))
            let request = ApplyRequest(checkpoint: checkpoint, priority: nil, streamIDs: [], cause: .line)
            _ = try SyncReducer.reduce(&state, .applied(request, .blocked))
            #expect(state.pending == checkpoint)
            #expect(try SyncReducer.reduce(&state, .uploadCompleted).names == ["perform target"])
            #expect(try SyncReducer.reduce(&state, .target(target)).names == effects)
            #expect(state.pending == nil)
            #expect(try SyncReducer.reduce(&state, .uploadCompleted).isEmpty)
        }
    }

    @Test func aNewCheckpointDiscardsThePendingOne() throws {
        var state = try Self.state(.tracking)
        _ = try SyncReducer.reduce(&state, .applied(Self.request(nil), .blocked))
        _ = try SyncReducer.reduce(&state, Self.line(SyncLines.diff(2)))
        _ = try SyncReducer.reduce(&state, .tracked(Self.tracked))
        #expect(state.pending == nil)
    }

    @Test func aDiffWithoutAWriteCheckpointTakesItAway() throws {
        var state = try Self.state(.before)
        _ = try SyncReducer.reduce(
            &state, Self.line(SyncLines.checkpoint(1, [.init("a")], writeCheckpoint: 3)))
        _ = try SyncReducer.reduce(&state, .tracked(Self.tracked))
        _ = try SyncReducer.reduce(
            &state, Self.line(SyncLines.diff(2, updated: [.init("b")], removed: ["a"])))
        guard case .tracking(let checkpoint) = state.phase else {
            Issue.record("no checkpoint is tracked")
            return
        }
        #expect(checkpoint.writeCheckpoint == nil)
        #expect(checkpoint.buckets.keys.map(\.text) == ["b"])
    }

    @Test func noMoreBucketsAreTrackedThanThereMayBe() throws {
        func buckets(_ numbers: Range<Int>) -> [BucketChecksum] {
            numbers.map { BucketChecksum(bucket: "b\($0)", checksum: .zero) }
        }
        func line(_ line: SyncLine) -> SyncEvent { .line(line, size: 0) }
        func lastOperation(_ state: SyncState) -> OperationID? {
            if case .tracking(let checkpoint) = state.phase { checkpoint.lastOpID } else { nil }
        }
        let limit = TrackedCheckpoint.limit
        var state = try Self.state(.tracking)
        let tooMany = [
            Checkpoint(lastOpID: 2, buckets: buckets(0..<limit + 1)),
            Checkpoint(
                lastOpID: 2, buckets: [],
                streams: (0...limit).map { StreamDescription(name: "s\($0)", isDefault: false) }),
        ]
        for checkpoint in tooMany {
            var next = state
            let error = #expect(throws: SyncError.self) {
                try SyncReducer.reduce(&next, line(.checkpoint(checkpoint)))
            }
            #expect(error?.code == .protocolViolation)
            #expect(lastOperation(next) == 1)
        }
        _ = try SyncReducer.reduce(
            &state, line(.checkpoint(Checkpoint(lastOpID: 3, buckets: buckets(0..<limit)))))
        // One for another is no more of them.
        _ = try SyncReducer.reduce(
            &state,
            line(
                .checkpointDiff(
                    CheckpointDiff(
                        lastOpID: 4, updatedBuckets: buckets(limit..<limit + 1), removedBuckets: ["b0"]))))
        var next = state
        let error = #expect(throws: SyncError.self) {
            try SyncReducer.reduce(
                &next,
                line(
                    .checkpointDiff(
                        CheckpointDiff(lastOpID: 5, updatedBuckets: buckets(0..<1), removedBuckets: []))))
        }
        #expect(error?.code == .protocolViolation)
        #expect(lastOperation(next) == 4)
    }

    @Test func bucketsOfTheRequestThatACheckpointDoesNotNameAreDropped() throws {
        var state = try Self.state(.before)
        let effects = try SyncReducer.reduce(&state, Self.line(SyncLines.checkpoint(1, [.init("a")])))
        guard case .perform(.track(_, let dropped))? = effects.first else {
            Issue.record("the checkpoint is not tracked")
            return
        }
        #expect(dropped == ["old"])
    }

    @Test func theRequestSaysWhatIsThere() throws {
        var state = SyncState()
        _ = try SyncReducer.reduce(
            &state,
            .start(
                SyncStart(
                    parameters: .object([JSONMember("foo", .string("bar"))]), includeDefaults: false,
                    appMetadata: [JSONMember("version", .string("1"))])))
        var preparation = Self.preparation
        preparation.subscriptions = [
            RequestedSubscription(
                id: 9, name: "s", parameters: "{\"x\":1}", json: try JSON.parse("{\"x\":1}"), priority: 2)
        ]
        let request = try SyncReducer.reduce(&state, .prepared(preparation)).request
        #expect(
            request?.json.text == """
                {"buckets":[{"name":"old","after":"4"}],"include_checksum":true,"raw_data":true,\
                "binary_data":true,"client_id":"c","parameters":{"foo":"bar"},"streams":\
                {"include_defaults":false,"subscriptions":[{"stream":"s","parameters":{"x":1},\
                "override_priority":2}]},"app_metadata":{"version":"1"}}
                """)
    }

    @Test func progressIsSummedByPriority() throws {
        var state = try Self.state(.before)
        _ = try SyncReducer.reduce(
            &state,
            Self.line(
                SyncLines.checkpoint(
                    9,
                    [
                        .init("a", priority: 0, count: 5), .init("b", priority: 2, count: 6),
                        .init("c", priority: 2),
                    ])))
        let counters = [
            ExactText("a"): BucketCounters(atLast: 2, sinceLast: 1),
            ExactText("b"): BucketCounters(atLast: 0, sinceLast: 4),
        ]
        _ = try SyncReducer.reduce(
            &state, .tracked(TrackOutcome(counters: counters, subscriptions: [], defaultRows: [:])))
        let effects = try SyncReducer.reduce(
            &state, .saved([ExactText("a"): 1, ExactText("b"): 2, ExactText("elsewhere"): 4]))
        #expect(effects.names == ["status"])
        #expect(
            effects.status?.downloading == [
                PriorityProgress(priority: 0, totalOperations: 3, downloadedOperations: 2),
                PriorityProgress(priority: 2, totalOperations: 7, downloadedOperations: 6),
            ])
        #expect(try SyncReducer.reduce(&state, .saved([ExactText("elsewhere"): 2])).isEmpty)
    }
}
