import PowerSyncSQLite
import PowerSyncPostgres
import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncServiceEngine

/// Who wakes for a changed key of a lookup, and with which checkpoint (DESIGN.md, 2 and 7; service 3.7).
@Suite(.patient())
struct LookupWakeUpTests {
    private static func member(_ id: String, _ user: String, _ project: String) -> PgOutputTuple {
        SessionLookupsTests.member(id, user, project)
    }

    private static func run(readers: Int = 4, _ body: (SessionRig) async throws -> Void) async throws {
        try await SessionRig.run(
            readers: readers, SessionLookupsTests.config, others: SessionLookupsTests.tables, body)
    }

    private static func bucket(_ owner: String, _ rig: SessionRig) -> String {
        "\(rig.stream)#mine|0[\"\(owner)\"]"
    }

    // MARK: Two levels

    /// The projects of a user's teams: memberships of users are found by the user, projects by the team.
    private static let twoLevels = """
        config: {edition: 3}
        streams:
          mine:
            auto_subscribe: true
            query: >-
              SELECT * FROM t WHERE owner IN (SELECT project FROM projects WHERE team IN
                (SELECT team FROM members WHERE user_id = auth.user_id()))
        """

    /// Runs a test with streams at rest, three of each user, and a team for each user.
    private static func run(
        streams count: Int, _ body: (SessionRig, [SessionRig.Stream]) async throws -> Void
    ) async throws {
        let tables = ["members": ["id", "user_id", "team"], "projects": ["id", "team", "project"]]
        try await SessionRig.run(twoLevels, others: tables) { rig in
            let members = (0..<count).map { RowChange.insert(member("m\($0)", "u\($0)", "team\($0)")) }
            try await rig.commit(in: [(table: "members", changes: members)])
            var streams: [SessionRig.Stream] = []
            for number in 0..<count {
                streams.append(try await rig.serve(rig.attach(user: "u\(number / 3)")))
            }
            try await rig.rest()
            try await body(rig, streams)
        }
    }

    /// Each change of a key, of either level, wakes the three streams that have read it, and nobody else.
    @Test func eachChangeWakesThree() async throws {
        try await Self.run(streams: 1000) { rig, streams in
            let lines = streams.map(\.sink.texts.count)
            let before = try rig.wakeups()
            for number in 0..<500 {
                let user = number % 250
                let (table, row) =
                    number < 250
                    ? ("projects", Self.member("p\(user)", "team\(user)", "p"))
                    : ("members", Self.member("n\(user)", "u\(user)", "other\(user)"))
                try await rig.commit(in: [(table: table, changes: [.insert(row)])])
                try await rig.rest()
                try #require(try rig.wakeups() == before + 3 * (number + 1))
            }
            for (number, stream) in streams.enumerated() {
                let hasProject = number < 750
                #expect((stream.sink.model.listed[Self.bucket("p", rig)] != nil) == hasProject)
                // The difference, and that it is complete; a team without projects changes nothing.
                #expect(stream.sink.texts.count == lines[number] + (hasProject ? 2 : 0))
            }
            // Now that a bucket came of it, its operations wake whoever holds it.
            try await rig.commit([.insert(SessionRig.row("a", "p"))])
            #expect(try rig.wakeups() == before + 1500 + 750)
            try await rig.rest()
            #expect(streams[0].sink.model.rowNames == ["t/a"])
            #expect(streams[999].sink.model.rowNames == [])
            #expect(streams.allSatisfy { $0.sink.model.broken.isEmpty })
        }
    }

    /// With `POWERSYNC_REAL_TIMES=1` the processor time of the process is judged, in which nothing else may run then.
    private static let isReal = TestOptions.number("POWERSYNC_REAL_TIMES", standard: 0) == 1

    /// What wakes three streams costs no more beside a thousand: 1.3 times what it costs where there are no others.
    @Test(.enabled(if: isReal)) func costsTheSameBesideAThousand() async throws {
        var (alone, among): ([Duration], [Duration]) = ([], [])
        for _ in 0..<3 {
            alone.append(try await Self.cost(streams: 3))
            among.append(try await Self.cost(streams: 1000))
        }
        let (least, most) = (try #require(alone.min()), try #require(among.min()))
        #expect(most <= least * 1.3, "\(among) beside others, \(alone) without")
    }

    /// The processor time of 500 changes for one user.
    private static func cost(streams count: Int) async throws -> Duration {
        var spent = Duration.zero
        try await run(streams: count) { rig, streams in
            let woken = streams.prefix(3)
            let (before, start) = (try rig.wakeups(), processorTimeOfProcess())
            let project = member("p", "team0", "p")
            for number in 0..<500 {
                let change: RowChange = number.isMultiple(of: 2) ? .insert(project) : .delete(project)
                try await rig.commit(in: [(table: "projects", changes: [change])])
                // Nobody else is looked at: that would be counted.
                try await wait(for: "the three to be at rest") { woken.allSatisfy { $0.mailbox.isAtRest } }
            }
            spent = processorTimeOfProcess() - start
            #expect(try rig.wakeups() == before + 1500)
        }
        return spent
    }

    // MARK: What is seen

    @Test func whatNobodyHasReadWakesNobody() async throws {
        try await Self.run { rig in
            let stream = try await rig.serve(rig.attach(user: "u1"))
            try await rig.rest()
            let (lines, before) = (stream.sink.texts.count, try rig.wakeups())
            try await rig.commit(in: [("members", [.insert(Self.member("1", "u2", "p"))])])
            // It is found as before: nothing has changed.
            try await rig.commit(in: [
                ("members", [.update(old: nil, new: Self.member("1", "u2", "p"))])
            ])
            try await rig.commit(in: [("t", [.insert(SessionRig.row("a", "p"))])])
            try await rig.commit(in: [("members", [.delete(Self.member("1", "u2", "p"))])])
            try await rig.rest()
            #expect(try rig.wakeups() == before)
            #expect(stream.sink.texts.count == lines)
        }
    }

    /// A transaction that lets a user in and writes rows is seen as one; so is one that takes the permission away.
    @Test func bucketsComeAndGoWithTheCheckpointOfTheirTransaction() async throws {
        try await Self.run { rig in
            try await rig.commit([.insert(SessionRig.row("old", "p"))])
            let stream = try await rig.serve(rig.attach(user: "u1"))
            try await rig.rest()
            #expect(stream.sink.model.rowNames == [])
            try await rig.commit(in: [
                ("t", [.insert(SessionRig.row("new", "p"))]),
                ("members", [.insert(Self.member("1", "u1", "p"))]),
            ])
            try await rig.rest()
            #expect(stream.sink.model.lastOpID == rig.publisher.current?.checkpoint.operation)
            #expect(stream.sink.model.rowNames == ["t/new", "t/old"])
            // Nobody who is let out sees what the same transaction writes.
            try await rig.commit(in: [
                ("t", [.insert(SessionRig.row("secret", "p"))]),
                ("members", [.delete(Self.member("1", "u1", "p"))]),
            ])
            try await rig.rest()
            #expect(stream.sink.model.rowNames == [])
            #expect(stream.sink.model.listed[Self.bucket("p", rig)] == nil)
            #expect(!stream.sink.texts.contains { $0.contains("secret") })
            // It comes back from its beginning.
            try await rig.commit(in: [("members", [.insert(Self.member("2", "u1", "p"))])])
            try await rig.rest()
            #expect(stream.sink.model.rowNames == ["t/new", "t/old", "t/secret"])
            #expect(stream.sink.model.broken == [])
        }
    }

    /// The rest of the transaction changes nothing.
    @Test func whatAPieceChangesIsToldWithItsCommit() async throws {
        try await Self.run { rig in
            try await rig.commit([.insert(SessionRig.row("a", "p"))])
            let stream = try await rig.serve(rig.attach(user: "u1"))
            try await rig.rest()
            let before = try rig.wakeups()
            try await rig.write(in: [("members", [.insert(Self.member("1", "u1", "p"))])])
            #expect(try rig.wakeups() == before)
            #expect(stream.sink.model.rowNames == [])
            try await rig.commit()
            #expect(try rig.wakeups() == before + 1)
            try await rig.rest()
            #expect(stream.sink.model.rowNames == ["t/a"] && stream.sink.model.broken == [])
        }
    }

    /// All that is changed in between is in the first view, or in the mailbox.
    @Test func whatChangesWhileAStreamOpensIsSeen() async throws {
        try await Self.run(readers: 1) { rig in
            let gate = BlockingGate()
            defer { gate.open() }
            let busy = Task { try await rig.store.pool.read { _ in gate.wait() } }
            try await wait(for: "the reader to be busy") { gate.arrivals == 1 }
            let loop = try rig.attach(user: "u1")
            let opening = Task { try await loop.firstView() }
            try await wait(for: "the stream to read") { rig.store.pool.waitingReads >= 1 }
            let before = try rig.wakeups()
            try await rig.commit(in: [
                ("t", [.insert(SessionRig.row("a", "p"))]),
                ("members", [.insert(Self.member("1", "u1", "p"))]),
            ])
            gate.open()
            try await busy.value
            let beginning = try await opening.value
            let stream = rig.serve(loop, beginning)
            try await rig.rest()
            // It looks anyway.
            #expect(try rig.wakeups() == before)
            #expect(stream.sink.model.rowNames == ["t/a"] && stream.sink.model.broken == [])
        }
    }

    /// What was published before it was known what a stream holds is sorted out when it is.
    @Test func anOpenMailboxMissesNothing() async throws {
        try await Self.run { rig in
            let mailbox = Mailbox(buckets: [], key: ExactText("k"))
            let attachment = try #require(
                try rig.publisher.attach(mailbox, to: rig.stream, isOpen: true))
            let before = try rig.wakeups()
            for number in 0..<20 {
                try await rig.commit(in: [
                    ("t", [.insert(SessionRig.row("a\(number)", "p\(number)"))]),
                    ("members", [.insert(Self.member("\(number)", "u\(number)", "p"))]),
                ])
            }
            let lookups = SessionLookups(
                rig.served, SyncStreamRequest(), token: .object([JSONMember("sub", .string("u7"))]))
            let found = try await rig.store.view(of: lookups, changed: nil, at: nil, key: "k")
            let bucket = ExactText(Self.bucket("p3", rig))
            attachment.update(buckets: [bucket], lookups: found.lookups.keys)
            #expect(try rig.wakeups() == before)
            let news = try #require(mailbox.take())
            #expect(news.lookups == found.lookups.keys && news.lookups?.count == 1)
            #expect(news.changed?.mapValues(\.count) == [bucket: 1])
            #expect(news.checkpoint == rig.publisher.current?.checkpoint)
            // From here on only that concerns it.
            try await rig.commit(in: [("members", [.insert(Self.member("x", "u8", "p"))])])
            #expect(mailbox.take() == nil)
        }
    }
}
