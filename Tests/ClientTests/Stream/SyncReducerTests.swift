import PowerSync
import PowerSyncWire
import Testing

/// The table of Client/Stream/SPEC.md, cell by cell.
@Suite struct SyncReducerTests {
    enum Phase: String, CaseIterable { case idle, before, tracking }

    /// A state in which the status has been told and the stream is connected.
    static func state(_ phase: Phase) throws -> SyncState {
        var state = SyncState()
        guard phase != .idle else { return state }
        _ = try SyncReducer.reduce(&state, .start(SyncStart()))
        _ = try SyncReducer.reduce(&state, .prepared(preparation))
        _ = try SyncReducer.reduce(&state, .connectionEstablished)
        guard phase == .tracking else { return state }
        _ = try SyncReducer.reduce(&state, line(SyncLines.checkpoint(1, [.init("a")])))
        _ = try SyncReducer.reduce(&state, .tracked(tracked))
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

    struct Row: CustomTestStringConvertible {
        let name: String
        let event: SyncEvent
        /// What happens in idle, before and tracking; an error by its code.
        let outcomes: [String]
        var testDescription: String { name }

        init(_ name: String, _ event: SyncEvent, _ outcomes: String...) {
            self.name = name
            self.event = event
            self.outcomes = outcomes
        }
    }

    static let table: [Row] = {
        // A line that cannot be read fails the table's own test below.
        func text(_ text: String) -> SyncEvent { (try? line(text)) ?? .stop }
        let none = "invalid-state"
        let failure = ChecksumMismatch(
            bucket: "a", expected: Checksum(1), present: .zero, superseded: .zero)
        return [
            Row("start", .start(SyncStart()), "perform prepare", "perform prepare", "perform prepare"),
            Row("established", .connectionEstablished, none, "", ""),
            Row("ended", .connectionEnded, none, "status, close ended", "status, close ended"),
            Row(
                "checkpoint", text(SyncLines.checkpoint(2, [.init("b")])), none, "perform track",
                "perform track"),
            Row("diff", text(SyncLines.diff(2)), none, "protocol-violation", "perform track"),
            Row("tracked", .tracked(tracked), none, "", ""),
            Row(
                "data", text(SyncLines.data("a", SyncLines.put(1, "r"))), none, "perform save",
                "perform save"),
            Row("saved", .saved(bucket: "a", count: 1), none, "", "status"),
            Row("complete", text(SyncLines.complete()), none, "protocol-violation", "perform apply"),
            Row("partial", text(SyncLines.partial(1)), none, "invalid-state", "perform apply"),
            Row(
                "applied", .applied(request(nil), .applied(at: 5)), none, "log debug, completed, status",
                "log debug, completed, status"),
            Row("applied partially", .applied(request(1), .applied(at: 5)), none, "status", "status"),
            Row("blocked", .applied(request(nil), .blocked), none, "log info", "log info"),
            Row("blocked partially", .applied(request(1), .blocked), none, "", ""),
            Row(
                "mismatch", .applied(request(nil), .mismatch([failure])), none, "log warning, close mismatch",
                "log warning, close mismatch"),
            Row(
                "pending blocked", .applied(request(nil, .completedUpload), .blocked), none, "log warning",
                "log warning"),
            Row(
                "pending mismatch", .applied(request(nil, .completedUpload), .mismatch([failure])), none,
                "log warning", "log warning"),
            Row(
                "expired", text(SyncLines.tokenExpires(in: 0)), none,
                "perform prolong, fetch expired, close expired",
                "perform prolong, fetch expired, close expired"),
            Row(
                "expires soon", text(SyncLines.tokenExpires(in: 30)), none, "perform prolong, fetch",
                "perform prolong, fetch"),
            Row(
                "expires later", text(SyncLines.tokenExpires(in: 31)), none,
                "perform prolong, perform rebuild",
                "perform prolong, perform rebuild"),
            Row("unknown line", text("{\"new\":1}"), none, "log debug", "log debug"),
            Row("refreshed", .tokenRefreshed, none, "close refreshed", "close refreshed"),
            Row(
                "subscriptions", .subscriptionsChanged(active: []), none, "perform prolong, perform rebuild",
                "perform prolong, perform rebuild"),
            Row("rebuilt, same", .subscriptionsRebuilt([], active: []), none, "", ""),
            Row(
                "rebuilt, different",
                .subscriptionsRebuilt(
                    [RequestedSubscription(id: 1, name: "s", parameters: "null")], active: []), none,
                "close subscriptions", "close subscriptions"),
            Row("upload completed", .uploadCompleted, none, "", ""),
            Row("target", .target(nil), none, "", ""),
            Row("stop", .stop, "", "status, close ended", "status, close ended"),
        ]
    }()

    @Test(arguments: table) func everyCellOfTheTable(_ row: Row) throws {
        for (phase, expected) in zip(Phase.allCases, row.outcomes) {
            var state = try Self.state(phase)
            var actual: String
            do {
                let effects = try SyncReducer.reduce(&state, row.event)
                actual = effects.names.joined(separator: ", ")
                if actual.contains("close") {
                    #expect(!state.isActive, "\(row.name) in \(phase): the iteration is over")
                }
            } catch {
                actual = error.code.rawValue
            }
            #expect(actual == expected, "\(row.name) in \(phase)")
        }
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
        #expect(checkpoint.buckets.keys.sorted() == ["b"])
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
            "a": BucketCounters(atLast: 2, sinceLast: 1), "b": BucketCounters(atLast: 0, sinceLast: 4),
        ]
        _ = try SyncReducer.reduce(
            &state, .tracked(TrackOutcome(counters: counters, subscriptions: [], defaultRows: [:])))
        let effects = try SyncReducer.reduce(&state, .saved(bucket: "b", count: 2))
        #expect(
            effects.status?.downloading == [
                PriorityProgress(priority: 0, totalOperations: 3, downloadedOperations: 1),
                PriorityProgress(priority: 2, totalOperations: 7, downloadedOperations: 6),
            ])
        #expect(try SyncReducer.reduce(&state, .saved(bucket: "elsewhere", count: 2)).isEmpty)
    }
}
