import PowerSyncHTTPClient
import PowerSyncMockService
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Configurations of every edition through the whole service (service 3.6, 3.7, 3.11, 6).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct EditionServiceTests {
    /// Tasks of projects, which go to their members.
    private static let schema = [
        "CREATE TABLE members(id text PRIMARY KEY, user_id text, project_id text)",
        "CREATE TABLE tasks(id text PRIMARY KEY, project_id text, title text)",
        "INSERT INTO members VALUES ('m1', 'ann', 'p1'), ('m2', 'ben', 'p2')",
        "INSERT INTO tasks VALUES ('t1', 'p1', 'secret of p1'), ('t2', 'p2', 'secret of p2')",
    ]

    /// One way to say so.
    struct Language: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let config: String
        /// What names of buckets begin with, up to their values.
        let source: String

        /// The name of a project's bucket.
        func bucket(_ project: String, stream: Int = 1) -> String { "\(stream)#\(source)[\"\(project)\"]" }
    }

    private static let subselect =
        "SELECT * FROM tasks WHERE project_id IN (SELECT project_id FROM members WHERE user_id = auth.user_id())"
    private static let languages = [
        Language(
            testDescription: "edition 1",
            config: """
                bucket_definitions:
                  project:
                    parameters: SELECT project_id FROM members WHERE user_id = request.user_id()
                    data: [SELECT * FROM tasks WHERE project_id = bucket.project_id]
                """, source: "project"),
        Language(
            testDescription: "edition 2",
            config: """
                config: {edition: 2}
                streams:
                  project:
                    auto_subscribe: true
                    query: \(subselect)
                """, source: "project|0"),
        Language(
            testDescription: "edition 3",
            config: """
                config: {edition: 3}
                streams:
                  project:
                    auto_subscribe: true
                    query: \(subselect)
                """, source: "project|0"),
        Language(
            testDescription: "edition 3 with a join",
            config: """
                config: {edition: 3}
                streams:
                  project:
                    auto_subscribe: true
                    query: |
                      SELECT tasks.* FROM tasks JOIN members ON members.project_id = tasks.project_id
                      WHERE members.user_id = auth.user_id()
                """, source: "project|0"),
    ]

    /// The diffs that a stream has got.
    private func diffs(_ stream: TestStream) -> [CheckpointDiff] {
        stream.lines.compactMap { line -> CheckpointDiff? in
            if case .checkpointDiff(let diff) = line { diff } else { nil }
        }
    }

    /// What is found through a lookup comes, and goes, with the transaction that changes the lookup.
    @Test(arguments: languages)
    func bucketsComeAndGoWithTheTransactionOfTheirLookup(_ language: Language) async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(language.config)
            let ann = try await service.open(user: "ann")
            try await ann.holds(["tasks/t1"])
            #expect(ann.model.listed.keys.sorted() == [language.bucket("p1")])

            try await service.tx(
                "INSERT INTO members VALUES ('m3', 'ann', 'p2')",
                "INSERT INTO tasks VALUES ('t3', 'p2', 'of the same transaction')")
            try await ann.holds(["tasks/t1", "tasks/t2", "tasks/t3"])
            #expect(diffs(ann).map { $0.updatedBuckets.map(\.bucket) } == [[language.bucket("p2")]])

            // Permission revoked: nothing of that transaction is told of the bucket.
            try await service.tx(
                "INSERT INTO tasks VALUES ('t4', 'p2', 'behind the door')",
                "DELETE FROM members WHERE id = 'm3'")
            try await ann.holds(["tasks/t1"])
            #expect(!ann.texts.joined().contains("behind the door"))
            #expect(diffs(ann).last?.removedBuckets == [language.bucket("p2")])
            #expect(diffs(ann).last?.updatedBuckets == [])

            // It comes back whole, with what came while it was away.
            try await service.tx("INSERT INTO members VALUES ('m4', 'ann', 'p2')")
            try await ann.holds(["tasks/t1", "tasks/t2", "tasks/t3", "tasks/t4"])

            // One leaves for another, which is empty.
            try await service.tx("UPDATE members SET project_id = 'p3' WHERE id = 'm4'")
            try await ann.holds(["tasks/t1"])
            #expect(
                ann.model.listed.keys.sorted() == [language.bucket("p1"), language.bucket("p3")])
            try await service.tx("TRUNCATE members")
            try await ann.holds([])
            #expect(ann.model.listed.isEmpty && diffs(ann).count == 5)
        }
    }

    /// Nobody sees a row that only another's lookup leads to, nor hears of it.
    @Test(arguments: languages)
    func nobodySeesThroughTheLookupOfAnother(_ language: Language) async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(language.config)
            let forged = SyncStreamRequest(
                buckets: [BucketRequest(name: language.bucket("p2"), after: 0)],
                parameters: .object([
                    JSONMember("user_id", .string("ben")), JSONMember("project_id", .string("p2")),
                ]))
            let ann = try await service.open(
                user: "ann", claims: .object([JSONMember("project_id", .string("p2"))]), forged)
            let ben = try await service.open(user: "ben")
            try await ann.holds(["tasks/t1"])
            try await ben.holds(["tasks/t2"])
            let before = ann.texts.count
            // None of this is Ann's.
            try await service.tx(
                "INSERT INTO members VALUES ('m3', 'ben', 'p3')",
                "INSERT INTO tasks VALUES ('t3', 'p3', 'secret of p3')",
                "UPDATE tasks SET title = title || '!' WHERE id = 't2'")
            try await ben.holds("both projects") { $0.rowNames == ["tasks/t2", "tasks/t3"] }
            try await service.tx("UPDATE tasks SET title = title || '!' WHERE id = 't1'")
            try await ann.holds("the change of her own") { $0.data(of: "tasks/t1")?.contains("!") == true }
            let text = ann.texts.joined()
            #expect(!text.contains("p2") && !text.contains("p3"))
            // Of what was Ben's she got no line: diff, data and end are those of her own change.
            let lines = ann.texts[before...].filter { !$0.hasPrefix("{\"token") }
            #expect(lines.count == 3, "\(lines)")
            #expect(!ben.texts.joined().contains("secret of p1"))
        }
    }

    /// One configuration takes another's place, whatever their editions.
    @Test func eachEditionTakesThePlaceOfTheOneBefore() async throws {
        try await TestService.run(Self.schema) { service in
            for (index, language) in Self.languages.enumerated() {
                try await service.start(language.config)
                let name = language.bucket("p1", stream: index + 1)
                try await wait(for: "the bucket \(name)") {
                    let stream = try await service.open(user: "ann")
                    defer { stream.close() }
                    try await wait(for: "a whole checkpoint, or the end") {
                        stream.model.isComplete || stream.end != nil
                    }
                    return stream.model.isComplete && stream.model.listed.keys.sorted() == [name]
                        && stream.model.rowNames == ["tasks/t1"]
                }
                await service.stop()
            }
        }
    }

    // MARK: Limits

    /// A limit, and what is said of three where it is two.
    struct Limit: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let set: @Sendable (inout MockServiceConfiguration) -> Void
    }

    private static let limits = [
        Limit(testDescription: "Too many parameter query results (limit of 2)") {
            $0.maxParameterQueryResults = 2
        },
        Limit(testDescription: "Too many buckets: 3 (limit of 2)") { $0.maxBucketsPerConnection = 2 },
    ]

    @Test(arguments: limits)
    func whoFindsMoreThanAllowedIsRefusedAndLaterCut(_ limit: Limit) async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.languages[2].config) { limit.set(&$0) }
            try await service.tx("INSERT INTO members VALUES ('m3', 'ann', 'p2')")
            let ann = try await service.open(user: "ann")
            try await ann.holds(["tasks/t1", "tasks/t2"])
            let ben = try await service.open(user: "ben")
            try await ben.holds(["tasks/t2"])
            try await service.tx("INSERT INTO members VALUES ('m4', 'ann', 'p3')")
            try await ann.waitForEnd()
            #expect(ann.end == .cut)
            try await wait(for: "the log to say why") {
                service.log.contains { $0.contains("[PSYNC_S2305] \(limit.testDescription)") }
            }
            let answer = try await service.send("POST", "/sync/stream", user: "ann", body: Array("{}".utf8))
            #expect(answer.status == 500)
            let description = try JSON.parse(answer.body)["error"]?["description"]?.stringValue
            #expect(description == limit.testDescription)
            // Others are served all the while.
            try await service.tx("INSERT INTO tasks VALUES ('t3', 'p2', 'new')")
            try await ben.holds(["tasks/t2", "tasks/t3"])
            try await service.tx("DELETE FROM members WHERE id = 'm4'")
            try await wait(for: "a stream of so many as are allowed") {
                try await service.open(user: "ann").status == 200
            }
        }
    }

    /// A subscription that cannot be evaluated says so, and the others have their buckets.
    @Test func whatCannotBeEvaluatedIsToldInTheStream() async throws {
        let config = """
            config: {edition: 3}
            streams:
              listed: {auto_subscribe: true, query: "SELECT * FROM tasks WHERE project_id IN auth.parameter('projects')"}
              one: {query: "SELECT * FROM tasks WHERE project_id = subscription.parameter('project')", priority: 1}
            """
        try await TestService.run(Self.schema) { service in
            try await service.start(config)
            let stream = try await service.open(
                claims: .object([JSONMember("projects", .integer(5))]),
                SyncStreamRequest(
                    streams: StreamSubscriptions(subscriptions: [
                        StreamSubscription(
                            stream: "one", parameters: .object([JSONMember("project", .string("p2"))]))
                    ])))
            try await stream.holds(["tasks/t2"])
            guard case .checkpoint(let checkpoint)? = stream.lines.first else {
                Issue.record("no checkpoint")
                return
            }
            #expect(
                checkpoint.streams == [
                    StreamDescription(
                        name: "listed", isDefault: true,
                        errors: [
                            StreamError(
                                subscription: nil,
                                message: "Error evaluating bucket ids: Expected JSON string")
                        ]),
                    StreamDescription(name: "one", isDefault: false),
                ])
            // Both streams sync the same rows by the same key: their buckets are those of the first.
            #expect(checkpoint.buckets.map(\.bucket) == ["1#listed|0[\"p2\"]"])
            #expect(checkpoint.buckets.map(\.priority) == [1])
            #expect(checkpoint.buckets.map(\.subscriptions) == [[.subscription(0)]])
        }
    }

    // MARK: Tables and values

    /// A wildcard takes what is there, and what comes later.
    @Test func tablesOfAWildcardAreReadAlsoIfTheyComeLater() async throws {
        let config = """
            bucket_definitions:
              all: {data: ['SELECT * FROM "assets_%"', 'SELECT id FROM "tenant_%".notes']}
            """
        try await TestService.run([
            "CREATE TABLE assets_a(id text PRIMARY KEY)", "CREATE TABLE assetsb(id text PRIMARY KEY)",
            "CREATE SCHEMA tenant_x", "CREATE TABLE tenant_x.notes(id text PRIMARY KEY)",
            "CREATE TABLE notes(id text PRIMARY KEY)", "INSERT INTO assets_a VALUES ('1')",
            "INSERT INTO assetsb VALUES ('2')", "INSERT INTO tenant_x.notes VALUES ('3')",
            "INSERT INTO notes VALUES ('4')",
        ]) { service in
            try await service.start(config)
            let stream = try await service.open()
            try await stream.holds(["assets_a/1", "notes/3"])
            try await service.tx(
                "CREATE TABLE assets_c(id text PRIMARY KEY)", "INSERT INTO assets_c VALUES ('5')",
                "INSERT INTO assetsb VALUES ('6')", "INSERT INTO notes VALUES ('7')")
            try await stream.holds(["assets_a/1", "assets_c/5", "notes/3"])
        }
    }

    /// Values are converted as the edition does, or as its flags say (service 6.2, 6.13; 9.7, G8, G33, G38).
    @Test(arguments: [
        (
            "", #""d":7,"t":"2023-03-06 15:47:12.4","r":"[2,4)"}"#,
            #""d":"7","t":"2023-03-06 15:47:12.4","r":"[2,4)"}"#
        ),
        (
            "config: {timestamps_iso8601: true, timestamp_max_precision: milliseconds}",
            #""d":7,"t":"2023-03-06T15:47:12.400","r":"[2,4)"}"#,
            #""d":"7","t":"2023-03-06T15:47:12.400","r":"[2,4)"}"#
        ),
        ("config: {custom_postgres_types: true}", old, old),
        ("config: {edition: 2}", new, new),
        ("config: {edition: 2, custom_postgres_types: false, timestamps_iso8601: false}", raw, rawStreamed),
    ])
    func valuesAreThoseOfTheEdition(_ options: String, _ read: String, _ streamed: String) async throws {
        try await TestService.run([
            "CREATE DOMAIN positive AS int CHECK (VALUE > 0)",
            "CREATE TABLE v(id text PRIMARY KEY, d positive, t timestamp, r int4range)",
            "INSERT INTO v VALUES ('1', 7, '2023-03-06 15:47:12.4', '[2,4)')",
        ]) { service in
            try await service.start("\(options)\nbucket_definitions: {all: {data: [SELECT * FROM v]}}")
            let stream = try await service.open()
            let held = try await stream.holds(["v/1"])
            #expect(held.data(of: "v/1") == #"{"id":"1",\#(read)"#)
            try await service.tx("INSERT INTO v SELECT '2', d, t, r FROM v")
            let more = try await stream.holds(["v/1", "v/2"])
            #expect(more.data(of: "v/2") == #"{"id":"2",\#(streamed)"#)
        }
    }

    private static let old =
        #""d":7,"t":"2023-03-06 15:47:12.4","r":"{\"lower\":2,\"upper\":4,\"lower_exclusive\":0,\"upper_exclusive\":1}"}"#
    private static let new =
        #""d":7,"t":"2023-03-06T15:47:12.400000","r":"{\"lower\":2,\"upper\":4,\"lower_exclusive\":0,\"upper_exclusive\":1}"}"#
    private static let raw = #""d":7,"t":"2023-03-06 15:47:12.4","r":"[2,4)"}"#
    private static let rawStreamed = #""d":"7","t":"2023-03-06 15:47:12.4","r":"[2,4)"}"#

    /// What is read of a domain is not what is streamed of it: a row that it identifies leaves all the same, and takes along
    /// what it has let people see.
    @Test(arguments: ["DEFAULT", "FULL"])
    func aRowThatADomainIdentifiesIsFoundAgain(_ identity: String) async throws {
        try await TestService.run([
            "CREATE DOMAIN number AS int",
            "CREATE TABLE members(id number PRIMARY KEY, user_id text, project_id text)",
            "ALTER TABLE members REPLICA IDENTITY \(identity)",
            "CREATE TABLE tasks(id number PRIMARY KEY, project_id text)",
            "INSERT INTO members VALUES (1, 'ann', 'p1'), (2, 'ann', 'p2')",
            "INSERT INTO tasks VALUES (1, 'p1'), (2, 'p2'), (3, 'p2')",
        ]) { service in
            try await service.start(Self.languages[0].config)
            let ann = try await service.open(user: "ann")
            try await ann.holds(["tasks/1", "tasks/2", "tasks/3"])
            try await service.tx("DELETE FROM tasks WHERE id = 2")
            try await ann.holds(["tasks/1", "tasks/3"])
            try await service.tx("DELETE FROM members WHERE id = 2")
            try await ann.holds(["tasks/1"])
            try await service.tx("UPDATE members SET project_id = 'p2' WHERE id = 1")
            try await ann.holds(["tasks/3"])
        }
    }

    // MARK: What is refused

    /// Everything that is wrong is said at once, with its place; what was served before is there again behind it.
    @Test func aConfigurationThatIsRefusedSaysItsPlaces() async throws {
        let wrong = """
            config: {edition: 3}
            streams:
              a: {query: SELECT * FROM tasks LIMIT 1}
              b:
                querry: 1
                query: SELECT *, nope(id) AS x FROM tasks
            """
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.languages[0].config)
            await service.stop()
            let error = await #expect(throws: SyncConfigError.self) { try await service.start(wrong) }
            #expect(
                error?.lines == [
                    "sync config:3:40: error: LIMIT is not supported",
                    "sync config:5:5: error: Unknown key 'querry'. Did you mean 'query'?",
                    "sync config:6:22: error: Unknown function",
                ])
            #expect(service.port == 0)
            await service.stop()
            try await service.start(Self.languages[0].config)
            let stream = try await service.open(user: "ann")
            try await stream.holds(["tasks/t1"])
            #expect(stream.model.listed.keys.sorted() == [Self.languages[0].bucket("p1")])
        }
    }
}
