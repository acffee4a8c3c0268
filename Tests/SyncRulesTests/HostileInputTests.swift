import PowerSyncSyncRules
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Configurations and values that would cost much more than their length; the fuzzer looks for others.
@Suite(.patient())
struct HostileInputTests {
    private func compile(_ queries: [String], edition: Int = 3) -> CompiledConfig {
        let list = queries.map { JSON.quoted($0) }.joined(separator: ", ")
        let stream = edition == 3 ? "queries: [\(list)]" : "query: \(list)"
        return SyncConfig.compile("config: {edition: \(edition)}\nstreams: {s: {\(stream)}}\n")
    }

    private func names(_ queries: String..., edition: Int = 3) -> [DiagnosticName] {
        compile(queries, edition: edition).diagnostics.all.map(\.name)
    }

    private func repeated(_ text: String, _ count: Int, _ separator: String = "") -> String {
        Array(repeating: text, count: count).joined(separator: separator)
    }

    // MARK: - Queries

    /// Each level has the column of the one below twice.
    @Test func columnsOfColumnsCountAsWhatTheyAreMadeOf() {
        func query(_ levels: Int) -> String {
            var query = "SELECT a FROM t"
            for _ in 0..<levels { query = "SELECT s.a || s.a AS a FROM (\(query)) AS s" }
            return "SELECT s.a AS id FROM (\(query)) AS s"
        }
        #expect(!names(query(4)).contains(.tooLarge))
        #expect(names(query(40)).contains(.tooLarge))
    }

    /// Levels of sub-selects times levels of each of their columns.
    @Test func columnsOfColumnsAreNoDeeperThanOthers() {
        let column = "s.a" + repeated(" IS NULL", 80) + " AS a"
        func query(_ levels: Int) -> String {
            var query = "SELECT a FROM t"
            for _ in 0..<levels { query = "SELECT \(column) FROM (\(query)) AS s" }
            return "SELECT s.a AS id FROM (\(query)) AS s"
        }
        #expect(!names(query(2)).contains(.nestingTooDeep))
        #expect(names(query(3)).contains(.nestingTooDeep))
    }

    @Test func starsCountAsTheirColumns() {
        let columns = (0..<200).map { "c\($0)" }.joined(separator: ", ")
        func query(_ stars: Int) -> String {
            "SELECT \(repeated("*", stars, ", ")) FROM (SELECT \(columns) FROM t) AS s"
        }
        #expect(!names(query(2)).contains(.tooLarge))
        #expect(names(query(100)).contains(.tooLarge))
    }

    /// Of a common table expression, whose text is there once.
    @Test func longTextsCountAsMoreThanOne() {
        let text = repeated("x", 200_000)
        func config(_ count: Int) -> String {
            let uses = (0..<count).map { "t.a = auth.parameter('p') || c\($0).b" }.joined(separator: " AND ")
            let sources = (0..<count).map { ", c AS c\($0)" }.joined()
            return """
                config: {edition: 3}
                with: {c: "SELECT '\(text)' AS b FROM u"}
                streams: {s: {query: "SELECT t.* FROM t\(sources) WHERE \(uses)"}}

                """
        }
        let few = SyncConfig.compile(config(3)).diagnostics.all
        #expect(!few.contains { $0.name == .tooLarge })
        #expect(SyncConfig.compile(config(60)).diagnostics.all.contains { $0.name == .tooLarge })
    }

    /// Of six pairs there are 64 terms, each of which has all that stands beside them.
    private func pairs(_ count: Int, of value: String = "auth.user_id()") -> String {
        let pair = "(a = auth.user_id() OR b = auth.parameter('b'))"
        let rest = (0..<count).map { " AND c\($0) = \(value)" }.joined()
        return "SELECT * FROM t WHERE \(repeated(pair, 6, " AND "))\(rest)"
    }

    @Test(arguments: [2, 3])
    func conditionsOfAllTermsAreCounted(edition: Int) {
        let few = names(pairs(20), edition: edition)
        #expect(!few.contains(.tooLarge) && !few.contains(.tooManyTerms))
        let many = names(pairs(200), edition: edition)
        #expect(many.contains(.tooLarge) && !many.contains(.tooManyTerms))
    }

    @Test func conditionsOfAllQueriesAreCounted() {
        let count = PlanLimits.allConditions / PlanLimits.conditions
        let query = pairs(140, of: "1")
        #expect(!compile([query]).diagnostics.all.contains { $0.name == .tooLarge })
        let all = compile(Array(repeating: query, count: count + 3)).diagnostics.all
        // Once, and of those behind it nothing is looked at.
        #expect(all.filter { $0.name == .tooLarge }.count == 1)
    }

    @Test func arraysOfArraysAreCounted() {
        func query(_ count: Int) -> String {
            let sources = (1..<count).map { ", json_each(e\($0 - 1).value) AS e\($0)" }.joined()
            let last = "e\(count - 1).value = auth.user_id()"
            return "SELECT t.id FROM t, json_each(t.a) AS e0\(sources) WHERE \(last)"
        }
        #expect(!names(query(20)).contains(.tooLarge))
        #expect(names(query(2_000)).contains(.tooLarge))
    }

    @Test func literalsHaveAsManyDigitsAsIntegers() {
        #expect(!names("SELECT * FROM t WHERE a = \(repeated("9", 10_000))").contains(.tooLarge))
        #expect(names("SELECT * FROM t WHERE a = \(repeated("9", 10_001))").contains(.tooLarge))
    }

    @Test func constantsOfBucketDefinitionsAreNotMuchLongerThanTheyAreWritten() {
        func names(_ levels: Int) -> [DiagnosticName] {
            let call = repeated("hex(", levels) + "'a'" + repeated(")", levels)
            let query = JSON.quoted("SELECT id FROM t WHERE name = \(call)")
            return SyncConfig.compile("bucket_definitions: {b: {data: [\(query)]}}\n").diagnostics.all
                .map(\.name)
        }
        #expect(!names(8).contains(.constantFails))
        #expect(names(60).contains(.constantFails))
    }

    @Test func conditionsOfAllAlternativesAreCounted() {
        func names(_ count: Int) -> [DiagnosticName] {
            let one = (0..<50).map { "x\($0) = bucket.a" }.joined(separator: " OR ")
            let all = (0..<count).map { " AND y\($0) = bucket.b" }.joined()
            let data = JSON.quoted("SELECT id FROM t WHERE (\(one))\(all)")
            let parameters = JSON.quoted("SELECT request.user_id() AS a, request.user_id() AS b")
            let yaml = "bucket_definitions: {d: {parameters: [\(parameters)], data: [\(data)]}}\n"
            return SyncConfig.compile(yaml).diagnostics.all.map(\.name)
        }
        #expect(!names(20).contains(.tooLarge))
        #expect(names(300).contains(.tooLarge))
    }

    // MARK: - Messages

    @Test func aLongNameIsNotTakenIntoEachMessage() {
        let name = "\"\(repeated("n", 100_000))\""
        let others = repeated(", u.b", 500)
        let config = compile(["SELECT u.id FROM \(name), u WHERE json_extract(\(name).a\(others)) = 1"])
        let messages = config.diagnostics.all.map(\.message)
        #expect(messages.count >= 500)
        #expect(messages.allSatisfy { $0.utf8.count < 3_000 })
    }

    /// In each of 64 terms 200 places are told.
    @Test func notMoreMessagesAreKeptThanAnybodyReads() {
        let pair = "(t.a = auth.user_id() OR t.b = auth.parameter('b'))"
        let mixed = "json_extract(t.a\(repeated(", u.b", 200))) = 1"
        let config = compile(["SELECT t.id FROM t, u WHERE \(repeated(pair, 6, " AND ")) AND \(mixed)"])
        #expect(config.diagnostics.all.count == DiagnosticList.limit)
        #expect(config.diagnostics.isFatal && config.plan == nil)
        #expect(config.diagnostics.all.last?.name == .tooLarge)
    }

    @Test func placesOfOneLineCostNoSquare() {
        expectNoSquare(of: 5_000) { count in
            let text = SourceText(repeated("é", count * 50))
            for index in 0..<count { #expect(text.place(index * 100).column == index * 50 + 1) }
        }
    }

    // MARK: - YAML

    @Test func aliasesOfLongQueriesAreCounted() {
        func names(_ count: Int) -> [DiagnosticName] {
            let query = "SELECT * FROM t -- \(repeated("x", 300_000))"
            let list = repeated("*q", count, ", ")
            let yaml = "config: {edition: 3}\nstreams:\n  s: {queries: [&q '\(query)', \(list)]}\n"
            return SyncConfig.compile(yaml).diagnostics.all.map(\.name)
        }
        #expect(!names(2).contains(.tooLarge))
        #expect(names(8) == [.tooLarge])
    }

    // MARK: - Values

    private struct NoInputs: ExpressionInputs {
        func column(_ input: Input, _ name: ExactText) -> ScalarValue { .null }
        func element(_ input: Input, _ part: ElementPart) -> ScalarValue { .null }
        func parameter(_ parameter: RequestParameter) -> ScalarValue { .null }
        func request(_ source: RequestParameter.Source) -> ScalarValue { .null }
        func table(_ fact: TableFact, _ input: Input) -> ScalarValue { .null }
    }

    private func value(_ expression: Expression, edition: Int = 3) throws(EvaluationError) -> ScalarValue {
        let run = ExpressionRun(options: CompatibilityOptions(edition: edition))
        return try run.value(of: expression, in: NoInputs())
    }

    private func text(_ text: String) -> Expression { .literal(ScalarValue(text: text)) }

    @Test(arguments: [
        ("[1, 2.5]", "[3, 2.50]", true), ("[1.0]", "[1]", true), ("[1e300]", "[1e300]", true),
        ("[18446744073709551616]", "[18446744073709551616.0]", true), ("[\"1\"]", "[1]", false),
        ("[null]", "[null]", false), ("[true]", "[1]", true), ("[]", "[]", false),
        ("[\"e\u{301}\"]", "[\"é\"]", false),
    ])
    func arraysOverlapInWhatIsEqual(_ left: String, _ right: String, _ isExpected: Bool) throws {
        #expect(try value(.overlaps(text(left), text(right)), edition: 2) == ScalarValue(isExpected))
        #expect(try value(.overlaps(text(right), text(left)), edition: 2) == ScalarValue(isExpected))
    }

    @Test func arraysOverlapWithoutTheProductOfBoth() throws {
        try expectNoSquare(of: 10_000) { count in
            let left = text("[\((0..<count).map { "\($0)" }.joined(separator: ","))]")
            let right = text("[\((0..<count).map { "\"\($0)\"" }.joined(separator: ","))]")
            let found = try value(.overlaps(left, right), edition: 2)
            #expect(found == ScalarValue(false))
        }
    }

    @Test func valuesThatDoubleHaveAnEnd() throws {
        var (hex, both) = (text("a"), text("a"))
        for _ in 0..<12 { (hex, both) = (.call(.hex, [hex]), .concat(both, both)) }
        #expect(try value(.call(.length, [hex])) == .integer(4096))
        #expect(try value(.call(.length, [both])) == .integer(4096))
        for _ in 0..<28 { hex = .call(.hex, [hex]) }
        #expect(throws: EvaluationError.self) { try value(hex) }
        let long = text(repeated("x", ExpressionRun.byteLimit / 2 + 1))
        #expect(throws: EvaluationError.self) { try value(.concat(long, long)) }
        #expect(try value(.call(.length, [.concat(long, text(""))])) == .integer(Int64(16 << 20) + 1))
    }

    @Test func whatHasManyValuesIsRefused() throws {
        let list = text("[\(repeated("1", JSONReader.values, ","))]")
        let error = #expect(throws: EvaluationError.self) { try value(.call(.jsonArrayLength, [list])) }
        #expect(error?.summary == "The JSON is too large.")
        let half = text("[\(repeated("1", JSONReader.values / 10, ","))]")
        #expect(try value(.call(.jsonArrayLength, [half])) == .integer(100_000))
    }

    /// What the log says counts rows, so it must not differ from row to row.
    @Test func errorsHaveATextWithoutValues() {
        let member = #expect(throws: EvaluationError.self) {
            try value(.member(text("{\"a\":x}"), text("a"), .json))
        }
        #expect(member?.summary == "The text is no JSON." && member?.message != member?.summary)
        let list = #expect(throws: EvaluationError.self) {
            try value(.contains(list: text("7"), text("secret")), edition: 2)
        }
        #expect(list?.message == "7" && list?.summary == "IN needs a JSON array.")
    }

    @Test(arguments: [0x1p63, 1e19, 0x1p95, 0x1p96, 1e30, -1e200, Double.greatestFiniteMagnitude])
    func doublesBeyondIntegersHaveAllTheirDigits(_ real: Double) throws {
        let integer = try #require(WideInteger(wholeNumber: real))
        #expect(integer.real == real)
        // A double is a multiple of a power of two, so its digits end in one of these.
        #expect(["0", "2", "4", "6", "8"].contains(integer.digits.text.suffix(1)))
    }

    @Test func allDigitsOfTheLargestDoubleAreThere() {
        let integer = WideInteger(wholeNumber: .greatestFiniteMagnitude)
        #expect(integer?.digits.text.utf8.count == 309)
        #expect(integer?.digits.text.hasPrefix("179769313486231570814527423731704356798070") == true)
        #expect(integer?.digits.text.hasSuffix("858368") == true)
        #expect(WideInteger(wholeNumber: 0x1p96)?.digits.text == "79228162514264337593543950336")
    }

    @Test func aPointWithAnAccentIsAPoint() throws {
        let json = text("{\"a\":{\"\u{301}b\":1}}")
        #expect(try value(.call(.jsonExtract, [json, text("$.a.\u{301}b")])) == .integer(1))
        let path = RequestParameter(.auth, argument: "$.a.\u{301}b").path
        #expect(path == [ExactText("a"), ExactText("\u{301}b")])
    }

    // MARK: - The stack

    /// What each thread has in which a configuration may be compiled; a build without optimization needs more for a call.
    #if DEBUG
        static let stack = 4 << 20
    #else
        static let stack = 512 << 10
    #endif

    /// Queries nested as deep as they may be.
    private static let nested: [String] = {
        let depth = SyntaxLimits.depth
        func nested(_ before: String, _ inner: String, _ behind: String, _ count: Int) -> String {
            String(repeating: before, count: count) + inner + String(repeating: behind, count: count)
        }
        let select = "x IN (SELECT x FROM t AS t0 WHERE "
        let conditions: [String] = [
            nested("(", "a = 1", ")", depth / 2 - 1), nested("NOT ", "a", "", depth - 3),
            nested("upper(", "a", ")", depth - 3), nested("(a AND (b OR ", "c", "))", depth / 5),
            nested("CASE WHEN ", "a", " THEN 1 END", depth - 3), nested(select, "a = 1", ")", depth / 5),
            nested("", "a", " || a", depth - 3), nested("", "a", " IS NULL", depth - 3),
        ]
        var queries = conditions.map { "SELECT * FROM t WHERE \($0)" }
        let inner = nested("(SELECT s.a AS a FROM ", "(SELECT a FROM t) AS s", ") AS s", depth / 3)
        queries.append("SELECT s.a AS id FROM \(inner)")
        return queries
    }()

    static func compileWhatIsNested() {
        let token = JSON.object([JSONMember("sub", .string("u"))])
        for query in nested {
            for edition in 1...3 {
                let list = JSON.quoted(query)
                let yaml =
                    edition == 1
                    ? "bucket_definitions: {b: {data: [\(list)]}}\n"
                    : "config: {edition: \(edition)}\nstreams: {s: {auto_subscribe: true, query: \(list)}}\n"
                guard let plan = SyncConfig.compile(yaml).plan else { continue }
                let shape = TableShape(
                    tag: ExactText("default"), schema: ExactText("public"), name: ExactText("t"),
                    columns: ["id", "a", "x"].map { ExactText($0) })
                _ = RowProgramCompiler.compile(plan, shape)
                var evaluation = RequestEvaluation(plan, SyncStreamRequest(), token: token)
                evaluation.begin(changed: nil)
                // What it needs does not matter, nor what it refuses.
                _ = try? evaluation.next()
            }
        }
    }

    @Test func whatIsNestedFitsASmallStack() async {
        await #expect(processExitsWith: .success) {
            let gate = BlockingGate()
            try DetachedThread.start(stack: HostileInputTests.stack) {
                HostileInputTests.compileWhatIsNested()
                gate.open()
            }
            gate.wait()
        }
    }
}
