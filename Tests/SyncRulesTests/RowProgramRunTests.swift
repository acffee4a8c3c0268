import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Programs of plans, beside `ExpressionRun` on values.
@Suite(.namesSeed)
struct RowProgramRunTests {
    /// What a program makes of a row.
    private enum Result<Found: Equatable>: Equatable {
        case found([Found])
        case waiting
        case error
    }

    private typealias Place = ProgramReading.Place
    private typealias Entry = ProgramReading.Entry

    /// A row as slots, in an arena that also has the constants of a program.
    private struct Row {
        var slots: [Slot]
        var arena: [UInt8]
        let texts: Int

        init(_ values: [ScalarValue], for code: RowCode) {
            var arena = Array("something before".utf8)
            slots = values.map { Slot(scalar: $0, in: &arena) }
            texts = arena.count
            self.arena = arena + code.texts
        }
    }

    private let shape = RandomPrograms.shape

    private func plan(
        _ processors: [RowProcessor], lookups: [LookupDefinition] = [], _ options: CompatibilityOptions
    ) -> SyncPlan {
        SyncPlan(
            edition: 3, options: options, streams: [],
            sources: [BucketSource(name: ExactText("s|0"), processors: processors)], lookups: lookups)
    }

    private func program(
        _ processor: RowProcessor, _ options: CompatibilityOptions = CompatibilityOptions(edition: 3)
    ) throws -> RowProgram {
        let programs = RowProgramCompiler.compile(plan([processor], options), shape)
        return try #require(programs.rows.first)
    }

    /// All places of a row, and their outputs.
    private func places(
        _ program: RowProgram, _ row: Row, _ run: inout RowProgramRun
    ) -> Result<Place> {
        var row = row
        var places: [Place] = []
        do throws(EvaluationError) {
            var outcome = try run.start(program.code, row.slots, in: &row.arena, texts: row.texts)
            while outcome == .inside {
                outcome = try run.output(program, row.slots, in: &row.arena, texts: row.texts)
                guard outcome == .inside else { break }
                places.append(place(program, row, run))
                outcome = try run.next(program.code, row.slots, in: &row.arena, texts: row.texts)
            }
            return outcome == .waiting ? .waiting : .found(places)
        } catch {
            return .error
        }
    }

    private func place(_ program: RowProgram, _ row: Row, _ run: RowProgramRun) -> Place {
        var (bucket, id, data): ([UInt8], [UInt8], [UInt8]) = ([], [], [])
        for index in program.keys.indices {
            if index > 0 { bucket.append(UInt8(ascii: ",")) }
            RowTextWriter.appendKey(run.key(program.keys[index]), in: row.arena, to: &bucket)
        }
        RowTextWriter.appendID(program, run, row.slots, in: row.arena, to: &id)
        RowTextWriter.appendData(program, run, row.slots, in: row.arena, to: &data)
        return Place(
            bucket: String(decoding: bucket, as: UTF8.self), id: String(decoding: id, as: UTF8.self),
            data: String(decoding: data, as: UTF8.self))
    }

    private func entries(
        _ program: LookupProgram, _ row: Row, _ run: inout RowProgramRun
    ) -> Result<Entry> {
        var row = row
        do throws(EvaluationError) {
            guard
                let found = try run.entries(of: program, row.slots, in: &row.arena, texts: row.texts)
            else { return .waiting }
            let arena = row.arena
            return .found(
                found.map { entry in
                    Entry(
                        key: entry.key.map { "\($0.scalar(in: arena))" },
                        outputs: entry.outputs.map { "\($0.scalar(in: arena))" })
                })
        } catch {
            return .error
        }
    }

    private func expected(
        _ processor: RowProcessor, _ values: [ScalarValue], _ options: CompatibilityOptions
    ) -> Result<Place> {
        let reading = ProgramReading(options: options, shape: shape)
        do throws(EvaluationError) {
            return .found(try reading.places(of: values, by: processor))
        } catch {
            return .error
        }
    }

    private func expected(
        _ lookup: LookupDefinition, _ values: [ScalarValue], _ options: CompatibilityOptions
    ) -> Result<Entry> {
        let reading = ProgramReading(options: options, shape: shape)
        do throws(EvaluationError) {
            return .found(try reading.entries(of: values, by: lookup))
        } catch {
            return .error
        }
    }

    @Test func randomProcessorsComeToWhatTheirExpressionsDo() async throws {
        var (placed, errors) = (0, 0)
        try await forEachSeed(1500) { random in
            var programs = RandomPrograms(random)
            let (processor, options) = (programs.processor(), programs.options())
            let program = try self.program(processor, options)
            var run = RowProgramRun()
            for _ in 0..<4 {
                let values = programs.row()
                let found = places(program, Row(values, for: program.code), &run)
                let expected = self.expected(processor, values, options)
                #expect(found == expected, "\(processor) of \(values)")
                switch expected {
                case .found(let all): placed += all.count
                case .error: errors += 1
                case .waiting: break
                }
            }
        }
        // Seeds of the environment are few.
        guard TestOptions.number("POWERSYNC_SEED", standard: -1) < 0 else { return }
        #expect(placed > 500 && errors > 100, "\(placed) places and \(errors) errors say nothing")
    }

    @Test func randomLookupsComeToWhatTheirExpressionsDo() async throws {
        var (entered, errors) = (0, 0)
        try await forEachSeed(1000) { random in
            var programs = RandomPrograms(random)
            let (lookup, options) = (programs.lookup(), programs.options())
            let all = RowProgramCompiler.compile(plan([], lookups: [lookup], options), shape)
            let program = try #require(all.lookups.first)
            var run = RowProgramRun()
            for _ in 0..<4 {
                let values = programs.row()
                let found = entries(program, Row(values, for: program.code), &run)
                let expected = self.expected(lookup, values, options)
                #expect(found == expected, "\(lookup) of \(values)")
                switch expected {
                case .found(let all): entered += all.count
                case .error: errors += 1
                case .waiting: break
                }
            }
        }
        guard TestOptions.number("POWERSYNC_SEED", standard: -1) < 0 else { return }
        #expect(entered > 300 && errors > 50, "\(entered) entries and \(errors) errors say nothing")
    }

    @Test func whatNeedsNoMissingValueIsTheSameWithIt() async throws {
        var (waiting, decided) = (0, 0)
        try await forEachSeed(1000) { random in
            var programs = RandomPrograms(random)
            let program = try self.program(programs.processor(), programs.options())
            var run = RowProgramRun()
            for _ in 0..<3 {
                let row = Row(programs.row(), for: program.code)
                var partial = row
                let missing = shape.columns.indices.filter { _ in programs.random.once(in: 3) }
                for column in missing { partial.slots[column] = .missing }
                let found = places(program, partial, &run)
                if found == .waiting {
                    waiting += 1
                    #expect(!program.columns.isDisjoint(with: missing))
                } else {
                    decided += 1
                    #expect(found == places(program, row, &run))
                }
            }
        }
        guard TestOptions.number("POWERSYNC_SEED", standard: -1) < 0 else { return }
        #expect(waiting > 100 && decided > 100, "\(waiting) rows wait, \(decided) do not")
    }
}

/// Single rows; the columns are id, a, b, _c, 10 and list.
extension RowProgramRunTests {
    private func column(_ name: String) -> Expression { .column(.row(0), ExactText(name)) }

    private func text(_ text: String) -> Expression { .literal(ScalarValue(text: text)) }

    private func processor(
        table: String = "assets_%", type: RowProcessor.OutputType = .table, expansions: [Expression] = [],
        filters: [Expression] = [], keys: [Expression] = [],
        outputs: [RowProcessor.Output] = [.allColumns], edition: Int = 3
    ) -> RowProcessor {
        RowProcessor(
            table: TablePattern(
                tag: .exact(ExactText("default")), schema: .exact(ExactText("public")),
                name: NamePart(ExactText(table))),
            type: type, expansions: expansions, filters: filters, keys: keys, outputs: outputs,
            form: .edition(edition))
    }

    private func output(_ expression: Expression, _ name: String) -> RowProcessor.Output {
        .column(expression, name: ExactText(name))
    }

    private func values(
        id: ScalarValue = .null, a: ScalarValue = .null, b: ScalarValue = .null, list: ScalarValue = .null
    ) -> [ScalarValue] {
        [id, a, b, .null, .null, list]
    }

    /// The places of a row; columns whose values are missing are named.
    private func places(
        _ processor: RowProcessor, _ values: [ScalarValue], missing: [Int] = []
    ) throws -> Result<Place> {
        let program = try program(processor)
        var row = Row(values, for: program.code)
        for column in missing { row.slots[column] = .missing }
        var run = RowProgramRun()
        return places(program, row, &run)
    }

    @Test func bothSidesOfAnAndAreComputed() throws {
        let isOne = Expression.comparison(.equal, column("a"), .literal(.integer(1)))
        let member = Expression.member(column("b"), text("x"), .value)
        let row = values(a: .integer(2), b: ScalarValue(text: "no JSON"))
        #expect(try places(processor(filters: [.and([isOne, member])]), row) == .error)
        #expect(try places(processor(filters: [.or([.not(isOne), member])]), row) == .error)
        // Filters of a processor are looked at one by one.
        #expect(try places(processor(filters: [isOne, member]), row) == .found([]))
        // What has no error in any row need not be there.
        let isX = Expression.comparison(.equal, column("b"), text("x"))
        #expect(try places(processor(filters: [.and([isOne, isX])]), row, missing: [2]) == .found([]))
        #expect(try places(processor(filters: [.and([isOne, member])]), row, missing: [2]) == .waiting)
    }

    @Test func branchesThatAreNotTakenAreNotComputed() throws {
        let fails = Expression.cast(.integer, .literal(.real(.infinity)))
        let branches = [
            Expression.Branch(when: .literal(.integer(1)), then: column("b")),
            Expression.Branch(when: .literal(.integer(2)), then: fails),
        ]
        let choice = Expression.choice(base: column("a"), branches, otherwise: text("else"))
        let other = Expression.call(.ifnull, [column("b"), column("a"), fails])
        let either = Expression.call(.iif, [column("b"), fails, text("no")])
        func data(_ expression: Expression, _ a: Int64, missing: [Int] = []) throws -> Result<Place> {
            try places(
                processor(outputs: [output(expression, "x")]), values(a: .integer(a)), missing: missing)
        }
        func one(_ value: String) -> Result<Place> {
            .found([Place(bucket: "", id: "", data: "{\"x\":\(value)}")])
        }
        #expect(try data(choice, 1) == one("null"))
        #expect(try data(choice, 2) == .error)
        #expect(try data(choice, 3) == one("\"else\""))
        #expect(try data(choice, 3, missing: [2]) == one("\"else\""))
        #expect(try data(other, 7) == one("7"))
        #expect(try data(either, 7) == one("\"no\""))
    }

    @Test func eachElementIsAPlaceOfItsOwn() throws {
        let element = Expression.element(.element(0), .value)
        let list = ScalarValue(text: #"["u1", "u2", 3, null, "u1"]"#)
        let found = try places(
            processor(
                expansions: [column("list")], keys: [element],
                outputs: [output(column("a"), "a"), output(.element(.element(0), .key), "n")]),
            values(a: .integer(5), list: list))
        let expected = [("\"u1\"", 0), ("\"u2\"", 1), ("3", 2), ("\"u1\"", 4)].map { bucket, place in
            Place(bucket: bucket, id: "", data: "{\"a\":5,\"n\":\(place)}")
        }
        #expect(found == .found(expected))
        #expect(try places(processor(expansions: [column("list")]), values()) == .found([]))
    }

    @Test func anErrorOfOneElementIsOneOfTheRow() throws {
        let fails = Expression.call(.jsonKeys, [.element(.element(0), .value)])
        let list = ScalarValue(text: #"[{"a": 1}, [2]]"#)
        let processor = processor(expansions: [column("list")], keys: [fails])
        #expect(try places(processor, values(list: list)) == .error)
        let first = ScalarValue(text: #"[{"a": 1}]"#)
        guard case .found(let all) = try places(processor, values(list: first)) else {
            Issue.record("the first element has a place")
            return
        }
        #expect(all.map(\.bucket) == [#""[\"a\"]""#])
    }

    @Test func arraysAndTextsOfARowAreBounded() throws {
        let half = "[" + Array(repeating: "1", count: 400).joined(separator: ",") + "]"
        let list = ScalarValue(text: half)
        let twice = [column("list"), column("list")]
        let isNone = Expression.comparison(.equal, .element(.element(1), .value), .literal(.integer(2)))
        // 400 and 160,000 elements.
        let many = processor(expansions: twice, filters: [isNone])
        #expect(try places(many, values(list: list)) == .error)
        let once = processor(expansions: [column("list")], filters: [.not(.isNull(column("list")))])
        guard case .found(let all) = try places(once, values(list: list)) else {
            Issue.record("400 elements are not too many")
            return
        }
        #expect(all.count == 400)
        var long = column("a")
        for _ in 0..<6 { long = .concat(long, long) }
        let text = ScalarValue(text: String(repeating: "x", count: 1 << 20))
        let isLong = Expression.comparison(.greater, .call(.length, [long]), .literal(.integer(0)))
        #expect(try places(processor(filters: [isLong]), values(a: text)) == .error)
    }

    /// One row is to be read ten thousand times.
    @Test func whatIsReadForEachElementIsBounded() throws {
        let length = Expression.call(.length, [column("a")])
        let sum = Expression.arithmetic(.add, length, .element(.element(0), .value))
        let isNever = Expression.comparison(.less, sum, .literal(.integer(0)))
        let each = processor(expansions: [column("list")], filters: [isNever])
        func list(_ count: Int) -> ScalarValue {
            ScalarValue(text: "[" + Array(repeating: "1", count: count).joined(separator: ",") + "]")
        }
        let text = ScalarValue(text: String(repeating: "x", count: 1 << 20))
        #expect(try places(each, values(a: text, list: list(100))) == .found([]))
        #expect(try places(each, values(a: text, list: list(300))) == .error)
        // A value that is walked anew for each element, too.
        let quoted = ScalarValue(text: "\"" + String(repeating: "x", count: 1 << 16) + "\"")
        let isNone = Expression.isNull(.element(.element(1), .value))
        let both = processor(expansions: [column("list"), column("a")], filters: [isNone])
        #expect(try places(both, values(a: quoted, list: list(10))) == .found([]))
        #expect(try places(both, values(a: quoted, list: list(5_000))) == .error)
    }

    /// What is stored has the value once for each element.
    @Test func whatARowIsFoundByIsBounded() throws {
        let lookup = LookupDefinition(
            name: ExactText("l"), table: processor().table, expansions: [column("list")],
            keys: [.element(.element(0), .value)], outputs: [column("a")])
        let programs = RowProgramCompiler.compile(
            plan([], lookups: [lookup], CompatibilityOptions(edition: 3)), shape)
        let program = try #require(programs.lookups.first)
        var run = RowProgramRun()
        func found(_ count: Int) -> Result<Entry> {
            let list = "[" + (0..<count).map { "\($0)" }.joined(separator: ",") + "]"
            let text = ScalarValue(text: String(repeating: "x", count: 1 << 20))
            let row = Row(values(a: text, list: ScalarValue(text: list)), for: program.code)
            return entries(program, row, &run)
        }
        #expect(found(70) == .error)
        guard case .found(let all) = found(5) else {
            Issue.record("five elements are not too many")
            return
        }
        #expect(all.count == 5)
    }

    @Test func columnsOfOneNameCostNoSquare() throws {
        try expectNoSquare(of: 4_000) { count in
            let outputs = (0..<count).map { _ in output(column("b"), "x") }
            let found = try places(processor(outputs: outputs), values(b: .blob([1])))
            #expect(found == .found([Place(bucket: "", id: "", data: "{}")]))
        }
    }

    @Test func starsBetweenTheFirstAndTheLastOneSayNothing() throws {
        let outputs = [RowProcessor.Output.allColumns, output(text("x"), "a")]
        let many = [outputs[0], outputs[0], outputs[1], outputs[0], outputs[0]]
        let row = values(id: .integer(1), a: .integer(2))
        for edition in [1, 3] {
            let three = [outputs[0], outputs[1], outputs[0]]
            let few = try places(processor(outputs: three, edition: edition), row)
            #expect(try places(processor(outputs: many, edition: edition), row) == few)
        }
        let program = try program(processor(outputs: many))
        #expect(program.members.count == 2 * shape.columns.count + 1)
    }

    @Test func tablesOfAWildcardHaveTheirNamesAndSuffixes() throws {
        let facts = TableFact.allCases.map { output(.table($0, .row(0)), $0.rawValue) }
        let program = try program(processor(outputs: facts))
        #expect(program.type.name(of: "assets_é") == "assets_é")
        let data = #"{"schema":"public","table_name":"assets_é","table_suffix":"é"}"#
        let found = try places(processor(outputs: facts), values())
        #expect(found == .found([Place(bucket: "", id: "", data: data)]))
        let other = [processor(table: "asset"), processor(table: "b%")]
        let none = RowProgramCompiler.compile(plan(other, CompatibilityOptions(edition: 3)), shape)
        #expect(none.rows.isEmpty && none.lookups.isEmpty)
        let exact = try places(processor(table: "assets_é", outputs: [facts[2]]), values())
        #expect(exact == .found([Place(bucket: "", id: "", data: #"{"table_suffix":""}"#)]))
    }

    @Test func editionsDifferInWhatWinsOverAStar() throws {
        func data(_ outputs: [RowProcessor.Output], _ edition: Int, b: ScalarValue) throws -> Place? {
            let processor = processor(outputs: outputs, edition: edition)
            let row = values(id: ScalarValue(text: "i"), a: .integer(1), b: b)
            guard case .found(let all) = try places(processor, row) else { return nil }
            return all.first
        }
        let outputs = [output(column("b"), "id"), .allColumns]
        let two = ScalarValue(text: "two")
        let rest = #""a":1,"b":"two","list":null}"#
        #expect(
            try data(outputs, 1, b: two)
                == Place(bucket: "", id: "two", data: #"{"10":null,"id":"two","# + rest))
        let newer = #"{"10":null,"id":"i","a":1,"b":"two","_c":null,"list":null}"#
        #expect(try data(outputs, 3, b: two) == Place(bucket: "", id: "i", data: newer))
        // An alias without a value wins over nothing.
        let empty = #"{"10":null,"id":"i","a":1,"b":null,"list":null}"#
        #expect(try data(outputs, 1, b: .null) == Place(bucket: "", id: "i", data: empty))
    }

    @Test func programsWithTheSameOutputAreOneGroup() throws {
        let element = Expression.element(.element(0), .value)
        let processors = [
            processor(filters: [column("a")]), processor(keys: [column("b")]),
            processor(type: .named(ExactText("assets_é")), keys: [column("id")]),
            processor(type: .named(ExactText("other"))), processor(outputs: [output(column("a"), "a")]),
            processor(expansions: [column("list")], keys: [element], outputs: [output(column("b"), "b")]),
            processor(expansions: [column("list")], outputs: [output(element, "b")]),
            // What stands in the place of the % is part of the output.
            processor(table: "assets_é", outputs: [output(.table(.suffix, .row(0)), "a")]),
            processor(table: "assets_%", outputs: [output(.table(.suffix, .row(0)), "a")]),
        ]
        let programs = RowProgramCompiler.compile(
            plan(processors, CompatibilityOptions(edition: 3)), shape)
        #expect(programs.rows.map(\.outputGroup) == [0, 0, 0, nil, nil, 1, nil, nil, nil])
    }

    @Test func programsThatMakeNothingLeaveTheArena() throws {
        let filter = Expression.and([
            .comparison(.less, .arithmetic(.add, column("a"), .literal(.integer(1))), .literal(.integer(9))),
            .oneOf(column("b"), [text("x"), text("y")]),
            .between(column("a"), .literal(.integer(0)), column("a")),
        ])
        let program = try program(processor(filters: [filter], keys: [column("b")]))
        var row = Row(values(a: .integer(5), b: ScalarValue(text: "y")), for: program.code)
        let arena = row.arena
        var run = RowProgramRun()
        let outcome = try run.start(program.code, row.slots, in: &row.arena, texts: row.texts)
        #expect(outcome == .inside && row.arena == arena)
    }
}
