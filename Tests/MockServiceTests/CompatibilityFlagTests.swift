import PowerSyncMockService
import PowerSyncPostgres
import PowerSyncSyncRules
import PowerSyncWire
import Testing

/// The flags of `config` in every combination, of every edition and precision: names of buckets and values of rows (service
/// 5, 6.2, 6.10, 6.13).
struct CompatibilityFlagTests {
    /// A precision, the digits that it leaves, and how a second's fraction is spelled then.
    private static let precisions: [(name: String, digits: Int?, fraction: String)] = [
        ("", nil, ".456700"), ("seconds", 0, ""), ("milliseconds", 3, ".456"), ("microseconds", 6, ".456700"),
        ("nanoseconds", 6, ".456700"),
    ]

    /// What a configuration says of one flag each.
    private struct Flags {
        let timestampsISO8601, versionedBucketIDs, fixedJSONExtract, customPostgresTypes: Bool

        /// The flags that are the bits of a number.
        init(_ bits: Int) {
            timestampsISO8601 = bits & 1 != 0
            versionedBucketIDs = bits & 2 != 0
            fixedJSONExtract = bits & 4 != 0
            customPostgresTypes = bits & 8 != 0
        }

        var text: String {
            "timestamps_iso8601: \(timestampsISO8601), versioned_bucket_ids: \(versionedBucketIDs), "
                + "fixed_json_extract: \(fixedJSONExtract), custom_postgres_types: \(customPostgresTypes)"
        }
    }

    /// A configuration; without flags they are those of the edition.
    private static func text(_ edition: Int, _ flags: Flags?, _ precision: String) -> String {
        var options = ["edition: \(edition)"]
        if let flags { options.append(flags.text) }
        if !precision.isEmpty { options.append("timestamp_max_precision: \(precision)") }
        let query = "SELECT id, d, t, z, c, r, s ->> 'a.b' AS m, s ->> 'n' AS n FROM v"
        let rest =
            edition == 3
            ? "streams: {all: {auto_subscribe: true, query: \"\(query)\"}}"
            : "bucket_definitions: {all: {data: [\"\(query)\"]}}"
        return "config: {\(options.joined(separator: ", "))}\n\(rest)\n"
    }

    /// The data of the row.
    private static func data(_ flags: Flags, _ fraction: String) -> String {
        let isISO = flags.timestampsISO8601
        let time = isISO ? "2023-03-06T15:47:12\(fraction)" : "2023-03-06 15:47:12.4567"
        let clock = isISO ? "17:42:01\(fraction)" : "17:42:01.4567"
        let range = #"{"lower":2,"upper":4,"lower_exclusive":0,"upper_exclusive":1}"#
        let members = [
            #""id":"1""#,
            // The stream does not tell what a domain is of.
            flags.customPostgresTypes ? #""d":7"# : #""d":"7""#,
            #""t":"\#(time)""#, #""z":"\#(time)Z""#, #""c":"\#(clock)""#,
            #""r":\#(JSON.quoted(flags.customPostgresTypes ? range : "[2,4)"))"#,
            flags.fixedJSONExtract ? #""m":1"# : #""m":2"#,
            flags.fixedJSONExtract ? #""n":null"# : #""n":"null""#,
        ]
        return "{\(members.joined(separator: ","))}"
    }

    private static let columns: [(name: String, oid: UInt32)] = [
        ("id", 25), ("d", 100), ("t", 1114), ("z", 1184), ("c", 1083), ("r", 3904), ("s", 3802),
    ]

    private static let row: PgOutputTuple = [
        .text("1"), .text("7"), .text("2023-03-06 15:47:12.4567"), .text("2023-03-06 15:47:12.4567+00"),
        .text("17:42:01.4567"), .text("[2,4)"), .text(#"{"n": null, "a": {"b": 2}, "a.b": 1}"#),
    ]

    private static var catalog: TypeCatalog {
        let base: [(UInt32, String)] = [
            (25, "text"), (23, "int4"), (1114, "timestamp"), (1184, "timestamptz"), (1083, "time"),
            (3802, "jsonb"),
        ]
        var domain = TypeCatalog.Entry(oid: 100, name: "", kind: "d")
        domain.inner = 23
        var range = TypeCatalog.Entry(oid: 3904, name: "int4range", kind: "r")
        range.inner = 23
        return TypeCatalog(
            base.map { TypeCatalog.Entry(oid: $0.0, name: $0.1, kind: "b") } + [domain, range])
    }

    /// What a plan makes of the row, and the names of the buckets that everybody lists.
    private static func outcome(_ plan: SyncPlan) async throws -> (rows: [String], listed: [String]) {
        let description = TableDescription(
            oid: 7, schema: "public", name: "v",
            columns: columns.map {
                SourceColumn(name: $0.name, typeOID: $0.oid, isIdentity: $0.name == "id")
            })
        let table = try await EvaluatedTable(plan, description, catalog)
        let batch = table.evaluate { $0.add(.insert, new: row) }
        let rows = try batch.rows.flatMap { row in
            try ComparedOperation.found(row, in: batch, types: table.types).map {
                "\($0.bucket.text) \($0.type.text) \($0.id.text) \($0.data.text)"
            }
        }
        var lookups = SessionLookups(
            ServedPlan(stream: 7, plan: plan), SyncStreamRequest(), token: .object([]))
        return (rows, try lookups.settled()?.buckets.map(\.name) ?? [])
    }

    @Test(arguments: 1...3) func eachCombinationSaysWhatItsFlagsSay(_ edition: Int) async throws {
        let bucket = edition == 3 ? "all|0[]" : "all[]"
        for bits in 0..<16 {
            let flags = Flags(bits)
            for (precision, digits, fraction) in Self.precisions {
                let text = Self.text(edition, flags, precision)
                let config = SyncConfig.compile(text)
                guard flags.timestampsISO8601 || precision.isEmpty else {
                    #expect(config.plan == nil, "\(text)")
                    let message = "'timestamp_max_precision' requires 'timestamps_iso8601' to be enabled."
                    #expect(config.diagnostics.all.map(\.message) == [message], "\(text)")
                    continue
                }
                #expect(config.diagnostics.all.isEmpty, "\(text)")
                let plan = try #require(config.plan, "\(text)")
                #expect(plan.options.fractionDigits == digits, "\(text)")
                let outcome = try await Self.outcome(plan)
                #expect(outcome.rows == ["\(bucket) v 1 \(Self.data(flags, fraction))"], "\(text)")
                // The version stands in front of every name.
                #expect(outcome.listed == ["7#\(bucket)"], "\(text)")
            }
        }
    }

    /// What is not said is off in edition 1 and on from edition 2.
    @Test(arguments: 1...3) func withoutFlagsTheyAreThoseOfTheEdition(_ edition: Int) async throws {
        let flags = Flags(edition == 1 ? 0 : 15)
        for (precision, _, fraction) in Self.precisions where edition > 1 || precision.isEmpty {
            let plan = try SyncPlan.compiled(Self.text(edition, nil, precision))
            let said = try SyncPlan.compiled(Self.text(edition, flags, precision))
            #expect(plan.options == said.options)
            let rows = try await Self.outcome(plan).rows
            #expect(rows.count == 1 && rows.first?.hasSuffix(Self.data(flags, fraction)) == true, "\(rows)")
        }
    }
}
