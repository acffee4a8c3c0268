import PowerSyncHTTPClient
import PowerSyncMockService
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresSource
import PowerSyncPostgresTestSupport
import PowerSyncPostgresValues
import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What the route `diagnostics` tells of a service as it runs (service 1.10, 10.5).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct AdminStatusTests {
    private static let schema = ReplicationServiceTests.schema
    private static let config = ReplicationServiceTests.config

    private func statuses(_ answer: JSON, _ name: String = "active_sync_rules") -> JSON? {
        answer[name]?["connections"]?.arrayValue?.first
    }

    private func texts(_ messages: JSON?) -> [String] {
        (messages?.arrayValue ?? []).map { message in
            "\(message["level"]?.stringValue ?? "?"): \(message["message"]?.stringValue ?? "?")"
        }
    }

    @Test func aServiceThatRunsIsDescribed() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config) { configuration in
                configuration.apiTokens = ["admin"]
                configuration.connectionID = "main"
                configuration.connectionTag = "tagged"
            }
            let answer = try await service.administered("diagnostics")
            let named = try ConnectionOptions.named(in: service.uri)
            let place =
                "postgresql://\(named["host"] ?? ""):\(named["port"] ?? "")/\(named["dbname"] ?? "")"
            #expect(
                answer["connections"]?.text
                    == #"[{"id":"main","postgres_uri":"\#(place)","connected":true,"errors":[]}]"#)
            #expect(answer["deploying_sync_rules"] == nil && answer["active_sync_rules"]?["content"] == nil)
            #expect(answer["active_sync_rules"]?["errors"] == .array([]))
            let status = try #require(statuses(answer))
            #expect(status["id"] == .string("main") && status["tag"] == .string("tagged"))
            let slots = try await service.slots()
            #expect(slots.count == 1 && status["slot_name"]?.stringValue == slots.first)
            #expect(status["initial_replication_done"] == .bool(true))
            let position = try #require(status["last_lsn"]?.stringValue)
            #expect(position.utf8.count == 17 && (LSN(text: position) ?? .zero) > .zero)
            for name in ["last_keepalive_ts", "last_checkpoint_ts"] {
                #expect(status[name]?.stringValue?.utf8.count == 24, "\(status.text)")
            }
            #expect((status["replication_lag_bytes"]?.int64Value ?? -1) >= 0)
            let content = try await service.administered(
                "diagnostics", .object([JSONMember("sync_rules_content", .bool(true))]))
            #expect(content["active_sync_rules"]?["content"] == .string(Self.config))
        }
    }

    @Test func whatIsWrongWithTablesIsTold() async throws {
        let schema = [
            "CREATE TABLE lists(id text PRIMARY KEY)", "CREATE TABLE nokey(id text)",
            "CREATE TABLE nothing(id text)", "ALTER TABLE nothing REPLICA IDENTITY NOTHING",
            "CREATE TABLE whole(id text, a text)", "ALTER TABLE whole REPLICA IDENTITY FULL",
            "CREATE TABLE parted(id text, day date) PARTITION BY RANGE (day)",
            "CREATE UNLOGGED TABLE fleeting(id text PRIMARY KEY)",
        ]
        let names = ["lists", "nokey", "nothing", "whole", "parted", "fleeting", "missing"]
        let streams = names.map { "  \($0): {query: SELECT * FROM \($0)}\n" }.joined()
        let texts = [
            "nokey":
                "fatal: No replication id found for \"public\".\"nokey\". Replica identity: default. Configure a primary key on the table.",
            "parted":
                "warning: Table \"public\".\"parted\" is partitioned: name its partitions, which a wildcard may do.",
            "fleeting":
                "fatal: Table \"public\".\"fleeting\" is not part of publication 'powersync'. Run: `ALTER PUBLICATION powersync ADD TABLE \"public\".\"fleeting\"`.",
            "missing": "warning: Table \"public\".\"missing\" not found.",
        ]
        try await TestService.run(schema) { service in
            try await service.start("config: {edition: 3}\nstreams:\n\(streams)") { $0.apiTokens = ["admin"] }
            let answer = try await service.administered("diagnostics")
            let tables = try #require(statuses(answer)?["tables"]?.arrayValue)
            #expect(tables.compactMap { $0["name"]?.stringValue } == names)
            for table in tables {
                let name = table["name"]?.stringValue ?? ""
                #expect(self.texts(table["errors"]) == [texts[name]].compactMap { $0 }, "\(name)")
                let identity = ["lists": ["id"], "whole": ["id", "a"]][name] ?? []
                #expect(table["replication_id"] == .array(identity.map { .string($0) }), "\(name)")
                #expect(table["data_queries"] == .bool(true) && table["parameter_queries"] == .bool(false))
            }
            // Behind them what the compiler says.
            #expect(
                self.texts(answer["active_sync_rules"]?["errors"])
                    == names.compactMap { texts[$0] } + [
                        "warning: This table could not be found in the source schema."
                    ])
        }
    }

    /// Clients are served from the one, and the other one is made meanwhile, which takes as long as a transaction is open.
    @Test func theConfigurationThatIsBeingBuiltIsTold() async throws {
        let next = Self.config.replacing("mine", with: "others")
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config) { $0.apiTokens = ["admin"] }
            await service.stop()
            let other = try await PostgresConnection.connect(service.uri, poller: service.poller)
            try await other.query("BEGIN")
            try await other.query("INSERT INTO lists VALUES ('l3', 'u1', 'three')")
            try await service.start(next) { $0.apiTokens = ["admin"] }
            let body = JSON.object([JSONMember("sync_rules_content", .bool(true))])
            let both = try await wait(for: "the configuration to be built") {
                try await service.administered("diagnostics", body)
            } until: {
                $0["deploying_sync_rules"] != nil
            }
            #expect(both["active_sync_rules"]?["content"] == .string(Self.config))
            #expect(both["deploying_sync_rules"]?["content"] == .string(next))
            let building = try #require(statuses(both, "deploying_sync_rules"))
            #expect(building["initial_replication_done"] == .bool(false) && building["last_lsn"] == nil)
            #expect(statuses(both)?["initial_replication_done"] == .bool(true))
            #expect(building["slot_name"] != statuses(both)?["slot_name"])
            try await other.query("COMMIT")
            await other.close()
            let done = try await wait(for: "the switch") {
                try await service.administered("diagnostics", body)
            } until: {
                $0["deploying_sync_rules"] == nil
            }
            #expect(done["active_sync_rules"]?["content"] == .string(next))
        }
    }

    /// A source that is away is told with its reason, never with a password; so is why replication does not go on.
    @Test func aSourceThatIsAwayIsTold() async throws {
        try await TestCluster.withServer { server in
            let proxy = try PostgresProxy(to: server.port)
            let closed = try RefusingPort()
            try await TestService.run(Self.schema, uri: server.uri()) { service in
                let password = try #require(try ConnectionOptions.named(in: service.uri)["password"])
                @Sendable func change(_ configuration: inout MockServiceConfiguration) {
                    configuration.apiTokens = ["admin"]
                    configuration.source = .patient(
                        service.uri, parameters: ["host": "127.0.0.1", "port": "\(proxy.port)"])
                }
                try await service.start(Self.config, change: change)
                let there = try await service.administered("diagnostics")["connections"]
                #expect(there?.text.contains("\"connected\":true") == true)
                proxy.lead(to: closed.number)
                proxy.heal()
                func isAway(_ answer: JSON) -> Bool {
                    let connection = answer["connections"]?.arrayValue?.first
                    return connection?["connected"] == .bool(false)
                        && texts(answer["active_sync_rules"]?["errors"]).contains { $0.hasPrefix("fatal: ") }
                }
                let away = try await wait(for: "the source to be away") {
                    try await service.administered("diagnostics")
                } until: {
                    isAway($0)
                }
                let connection = away["connections"]?.arrayValue?.first
                #expect(texts(connection?["errors"]).first?.hasPrefix("fatal: ") == true)
                #expect(!away.text.contains(password))
                // What is known without the source.
                let table = statuses(away)?["tables"]?.arrayValue?.first
                #expect(table?["name"] == .string("lists") && table?["replication_id"] == .array([]))
                let failed = try await service.admin("schema")
                #expect(failed.status == 500)
                #expect(!String(decoding: failed.body, as: UTF8.self).contains(password))
                // A service that begins then has replicated nothing yet, and says so.
                await service.stop()
                try await service.start(Self.config, change: change)
                let begun = try await service.administered("diagnostics")
                #expect(statuses(begun)?["last_checkpoint_ts"] == nil)
                let told = texts(begun["active_sync_rules"]?["errors"])
                #expect(told.contains("warning: No checkpoint found, cannot calculate replication lag"))
                proxy.lead(to: server.port)
                try await wait(for: "the source to be back") {
                    let answer = try await service.administered("diagnostics")
                    return answer["connections"]?.text.contains("\"connected\":true") == true
                        && answer["active_sync_rules"]?["errors"] == .array([])
                }
            }
        }
    }

    @Test func whatKeepsTheSourceFromBeingReplicatedIsTold() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config) { $0.apiTokens = ["admin"] }
            try await service.tx("DROP PUBLICATION powersync")
            let answer = try await service.administered("diagnostics")
            let connection = answer["connections"]?.arrayValue?.first
            #expect(connection?["connected"] == .bool(true))
            #expect(texts(connection?["errors"]).first?.contains("[PSYNC_S1141]") == true)
        }
    }

    @Test func howLongAgoSomethingWasReplicatedIsToldOnceItIsLong() {
        let ages: [Double?] = [nil, 0, 300, 301, 900, 901]
        let said = ages.map { seconds in
            AdminMessage.age(seconds).map { "\($0.level.rawValue): \($0.message)" }
        }
        #expect(
            said == [
                "warning: No checkpoint found, cannot calculate replication lag", nil, nil,
                "warning: No replicated commit in more than 300s",
                "warning: No replicated commit in more than 300s",
                "fatal: No replicated commit in more than 900s",
            ])
    }
}
