import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncStack

/// The vectors of validation by their numbers (service 9.8), in the form of the admin routes before messages are
/// joined.
struct ValidationVectorTests {
    /// A configuration, and what is said of it.
    struct Vector: Sendable, CustomTestStringConvertible {
        let number: Int
        let edition: Int
        let yaml: String
        /// How the messages begin, in order; `…` before one that may have others beside it.
        let said: [String]
        var testDescription: String { "W\(number)" }

        init(_ number: Int, _ edition: Int, _ yaml: String, _ said: [String]) {
            self.number = number
            self.edition = edition
            self.yaml = yaml
            self.said = said
        }

        /// A configuration of edition 3 with one stream of these lines.
        init(_ number: Int, stream lines: String..., said: [String]) {
            let body = lines.map { "    \($0)\n" }.joined()
            self.init(number, 3, "config: {edition: 3}\nstreams:\n  s:\n\(body)", said)
        }

        /// A bucket definition of these lines.
        init(_ number: Int, bucket lines: String..., said: [String]) {
            let body = lines.map { "    \($0)\n" }.joined()
            self.init(number, 1, "bucket_definitions:\n  b:\n\(body)", said)
        }
    }

    private static let alpha = "This is using an alpha version of Sync Streams."
    private static let noColumn = "Must have a result column selecting from a table"
    private static let clients = "Clients can send any value for this unauthenticated parameter"
    private static let isNotReferenced = "This common table expression isn't referenced."
    private static let syncedAs = "The source row is synced under its alias"
    private static let lists = "streams: {s: {query: SELECT * FROM lists}}\n"
    private static let data = "data: [SELECT * FROM lists]"
    private static let ofUser = "data: ['SELECT * FROM lists WHERE owner_id = bucket.user_id']"

    private static let legacy: [Vector] = [
        Vector(
            1, bucket: "parameters: SELECT token_parameters.user_id LIMIT 1", ofUser,
            said: ["…LIMIT is not supported"]),
        Vector(
            1, bucket: "parameters: SELECT token_parameters.user_id OFFSET 10", ofUser,
            said: ["…LIMIT is not supported"]),
        Vector(2, bucket: "data: [SELECT DISTINCT id FROM lists]", said: ["…DISTINCT is not supported"]),
        Vector(2, bucket: "data: [SELECT * FROM lists ORDER BY id]", said: ["…ORDER BY is not supported"]),
        Vector(2, bucket: "data: [SELECT * FROM lists FOR UPDATE]", said: ["…SELECT FOR is not supported"]),
        Vector(
            2, bucket: "data: [SELECT * FROM lists FOR UPDATE SKIP LOCKED]",
            said: ["…SKIP is not supported"]),
        Vector(
            3, 1, "bucket_definitions:\n  mybucket:\n",
            ["'mybucket' bucket definition must be an object"]),
        Vector(4, bucket: "priority: instant", data, said: ["Invalid priority"]),
        Vector(
            5, 1, "config: {unknown_option: 1}\nbucket_definitions: {b: {\(data)}}\n",
            ["Unknown key 'unknown_option'."]),
        Vector(
            6, 1, "config: {timestamp_max_precision: seconds}\nbucket_definitions: {b: {\(data)}}\n",
            ["'timestamp_max_precision' requires 'timestamps_iso8601'"]),
        Vector(
            13, 1, "config: {unstable_sqlite_expression_engine: true}\nbucket_definitions: {b: {\(data)}}\n",
            ["'unstable_sqlite_expression_engine' requires edition: 3."]),
        Vector(
            14, bucket: "parameters: select request.user_id() as user_id",
            "data: ['select * from lists where other_id = bucket.user_id']",
            said: ["Column not found: other_id"]),
        Vector(
            15, bucket: "parameters: SELECT 15 AS _priority", data,
            said: ["…Invalid value for priority, must be between 0 and 3 (inclusive)."]),
        Vector(
            16, bucket: "data: ['SELECT id, (user_parameters.role = todos.description) as r FROM todos']",
            said: ["…Parameter match expression is not allowed here"]),
        Vector(
            17,
            bucket:
                "parameters: SELECT id AS a FROM lists WHERE token_parameters.start_at < lists.created_at",
            "data: ['SELECT * FROM lists WHERE id = bucket.a']",
            said: ["…Cannot use table values and parameters in the same clauses"]),
        Vector(
            18, bucket: "data: ['SELECT id, something.length(lists.id) AS n FROM lists']",
            said: ["…Function 'something.length' is not defined"]),
        Vector(
            21,
            bucket:
                "parameters: \"select request.user_id() as user_id, request.parameters() ->> 'id' as id\"",
            "data: ['SELECT * FROM lists WHERE owner_id = bucket.user_id AND id = bucket.id']", said: []),
        Vector(
            21, bucket: "parameters: \"select request.parameters() ->> 'project_id' as id\"",
            "data: ['SELECT * FROM lists WHERE id = bucket.id']", said: ["Potentially dangerous query"]),
        Vector(
            36, bucket: "data: ['SELECT * FROM lists WHERE id = bucket.a']",
            said: ["Query must cover all bucket parameters. Expected: [] Got: [\"bucket.a\"]"]),
    ]

    private static let alphaStreams: [Vector] = [
        Vector(7, 2, "config: {edition: 2}\n\(lists)", [alpha]),
        Vector(
            8, 2, "config: {edition: 2}\nwith: {c: SELECT id FROM lists}\n\(lists)",
            ["Common table expressions require edition 3.", alpha]),
    ]

    private static let streams: [Vector] = [
        Vector(
            9, 3, "config: {edition: 3}\nbucket_definitions: {b: {\(data)}}\n\(lists)",
            ["'bucket_definitions' are not supported by the new compiler."]),
        Vector(
            10, stream: "with: {foo: SELECT id FROM lists}",
            said: ["One of `queries` or `query` must be given.", isNotReferenced]),
        Vector(
            11, stream: "with: {foo: [SELECT id FROM lists]}", "query: [SELECT * FROM lists]",
            said: ["Expected a scalar here.", "Expected a scalar here."]),
        Vector(
            12, 3, "config: {edition: 3, storage_version: 3}\n\(lists)",
            ["Storage version 3 is unstable"]),
        Vector(
            12, 3, "config: {edition: 3, storage_version: 1}\n\(lists)",
            ["Storage version 1 is not supported"]),
        Vector(
            19, stream: "query: |-",
            "  SELECT * FROM todos WHERE list_id = auth.parameter('org')",
            "    AND description = subscription.parameter('project')", said: []),
        Vector(
            20, stream: "query: |-", "  SELECT * FROM todos WHERE id = subscription.parameter('project')",
            "    AND auth.parameter('role') = 'authenticated'", said: [clients]),
        Vector(
            22, stream: "query: |-", "  SELECT cm.* FROM todos cm JOIN lists ON lists.id = cm.list_id",
            "    WHERE lists.owner_id = auth.user_id()", said: [syncedAs]),
        Vector(
            22, stream: "query: |-", "  SELECT cm.* FROM todos AS \"cm\" JOIN lists ON lists.id = cm.list_id",
            "    WHERE lists.owner_id = auth.user_id()", said: []),
        Vector(22, stream: "query: SELECT * FROM todos cm WHERE cm.list_id = auth.user_id()", said: []),
        Vector(
            23, 3,
            "config: {edition: 3}\nwith: {c: SELECT id FROM lists}\nstreams:\n  s:\n"
                + "    with: {c: SELECT list_id FROM todos}\n    query: SELECT * FROM lists WHERE id IN c\n",
            [isNotReferenced]),
        Vector(
            24, stream: "query: SELECT random() AS id FROM lists",
            said: ["Forbidden call: Sync definitions must be deterministic.", noColumn]),
        Vector(
            25, stream: "query: SELECT l.*, t.id FROM lists l, todos t",
            said: [
                "Sync streams can only select from a single table, and this one already selects from 'lists'.",
                syncedAs,
            ]),
        Vector(26, stream: "query: SELECT * FROM lists GROUP BY id", said: ["GROUP BY is not supported"]),
        Vector(26, stream: "query: SELEC", said: ["Unexpected end of input"]),
        Vector(26, stream: "query: SELECT * FROM lists; SELECT 1", said: []),
        Vector(26, stream: "query: SELECT name FROM lists", said: []),
        Vector(
            27, stream: "query: SELECT * FROM missing",
            said: ["This table could not be found in the source schema."]),
        Vector(28, stream: "query: SELECT id, nope FROM lists", said: ["Column not found."]),
        Vector(
            29, stream: "query: SELECT * FROM lists LEFT JOIN todos ON todos.list_id = lists.id",
            said: [
                "FULL JOIN is not supported",
                "Invalid unqualified reference since multiple tables are in scope", noColumn,
            ]),
        Vector(
            30, stream: "query: SELECT * FROM lists WHERE owner_id = subscription.parameter('x')",
            said: [clients]),
        Vector(31, stream: "query: SELECT * FROM lists WHERE id IN nowhere", said: ["Column not found."]),
        Vector(
            31, stream: "query: SELECT * FROM todos WHERE position IN (1, 2)",
            said: ["This expression is not supported by PowerSync"]),
        Vector(
            31, stream: "query: SELECT * FROM lists WHERE EXISTS (SELECT 1 FROM todos)",
            said: ["Unknown function"]),
        Vector(
            32, stream: "with: {lists: SELECT id FROM todos}", "query: SELECT * FROM lists",
            said: ["This common table expression shadows the name of a table in the source schema."]),
        Vector(
            33, stream: "query: SELECT * FROM pg_catalog.pg_class",
            said: ["This table could not be found in the source schema."]),
        Vector(
            34, 3, lists,
            [alpha, "Sync streams require edition 2 or later. Try adding"]),
        Vector(35, 3, "", ["Cannot read properties of null (reading 'range')"]),
        Vector(35, 3, "x", ["Sync Config must be a YAML map."]),
        Vector(35, 3, "config: {edition: 4}\nstreams: {}\n", ["must be < 4"]),
    ]

    /// The last part of W35, which is of edition 1.
    private static let noDefinitions = Vector(35, 1, "bucket_definitions: {}\n", [])

    /// Checks that the messages begin as they are expected to.
    private func check(_ vector: Vector) {
        let config = SyncConfig.compile(vector.yaml, schema: ValidationRecordings.schema)
        let messages = LanguageMessage.all(of: config).map(\.message.text)
        for (index, expected) in vector.said.enumerated() {
            if let part = expected.hasPrefix("…") ? expected.dropFirst() : nil {
                #expect(messages.contains { $0.hasPrefix(part) }, "W\(vector.number): \(messages)")
                #expect(config.plan == nil)
            } else {
                let isSaid = index < messages.count && messages[index].hasPrefix(expected)
                #expect(isSaid, "W\(vector.number): \(messages)")
            }
        }
        if !vector.said.contains(where: { $0.hasPrefix("…") }) {
            #expect(messages.count == vector.said.count, "W\(vector.number): \(messages)")
        }
    }

    @Test(arguments: streams)
    func ofEdition3(_ vector: Vector) { check(vector) }

    @Test(arguments: alphaStreams)
    func ofEdition2(_ vector: Vector) { check(vector) }

    @Test(arguments: legacy + [noDefinitions])
    func ofEdition1(_ vector: Vector) { check(vector) }

    @Test func everyNumberHasAnExpectation() throws {
        let numbers = try Repository.vectorNumbers("W")
        let tested = (Self.legacy + Self.alphaStreams + Self.streams).map(\.number)
        #expect(numbers == Set(tested) && numbers.count == 36)
    }
}
