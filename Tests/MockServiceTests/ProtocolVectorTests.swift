import PowerSyncHTTPClient
import PowerSyncMockService
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Reads a stream from one complete checkpoint to the next.
private struct Reader {
    let stream: TestStream
    private var seen = 0

    init(_ stream: TestStream) { self.stream = stream }

    /// The lines up to the next complete checkpoint, without keepalives, in short.
    mutating func next(sourceLocation: SourceLocation = #_sourceLocation) async throws -> [String] {
        let (stream, seen) = (stream, seen)
        func isEnd(_ line: SyncLine) -> Bool { if case .checkpointComplete = line { true } else { false } }
        let lines = try await wait(for: "a complete checkpoint", sourceLocation: sourceLocation) {
            Array(stream.lines.dropFirst(seen))
        } until: {
            $0.contains(where: isEnd)
        }
        let end = (lines.firstIndex(where: isEnd) ?? 0) + 1
        self.seen += end
        #expect(stream.model.broken == [], sourceLocation: sourceLocation)
        return lines.prefix(end).compactMap(Self.short)
    }

    /// The lines of the stream's beginning, of which the first is a checkpoint.
    var checkpoint: Checkpoint? {
        if case .checkpoint(let checkpoint)? = stream.lines.first { checkpoint } else { nil }
    }

    /// How a bucket is listed, by its name without the number before it.
    func listed(_ name: String) -> BucketChecksum? {
        stream.model.listed.values.first { Self.short($0.bucket) == name }
    }

    /// A name without the number of the replication stream.
    static func short(_ name: String) -> String {
        name.firstIndex(of: "#").map { String(name[name.index(after: $0)...]) } ?? name
    }

    /// `cp`, `diff` with write checkpoint, buckets and their counts, `D` with a bucket and its operations, `pcc`, `cc`.
    private static func short(_ line: SyncLine) -> String? {
        func listed(_ buckets: [BucketChecksum]) -> [String] {
            buckets.map { "\(short($0.bucket)):\($0.count ?? -1)" }.sorted()
        }
        func words(_ name: String, _ id: Int64?, _ buckets: [String]) -> String {
            let told = id.map { "\(name) w\($0)" } ?? name
            return ([told] + buckets).joined(separator: " ")
        }
        switch line {
        case .checkpoint(let checkpoint):
            return words("cp", checkpoint.writeCheckpoint, listed(checkpoint.buckets))
        case .checkpointDiff(let diff):
            let removed = diff.removedBuckets.map { "-" + short($0) }.sorted()
            return words("diff", diff.writeCheckpoint, listed(diff.updatedBuckets) + removed)
        case .data(let data):
            let rows = data.operations.map { ($0.kind == .put ? "+" : "-") + ($0.objectID ?? "") }
            let told = rows.count > 9 ? ["\(rows.count) operations"] : rows
            let bucket = short(data.bucket) + (data.after == 0 ? " from 0" : "")
            return (["D", bucket] + told + (data.hasMore ? ["…"] : [])).joined(separator: " ")
        case .partialCheckpointComplete(_, let priority): return "pcc \(priority)"
        case .checkpointComplete: return "cc"
        case .tokenExpiresIn: return nil
        case .unknown(let key): return key
        }
    }
}

/// Service 9.2 through the whole service, named by its numbers; P14, P15 and P26 are in `StreamSessionTests`.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct ProtocolVectorTests {
    // MARK: What they share

    private static let schema = [
        "CREATE TABLE lists(id text PRIMARY KEY, owner_id text, name text)",
        "CREATE TABLE todos(id text PRIMARY KEY, list_id text)",
        "CREATE TABLE items(id text PRIMARY KEY, org text)", "CREATE TABLE other(id text PRIMARY KEY)",
        "CREATE TABLE members(id text PRIMARY KEY, user_id text, org text)",
        "CREATE TABLE test(id text PRIMARY KEY, description text)",
        "INSERT INTO lists VALUES ('l1', 'u1', 'Groceries'), ('l2', 'u2', 'Work'), ('l3', 'u1', 'Empty')",
        "INSERT INTO todos VALUES ('t1', 'l1'), ('t2', 'l1'), ('t3', 'l2')",
    ]

    /// Streams of edition 3: name, flags before the query, and the query.
    private static func streams(_ streams: [(String, String, String)]) -> String {
        let lines = streams.map { name, flags, query in
            "  \(name):\n    \(flags)\n    query: |\n      \(query)\n"
        }
        return "config: {edition: 3}\nstreams:\n" + lines.joined()
    }

    private static let isDefault = "auto_subscribe: true"

    /// The flags of a default stream with a priority.
    private static func defaultOf(_ priority: Int) -> String { "\(isDefault)\n    priority: \(priority)" }

    /// A definition without parameters.
    private static let mybucket = "bucket_definitions: {mybucket: {data: [SELECT * FROM test]}}"

    private static let mine = "SELECT * FROM lists WHERE owner_id = auth.user_id()"
    private static let ofMine =
        "SELECT * FROM todos WHERE list_id IN (SELECT id FROM lists WHERE owner_id = auth.user_id())"
    private static let owned = streams([("lists", isDefault, mine), ("todos", isDefault, ofMine)])

    /// A bucket for each organisation that a member has.
    private static let byOrg = """
        bucket_definitions:
          by_org:
            parameters: SELECT org FROM members WHERE user_id = request.user_id()
            data: [SELECT * FROM items WHERE org = bucket.org]
        """

    /// P20, of edition 2.
    private static func assets(_ flags: String) -> String {
        """
        config: {edition: 2}
        streams:
          stream:
            auto_subscribe: \(flags)
            query: SELECT * FROM items WHERE id IN ifnull(subscription.parameter('ids'), '["default"]')
        """
    }

    private static func run(_ config: String, _ body: (TestService) async throws -> Void) async throws {
        try await TestService.run(schema) { service in
            try await service.start(config)
            try await body(service)
        }
    }

    private static func subscription(
        _ stream: String, _ parameters: [(String, JSON)]?, _ priority: Int? = nil
    ) -> StreamSubscription {
        StreamSubscription(
            stream: stream,
            parameters: parameters.map { JSON.object($0.map { JSONMember($0.0, $0.1) }) },
            overridePriority: priority)
    }

    private static func request(
        _ subscriptions: [StreamSubscription], includeDefaults: Bool = true
    ) -> SyncStreamRequest {
        SyncStreamRequest(
            streams: StreamSubscriptions(includeDefaults: includeDefaults, subscriptions: subscriptions))
    }

    private static func claims(_ name: String, _ value: JSON) -> JSON { .object([JSONMember(name, value)]) }

    // MARK: Lines

    @Test func p1TwoRowsOfABucket() async throws {
        try await Self.run(Self.mybucket) { service in
            try await service.tx("INSERT INTO test VALUES ('t1', 'Test 1'), ('t2', 'Test 2')")
            try await service.served(until: 2)
            var reader = Reader(try await service.open())
            #expect(try await reader.next() == ["cp mybucket[]:2", "D mybucket[] from 0 +t1 +t2", "cc"])
            let bucket = reader.listed("mybucket[]")
            #expect(bucket?.checksum == Checksum(signed: -93_886_621) && bucket?.priority == 3)
            #expect(bucket?.subscriptions == [.defaultStream(0)])
            #expect(reader.checkpoint?.streams == [StreamDescription(name: "mybucket", isDefault: true)])
        }
    }

    @Test func p2AnEmptyBucket() async throws {
        try await Self.run(Self.mybucket) { service in
            var reader = Reader(try await service.open())
            #expect(try await reader.next() == ["cp mybucket[]:0", "cc"])
            #expect(reader.listed("mybucket[]")?.checksum == .zero)
        }
    }

    @Test func p3RowsThatCome() async throws {
        try await Self.run(Self.mybucket) { service in
            var reader = Reader(try await service.open())
            _ = try await reader.next()
            try await service.tx("INSERT INTO test VALUES ('t1', 'Test 1')")
            #expect(try await reader.next() == ["diff mybucket[]:1", "D mybucket[] from 0 +t1", "cc"])
            #expect(reader.listed("mybucket[]")?.checksum == Checksum(920_318_466))
            try await service.tx("INSERT INTO test VALUES ('t2', 'Test 2')")
            #expect(try await reader.next() == ["diff mybucket[]:2", "D mybucket[] +t2", "cc"])
            #expect(reader.listed("mybucket[]")?.checksum == Checksum(signed: -93_886_621))
        }
    }

    @Test func p4PrioritiesAreCompletedButTheLast() async throws {
        let config = """
            bucket_definitions:
              b0: {priority: 2, data: ["SELECT * FROM lists WHERE id = 'l1'"]}
              b1: {priority: 1, data: ["SELECT * FROM lists WHERE id = 'l2'"]}
            """
        try await Self.run(config) { service in
            var reader = Reader(try await service.open())
            #expect(
                try await reader.next()
                    == ["cp b0[]:1 b1[]:1", "D b1[] from 0 +l2", "pcc 1", "D b0[] from 0 +l1", "cc"])
        }
    }

    @Test func p5ABucketHasThePriorityOfItsMostUrgentSubscription() async throws {
        let config = Self.streams([
            (
                "todos", "auto_subscribe: false",
                "SELECT * FROM todos WHERE id IN subscription.parameter('ids')"
            )
        ])
        func ids(_ ids: [String], _ priority: Int?) -> StreamSubscription {
            Self.subscription("todos", [("ids", .array(ids.map { .string($0) }))], priority)
        }
        try await Self.run(config) { service in
            var reader = Reader(
                try await service.open(Self.request([ids(["t1"], 0), ids(["t1", "t2"], nil)])))
            #expect(
                try await reader.next() == [
                    #"cp todos|0["t1"]:1 todos|0["t2"]:1"#, #"D todos|0["t1"] from 0 +t1"#, "pcc 0",
                    #"D todos|0["t2"] from 0 +t2"#, "cc",
                ])
            let (both, one) = (reader.listed(#"todos|0["t1"]"#), reader.listed(#"todos|0["t2"]"#))
            #expect(both?.priority == 0 && both?.subscriptions == [.subscription(0), .subscription(1)])
            #expect(one?.priority == 3 && one?.subscriptions == [.subscription(1)])
        }
    }

    @Test func p6AWriteCheckpointAloneIsTold() async throws {
        try await Self.run(Self.mybucket) { service in
            var reader = Reader(try await service.open(SyncStreamRequest(clientID: "c")))
            _ = try await reader.next()
            let id = reader.stream.model.lastOpID
            #expect(try await service.writeCheckpoint(client: "c") == 1)
            #expect(try await reader.next() == ["diff w1", "cc"])
            #expect(reader.stream.model.lastOpID == id)
        }
    }

    /// What comes behind shows that nothing came before it.
    @Test func p7APositionAloneIsNotTold() async throws {
        try await Self.run(Self.mybucket) { service in
            var reader = Reader(try await service.open())
            _ = try await reader.next()
            try await service.tx("INSERT INTO other VALUES ('o')")
            try await service.tx("INSERT INTO test VALUES ('t1', 'Test 1')")
            #expect(try await reader.next() == ["diff mybucket[]:1", "D mybucket[] from 0 +t1", "cc"])
        }
    }

    @Test func p8ABucketComesOfALookup() async throws {
        try await Self.run(Self.byOrg) { service in
            var reader = Reader(try await service.open())
            #expect(try await reader.next() == ["cp", "cc"])
            try await service.tx("INSERT INTO members VALUES ('m', 'u1', 'o1')")
            #expect(try await reader.next() == [#"diff by_org["o1"]:0"#, "cc"])
        }
    }

    @Test func p9ALookupHasAnOperationOfItsOwn() async throws {
        try await Self.run(Self.byOrg) { service in
            var reader = Reader(try await service.open())
            _ = try await reader.next()
            try await service.tx(
                "INSERT INTO items VALUES ('i', 'o1')", "INSERT INTO members VALUES ('m', 'u1', 'o1')")
            #expect(
                try await reader.next() == [#"diff by_org["o1"]:1"#, #"D by_org["o1"] from 0 +i"#, "cc"])
            let last = try #require(reader.stream.model.positions.first?.after)
            #expect(reader.stream.model.lastOpID > last)
        }
    }

    private static let token = JSON.object([
        JSONMember("iat", .integer(1_700_000_000)), JSONMember("exp", .integer(1_700_000_060)),
    ])

    @Test func p10ATokenThatHasExpiredEndsTheStream() async throws {
        try await TestService.run(Self.schema) { service in
            let clock = ManualClock(1_700_000_090)
            try await service.start(Self.mybucket, clock: clock.clock)
            let stream = try await service.open(claims: Self.token)
            try await stream.waitForEnd()
            #expect(stream.end == .clean && stream.lines == [.tokenExpiresIn(0)])
        }
    }

    @Test func p11ATokenThatExpiresEndsTheStream() async throws {
        try await TestService.run(Self.schema) { service in
            let clock = ManualClock(1_700_000_050)
            try await service.start(Self.mybucket, clock: clock.clock)
            let stream = try await service.open(claims: Self.token)
            try await stream.holds("the empty bucket")
            try await clock.advance(to: 1_700_000_060, whenWaitedFor: 1_700_000_060)
            try await stream.waitForEnd()
            #expect(stream.end == .clean && stream.lines.last == .tokenExpiresIn(0))
            #expect(stream.lines.contains { if case .checkpointComplete = $0 { true } else { false } })
        }
    }

    @Test func p12WithoutRawDataNumbersKeepTheirDigits() async throws {
        let config = """
            bucket_definitions:
              mybucket:
                data: ["SELECT id, description, CAST('12345678901234567890' AS numeric) AS large_num FROM test"]
            """
        try await Self.run(config) { service in
            try await service.tx("INSERT INTO test VALUES ('t1', E'Test\\n\"string\"')")
            try await service.served(until: 1)
            let stream = try await service.open(SyncStreamRequest(rawData: false))
            try await wait(for: "the row") {
                stream.texts.contains { $0.hasPrefix("{\"checkpoint_complete\"") }
            }
            let line = try #require(stream.texts.first { $0.hasPrefix("{\"data\"") })
            let data =
                #""data":{"id":"t1","description":"Test\n\"string\"","large_num":12345678901234567890}"#
            #expect(line.contains(data), "\(line)")
            #expect(stream.model.listed.values.map(\.checksum) == [Checksum(3_442_149_460)])
        }
    }

    @Test func p16AStreamGoesOnBehindThePositionOfItsClient() async throws {
        try await Self.run(Self.mybucket) { service in
            let first = try await service.open()
            try await service.tx("INSERT INTO test VALUES ('a', ''), ('b', ''), ('c', '')")
            let held = try await first.holds(["test/a", "test/b", "test/c"])
            try await service.tx("INSERT INTO test VALUES ('d', ''), ('e', '')")
            try await first.holds(["test/a", "test/b", "test/c", "test/d", "test/e"])
            var reader = Reader(try await service.open(SyncStreamRequest(buckets: held.positions)))
            #expect(try await reader.next() == ["cp mybucket[]:5", "D mybucket[] +d +e", "cc"])
        }
    }

    @Test func p17AnUnknownBucketIsNotMentioned() async throws {
        try await Self.run(Self.mybucket) { service in
            let request = SyncStreamRequest(buckets: [BucketRequest(name: "1#nobody[]", after: 7)])
            var reader = Reader(try await service.open(request))
            #expect(try await reader.next() == ["cp mybucket[]:0", "cc"])
            #expect(!reader.stream.texts.joined().contains("nobody"))
        }
    }

    @Test func p18ABucketGoesWithItsLookup() async throws {
        try await Self.run(Self.byOrg) { service in
            var reader = Reader(try await service.open())
            _ = try await reader.next()
            try await service.tx("INSERT INTO members VALUES ('m', 'u1', 'o1')")
            _ = try await reader.next()
            try await service.tx("DELETE FROM members")
            #expect(try await reader.next() == [#"diff -by_org["o1"]"#, "cc"])
        }
    }

    @Test func p19WithoutDefaultsThereIsNothing() async throws {
        try await Self.run(Self.owned) { service in
            var reader = Reader(try await service.open(Self.request([], includeDefaults: false)))
            #expect(try await reader.next() == ["cp", "cc"])
            #expect(reader.checkpoint?.streams == [])
        }
    }

    // MARK: Subscriptions

    private static func ids(_ ids: String, _ priority: Int? = nil) -> StreamSubscription {
        subscription("stream", [("ids", .string(ids))], priority)
    }

    /// A bucket of P20 as it is expected.
    private struct Listed: Equatable {
        let priority: Int?
        let reasons: [SubscriptionReason]?
    }

    private static func listed(_ reader: Reader, _ id: String) -> Listed {
        let bucket = reader.listed("stream|0[\"\(id)\"]")
        return Listed(priority: bucket?.priority, reasons: bucket?.subscriptions)
    }

    @Test func p20ADefaultStreamHasNoParameters() async throws {
        try await Self.run(Self.assets("true")) { service in
            var reader = Reader(try await service.open())
            #expect(try await reader.next() == [#"cp stream|0["default"]:0"#, "cc"])
            #expect(Self.listed(reader, "default") == Listed(priority: 3, reasons: [.defaultStream(0)]))
        }
    }

    @Test func p21SubscriptionsStandBesideTheDefault() async throws {
        try await Self.run(Self.assets("true")) { service in
            let request = Self.request([Self.ids(#"["a"]"#), Self.ids(#"["b"]"#, 1)])
            var reader = Reader(try await service.open(request))
            _ = try await reader.next()
            #expect(reader.stream.model.listed.count == 3)
            #expect(Self.listed(reader, "a") == Listed(priority: 3, reasons: [.subscription(0)]))
            #expect(Self.listed(reader, "b") == Listed(priority: 1, reasons: [.subscription(1)]))
            #expect(Self.listed(reader, "default") == Listed(priority: 3, reasons: [.defaultStream(0)]))
        }
    }

    @Test func p22SubscriptionsThatOverlapShareABucket() async throws {
        try await Self.run(Self.assets("false")) { service in
            let request = Self.request([Self.ids(#"["a","b"]"#), Self.ids(#"["b"]"#, 1)])
            var reader = Reader(try await service.open(request))
            _ = try await reader.next()
            #expect(reader.stream.model.listed.count == 2)
            #expect(Self.listed(reader, "a") == Listed(priority: 3, reasons: [.subscription(0)]))
            let both: [SubscriptionReason] = [.subscription(0), .subscription(1)]
            #expect(Self.listed(reader, "b") == Listed(priority: 1, reasons: both))
            #expect(reader.checkpoint?.streams == [StreamDescription(name: "stream", isDefault: false)])
        }
    }

    @Test func p23ASubscriptionAndTheDefaultShareABucket() async throws {
        try await Self.run(Self.assets("true")) { service in
            let request = Self.request([Self.ids(#"["a","default"]"#, 1)])
            var reader = Reader(try await service.open(request))
            _ = try await reader.next()
            #expect(Self.listed(reader, "a") == Listed(priority: 1, reasons: [.subscription(0)]))
            let both: [SubscriptionReason] = [.subscription(0), .defaultStream(0)]
            #expect(Self.listed(reader, "default") == Listed(priority: 1, reasons: both))
        }
    }

    @Test func p24ASubscriptionThatCannotBeEvaluatedHasAnError() async throws {
        try await Self.run(Self.assets("true")) { service in
            let request = Self.request([Self.ids(#"["a"]"#), Self.ids("invalid json")])
            var reader = Reader(try await service.open(request))
            _ = try await reader.next()
            #expect(Self.listed(reader, "a") == Listed(priority: 3, reasons: [.subscription(0)]))
            #expect(Self.listed(reader, "default") == Listed(priority: 3, reasons: [.defaultStream(0)]))
            let errors = reader.checkpoint?.streams.first?.errors ?? []
            #expect(errors.map(\.subscription) == [1])
            #expect(errors.allSatisfy { $0.message.hasPrefix("Error evaluating bucket ids: ") })
        }
    }

    @Test func p25MoreBucketsThanAllowedAreRefusedByStream() async throws {
        let numbers = [("projects", "lists", 30), ("tasks", "todos", 20), ("comments", "items", 10)]
        let config = Self.streams(
            numbers.map { name, table, _ in
                (
                    name, "auto_subscribe: false",
                    "SELECT * FROM \(table) WHERE id = subscription.parameter('id')"
                )
            })
        let subscriptions = numbers.flatMap { name, _, count in
            (1...count).map { Self.subscription(name, [("id", .integer(Int64($0)))]) }
        }
        try await TestService.run(Self.schema) { service in
            try await service.start(config) { $0.maxBucketsPerConnection = 50 }
            var request = Self.request(subscriptions)
            request.parameters = .object([])
            let answer = try await service.send("POST", "/sync/stream", body: request.json.utf8)
            #expect(answer.status == 500)
            let error = try #require(try JSON.parse(answer.body)["error"])
            #expect(error["code"]?.stringValue == "PSYNC_S2305")
            #expect(error["description"]?.stringValue == "Too many buckets: 60 (limit of 50)")
            try await wait(for: "the log to say of what") {
                service.log.contains { line in
                    ["projects: 30", "tasks: 20", "comments: 10"].allSatisfy { line.contains($0) }
                }
            }
        }
    }

    // MARK: Limits of lines

    /// Rows of 600,000 characters, of which a line of a megabyte has one.
    @Test func p27ALineHasSoManyBytes() async throws {
        let config = """
            bucket_definitions:
              global1: {data: ["SELECT * FROM test WHERE id = 'a'"]}
              global2: {data: ["SELECT * FROM test WHERE id != 'a'"]}
            """
        try await Self.run(config) { service in
            try await service.tx(
                "INSERT INTO test SELECT id, repeat('x', 600000) FROM unnest(ARRAY['a', 'b', 'c', 'd']) AS id"
            )
            try await service.served(until: 4)
            var reader = Reader(try await service.open())
            #expect(
                try await reader.next() == [
                    "cp global1[]:1 global2[]:3", "D global1[] from 0 +a", "D global2[] from 0 +b …",
                    "D global2[] +c …", "D global2[] +d", "cc",
                ])
        }
    }

    /// Two rows that do not fit into one line, between small ones.
    @Test func p28LargeRowsAreInLinesOfTheirOwn() async throws {
        try await Self.run(Self.mybucket) { service in
            try await service.tx(
                """
                INSERT INTO test SELECT id, CASE WHEN id IN ('b', 'c') THEN repeat('x', 700000) ELSE '' END
                FROM unnest(ARRAY['a', 'b', 'c', 'd']) AS id
                """)
            try await service.served(until: 4)
            var reader = Reader(try await service.open())
            #expect(
                try await reader.next() == [
                    "cp mybucket[]:4", "D mybucket[] from 0 +a +b …", "D mybucket[] +c +d", "cc",
                ])
        }
    }

    // MARK: Requests

    @Test func p29WithoutStreamsThereAreTheDefaults() async throws {
        let config = Self.streams([
            ("lists", Self.isDefault, Self.mine), ("todos", "auto_subscribe: false", Self.ofMine),
        ])
        try await Self.run(config) { service in
            var reader = Reader(try await service.open(SyncStreamRequest()))
            #expect(
                try await reader.next() == [#"cp lists|0["u1"]:2"#, #"D lists|0["u1"] from 0 +l1 +l3"#, "cc"])
        }
    }

    @Test func p30AStreamThatIsUnknownIsPassedOver() async throws {
        try await Self.run(Self.mybucket) { service in
            var reader = Reader(try await service.open(Self.request([Self.subscription("nope", nil)])))
            #expect(try await reader.next() == ["cp mybucket[]:0", "cc"])
            #expect(reader.checkpoint?.streams.map(\.name) == ["mybucket"])
        }
    }

    // MARK: Lookups

    /// What a client of `owned` gets first.
    private static let first = [
        #"cp lists|0["u1"]:2 todos|0["l1"]:2 todos|0["l3"]:0"#, #"D lists|0["u1"] from 0 +l1 +l3"#,
        #"D todos|0["l1"] from 0 +t1 +t2"#, "cc",
    ]

    @Test func p31BucketsWithoutRowsAreListed() async throws {
        try await Self.run(Self.owned) { service in
            var reader = Reader(try await service.open())
            #expect(try await reader.next() == Self.first)
            var nobody = Reader(try await service.open(user: "nobody"))
            #expect(try await nobody.next() == [#"cp lists|0["nobody"]:0"#, "cc"])
            #expect(nobody.checkpoint?.streams.map(\.name) == ["lists", "todos"])
        }
    }

    @Test func p32AListComesAndGoes() async throws {
        try await Self.run(Self.owned) { service in
            var reader = Reader(try await service.open())
            _ = try await reader.next()
            try await service.tx("INSERT INTO lists VALUES ('l9', 'u1', 'New')")
            #expect(
                try await reader.next()
                    == [#"diff lists|0["u1"]:3 todos|0["l9"]:0"#, #"D lists|0["u1"] +l9"#, "cc"])
            try await service.tx("DELETE FROM lists WHERE id = 'l9'")
            #expect(
                try await reader.next()
                    == [#"diff lists|0["u1"]:4 -todos|0["l9"]"#, #"D lists|0["u1"] -l9"#, "cc"])
        }
    }

    private static let leaves = "UPDATE lists SET owner_id = 'u2' WHERE id = 'l1'"
    private static let returns = "UPDATE lists SET owner_id = 'u1' WHERE id = 'l1'"
    private static let left = [#"diff lists|0["u1"]:3 -todos|0["l1"]"#, #"D lists|0["u1"] -l1"#, "cc"]

    @Test func p33AListLeavesAndReturns() async throws {
        try await Self.run(Self.owned) { service in
            var reader = Reader(try await service.open())
            _ = try await reader.next()
            let checksum = reader.listed(#"todos|0["l1"]"#)?.checksum
            try await service.tx(Self.leaves)
            #expect(try await reader.next() == Self.left)
            try await service.tx(Self.returns)
            #expect(
                try await reader.next() == [
                    #"diff lists|0["u1"]:4 todos|0["l1"]:2"#, #"D lists|0["u1"] +l1"#,
                    #"D todos|0["l1"] from 0 +t1 +t2"#, "cc",
                ])
            #expect(checksum != nil && reader.listed(#"todos|0["l1"]"#)?.checksum == checksum)
        }
    }

    @Test func p34AParameterMayBeMissing() async throws {
        let config = Self.streams([
            (
                "list", "auto_subscribe: false",
                "SELECT * FROM lists WHERE id = subscription.parameter('list_id')"
            )
        ])
        try await Self.run(config) { service in
            let request = Self.request([
                Self.subscription("list", nil), Self.subscription("list", [("list_id", .integer(5))]),
            ])
            var reader = Reader(try await service.open(request))
            #expect(try await reader.next() == ["cp list|0[5]:0", "cc"])
            #expect(reader.listed("list|0[5]")?.subscriptions == [.subscription(1)])
            #expect(reader.checkpoint?.streams == [StreamDescription(name: "list", isDefault: false)])
        }
    }

    @Test func p35TheSameSubscriptionTwiceHasTheLowerPriority() async throws {
        let config = Self.streams([
            (
                "list", "auto_subscribe: false",
                "SELECT * FROM lists WHERE id = subscription.parameter('list_id')"
            )
        ])
        try await Self.run(config) { service in
            let parameters = [("list_id", JSON.string("l1"))]
            let request = Self.request([
                Self.subscription("list", parameters), Self.subscription("list", parameters, 0),
            ])
            var reader = Reader(try await service.open(request))
            #expect(
                try await reader.next() == [#"cp list|0["l1"]:1"#, #"D list|0["l1"] from 0 +l1"#, "cc"])
            let bucket = reader.listed(#"list|0["l1"]"#)
            #expect(bucket?.priority == 0 && bucket?.subscriptions == [.subscription(0), .subscription(1)])
        }
    }

    @Test func p36TwoValuesOfOneKeyAreTwoReasons() async throws {
        let config = Self.streams([
            (
                "todos", "auto_subscribe: false",
                "\(Self.ofMine) AND list_id = subscription.parameter('list_id')"
            )
        ])
        try await Self.run(config) { service in
            let request = Self.request([Self.subscription("todos", [("list_id", .string("l1"))])])
            var reader = Reader(try await service.open(request))
            _ = try await reader.next()
            #expect(
                reader.stream.model.listed.values.map(\.subscriptions)
                    == [[.subscription(0), .subscription(0)]])
            var other = Reader(try await service.open(user: "u2", request))
            #expect(try await other.next() == ["cp", "cc"])
        }
    }

    // MARK: Priorities

    @Test func p37OnlyPrioritiesThatChangedAreCompleted() async throws {
        let config = Self.streams([
            ("a", Self.defaultOf(0), "SELECT * FROM lists"),
            ("b", Self.defaultOf(1), "SELECT * FROM todos"),
            ("c", Self.defaultOf(2), "SELECT * FROM items"),
        ])
        try await Self.run(config) { service in
            var reader = Reader(try await service.open())
            _ = try await reader.next()
            try await service.tx("INSERT INTO items VALUES ('i1', 'o')")
            _ = try await reader.next()
            try await service.tx(
                "INSERT INTO lists VALUES ('l4', 'u1', '')", "INSERT INTO todos VALUES ('t4', 'l4')",
                "INSERT INTO items VALUES ('i2', 'o')")
            #expect(
                try await reader.next() == [
                    "diff a|0[]:4 b|0[]:4 c|0[]:2", "D a|0[] +l4", "pcc 0", "D b|0[] +t4", "pcc 1",
                    "D c|0[] +i2", "cc",
                ])
            try await service.tx("INSERT INTO items VALUES ('i3', 'o')")
            #expect(try await reader.next() == ["diff c|0[]:3", "D c|0[] +i3", "cc"])
        }
    }

    /// The write checkpoint comes with the row, or behind it (1.8).
    @Test func p38AWriteCheckpointIsToldWithTheRow() async throws {
        try await Self.run(Self.mybucket) { service in
            var reader = Reader(try await service.open(SyncStreamRequest(clientID: "c")))
            _ = try await reader.next()
            try await service.tx("INSERT INTO test VALUES ('t1', '')")
            #expect(try await service.writeCheckpoint(client: "c") == 1)
            var lines = try await reader.next()
            if lines[0] != "diff w1 mybucket[]:1" {
                #expect(lines == ["diff mybucket[]:1", "D mybucket[] from 0 +t1", "cc"])
                lines = try await reader.next()
                #expect(lines == ["diff w1", "cc"])
            } else {
                #expect(lines == ["diff w1 mybucket[]:1", "D mybucket[] from 0 +t1", "cc"])
            }
        }
    }

    @Test func p39AnEmptyBucketKeepsItsPriorityWaiting() async throws {
        let config = Self.streams([
            ("urgent", Self.defaultOf(0), "SELECT id, name FROM lists WHERE name = 'Groceries'"),
            ("lists", Self.defaultOf(1), Self.mine),
            ("todos", Self.defaultOf(2), Self.ofMine),
        ])
        try await Self.run(config) { service in
            var reader = Reader(try await service.open())
            _ = try await reader.next()
            try await service.tx(Self.leaves)
            #expect(
                try await reader.next() == [
                    #"diff lists|0["u1"]:3 urgent|0[]:2 -todos|0["l1"]"#, "D urgent|0[] +l1", "pcc 0",
                    #"D lists|0["u1"] -l1"#, "pcc 1", "cc",
                ])
        }
    }

    @Test func p40AWriteCheckpointCompletesWhatWaits() async throws {
        let config = Self.streams([
            ("a", Self.defaultOf(0), "SELECT * FROM other"),
            ("b", Self.defaultOf(1), "SELECT * FROM lists"),
            ("c", Self.defaultOf(3), "SELECT * FROM items"),
        ])
        try await Self.run(config) { service in
            var reader = Reader(try await service.open(SyncStreamRequest(clientID: "c")))
            _ = try await reader.next()
            #expect(try await service.writeCheckpoint(client: "c") == 1)
            #expect(try await reader.next() == ["diff w1", "pcc 0", "cc"])
        }
    }

    @Test func p41WhatIsUpToDateIsCompleted() async throws {
        let config = Self.streams([
            ("a", Self.defaultOf(1), "SELECT * FROM lists"),
            ("b", Self.defaultOf(2), "SELECT * FROM other"),
            ("c", Self.defaultOf(3), "SELECT * FROM items"),
        ])
        try await Self.run(config) { service in
            let held = try await service.open().holds("the rows")
            var reader = Reader(try await service.open(SyncStreamRequest(buckets: held.positions)))
            #expect(try await reader.next() == ["cp a|0[]:3 b|0[]:0 c|0[]:0", "pcc 1", "pcc 2", "cc"])
        }
    }

    // MARK: One bucket, several ways

    @Test func p42ABucketOfTwoQueriesIsSentOnce() async throws {
        let config = """
            bucket_definitions:
              zero: {data: [SELECT * FROM other]}
              one: {data: [SELECT * FROM other]}
              two:
                parameters:
                  - SELECT request.jwt() ->> 'org' AS org
                  - SELECT org FROM members WHERE user_id = request.user_id()
                data: [SELECT * FROM items WHERE org = bucket.org]
            """
        try await Self.run(config) { service in
            try await service.tx(
                "INSERT INTO items VALUES ('i', 'o1')", "INSERT INTO members VALUES ('m', 'u1', 'o1')")
            try await service.served(until: 1, claims: Self.claims("org", .string("o1")))
            var reader = Reader(try await service.open(claims: Self.claims("org", .string("o1"))))
            #expect(
                try await reader.next()
                    == [#"cp one[]:0 two["o1"]:1 zero[]:0"#, #"D two["o1"] from 0 +i"#, "cc"])
            #expect(reader.listed(#"two["o1"]"#)?.subscriptions == [.defaultStream(2)])
        }
    }

    @Test func p43AnotherWayIsToldWithTheNextContent() async throws {
        let items = "SELECT * FROM items WHERE"
        let config = Self.streams([
            (
                "s0", Self.defaultOf(1),
                "\(items) org IN (SELECT org FROM members WHERE user_id = auth.user_id())"
            ),
            ("s1", Self.isDefault, "SELECT * FROM other"),
            ("s2", Self.isDefault, "\(items) org = auth.parameter('org')"),
        ])
        try await Self.run(config) { service in
            var reader = Reader(try await service.open(claims: Self.claims("org", .string("o1"))))
            #expect(try await reader.next() == [#"cp s0|0["o1"]:0 s1|0[]:0"#, "cc"])
            #expect(reader.listed(#"s0|0["o1"]"#)?.priority == 3)
            try await service.tx("INSERT INTO members VALUES ('m', 'u1', 'o1')")
            try await service.tx("INSERT INTO items VALUES ('i', 'o1')")
            let lines = try await reader.next()
            #expect(lines.first == #"diff s0|0["o1"]:1"#)
            let bucket = reader.listed(#"s0|0["o1"]"#)
            #expect(bucket?.priority == 1 && bucket?.subscriptions == [.defaultStream(0)])
        }
    }

    @Test func p44StreamsThatShareABucketAreItsReasons() async throws {
        let items = "SELECT * FROM items WHERE"
        let config = Self.streams([
            (
                "s0", "auto_subscribe: false",
                "\(items) org = subscription.parameter('a') OR org = subscription.parameter('b')"
            ),
            ("s1", Self.isDefault, "SELECT * FROM other"),
            ("s2", Self.isDefault, "\(items) org = auth.parameter('org')"),
        ])
        try await Self.run(config) { service in
            let request = Self.request([
                Self.subscription("s0", [("a", .string("b")), ("b", .string("b"))])
            ])
            var reader = Reader(try await service.open(claims: Self.claims("org", .string("b")), request))
            #expect(try await reader.next() == [#"cp s0|0["b"]:0 s1|0[]:0"#, "cc"])
            #expect(
                reader.listed(#"s0|0["b"]"#)?.subscriptions
                    == [.subscription(0), .subscription(0), .defaultStream(0)])
        }
    }

    @Test func p45ABucketThatReturnsHasWhatCameMeanwhile() async throws {
        try await Self.run(Self.owned) { service in
            var reader = Reader(try await service.open())
            _ = try await reader.next()
            let held = reader.stream.model.positions
            try await service.tx(Self.leaves)
            #expect(try await reader.next() == Self.left)
            var again = Reader(try await service.open(SyncStreamRequest(buckets: held)))
            _ = try await again.next()
            try await service.tx("INSERT INTO todos VALUES ('t9', 'l1')")
            try await service.tx(Self.returns)
            let returned = [
                #"diff lists|0["u1"]:4 todos|0["l1"]:3"#, #"D lists|0["u1"] +l1"#,
                #"D todos|0["l1"] from 0 +t1 +t2 +t9"#, "cc",
            ]
            #expect(try await reader.next() == returned)
            #expect(try await again.next() == returned)
        }
    }

    // MARK: Write checkpoints, devices, many changes

    @Test func p46AWriteCheckpointIsOfOneDeviceOfOneUser() async throws {
        try await Self.run(Self.mybucket) { service in
            _ = try await service.writeCheckpoint(client: "c")
            #expect(try await service.writeCheckpoint(client: "c") == 2)
            let request = SyncStreamRequest(clientID: "c")
            try await wait(for: "the write checkpoint to be reached") {
                let stream = try await service.open(request)
                defer { stream.close() }
                return try await stream.holds("a checkpoint").writeCheckpoint == 2
            }
            var reader = Reader(try await service.open(request))
            #expect(try await reader.next() == ["cp w2 mybucket[]:0", "cc"])
            _ = try await service.writeCheckpoint(user: "u2", client: "c")
            #expect(try await service.writeCheckpoint(client: "c") == 3)
            #expect(try await reader.next() == ["diff w3", "cc"])
            var later = Reader(try await service.open(request))
            #expect(try await later.next() == ["cp w3 mybucket[]:0", "cc"])
        }
    }

    @Test func p47OnlyTheDeviceThatWroteIsTold() async throws {
        try await Self.run(Self.mybucket) { service in
            var readers: [Reader] = []
            for device in ["a", "b", "c"] {
                var reader = Reader(try await service.open(SyncStreamRequest(clientID: device)))
                _ = try await reader.next()
                readers.append(reader)
            }
            #expect(try await service.writeCheckpoint(client: "b") == 1)
            #expect(try await readers[1].next() == ["diff w1", "cc"])
            try await service.tx("INSERT INTO test VALUES ('t1', '')")
            for index in readers.indices {
                let diff = index == 1 ? "diff w1 mybucket[]:1" : "diff mybucket[]:1"
                #expect(try await readers[index].next() == [diff, "D mybucket[] from 0 +t1", "cc"])
            }
        }
    }

    @Test func p48OneTransactionIsOneCheckpoint() async throws {
        try await Self.run(Self.mybucket) { service in
            var reader = Reader(try await service.open())
            _ = try await reader.next()
            try await service.tx("INSERT INTO test SELECT n::text, '' FROM generate_series(1, 3000) AS n")
            #expect(
                try await reader.next() == [
                    "diff mybucket[]:3000", "D mybucket[] from 0 1000 operations …",
                    "D mybucket[] 1000 operations …", "D mybucket[] 1000 operations …", "cc",
                ])
        }
    }

    @Test func p49WhatIsOfOthersIsNotTold() async throws {
        try await Self.run(Self.owned) { service in
            var reader = Reader(try await service.open(user: "nobody"))
            _ = try await reader.next()
            try await service.tx("UPDATE lists SET name = name || '!'")
            try await service.tx("CREATE TABLE extra(id text PRIMARY KEY)", "INSERT INTO extra VALUES ('x')")
            try await service.tx("INSERT INTO lists VALUES ('l9', 'nobody', '')")
            #expect(
                try await reader.next() == [
                    #"diff lists|0["nobody"]:1 todos|0["l9"]:0"#, #"D lists|0["nobody"] from 0 +l9"#, "cc",
                ])
        }
    }

    @Test func p50AnotherConfigurationHasOtherBuckets() async throws {
        try await Self.run(Self.owned) { service in
            let held = try await service.open().holds("the rows")
            #expect(held.listed.keys.allSatisfy { $0.hasPrefix("1#") })
            await service.stop()
            try await service.start(Self.owned + "# a comment more\n")
            try await wait(for: "the new buckets") {
                let names = try await service.served().listed.keys
                return !names.isEmpty && names.allSatisfy { $0.hasPrefix("2#") }
            }
            var reader = Reader(try await service.open(SyncStreamRequest(buckets: held.positions)))
            #expect(try await reader.next() == Self.first)
            #expect(reader.checkpoint?.buckets.allSatisfy { $0.bucket.hasPrefix("2#") } == true)
        }
    }

    @Test func p51AStreamMoreThanAllowedIsRefused() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.mybucket) { $0.maxConcurrentConnections = 2 }
            let streams = [try await service.open(), try await service.open()]
            for stream in streams { try await stream.holds("a checkpoint") }
            let third = try await service.send("POST", "/sync/stream", body: Array("{}".utf8))
            #expect(third.status == 429 && third.body.isEmpty)
        }
    }

    /// P13 is of compaction, which the service does not have.
    @Test func everyNumberHasAnExpectation() throws {
        let tested =
            try Repository.numberedTests("p", in: "Tests/MockServiceTests/ProtocolVectorTests.swift")
            + Repository.numberedTests("p", in: "Tests/MockServiceTests/StreamSessionTests.swift")
        let numbers = try Repository.vectorNumbers("P")
        #expect(numbers.count == 51 && tested.sorted() == numbers.subtracting([13]).sorted())
    }
}

extension TestService {
    /// Waits until a new client gets so many operations.
    fileprivate func served(until operations: Int64, claims: JSON = .object([])) async throws {
        try await wait(for: "\(operations) operations") {
            let stream = try await open(claims: claims)
            defer { stream.close() }
            let model = try await stream.holds("a checkpoint")
            return model.listed.values.reduce(0) { $0 + ($1.count ?? 0) } == operations
        }
    }
}
