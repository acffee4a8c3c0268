import PowerSyncPostgres
import PowerSyncServiceEngine
import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What a configuration keeps of older editions, each flag alone and all together (service 6.2).
@Suite(.patient())
struct CompatibilityFlagTests {
    /// What stands in a `config`, and what it comes to.
    private struct Setting {
        let edition: Int
        let hasISOTimes: Bool
        let hasVersionedNames: Bool
        let hasFixedJSON: Bool
        let hasCustomTypes: Bool
        let precision: String?
        let hasEngine: Bool

        /// The configuration.
        var text: String {
            var options = [
                "edition: \(edition)", "timestamps_iso8601: \(hasISOTimes)",
                "versioned_bucket_ids: \(hasVersionedNames)", "fixed_json_extract: \(hasFixedJSON)",
                "custom_postgres_types: \(hasCustomTypes)", "unstable_sqlite_expression_engine: \(hasEngine)",
            ]
            if let precision { options.append("timestamp_max_precision: \(precision)") }
            return CompatibilityFlagTests.text(options, edition: edition)
        }

        /// What is wrong with it.
        var mistakes: [DiagnosticName] {
            var mistakes: [DiagnosticName] = []
            if precision != nil, !hasISOTimes { mistakes.append(.precisionNeedsISO) }
            if hasEngine, edition < 3 { mistakes.append(.engineNeedsEdition) }
            if hasEngine, edition == 3, !hasFixedJSON { mistakes.append(.engineNeedsJSON) }
            return mistakes
        }

        /// The data of the row.
        var data: String {
            let fraction = precision == "seconds" ? "" : precision == "milliseconds" ? ".456" : ".456789"
            let time = hasISOTimes ? "2023-03-06T15:47:12\(fraction)" : "2023-03-06 15:47:12.456789"
            return """
                {"id":"1","t":"\(time)","d":\(hasCustomTypes ? "7" : "\"7\""),"m":"\(hasFixedJSON ? 1 : 2)",\
                "s":"\(hasEngine ? "1.0" : "1")"}
                """
        }
    }

    private static let query = "SELECT id, t, d, j -> 'a.b' AS m, r || '' AS s FROM v"
    private static let row: PgOutputTuple = [
        .text("1"), .text("2023-03-06 15:47:12.456789"), .text("7"), .text(#"{"a.b":1,"a":{"b":2}}"#),
        .text("1"),
    ]

    private static func text(_ options: [String], edition: Int) -> String {
        let rows =
            edition < 3
            ? "bucket_definitions: {b: {data: [\"\(query)\"]}}"
            : "streams: {b: {auto_subscribe: true, query: \"\(query)\"}}"
        return "config: {\(options.joined(separator: ", "))}\n\(rows)\n"
    }

    /// What is sent of the row, with the name of its bucket.
    private static func sent(_ plan: SyncPlan) async throws -> [String] {
        var domain = TypeCatalog.Entry(oid: 9000, name: "positive", kind: "d")
        domain.inner = 23
        let types = TypeCatalog(
            [(25, "text"), (1114, "timestamp"), (23, "int4"), (701, "float8")].map { oid, name in
                TypeCatalog.Entry(oid: UInt32(oid), name: name, kind: "b")
            } + [domain])
        let columns: [(name: String, type: UInt32)] = [
            ("id", 25), ("t", 1114), ("d", 9000), ("j", 25), ("r", 701),
        ]
        let table = try await EvaluatedTable(
            plan,
            TableDescription(
                oid: 7, schema: "public", name: "v",
                columns: columns.map {
                    SourceColumn(name: $0.name, typeOID: $0.type, isIdentity: $0.name == "id")
                }), types)
        let batch = table.evaluate { $0.add(.insert, new: row) }
        return try ComparedOperation.found(batch.rows[0], in: batch, types: table.types).map {
            "\($0.bucket.text) \($0.data.text)"
        }
    }

    @Test(arguments: 1...3) func eachHasItsEffectWhateverTheOthersSay(_ edition: Int) async throws {
        var (accepted, refused) = (0, 0)
        for bits in 0..<32 {
            for precision in [nil, "seconds", "milliseconds", "microseconds", "nanoseconds"] {
                let setting = Setting(
                    edition: edition, hasISOTimes: bits & 1 > 0, hasVersionedNames: bits & 2 > 0,
                    hasFixedJSON: bits & 4 > 0, hasCustomTypes: bits & 8 > 0, precision: precision,
                    hasEngine: bits & 16 > 0)
                let config = SyncConfig.compile(setting.text)
                #expect(config.diagnostics.all.map(\.name) == setting.mistakes, "\(setting.text)")
                guard let plan = config.plan else {
                    refused += 1
                    continue
                }
                accepted += 1
                let bucket = edition < 3 ? "b[]" : "b|0[]"
                #expect(try await Self.sent(plan) == ["\(bucket) \(setting.data)"], "\(setting.text)")
            }
        }
        #expect(accepted + refused == 160 && accepted >= 48)
    }

    /// One flag alone beside the edition.
    @Test(arguments: 1...3) func whatIsNotSaidIsThatOfTheEdition(_ edition: Int) async throws {
        let keys = [
            "timestamps_iso8601", "versioned_bucket_ids", "fixed_json_extract", "custom_postgres_types",
        ]
        let isNew = edition > 1
        for (place, key) in keys.enumerated() {
            for isOn in [false, true] {
                func isSet(_ other: Int) -> Bool { place == other ? isOn : isNew }
                let text = Self.text(["edition: \(edition)", "\(key): \(isOn)"], edition: edition)
                let plan = try #require(SyncConfig.compile(text).plan)
                let setting = Setting(
                    edition: edition, hasISOTimes: isSet(0), hasVersionedNames: isSet(1),
                    hasFixedJSON: isSet(2), hasCustomTypes: isSet(3), precision: nil, hasEngine: false)
                let bucket = edition < 3 ? "b[]" : "b|0[]"
                #expect(try await Self.sent(plan) == ["\(bucket) \(setting.data)"], "\(text)")
            }
        }
    }

    /// It says how the real service stores, which this one does in its own way.
    @Test(arguments: 1...3) func aStorageVersionChangesNothing(_ edition: Int) throws {
        func compiled(_ version: Int?) -> CompiledConfig {
            let version = version.map { ["storage_version: \($0)"] } ?? []
            return SyncConfig.compile(Self.text(["edition: \(edition)"] + version, edition: edition))
        }
        let plain = try #require(compiled(nil).plan)
        for version in [2, 3] {
            let config = compiled(version)
            let plan = try #require(config.plan)
            #expect(plan == plain)
            #expect(config.diagnostics.all.map(\.name) == (version == 3 ? [.storageVersionUnstable] : []))
        }
        for version in [1, 4] {
            let config = compiled(version)
            #expect(config.plan == nil)
            #expect(config.diagnostics.all.map(\.message) == ["Storage version \(version) is not supported"])
        }
    }

    private static let dangerous: [(String, DiagnosticName)] = [
        (
            """
            bucket_definitions:
              b:
                parameters: SELECT request.parameters() ->> 'p' AS p
                data: [SELECT * FROM v WHERE id = bucket.p]
            """, .dangerousQuery
        ),
        (
            """
            config: {edition: 3}
            streams:
              b:
                query: SELECT * FROM v WHERE id = connection.parameter('p')
            """, .unauthenticatedParameter
        ),
    ]

    /// The warning is gone; what is synced is the same.
    @Test(arguments: dangerous.indices) func dangerousQueriesCanBeAccepted(_ index: Int) throws {
        let (text, warning) = Self.dangerous[index]
        let warned = SyncConfig.compile(text)
        #expect(warned.diagnostics.all.map(\.name) == [warning])
        let accepted = SyncConfig.compile(text + "\n    accept_potentially_dangerous_queries: true\n")
        #expect(accepted.diagnostics.all.isEmpty)
        #expect(accepted.plan != nil && accepted.plan == warned.plan)
        let declined = SyncConfig.compile(text + "\n    accept_potentially_dangerous_queries: false\n")
        #expect(declined.diagnostics.all.map(\.name) == [warning])
    }
}
