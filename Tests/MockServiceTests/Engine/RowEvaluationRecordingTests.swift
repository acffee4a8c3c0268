import Foundation
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncServiceEngine
import PowerSyncSyncRules
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// All rows of the recorded scenarios of edition 3, at each of their steps.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct RowEvaluationRecordingTests {
    /// A scenario with its configuration.
    private struct Scenario {
        let name: String
        let plan: SyncPlan
        /// Transactions, of which the first one is the schema with the rows that were there first.
        let transactions: [[String]]
    }

    private func scenarios() throws -> [Scenario] {
        let files = try Repository.fixtureFiles("service/curated") + Repository.fixtureFiles("service/random")
        return try files.compactMap { file in
            let json = try ServiceRecordings.parse(try String(contentsOf: file, encoding: .utf8))
            guard let text = json["sync_config"]?.stringValue else { return nil }
            // Some are refused, as recorded; the rules of `*` and columns of one name are other ones in older editions.
            guard let plan = SyncConfig.compile(text).plan, plan.edition >= 3 else { return nil }
            let first = (json["schema"]?.arrayValue ?? []) + (json["seed"]?.arrayValue ?? [])
            let later = (json["steps"]?.arrayValue ?? []).compactMap { $0["tx"]?.arrayValue }
            return Scenario(
                name: file.deletingPathExtension().lastPathComponent, plan: plan,
                transactions: ([first] + later).map { $0.compactMap(\.stringValue) })
        }
    }

    @Test func rowsComeToWhatTheEvaluatorMakesOfThem() async throws {
        let scenarios = try scenarios()
        #expect(scenarios.count >= 19)
        let poller = try Poller()
        defer { poller.stop() }
        var operations = 0
        for scenario in scenarios {
            let connection = try await TestPostgres.connection(poller)
            do {
                try await connection.script(
                    "SET timezone = 'UTC'; SET datestyle = 'ISO'; SET bytea_output = 'hex'")
                for transaction in scenario.transactions {
                    try await connection.query("BEGIN")
                    for statement in transaction { try await connection.query(statement) }
                    try await connection.query("COMMIT")
                    operations += try await compare(scenario, connection)
                }
            } catch {
                await connection.close()
                throw error
            }
            await connection.close()
        }
        #expect(operations > 100, "the scenarios have \(operations) rows in buckets: they say nothing")
    }

    /// Compares all rows that there are now; returns how many operations they come to.
    private func compare(_ scenario: Scenario, _ connection: PostgresConnection) async throws -> Int {
        var operations = 0
        let catalog = try await types(connection)
        let evaluator = RowEvaluator(scenario.plan)
        let tables = try await connection.query(
            "SELECT schemaname, tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        )
        for place in 0..<tables.rowCount {
            let (schema, name) = (tables[place, 0] ?? "", tables[place, 1] ?? "")
            guard scenario.plan.reads(schema: schema, table: name) else { continue }
            let quoted = quoteIdentifier(schema, name)
            let rows = try await connection.query("SELECT * FROM \(quoted)")
            let columns = rows.columns.enumerated().map { index, column in
                SourceColumn(name: column.name, typeOID: column.typeOID, isIdentity: index == 0)
            }
            let table = try await EvaluatedTable(
                scenario.plan,
                TableDescription(oid: 7, schema: schema, name: name, columns: columns), catalog)
            let batch = table.evaluate { builder in
                for row in 0..<rows.rowCount {
                    let tuple = rows.row(row).map { $0.map { PgOutputValue.text($0) } ?? .null }
                    builder.add(.snapshot, new: tuple)
                }
            }
            #expect(batch.waiting.isEmpty, "\(scenario.name)")
            for (index, row) in batch.rows.enumerated() {
                let texts = rows.row(index)
                let values = ComparedOperation.values(texts, of: table.plan, scenario.plan.options)
                let identity = table.plan.identity.map { (name: columns[$0].name, value: values[$0]) }
                let expected = ComparedOperation.expected(
                    texts, of: table.plan, scenario.plan, ReplicaID(columns: identity))
                let found = try ComparedOperation.found(row, in: batch, types: table.types)
                #expect(found == expected, "\(scenario.name)")
                let source = SourceRow(shape: RowShape(columns: columns.map(\.name)), values: values)
                let keys = evaluator.lookups(source, schema: schema, table: name)
                #expect(FoundKey.found(row, in: batch) == keys, "\(scenario.name)")
                operations += found.count
            }
        }
        return operations
    }

    /// The types of a database, without those of multiranges.
    private func types(_ connection: PostgresConnection) async throws -> TypeCatalog {
        func oid(_ text: String?) -> UInt32 { text.flatMap { UInt32($0) } ?? 0 }
        let fields = try await connection.query(
            """
            SELECT c.reltype, a.attname, a.atttypid FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
            WHERE c.relkind = 'c' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attrelid, a.attnum
            """)
        var fieldsByType: [UInt32: [(name: String, oid: UInt32)]] = [:]
        for row in 0..<fields.rowCount {
            fieldsByType[oid(fields[row, 0]), default: []].append((fields[row, 1] ?? "", oid(fields[row, 2])))
        }
        let rows = try await connection.query(
            """
            SELECT t.oid, t.typname, t.typtype, t.typdelim, e.oid IS NOT NULL,
                CASE t.typtype WHEN 'd' THEN t.typbasetype WHEN 'b' THEN t.typelem
                    WHEN 'r' THEN (SELECT rngsubtype FROM pg_range WHERE rngtypid = t.oid) END
            FROM pg_type t LEFT JOIN pg_type e ON e.typarray = t.oid
            """)
        return TypeCatalog(
            (0..<rows.rowCount).map { row in
                var entry = TypeCatalog.Entry(
                    oid: oid(rows[row, 0]), name: rows[row, 1] ?? "", kind: rows[row, 2]?.first ?? "b")
                entry.delimiter = rows[row, 3]?.first ?? ","
                entry.isArray = rows[row, 4] == "t"
                entry.inner = oid(rows[row, 5])
                entry.fields = fieldsByType[entry.oid] ?? []
                return entry
            })
    }
}
