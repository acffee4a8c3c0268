import PowerSyncServiceEngine
import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@Suite(.namesSeed)
struct RowProgramTests {
    /// A row as slots, in an arena that also has the constants of a program.
    private struct Row {
        var slots: [Slot]
        var arena: [UInt8]
        let texts: Int

        init(_ values: [SQLiteValue], for program: RowProgram) {
            var arena: [UInt8] = Array("something before".utf8)
            slots = values.map { Slot($0, in: &arena) }
            texts = arena.count
            self.arena = arena + program.code.texts
        }
    }

    /// What a program makes of a row.
    private enum Result: Equatable {
        case row(EvaluatedRow)
        case outside
        case waiting
        case error
    }

    private func config(_ queries: [String]) throws -> SyncPlan {
        let list = queries.map { "      - \(JSON.quoted($0))\n" }.joined()
        return try SyncPlan.compiled("config: {edition: 3}\nstreams:\n  s:\n    queries:\n\(list)")
    }

    private func programs(_ plan: SyncPlan, _ columns: [String]) -> [RowProgram] {
        RowProgramCompiler.compile(
            plan,
            TableShape(
                tag: ExactText("default"), schema: ExactText("public"), name: ExactText("t"),
                columns: columns.map { ExactText($0) })
        ).rows
    }

    /// Runs a program up to the first place of a row, all of its output included.
    private func outcome(
        _ program: RowProgram, _ row: inout Row, _ run: inout RowProgramRun
    ) throws(EvaluationError) -> RowProgramRun.Outcome {
        let outcome = try run.start(program.code, row.slots, in: &row.arena, texts: row.texts)
        guard outcome == .inside else { return outcome }
        return try run.output(program, row.slots, in: &row.arena, texts: row.texts)
    }

    private func result(
        _ program: RowProgram, _ row: Row, _ run: inout RowProgramRun, _ config: SyncPlan
    ) -> Result {
        var row = row
        do throws(EvaluationError) {
            switch try outcome(program, &row, &run) {
            case .outside: return .outside
            case .waiting: return .waiting
            case .inside: break
            }
        } catch {
            return .error
        }
        var name = Array("\(config.sources[program.source].name.text)[".utf8)
        for index in program.keys.indices {
            if index > 0 { name.append(UInt8(ascii: ",")) }
            RowTextWriter.appendKey(run.key(program.keys[index]), in: row.arena, to: &name)
        }
        name.append(UInt8(ascii: "]"))
        var id: [UInt8] = []
        RowTextWriter.appendID(program, run, row.slots, in: row.arena, to: &id)
        var data: [UInt8] = []
        RowTextWriter.appendData(program, run, row.slots, in: row.arena, to: &data)
        return .row(
            EvaluatedRow(
                bucket: String(decoding: name, as: UTF8.self), type: program.type.name(of: "t"),
                id: String(decoding: id, as: UTF8.self), data: String(decoding: data, as: UTF8.self)))
    }

    /// The result of the only program of a query.
    private func result(
        _ query: String, _ columns: [String], _ values: [SQLiteValue], missing: Set<Int> = []
    ) throws -> Result {
        let config = try config([query])
        let program = try #require(programs(config, columns).first)
        var row = Row(values, for: program)
        for column in missing { row.slots[column] = .missing }
        var run = RowProgramRun()
        return result(program, row, &run, config)
    }

    @Test func randomQueriesGiveWhatTheEvaluatorGives() async throws {
        var (rows, errors) = (0, 0)
        try await forEachSeed(1000) { random in
            var queries = RandomQueries(random)
            let texts = (0..<5).map { _ in queries.query() }
            let config = try config(texts)
            let evaluator = RowEvaluator(config)
            var run = RowProgramRun()
            for _ in 0..<2 {
                let values = queries.row()
                let shape = RowShape(columns: RandomQueries.columns)
                let expected = evaluator.evaluate(
                    SourceRow(shape: shape, values: values), schema: "public", table: "t")
                var found: [EvaluatedRow] = []
                for program in programs(config, RandomQueries.columns) {
                    switch result(program, Row(values, for: program), &run, config) {
                    case .row(let row): found.append(row)
                    case .outside: break
                    case .error: errors += 1
                    case .waiting: Issue.record("waits although all values are there: \(texts)")
                    }
                }
                rows += found.count
                #expect(found == expected, "\(texts) of \(values)")
                // Texts are equal that mean the same, however they are spelled: these must have the same bytes.
                let same = zip(found, expected).allSatisfy { one, other in
                    [\EvaluatedRow.bucket, \.type, \.id, \.data].allSatisfy {
                        one[keyPath: $0].utf8.elementsEqual(other[keyPath: $0].utf8)
                    }
                }
                #expect(same, "\(texts) of \(values)")
            }
        }
        // Seeds of the environment are few.
        guard TestOptions.number("POWERSYNC_SEED", standard: -1) < 0 else { return }
        #expect(rows > 1000 && errors > 10, "\(rows) rows and \(errors) errors: the queries say nothing")
    }

    @Test func whatNeedsNoMissingValueIsTheSameWithIt() async throws {
        var (waiting, decided) = (0, 0)
        try await forEachSeed(1000) { random in
            var queries = RandomQueries(random)
            let config = try config([queries.query()])
            let program = try #require(programs(config, RandomQueries.columns).first)
            var run = RowProgramRun()
            for _ in 0..<3 {
                let row = Row(queries.row(), for: program)
                var partial = row
                let missing = RandomQueries.columns.indices.filter { _ in queries.random.once(in: 3) }
                for column in missing { partial.slots[column] = .missing }
                let found = result(program, partial, &run, config)
                if found == .waiting {
                    waiting += 1
                    #expect(!program.columns.isDisjoint(with: missing))
                } else {
                    decided += 1
                    #expect(found == result(program, row, &run, config))
                }
            }
        }
        guard TestOptions.number("POWERSYNC_SEED", standard: -1) < 0 else { return }
        #expect(waiting > 100 && decided > 100)
    }

    @Test func aMissingValueMattersOnlyToWhatReadsIt() throws {
        let columns = ["id", "rank", "body"]
        let values: [SQLiteValue] = ["1", 3, "text"]
        let query = "SELECT id FROM t WHERE rank > 2"
        let row = Result.row(EvaluatedRow(bucket: "s|0[]", type: "t", id: "1", data: #"{"id":"1"}"#))
        #expect(try result(query, columns, values, missing: [2]) == row)
        #expect(try result(query, columns, values, missing: [1]) == .waiting)
        #expect(try result(query, columns, values, missing: [0]) == .waiting)
        let all = "SELECT * FROM t WHERE rank > 5"
        #expect(try result(all, columns, values, missing: [2]) == .outside)
        #expect(try result("SELECT * FROM t", columns, values, missing: [2]) == .waiting)
        let key = "SELECT id FROM t WHERE body = auth.user_id()"
        #expect(try result(key, columns, values, missing: [2]) == .waiting)
    }

    @Test(arguments: [
        ("rank > 5 AND body = 'x'", RowProgramRun.Outcome.outside),
        ("(rank > 5 AND body = 'x') OR rank = 3", .inside), ("rank = 3 OR body = 'x'", .inside),
        ("rank > 5 OR body = 'x'", .waiting), ("body = 'x' AND rank > 5", .waiting),
    ])
    func whatIsNotNeededIsNotRead(_ condition: String, _ outcome: RowProgramRun.Outcome) throws {
        let config = try config(["SELECT id FROM t WHERE \(condition)"])
        let program = try #require(programs(config, ["id", "rank", "body"]).first)
        var row = Row(["1", 3, nil], for: program)
        row.slots[2] = .missing
        var run = RowProgramRun()
        let found = try self.outcome(program, &row, &run)
        #expect(found == outcome)
    }

    @Test func anErrorIsOneOfItsProgramAlone() throws {
        let columns = ["id", "raw"]
        let values: [SQLiteValue] = ["1", .blob([1])]
        #expect(try result("SELECT id FROM t WHERE raw = raw", columns, values) == .error)
        #expect(try result("SELECT id, (raw > raw) AS x FROM t", columns, values) == .error)
        // In no bucket, so nothing of the output is computed.
        #expect(try result("SELECT id, (raw > raw) AS x FROM t WHERE id = '2'", columns, values) == .outside)
        let noKey = "SELECT id, (raw > raw) AS x FROM t WHERE raw = auth.user_id()"
        #expect(try result(noKey, columns, values) == .outside)
    }

    @Test func membersOfOneNameAreOneInTheFirstPlace() throws {
        let query = "SELECT *, note AS id, raw AS owner, id AS raw, owner AS \"10\", id AS \"9\" FROM t"
        let found = try result(query, ["id", "owner", "raw", "note"], ["1", "u", .blob([1]), "n"])
        let data = #"{"9":"1","10":"u","id":"n","owner":"u","note":"n","raw":"1"}"#
        #expect(found == .row(EvaluatedRow(bucket: "s|0[]", type: "t", id: "n", data: data)))
    }

    @Test(arguments: [
        ("", false), ("0", false), ("00x", false), ("-0", false), ("1", true), (" \t\n-3", true),
        ("+x", false), ("x1", false), ("\r1", false), ("99999999999999999999", true),
        ("00000000000000000000", false),
        // A digit counts whatever is put over it.
        ("1\u{301}", true),
    ])
    func aTextIsTrueByItsFirstDigits(_ text: String, _ holds: Bool) {
        var arena = Array("1".utf8)
        let slot = Slot(.text(text), in: &arena)
        // What stands behind it is another text.
        arena += Array("1".utf8)
        #expect(slot.holds(in: arena) == holds)
    }

    @Test func slotsKeepTheirValues() {
        var arena: [UInt8] = []
        let values: [SQLiteValue] = [
            nil, .integer(.min), 5, .real(-0.5), "é", "", .blob([0, 255]), .blob([]),
        ]
        let slots = values.map { Slot($0, in: &arena) }
        #expect(slots.map { $0.value(in: arena) } == values)
        let later = Array("later".utf8) + arena
        #expect(slots.map { $0.moved(by: 5).value(in: later) } == values)
    }

    @Test func rowsAreCalledAsTheirTableWithoutAName() {
        #expect(RowProgram.OutputType.table.name(of: "t") == "t")
        #expect(RowProgram.OutputType.named("things").name(of: "t") == "things")
    }
}
