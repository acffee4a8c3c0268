import PowerSyncPostgres
import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncServiceEngine

/// What requests come to by lookups of a store (service 3.6, 3.7, 3.11).
@Suite(.patient())
struct SessionLookupsTests {
    /// The projects of a user's memberships, and the public ones.
    static let config = """
        config: {edition: 3}
        streams:
          mine:
            auto_subscribe: true
            query: SELECT * FROM t WHERE owner IN (SELECT project FROM members WHERE user_id = auth.user_id())
          named:
            query: >-
              SELECT * FROM t WHERE owner = subscription.parameter('p') AND owner IN
                (SELECT project FROM members WHERE user_id = auth.user_id())
          own:
            auto_subscribe: true
            query: SELECT * FROM t WHERE owner = auth.user_id()
        """
    static let tables = ["members": ["id", "user_id", "project"]]

    /// A row of `members`.
    static func member(_ id: String, _ user: String, _ project: String) -> PgOutputTuple {
        [.text(id), .text(user), .text(project)]
    }

    private static func token(_ user: String) -> JSON { .object([JSONMember("sub", .string(user))]) }

    private static func run(_ body: (SessionRig) async throws -> Void) async throws {
        try await SessionRig.run(Self.config, others: Self.tables, body)
    }

    /// Evaluates a request at the newest checkpoint.
    private static func found(
        _ lookups: SessionLookups, changed: Set<LookupKey>? = nil, at operation: OperationID? = nil,
        _ rig: SessionRig
    ) async throws -> FoundView {
        try await rig.store.view(of: lookups, changed: changed, at: operation, key: "nobody")
    }

    private static func names(_ view: FoundView) -> [String] { view.found.buckets.map(\.name).sorted() }

    @Test func bucketsAreThoseOfTheRowsThatAreFound() async throws {
        try await Self.run { rig in
            try await rig.commit(in: [
                (
                    "members",
                    [
                        .insert(Self.member("1", "u1", "p1")), .insert(Self.member("2", "u1", "p2")),
                        .insert(Self.member("3", "u2", "p3")),
                    ]
                ), ("t", [.insert(SessionRig.row("a", "p1")), .insert(SessionRig.row("b", "p3"))]),
            ])
            let lookups = SessionLookups(rig.served, SyncStreamRequest(), token: Self.token("u1"))
            #expect(!lookups.isStatic && lookups.keys.isEmpty)
            let view = try await Self.found(lookups, rig)
            let stream = rig.stream
            let names = ["p1", "p2", "u1"].map { "\(stream)#mine|0[\"\($0)\"]" }
            #expect(Self.names(view) == names)
            #expect(view.view.checkpoint.operation == rig.publisher.current?.checkpoint.operation)
            // One bucket has a row; the others are not there.
            #expect(view.view.buckets.mapValues(\.count) == [ExactText(names[0]): 1])
            #expect(view.lookups.keys.count == 1)
            #expect(
                view.found.streams == [
                    StreamDescription(name: "mine", isDefault: true),
                    StreamDescription(name: "own", isDefault: true),
                ])
            // The first stream that names it is the one of the row's own bucket.
            let own = view.found.buckets.first { $0.name == names[2] }
            #expect(own?.reasons == [.defaultStream(1)])
        }
    }

    /// A user without a row is told of one that comes.
    @Test func keysWithoutRowsAreKept() async throws {
        try await Self.run { rig in
            let mailbox = Mailbox(buckets: [], key: ExactText("nobody"))
            let attachment = try #require(
                try rig.publisher.attach(mailbox, to: rig.stream, isOpen: true))
            let lookups = SessionLookups(rig.served, SyncStreamRequest(), token: Self.token("u9"))
            let view = try await Self.found(lookups, rig)
            #expect(view.found.buckets.count == 1 && view.lookups.keys.count == 1)
            try await rig.commit(in: [("members", [.insert(Self.member("1", "u9", "p"))])])
            attachment.update(buckets: view.found.names, lookups: view.lookups.keys)
            #expect(mailbox.take()?.lookups == view.lookups.keys)
        }
    }

    /// However many queries name it, and each way to it is a reason.
    @Test func aBucketIsListedOnce() async throws {
        try await Self.run { rig in
            try await rig.commit(in: [
                ("members", [.insert(Self.member("1", "u1", "p")), .insert(Self.member("2", "u1", "p"))])
            ])
            let request = SyncStreamRequest(
                streams: StreamSubscriptions(
                    subscriptions: ["p", "p", "q"].map {
                        StreamSubscription(
                            stream: "named", parameters: .object([JSONMember("p", .string($0))]))
                    }))
            let lookups = SessionLookups(rig.served, request, token: Self.token("u1"))
            let view = try await Self.found(lookups, rig)
            let all = view.found.buckets.filter { $0.name == "\(rig.stream)#mine|0[\"p\"]" }
            #expect(all.count == 1)
            let reasons = Set(all.flatMap(\.reasons))
            #expect(reasons == [.defaultStream(0), .subscription(0), .subscription(1)])
            #expect(view.found.streams.map(\.name) == ["mine", "named", "own"])
        }
    }

    /// What used none of the changed keys keeps its buckets; but not if more than that may have changed.
    @Test func onlyWhatUsedAChangedKeyIsEvaluatedAgain() async throws {
        try await Self.run { rig in
            let lookups = SessionLookups(rig.served, SyncStreamRequest(), token: Self.token("u1"))
            let first = try await Self.found(lookups, rig)
            try await rig.commit(in: [("members", [.insert(Self.member("1", "u1", "p"))])])
            let operation = rig.publisher.current?.checkpoint.operation
            let kept = try await Self.found(first.lookups, changed: [], at: operation, rig)
            #expect(Self.names(kept) == Self.names(first))
            let again = try await Self.found(first.lookups, changed: first.lookups.keys, at: operation, rig)
            #expect(Self.names(again).count == 2)
            // The disk has a newer checkpoint than the changes are known of.
            let unknown = try await Self.found(
                first.lookups, changed: [], at: first.view.checkpoint.operation, rig)
            #expect(Self.names(unknown) == Self.names(again))
        }
    }

    @Test func aRequestWithoutLookupsIsSettledAtOnce() async throws {
        let served = ServedPlan(
            stream: 7, plan: try SyncPlan.compiled(ReplicationServiceTests.config))
        var lookups = SessionLookups(served, SyncStreamRequest(), token: Self.token("u1"))
        #expect(lookups.isStatic)
        let result = try lookups.settled()
        let settled = try #require(result)
        #expect(!settled.buckets.isEmpty && settled.buckets.allSatisfy { $0.name.hasPrefix("7#") })
    }

    // MARK: Limits

    @Test func moreRowsThanMayBeFoundAreRefused() async throws {
        try await Self.run { rig in
            try await rig.commit(in: [
                ("members", (0..<5).map { RowChange.insert(Self.member("\($0)", "u1", "p\($0)")) })
            ])
            func refusal(_ limits: RequestLimits, bytes: Int = 1 << 20) async throws -> RequestError? {
                let lookups = SessionLookups(
                    rig.served, SyncStreamRequest(), token: Self.token("u1"), limits: limits,
                    lookupBytes: bytes)
                do {
                    _ = try await Self.found(lookups, rig)
                    return nil
                } catch let error as RequestError {
                    return error
                }
            }
            #expect(try await refusal(RequestLimits(results: 5)) == nil)
            let results = try await refusal(RequestLimits(results: 4))
            #expect(results?.message == "Too many parameter query results (limit of 4)")
            #expect(results?.details == ["Parameter query results by sync stream:", "  mine: 5"])
            let buckets = try await refusal(RequestLimits(buckets: 5))
            #expect(buckets?.message == "Too many buckets: 6 (limit of 5)")
            #expect(buckets?.details == ["Buckets by sync stream:", "  mine: 5", "  own: 1"])
            let bytes = try await refusal(RequestLimits(), bytes: 10)
            #expect(bytes?.message == "Too many parameter query results: values of more than 10 bytes")
        }
    }

    /// In mid-stream the connection ends (service 3.11).
    @Test func aStreamThatComesToMoreThanItMayEnds() async throws {
        try await Self.run { rig in
            let stream = try await rig.serve(rig.attach(user: "u1", limits: RequestLimits(buckets: 2)))
            try await rig.rest()
            try await rig.commit(in: [("members", [.insert(Self.member("1", "u1", "p1"))])])
            try await rig.rest()
            #expect(stream.sink.model.listed.count == 2)
            try await rig.commit(in: [("members", [.insert(Self.member("2", "u1", "p2"))])])
            await #expect(throws: RequestError.self) { try await wait(forEndOf: stream.task) }
        }
    }
}
