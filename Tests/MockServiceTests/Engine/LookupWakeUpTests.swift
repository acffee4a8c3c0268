import PowerSyncPostgres
import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncMockService

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

    /// Each change of a key wakes the three streams that have read it, and nobody else.
    @Test func eachChangeWakesThree() async throws {
        try await Self.run { rig in
            var streams: [SessionRig.Stream] = []
            for number in 0..<300 {
                streams.append(try await rig.serve(rig.attach(user: "u\(number / 3)")))
            }
            try await rig.rest()
            let lines = streams.map(\.sink.texts.count)
            let before = try rig.wakeups()
            for number in 0..<50 {
                try await rig.commit(in: [
                    ("members", [.insert(Self.member("m\(number)", "u\(number)", "p"))])
                ])
                try await rig.rest()
                #expect(try rig.wakeups() == before + 3 * (number + 1))
            }
            for (number, stream) in streams.enumerated() {
                let isMember = number < 150
                #expect((stream.sink.model.listed[Self.bucket("p", rig)] != nil) == isMember)
                // The difference, and that it is complete.
                #expect(stream.sink.texts.count == lines[number] + (isMember ? 2 : 0))
            }
            // Now that a bucket came of it, its operations wake whoever holds it.
            try await rig.commit([.insert(SessionRig.row("a", "p"))])
            #expect(try rig.wakeups() == before + 300)
            try await rig.rest()
            #expect(streams[0].sink.model.rowNames == ["t/a"])
            #expect(streams[299].sink.model.rowNames == [])
            #expect(streams.allSatisfy { $0.sink.model.broken.isEmpty })
        }
    }

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
