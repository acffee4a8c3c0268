import PowerSyncPostgres
import PowerSyncServiceEngine
import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@Suite(.namesSeed, .patient())
struct RowEvaluationTests {
    /// The types of the columns of `RandomQueries`, with texts of each and one that is none of it.
    private static let columns: [(type: UInt32, texts: [String?])] = [
        (25, ["r1", "r2", "e\u{301}", "", nil]), (23, ["1", "-7", "0", "314", nil, "x"]),
        (701, ["3", "0.5", "-0", "NaN", "314", nil]), (17, ["\\x", "\\xff41", nil, "\\x0"]),
        (1184, ["2023-03-06 13:47:00+00", "0044-03-15 00:00:00+00 BC", nil, "2023-03-06 13:47:00+02"]),
        (16, ["t", "f", nil]), (1700, ["1.50", "3", nil]), (114, ["{\"a\": \"é\"}", "null", nil]),
    ]

    private static let types = TypeCatalog(
        [
            (16, "bool"), (17, "bytea"), (23, "int4"), (25, "text"), (114, "json"), (701, "float8"),
            (1184, "timestamptz"), (1700, "numeric"),
        ].map { entry in
            var type = TypeCatalog.Entry(oid: UInt32(entry.0), name: entry.1, kind: "b")
            type.isVariableLength = ["bytea", "text", "json", "numeric"].contains(entry.1)
            return type
        })

    private func table(
        _ queries: [String], _ columns: [(name: String, type: UInt32)], identity: Set<Int>,
        keepsLargeValues: Bool = true
    ) async throws -> EvaluatedTable {
        let list = queries.map { "      - \(JSON.quoted($0))\n" }.joined()
        let plan = try SyncPlan.compiled(
            "config: {edition: 3}\nstreams:\n  s:\n    queries:\n\(list)")
        let described = columns.enumerated().map { index, column in
            SourceColumn(name: column.name, typeOID: column.type, isIdentity: identity.contains(index))
        }
        return try await EvaluatedTable(
            plan, TableDescription(oid: 7, schema: "public", name: "t", columns: described), Self.types,
            keepsLargeValues: keepsLargeValues)
    }

    /// A table of texts and one integer: `id`, `rank`, `note` and `body`.
    private func table(
        _ queries: String..., identity: Set<Int> = [0], keepsLargeValues: Bool = true
    ) async throws -> EvaluatedTable {
        try await table(
            queries, [("id", 25), ("rank", 23), ("note", 25), ("body", 25)], identity: identity,
            keepsLargeValues: keepsLargeValues)
    }

    private func data(
        _ row: Int, of batch: EvaluatedBatch, _ table: EvaluatedTable
    ) throws -> [String] {
        try ComparedOperation.found(batch.rows[row], in: batch, types: table.types).map(\.data.text)
    }

    private func bytes(_ range: Range<Int>?, of batch: EvaluatedBatch) throws -> [UInt8] {
        Array(batch.bytes[try #require(range)])
    }

    private func key(_ values: SQLiteValue...) -> [UInt8] {
        let columns = values.map { (name: "any", value: $0) }
        return RowKey(values, of: ReplicaID(columns: columns)).bytes
    }

    @Test func randomBatchesComeToWhatTheEvaluatorMakesOfThem() async throws {
        try await forEachSeed(200) { random in
            var queries = RandomQueries(random)
            let texts = (0..<4).map { _ in queries.query() }
            let identity = Set((0..<queries.random.below(4)).map { _ in queries.random.below(8) })
            let table = try await self.table(
                texts, zip(RandomQueries.columns, Self.columns).map { (name: $0, type: $1.type) },
                identity: identity)
            func tuple() -> [String?] { Self.columns.map { queries.random.pick($0.texts) } }
            let changes = (0..<20).map { _ in
                (
                    new: tuple(), old: queries.random.once(in: 3) ? tuple() : nil,
                    isGone: queries.random.once(in: 5)
                )
            }
            let batch = table.evaluate { builder in
                for change in changes {
                    let new = change.new.map { $0.map { PgOutputValue.text($0) } ?? .null }
                    let old = change.old?.map { $0.map { PgOutputValue.text($0) } ?? .null }
                    if change.isGone {
                        builder.add(.delete, old: new)
                    } else {
                        builder.add(old == nil ? .insert : .update, new: new, old: old)
                    }
                }
            }
            #expect(batch.rows.count == changes.count && batch.waiting.isEmpty)
            #expect(Set(batch.buckets.map { Array(batch.bytes[$0]) }).count == batch.buckets.count)
            for (row, change) in zip(batch.rows, changes) {
                try compare(row, change.new, change.old, change.isGone, table, batch)
            }
        }
    }

    /// Compares a row of a batch with what its texts come to.
    private func compare(
        _ row: EvaluatedBatch.Row, _ new: [String?], _ old: [String?]?, _ isGone: Bool,
        _ table: EvaluatedTable, _ batch: EvaluatedBatch
    ) throws {
        let plan = table.plan
        func identity(_ texts: [String?]) -> [(name: String, value: SQLiteValue)] {
            let values = ComparedOperation.values(texts, of: plan, table.config.options)
            return plan.identity.map { (name: plan.table.description.columns[$0].name, value: values[$0]) }
        }
        func key(_ texts: [String?]) -> [UInt8] {
            let columns = identity(texts)
            return RowKey(columns.map(\.value), of: ReplicaID(columns: columns)).bytes
        }
        let found = try ComparedOperation.found(row, in: batch, types: table.types)
        if isGone {
            #expect(row.kind == .delete && row.key == nil && found.isEmpty)
            guard !plan.identity.isEmpty else { return }
            #expect(try bytes(row.oldKey, of: batch) == key(new))
            return
        }
        let rowKey = try bytes(row.key, of: batch)
        var replicaID = ReplicaID(columns: identity(new))
        if plan.identity.isEmpty {
            // It is random, and the key says which.
            #expect(rowKey.count == 17)
            replicaID = ReplicaID(bytes: Array(rowKey.suffix(16)))
        } else {
            #expect(rowKey == key(new))
            let former = old.map(key).flatMap { $0 == rowKey ? nil : $0 }
            #expect(row.oldKey.map { Array(batch.bytes[$0]) } == former)
        }
        #expect(found == ComparedOperation.expected(new, of: plan, table.config, replicaID))
    }

    @Test func rowsAreEvaluatedAlikeWhileOthersRun() async throws {
        let table = try await self.table("SELECT * FROM t WHERE note = auth.user_id()")
        var builder = BatchBuilder([table.plan])
        for row in 0..<1000 {
            let body = String(repeating: "x", count: row)
            builder.add(
                .snapshot, new: [.text("r\(row)"), .text("\(row)"), .text("u\(row % 7)"), .text(body)])
        }
        let converter = SlotConverter(options: table.config.options)
        var limits = StoreLimits()
        limits.evaluatedRows = 10
        let batch = try await RowEvaluation.evaluate(builder.batch, converter, limits: limits)
        let atOnce = RowEvaluation.evaluateAtOnce(builder.batch, converter, limits: limits)
        #expect(batch.bytes == atOnce.bytes && batch.rows == atOnce.rows)
        #expect(batch.operations == atOnce.operations && batch.buckets == atOnce.buckets)
        let names = batch.buckets.map { String(decoding: batch.bytes[$0], as: UTF8.self) }
        #expect(names == (0..<7).map { "s|0[\"u\($0)\"]" })
        #expect(batch.operations.map(\.bucket) == (0..<1000).map { $0 % 7 })
    }

    @Test func aRowWaitsForAValueThatIsNeededAlone() async throws {
        let table = try await self.table(
            "SELECT id, note FROM t WHERE rank > 2", "SELECT id, body FROM t WHERE rank > 5")
        let batch = table.evaluate { builder in
            builder.add(.update, new: [.text("a"), .text("1"), .unchangedToast, .unchangedToast])
            builder.add(.update, new: [.text("b"), .text("3"), .text("n"), .unchangedToast])
            builder.add(.update, new: [.text("c"), .text("3"), .unchangedToast, .text("b")])
            builder.add(.update, new: [.text("d"), .text("9"), .text("n"), .unchangedToast])
            builder.add(.update, new: [.text("e"), .text("3"), .text("n"), .text("b")])
        }
        #expect(batch.waiting == [2, 3])
        #expect(batch.rows.map(\.operations.count) == [0, 1, 0, 0, 1])
        #expect(batch.rows.map(\.hasMissingValues) == [true, true, true, true, false])
        #expect(try data(1, of: batch, table) == [#"{"id":"b","note":"n"}"#])
        #expect(try data(4, of: batch, table) == [#"{"id":"e","note":"n"}"#])
        let keys = try batch.rows.map { try bytes($0.key, of: batch) }
        #expect(keys == "abcde".map { key(.text("\($0)")) })
    }

    @Test func theOldRowHasWhatTheNewOneLeavesOut() async throws {
        let table = try await self.table("SELECT * FROM t", identity: [0, 1, 2, 3])
        let batch = table.evaluate { builder in
            builder.add(
                .update, new: [.text("a"), .text("2"), .unchangedToast, .unchangedToast],
                old: [.text("a"), .text("1"), .text("n"), .null])
        }
        // A NULL is never left out, so the old row does not have the value.
        #expect(batch.waiting == [0])
        let full = table.evaluate { builder in
            builder.add(
                .update, new: [.text("a"), .text("2"), .null, .unchangedToast],
                old: [.text("a"), .text("1"), .text("n"), .text("b")])
        }
        #expect(full.waiting.isEmpty && !full.rows[0].hasMissingValues)
        #expect(try data(0, of: full, table) == [#"{"id":"a","rank":2,"note":null,"body":"b"}"#])
        #expect(try bytes(full.rows[0].oldKey, of: full) == key("a", 1, "n", "b"))
        #expect(try bytes(full.rows[0].key, of: full) == key("a", 2, nil, "b"))
    }

    @Test func whatCannotBeComputedIsAWarning() async throws {
        let table = try await self.table(
            ["SELECT id FROM t WHERE raw = raw", "SELECT id, rank FROM t"],
            [("id", 25), ("raw", 17), ("rank", 23), ("other", 23)], identity: [0])
        let batch = table.evaluate { builder in
            builder.add(.insert, new: [.text("a"), .text("\\x01"), .text("many"), .text("more")])
            builder.add(.insert, new: [.text("b"), .null, .text("2"), .text("more")])
            // It is said once the row has all values.
            builder.add(.update, new: [.text("c"), .unchangedToast, .text("many"), .null])
        }
        var warnings = RowWarnings()
        warnings.add(
            "The column rank of public.t is synced as Postgres spells it: A text of Postgres is no integer.")
        warnings.add(
            "A query of s|0 has no value for a row of public.t, which is not in its buckets: "
                + "Blobs cannot be compared.")
        #expect(batch.warnings == warnings)
        #expect(batch.waiting == [2])
        #expect(try data(0, of: batch, table) == [#"{"id":"a","rank":"many"}"#])
        #expect(try data(1, of: batch, table) == [#"{"id":"b","rank":2}"#])
    }

    /// It is one for all rows, whatever they hold, and none of that is in the log.
    @Test func aWarningHasNothingOfARow() async throws {
        let table = try await self.table("SELECT id FROM t WHERE 'x' IN note")
        let batch = table.evaluate { builder in
            for note in [#""secret""#, #"["secret""#, #"{"secret": 1"#, "12345"] {
                builder.add(.insert, new: [.text("a"), .text("1"), .text(note), .text("b")])
            }
        }
        var warnings = RowWarnings()
        warnings.add(
            "A query of s|0 has no value for a row of public.t, which is not in its buckets: "
                + "Expected JSON string", 2)
        // What is JSON and no array is its only element.
        #expect(batch.warnings == warnings)
        #expect(batch.operations.isEmpty)
    }

    @Test func anOutputThatQueriesShareIsMadeOnceARow() async throws {
        let table = try await self.table(
            "SELECT * FROM t WHERE rank > 2", "SELECT * FROM t WHERE note = auth.user_id()",
            "SELECT id FROM t WHERE note = auth.user_id()", "SELECT * FROM t WHERE body = auth.user_id()",
            "SELECT * FROM t AS other WHERE body = auth.user_id()")
        let batch = table.evaluate { builder in
            builder.add(.insert, new: [.text("a"), .text("3"), .text("n"), .text("b")])
            builder.add(.insert, new: [.text("b"), .text("1"), .text("n"), .text("b")])
        }
        #expect(batch.rows.map(\.operations.count) == [5, 4])
        for row in batch.rows {
            let operations = batch.operations[row.operations]
            let found = try ComparedOperation.found(row, in: batch, types: table.types)
            // Three or two are of one output, the others have one of their own.
            #expect(Set(operations.map(\.record)).count == 3)
            for operation in operations {
                let same = operations.filter { $0.record == operation.record }
                #expect(Set(same.map(\.bucket)).count == same.count)
            }
            #expect(Set(found.map { [$0.type, $0.id, $0.data] }).count == 3)
            let id = found[0].id
            #expect(found.allSatisfy { $0.id == id })
        }
        let first = Set(batch.operations[batch.rows[0].operations].map(\.record))
        #expect(first.isDisjoint(with: batch.operations[batch.rows[1].operations].map(\.record)))
    }

    @Test func aRowThatIsTooLargeIsNotSynced() async throws {
        let table = try await self.table("SELECT * FROM t")
        var limits = StoreLimits()
        limits.rowBytes = 10
        let batch = table.evaluate(limits: limits) { builder in
            builder.add(.insert, new: [.text("a"), .text("1"), .text("12345678"), .null])
            builder.add(.insert, new: [.text("b"), .text("1"), .text("123456789"), .null])
            builder.add(.update, new: [.text("c"), .text("1"), .text("123456789"), .unchangedToast])
        }
        #expect(batch.rows.map(\.operations.count) == [1, 0, 0])
        #expect(batch.rows.map(\.isTooLarge) == [false, true, true])
        #expect(try bytes(batch.rows[1].key, of: batch) == key("b"))
        var warnings = RowWarnings()
        warnings.add("[PSYNC_S1002] A row of public.t is larger than 15 MiB and is not synced.", 2)
        #expect(batch.warnings == warnings && batch.waiting.isEmpty)
        // Of large values there are the lengths alone; one that was left out has none that is known.
        for row in batch.rows.dropFirst() {
            let stored = try bytes(row.large, of: batch)
            let lengths = try LargeCells(stored: stored, count: 3, areLengths: true).lengths
            #expect(lengths == [1, 9, 0])
        }
    }

    @Test func aRowComesToNoMoreThanItMay() async throws {
        let table = try await self.table(
            "SELECT * FROM t WHERE note = auth.user_id()",
            "SELECT id FROM t WHERE body = auth.parameter('b')")
        func evaluated(_ limits: StoreLimits = StoreLimits()) -> EvaluatedBatch {
            table.evaluate(limits: limits) { builder in
                builder.add(.insert, new: [.text("a"), .text("1"), .text("n"), .text("b")])
                builder.add(.insert, new: [.text("b"), .text("1"), .text("n"), .null])
            }
        }
        let whole = evaluated()
        #expect(whole.rows.map(\.operations.count) == [2, 1])
        // That of the second row is longer, for NULL is.
        let record = max(whole.operations[0].record.count, whole.operations[2].record.count)
        let name = whole.buckets[whole.operations[0].bucket].count
        let (places, names, bytes) = (1, name, record + name)
        var limits = [StoreLimits(), StoreLimits(), StoreLimits()]
        limits[0].rowPlaces = places
        limits[1].rowNameBytes = names
        limits[2].rowOperationBytes = bytes
        let texts = [
            "The row would be in more than \(places) places.",
            "The names of its buckets would have more than \(names) bytes.",
            "The operations of the row would have more than \(bytes) bytes.",
        ]
        for (limits, text) in zip(limits, texts) {
            let batch = evaluated(limits)
            #expect(batch.rows.map(\.operations.count) == [1, 1])
            var warnings = RowWarnings()
            warnings.add(
                "A query of s|1 has no value for a row of public.t, which is not in its buckets: \(text)")
            #expect(batch.warnings == warnings)
        }
    }

    /// Two conditions on one array are a place for each pair of its elements, as recorded (configurations, 669), as long
    /// as these are not too many; what else asks for the row goes on then.
    @Test func pairsOfElementsAreBounded() async throws {
        let table = try await self.table(
            "SELECT id FROM t WHERE auth.user_id() IN body AND auth.parameter('other') IN body",
            "SELECT * FROM t WHERE note = auth.user_id()")
        let batch = table.evaluate { builder in
            for count in [3, 20, 400] {
                let list = "[\((0..<count).map(String.init).joined(separator: ","))]"
                builder.add(.insert, new: [.text("r\(count)"), .text("1"), .text("n"), .text(list)])
            }
        }
        #expect(batch.rows.map(\.operations.count) == [10, 401, 1])
        var warnings = RowWarnings()
        warnings.add(
            "A query of s|0 has no value for a row of public.t, which is not in its buckets: "
                + "The arrays of one row have more than 100000 elements.")
        #expect(batch.warnings == warnings)
    }

    @Test func largeValuesAreKeptOfRowsThatAreSyncedOrWereReadAgain() async throws {
        let table = try await self.table("SELECT * FROM t WHERE rank > 2")
        let large = String(repeating: "é", count: 600)
        let batch = table.evaluate { builder in
            for rank in ["1", "3"] {
                builder.add(.insert, new: [.text("a"), .text(rank), .null, .text(large)])
                builder.add(.insert, new: [.text("b"), .text(rank), .text("note"), .text("body")])
                builder.add(.readAgain, new: [.text("c"), .text(rank), .text("note"), .null])
            }
        }
        #expect(batch.rows.map { $0.large != nil } == [false, false, true, true, false, true])
        #expect(try cells(batch.rows[2], batch) == ["c", "note", nil])
        #expect(try cells(batch.rows[3], batch) == ["a", nil, large])
        #expect(try cells(batch.rows[5], batch) == ["c", "note", nil])
        let unkept = try await self.table("SELECT * FROM t", keepsLargeValues: false)
        let other = unkept.evaluate { builder in
            builder.add(.insert, new: [.text("a"), .text("3"), .null, .text(large)])
        }
        #expect(other.rows[0].large == nil && other.rows[0].operations.count == 1)
    }

    @Test func largeValuesOfMoreThanOneKiBAreKept() async throws {
        let table = try await self.table("SELECT * FROM t")
        let batch = table.evaluate { builder in
            for count in [1023, 1024] {
                let body = PgOutputValue.text(String(repeating: "x", count: count))
                builder.add(.insert, new: [.text("a"), .text("3"), .null, body])
            }
        }
        #expect(batch.rows.map { $0.large != nil } == [false, true])
    }

    private func cells(_ row: EvaluatedBatch.Row, _ batch: EvaluatedBatch) throws -> [String?] {
        let cells = try LargeCells(stored: try bytes(row.large, of: batch), count: 3)
        return (0..<3).map { index in cells[index].map { String(decoding: $0, as: UTF8.self) } }
    }
}
