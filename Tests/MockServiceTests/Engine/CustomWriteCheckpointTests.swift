import PowerSyncPostgres
import PowerSyncPostgresValues
import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncServiceEngine

/// Write checkpoints that rows set: what a row says, when clients are told, and who wakes (service 7.9).
@Suite(.patient())
struct CustomWriteCheckpointTests {
    private static let events = """

        event_definitions:
          write_checkpoints: {payloads: ["SELECT user_id, checkpoint, client_id FROM checkpoints"]}

        """
    private static let tables = ["checkpoints": ["user_id", "checkpoint", "client_id"]]

    private static func row(_ user: String, _ id: String, _ client: String?) -> PgOutputTuple {
        [.text(user), .text(id), client.map { .text($0) } ?? .null]
    }

    private static func named(_ key: String, _ id: Int64) throws -> CustomWriteCheckpoint {
        try CustomWriteCheckpoint(user: ScalarValue(text: key), client: .null, id: .integer(id))
    }

    // MARK: What a row says

    /// Evaluates changes of a table whose payload is a query.
    private static func evaluated(
        _ payload: String, _ build: (inout BatchBuilder) -> Void
    ) async throws -> EvaluatedBatch {
        let config = """
            bucket_definitions: {none: {data: []}}
            event_definitions: {write_checkpoints: {payloads: ["\(payload)"]}}
            """
        let types = TypeCatalog(
            [(20, "int8"), (25, "text")].map { oid, name in
                var type = TypeCatalog.Entry(oid: UInt32(oid), name: name, kind: "b")
                type.isVariableLength = name == "text"
                return type
            })
        let columns = ["user_id", "client_id", "checkpoint"]
        let table = try await EvaluatedTable(
            try SyncPlan.compiled(config),
            TableDescription(
                oid: 9, schema: "public", name: "checkpoints",
                columns: columns.map {
                    SourceColumn(
                        name: $0, typeOID: $0 == "checkpoint" ? 20 : 25, isIdentity: $0 == "user_id")
                }), types)
        return table.evaluate { build(&$0) }
    }

    private static func texts(_ texts: [String?]) -> PgOutputTuple {
        texts.map { $0.map { PgOutputValue.text($0) } ?? .null }
    }

    private static let plain = "SELECT user_id, checkpoint, client_id FROM checkpoints"
    private static let rows: [(payload: String, row: [String?], expected: String?)] = [
        (plain, ["u", "c", "5"], "u/c 5"),
        (plain, ["u", nil, "9223372036854775807"], "u 9223372036854775807"),
        (plain, ["u", "", "1"], "u 1"),
        // No user reaches the key of another.
        (plain, ["a/b", "c", "1"], "a%2Fb/c 1"),
        ("SELECT * FROM checkpoints", ["u", "c", "5"], "u/c 5"),
        ("SELECT *, 'x' AS user_id FROM checkpoints", ["u", "c", "5"], "x/c 5"),
        ("SELECT NULL AS user_id, 'd' AS client_id, * FROM checkpoints", ["u", "c", "5"], "u/d 5"),
        ("SELECT user_id, checkpoint || '0' AS checkpoint FROM checkpoints", ["u", "c", "5"], "u 50"),
        ("SELECT 12 AS user_id, checkpoint FROM checkpoints", ["u", "c", "5"], "12 5"),
        ("\(plain) WHERE checkpoint > 5", ["u", "c", "5"], nil),
    ]

    @Test(arguments: rows.indices) func aRowSetsTheIDOfItsClient(_ index: Int) async throws {
        let (payload, row, expected) = Self.rows[index]
        let batch = try await Self.evaluated(payload) { $0.add(.insert, new: Self.texts(row)) }
        let found = batch.writeCheckpoints.map { "\($0.key.text) \($0.id)" }
        #expect(found == (expected.map { [$0] } ?? []))
        #expect(batch.warnings.counts.isEmpty && !batch.rows[0].isStored)
    }

    private static let wrong: [(String, [String?])] = [
        (plain, [nil, "c", "5"]), (plain, ["", "c", "5"]), (plain, ["u", "c", nil]),
        (plain, ["u", "c", "0"]), (plain, ["u", "c", "-1"]),
        ("SELECT user_id FROM checkpoints", ["u", "c", "5"]),
        ("SELECT user_id, client_id AS checkpoint FROM checkpoints", ["u", "c", "5"]),
        ("SELECT user_id, checkpoint / 2.0 AS checkpoint FROM checkpoints", ["u", "c", "5"]),
    ]

    @Test(arguments: wrong) func aRowWithoutAnIDIsSaidAndSetsNothing(
        _ payload: String, _ row: [String?]
    ) async throws {
        let batch = try await Self.evaluated(payload) { builder in
            for _ in 0..<2 { builder.add(.insert, new: Self.texts(row)) }
        }
        #expect(batch.writeCheckpoints.isEmpty)
        #expect(batch.warnings.counts.values.map { $0 } == [2])
        let text = batch.warnings.counts.keys.first
        #expect(text?.hasPrefix("A row of public.checkpoints sets no write checkpoint: ") == true)
    }

    @Test func allButADeleteSetIt() async throws {
        let row = Self.texts(["u", "c", "5"])
        let batch = try await Self.evaluated(Self.plain) { builder in
            for kind in [ChangeBatch.Change.Kind.snapshot, .insert, .readAgain, .update] {
                builder.add(kind, new: row)
            }
            builder.add(.delete, old: row)
        }
        #expect(batch.rows.map(\.writeCheckpoints.count) == [1, 1, 1, 1, 0])
        #expect(batch.writeCheckpoints.count == 4 && batch.waiting.isEmpty)
    }

    @Test func aValueThatWasLeftOutIsWaitedFor() async throws {
        let row: PgOutputTuple = [.text("u"), .unchangedToast, .text("5")]
        let batch = try await Self.evaluated(Self.plain) { $0.add(.update, new: row) }
        #expect(batch.waiting == [0] && batch.writeCheckpoints.isEmpty)
        let without = try await Self.evaluated("SELECT user_id, checkpoint FROM checkpoints") {
            $0.add(.update, new: row)
        }
        #expect(without.waiting.isEmpty && without.writeCheckpoints.map(\.key) == [ExactText("u")])
    }

    // MARK: When it is visible

    /// An id for each owner.
    private static let ofRows =
        StoreFixture.config + """

            event_definitions:
              write_checkpoints: {payloads: ["SELECT owner AS user_id, big AS checkpoint FROM t"]}
            """

    /// What a client of a user is told at the newest checkpoint.
    private static func told(_ fixture: StoreFixture, _ user: String = "u1") async throws -> Int64? {
        let view = try await fixture.store.view(
            of: [], stream: fixture.stream.number, key: user, isCustom: true)
        return view.writeCheckpoint?.reached(at: view.checkpoint.lsn)
    }

    @Test func anIDIsToldFromTheCommitOfItsRowOnAndDoesNotGoBack() async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await StoreFixture(path: path, Self.ofRows)
            func insert(_ id: String, _ number: String, commit: UInt64?) async throws {
                _ = try await fixture.apply(
                    [.insert(StoreFixture.row(id, "u1", .text(number)))], commit: commit)
            }
            try await insert("a", "5", commit: nil)
            #expect(try await Self.told(fixture) == nil)
            _ = try await fixture.apply([], commit: 10)
            #expect(try await Self.told(fixture) == 5)
            // Of many that nobody has seen yet one version is kept beside the one that is seen.
            for number in 6...9 { try await insert("b\(number)", "\(number)", commit: nil) }
            #expect(try await Self.told(fixture) == 5)
            #expect(try await fixture.count("custom_write_checkpoint") == 2)
            _ = try await fixture.apply([], commit: 20)
            #expect(try await Self.told(fixture) == 9)
            _ = try await fixture.apply(
                [
                    .update(old: nil, new: StoreFixture.row("a", "u1", .text("8"))),
                    .delete(StoreFixture.row("b9", "u1")),
                ], commit: 30)
            #expect(try await Self.told(fixture) == 9)
            #expect(try await Self.told(fixture, "u2") == nil)
            try await fixture.close()
            let again = try await StoreFixture(path: path, Self.ofRows)
            #expect(try await Self.told(again) == 9)
            try await again.close()
        }
    }

    /// In one group a commit is visible and what lies behind it is not.
    @Test func whatLiesBehindTheLastCommitIsNotTold() async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await StoreFixture(path: path, Self.ofRows)
            func insert(_ id: String, _ number: String) -> ReplicationEvent {
                .change(fixture.table, .insert(StoreFixture.row(id, "u1", .text(number))))
            }
            try await fixture.store.apply(
                [insert("a", "1"), .committed(LSN(rawValue: 10)), insert("b", "2"), insert("c", "3")],
                fixture.context)
            #expect(try await Self.told(fixture) == 1)
            _ = try await fixture.apply([], commit: 20)
            #expect(try await Self.told(fixture) == 3)
            try await fixture.close()
        }
    }

    /// Rows that a snapshot reads are newer than the log: devices may wait for what they say.
    @Test func whatASnapshotReadsIsToldWithItsRows() async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await StoreFixture(path: path, Self.ofRows)
            let read = RowChange.snapshot(StoreFixture.row("a", "u1", .text("4")))
            let early = try await fixture.store.apply(
                [.change(fixture.table, read), .committed(LSN(rawValue: 10))], fixture.context, isAhead: true)
            #expect(early.checkpoint == nil)
            #expect(try await Self.told(fixture) == nil)
            try await fixture.store.holdCheckpoint(fixture.stream.number, until: LSN(rawValue: 20))
            _ = try await fixture.apply([], commit: 19)
            #expect(try await Self.told(fixture) == nil)
            _ = try await fixture.apply([], commit: 20)
            #expect(try await Self.told(fixture) == 4)
            try await fixture.close()
        }
    }

    // MARK: Who is told

    @Test func theDeviceThatWaitsWakesAndNobodyElse() async throws {
        try await SessionRig.run(SessionRig.configText + Self.events, others: Self.tables) { rig in
            let mine = try await rig.open(["u1"], key: "u1/c")
            let others = [
                try await rig.open(["u1"], key: "u1/d"), try await rig.open(["u1"], key: "u1"),
                try await rig.open(["u1"], key: "u2/c"),
            ]
            try await rig.rest()
            let lines = others.map(\.sink.texts.count)
            let before = try rig.wakeups()
            try await rig.commit(in: [("checkpoints", [.insert(Self.row("u1", "7", "c"))])])
            try await rig.rest()
            #expect(mine.sink.model.writeCheckpoint == 7 && mine.sink.model.isComplete)
            // What the service gives in this mode is told nobody, nor does an id go back.
            #expect(try await rig.takeWriteCheckpoint("u1/c", at: rig.position(behind: 10)) == 1)
            #expect(rig.publisher.pendingHeads == 0)
            try await rig.commit(in: [
                ("checkpoints", [.update(old: nil, new: Self.row("u1", "6", "c"))])
            ])
            try await rig.commit(in: [("checkpoints", [.delete(Self.row("u1", "6", "c"))])])
            try await rig.rest()
            #expect(mine.sink.model.writeCheckpoint == 7)
            #expect(try rig.wakeups() == before + 1)
            #expect(others.map(\.sink.texts.count) == lines)
            // A stream that opens finds it.
            let later = try await rig.open(["u1"], key: "u1/c")
            try await rig.rest()
            #expect(later.sink.model.writeCheckpoint == 7)
        }
    }

    /// One stream has its buckets at hand, the other finds them by lookups.
    @Test(arguments: [false, true])
    func rowsAndIDOfATransactionAreOneCheckpoint(_ hasLookups: Bool) async throws {
        let text = hasLookups ? SessionLookupsTests.config : SessionRig.configText
        let tables = SessionLookupsTests.tables.merging(Self.tables) { first, _ in first }
        try await SessionRig.run(text + Self.events, others: tables) { rig in
            let loop = try hasLookups ? rig.attach(user: "u1") : rig.attach(["u1"], key: "u1")
            let stream = try await rig.serve(loop)
            try await rig.rest()
            let lines = stream.sink.texts.count
            try await rig.commit(in: [
                ("members", [.insert(SessionLookupsTests.member("m", "u1", "p"))]),
                ("t", [.insert(SessionRig.row("a", hasLookups ? "p" : "u1"))]),
                ("checkpoints", [.insert(Self.row("u1", "3", nil))]),
            ])
            try await rig.rest()
            #expect(stream.sink.model.writeCheckpoint == 3 && stream.sink.model.rowNames == ["t/a"])
            let diffs = stream.sink.texts[lines...].filter { $0.hasPrefix(#"{"checkpoint_diff""#) }
            #expect(diffs.count == 1)
        }
    }

    // MARK: The publisher

    private static func plan() throws -> SyncPlan { try SyncPlan.compiled(SessionRig.configText + events) }

    private static func commit(
        _ plan: SyncPlan, _ lsn: UInt64, _ set: SetWriteCheckpoints = SetWriteCheckpoints()
    ) -> DurableCommit {
        DurableCommit(
            served: ServedPlan(stream: 1, plan: plan),
            checkpoint: StoredCheckpoint(operation: Int64(lsn), lsn: LSN(rawValue: lsn)),
            changed: ChangedBuckets(), lookups: ChangedLookups(), writeCheckpoints: set)
    }

    @Test func whatIsHeldBackIsToldWithTheNextCheckpoint() throws {
        let (plan, publisher) = (try Self.plan(), Publisher())
        publisher.publish(Self.commit(plan, 10))
        let mailboxes = ["u", "v"].map { Mailbox(buckets: [], key: ExactText($0)) }
        let attachments = try mailboxes.map { try #require(try publisher.attach($0, to: 1)) }
        #expect(!publisher.mayServe(2, from: StoredCheckpoint(operation: 9, lsn: LSN(rawValue: 9))))
        var set = SetWriteCheckpoints()
        set.insert(try Self.named("u", 3))
        publisher.publish(Self.commit(plan, 11, set), maySwitch: false)
        publisher.abandonSwitch()
        #expect(mailboxes.allSatisfy { $0.take() == nil })
        let position = StoredCheckpoint(operation: 10, lsn: LSN(rawValue: 30))
        #expect(!publisher.advance(to: position, ServedPlan(stream: 1, plan: plan)))
        publisher.publish(Self.commit(plan, 12), maySwitch: false)
        #expect(mailboxes[0].take()?.writeCheckpoint == 3 && mailboxes[1].take() == nil)
        withExtendedLifetime(attachments) {}
    }

    /// Where it is not known which were set, everybody looks at the disk.
    @Test func tooManyToSayAreReadByEverybody() throws {
        var set = SetWriteCheckpoints(limit: 2)
        for number in 1...2 { set.insert(try Self.named("u\(number)", 5)) }
        #expect(set.known?.count == 2)
        set.insert(try Self.named("u3", 5))
        #expect(set.known == nil && !set.isEmpty)
        let (plan, publisher) = (try Self.plan(), Publisher())
        publisher.publish(Self.commit(plan, 10))
        let mailbox = Mailbox(buckets: [], key: ExactText("v"))
        let attachment = try #require(try publisher.attach(mailbox, to: 1))
        publisher.publish(Self.commit(plan, 11, set))
        let news = try #require(mailbox.take())
        #expect(news.changed == nil)
        withExtendedLifetime(attachment) {}
    }
}
