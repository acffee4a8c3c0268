import PowerSyncSyncRules
import PowerSyncWire
import Testing

/// Events of every edition (service 6.1, 7.9; LANGUAGE.md 9).
struct EventsCompilerTests {
    private static let editions = [
        "bucket_definitions: {b: {data: []}}\n",
        "config: {edition: 2}\nbucket_definitions: {b: {data: []}}\n",
        "config: {edition: 3}\nstreams: {s: {query: SELECT * FROM t}}\n",
    ]

    private static func text(
        _ sql: String, head: String = editions[0], name: String = "write_checkpoints"
    ) -> String {
        "\(head)event_definitions: {\(name): {payloads: ['\(sql)']}}\n"
    }

    @Test(arguments: editions) func aPayloadIsADataQueryWithoutBuckets(_ head: String) throws {
        let config = SyncConfig.compile(
            Self.text(
                "SELECT user_id, checkpoint, client_id FROM checkpoints WHERE checkpoint > 0", head: head))
        #expect(config.diagnostics.all.isEmpty)
        let plan = try #require(config.plan)
        #expect(plan.hasCustomWriteCheckpoints && plan.writeCheckpointPayloads.count == 1)
        let payload = try #require(plan.writeCheckpointPayloads.first)
        #expect(payload.keys.isEmpty && payload.filters.count == 1 && payload.outputs.count == 3)
        #expect(
            payload.table.matches(
                tag: ExactText("default"), schema: ExactText("public"), name: ExactText("checkpoints")))
        // It is of no bucket.
        let tables = plan.sources.flatMap(\.processors).map(\.table)
        #expect(!tables.contains(payload.table))
    }

    @Test(arguments: [
        ("write_checkpoints", true), ("checkpoint_requests", true), ("audit", false),
    ])
    func rowsOfTwoEventsSetWriteCheckpoints(_ name: String, _ isKnown: Bool) throws {
        let config = SyncConfig.compile(Self.text("SELECT * FROM c", name: name))
        let plan = try #require(config.plan)
        #expect(plan.events.map(\.name) == [ExactText(name)] && plan.events[0].payloads.count == 1)
        #expect(plan.hasCustomWriteCheckpoints == isKnown)
        #expect(plan.writeCheckpointPayloads.count == (isKnown ? 1 : 0))
        #expect(config.diagnostics.all.map(\.name) == (isKnown ? [] : [.eventUnknown]))
        // The real service has nothing to say of it.
        #expect(config.diagnostics.all.allSatisfy { $0.asRecorded == nil && $0.severity == .warning })
    }

    @Test func withoutAPayloadTheServiceGivesWriteCheckpoints() throws {
        for payloads in ["{audit: {payloads: []}}", "{write_checkpoints: {payloads: []}}"] {
            let config = SyncConfig.compile(Self.editions[0] + "event_definitions: \(payloads)\n")
            #expect(try #require(config.plan).hasCustomWriteCheckpoints == false)
        }
    }

    private static let mistakes: [(String, [String])] = [
        ("SELECT * FROM c", []),
        ("SELECT user_id, checkpoint FROM c", []),
        ("SELECT client_id, user_id FROM c", ["event-column-missing: SELECT client_id, user_id FROM c"]),
        (
            "SELECT client_id FROM c",
            Array(repeating: "event-column-missing: SELECT client_id FROM c", count: 2)
        ),
        ("SELECT user_id, checkpoint + 1 FROM c", ["alias-required: checkpoint + 1"]),
        ("SELECT user_id, bucket.x AS checkpoint FROM c", ["parameter-in-expression: bucket.x"]),
        (
            "SELECT user_id, checkpoint FROM c WHERE user_id = bucket.x",
            ["parameters-uncovered: SELECT user_id, checkpoint FROM c WHERE user_id = bucket.x"]
        ),
        ("SELECT user_id, checkpoint FROM c LIMIT 1", ["unsupported-clause: 1"]),
        ("SELECT User_id, checkpoint FROM c", ["folded-name: User_id"]),
        ("SELECT a.user_id, b.checkpoint FROM a, b", ["single-table: a"]),
    ]

    @Test(arguments: mistakes)
    func whatIsWrongIsTold(_ sql: String, _ expected: [String]) {
        let text = Self.text(sql)
        let bytes = Array(text.utf8)
        let found = SyncConfig.compile(text).diagnostics.all.map { diagnostic in
            let part = String(decoding: bytes[diagnostic.range.start..<diagnostic.range.end], as: UTF8.self)
            return "\(diagnostic.name.rawValue): \(part)"
        }
        #expect(found == expected)
    }

    @Test func theSchemaSaysWhetherAStarHasTheColumns() {
        func column(_ name: String) -> SourceSchema.Column {
            SourceSchema.Column(name: ExactText(name), type: .text)
        }
        let schema = SourceSchema([
            SourceSchema.Table(
                schema: ExactText("public"), name: ExactText("c"),
                columns: [column("user_id"), column("checkpoints")])
        ])
        func names(_ sql: String) -> [DiagnosticName] {
            SyncConfig.compile(Self.text(sql), schema: schema).diagnostics.all.map(\.name)
        }
        #expect(names("SELECT * FROM c") == [.eventColumnMissing])
        #expect(names("SELECT user_id, checkpoint FROM c") == [.columnNotFound])
        #expect(names("SELECT * FROM nowhere") == [.tableNotFound])
    }
}
