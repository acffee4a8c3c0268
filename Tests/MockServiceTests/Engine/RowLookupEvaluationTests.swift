import PowerSyncPostgres
import PowerSyncServiceEngine
import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What finds a row, arrays of rows, and tables of one pattern, as batches have them (LANGUAGE.md, 6).
@Suite(.namesSeed, .patient())
struct RowLookupEvaluationTests {
    private static let config = """
        config: {edition: 3}
        streams:
          a:
            query: SELECT * FROM items WHERE project IN (SELECT project FROM t WHERE user_id = auth.user_id())
          b:
            query: >-
              SELECT * FROM items WHERE project IN
                (SELECT t.project FROM t, json_each(t.readers) AS r WHERE r.value = auth.user_id() AND t.rank > 1)
          c:
            query: SELECT id, user_id FROM t WHERE auth.user_id() IN readers
          d:
            query: SELECT id, user_id FROM t WHERE user_id = auth.user_id()
          e:
            query: SELECT * FROM "t%" WHERE rank = subscription.parameter('r')
        """
    private static let columns = ["id", "user_id", "project", "readers", "rank"]

    private static func table(name: String = "t", keepsLargeValues: Bool = true) async throws
        -> EvaluatedTable
    {
        let types = TypeCatalog(
            [(23, "int4"), (25, "text")].map { oid, name in
                var type = TypeCatalog.Entry(oid: UInt32(oid), name: name, kind: "b")
                type.isVariableLength = name == "text"
                return type
            })
        return try await EvaluatedTable(
            try SyncPlan.compiled(config),
            TableDescription(
                oid: 7, schema: "public", name: name,
                columns: columns.map {
                    SourceColumn(name: $0, typeOID: $0 == "rank" ? 23 : 25, isIdentity: $0 == "id")
                }), types, keepsLargeValues: keepsLargeValues)
    }

    private static func tuple(_ texts: [String?]) -> PgOutputTuple {
        texts.map { $0.map { PgOutputValue.text($0) } ?? .null }
    }

    private static func buckets(_ row: Int, of batch: EvaluatedBatch) -> [String] {
        batch.operations[batch.rows[row].operations].map {
            String(decoding: batch.bytes[batch.buckets[$0.bucket]], as: UTF8.self)
        }
    }

    /// Random rows, some of whose arrays are none.
    @Test func rowsAreFoundAsOnValues() async throws {
        let table = try await Self.table()
        let evaluator = RowEvaluator(table.config)
        var (keys, operations) = (0, 0)
        try await forEachSeed(100) { random in
            let rows = (0..<20).map { number -> [String?] in
                [
                    "r\(number)", random.pick(["u1", "u2", nil]), random.pick(["p1", "p2", nil]),
                    random.pick([#"["u1","u2"]"#, #"["u1","u1",3,null]"#, "[]", "nothing", nil, "\"u1\""]),
                    random.pick(["0", "2", "3", nil]),
                ]
            }
            let batch = table.evaluate { builder in
                for row in rows { builder.add(.insert, new: Self.tuple(row)) }
            }
            for (index, row) in rows.enumerated() {
                let values = ComparedOperation.values(row, of: table.plan, table.config.options)
                let source = SourceRow(shape: RowShape(columns: Self.columns), values: values)
                let expected = evaluator.lookups(source, schema: "public", table: "t")
                #expect(FoundKey.found(batch.rows[index], in: batch) == expected, "\(row)")
                let places = evaluator.evaluate(source, schema: "public", table: "t").map(\.bucket)
                #expect(Self.buckets(index, of: batch) == places, "\(row)")
                keys += expected.count
                operations += places.count
            }
        }
        guard TestOptions.number("POWERSYNC_SEED", standard: -1) < 0 else { return }
        #expect(keys > 1000 && operations > 1000)
    }

    /// Each key once, however often an array has its value.
    @Test func aRowHasEachKeyOfALookupOnce() async throws {
        let table = try await Self.table()
        let batch = table.evaluate { builder in
            builder.add(.insert, new: Self.tuple(["r", nil, "p", #"["u1","u2","u1"]"#, "2"]))
        }
        let found = FoundKey.found(batch.rows[0], in: batch)
        #expect(found.count == 2 && Set(found.map(\.key)).count == 2)
        // Of the first one two rows are found, one for each way.
        #expect(found.map { $0.value.first } == [3, 2])
    }

    /// A table of a prefix alone is in its buckets and in no others.
    @Test func tablesOfAPatternHaveTheirRowsInItsBuckets() async throws {
        let table = try await Self.table(name: "t_other")
        #expect(table.plan.lookups.isEmpty && table.plan.programs.count == 1)
        #expect(table.types == ["t_other"])
        let batch = table.evaluate { builder in
            builder.add(.insert, new: Self.tuple(["r", "u1", "p", "[]", "2"]))
        }
        #expect(Self.buckets(0, of: batch) == ["e|0[2]"])
    }

    /// A value that only a lookup needs is waited for, too.
    @Test func aRowWaitsForWhatFindsIt() async throws {
        let table = try await Self.table()
        let batch = table.evaluate { builder in
            for user in [PgOutputValue.null, .text("u")] {
                builder.add(.update, new: [.text("r"), user, .unchangedToast, .text("[]"), .null])
            }
        }
        #expect(batch.waiting == [1])
        #expect(batch.rows[1].lookups.isEmpty && batch.rows[1].operations.isEmpty)
    }

    /// Streams of one table whose rows look the same there share the bytes of an operation.
    @Test func oneOutputIsMadeOnce() async throws {
        let table = try await Self.table()
        let batch = table.evaluate { builder in
            builder.add(.insert, new: Self.tuple(["r", "u1", "p", #"["u1","u2"]"#, "2"]))
        }
        let records = batch.operations.map(\.record)
        // One of c for each reader and of d, and that of e.
        #expect(records.count == 4 && Set(records).count == 2)
    }

    @Test func anArrayThatIsNoneIsToldOfAndFindsNothing() async throws {
        let table = try await Self.table()
        let batch = table.evaluate { builder in
            builder.add(.insert, new: Self.tuple(["r", "u1", "p", "[broken", "2"]))
        }
        let texts = Array(batch.warnings.counts.keys)
        #expect(texts.contains { $0.hasPrefix("The lookup ") && $0.contains("which it does not find") })
        #expect(texts.contains { $0.hasPrefix("A query of ") })
        // What does not read it goes on.
        #expect(FoundKey.found(batch.rows[0], in: batch).count == 1)
        #expect(Self.buckets(0, of: batch) == ["d|0[\"u1\"]", "e|0[2]"])
    }
}
