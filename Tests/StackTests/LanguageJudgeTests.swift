import Foundation
import PowerSyncStack
import PowerSyncSyncRules
import PowerSyncSystem
import PowerSyncWire
import Testing

/// What `conformance language` compares, with plans and recordings written by hand.
struct LanguageJudgeTests {
    private static let worlds = #"""
        {"schema":{"t":{"id":"text"},"items":{"id":"text","n":"int4","r":"float8","b":"bytea","j":"jsonb"}},
         "expressions":[],
         "configurations":[{"items":[
           {"id":"a","n":{"i":"1"},"r":1.0,"b":{"b":"00ff"},"j":"[\"x\",\"y\"]"},
           {"id":"b","n":null,"r":{"f":"NaN"},"b":null,"j":"no json"}]}]}
        """#

    /// What that plan makes of the world, with the values of `s|0` in the order of the real service.
    private static let result = #"""
        {"errors":[],"rows":{"items":[
          [{"bucket":"s|0[1,\"a\"]","table":"items","id":"a",
            "data":{"one":{"i":"1"},"id":"a","n":{"i":"1"},"r":1.0,"j":"[\"x\",\"y\"]"}},
           {"bucket":"s|1[\"x\"]","table":"items","id":"a","data":{"id":"a"}},
           {"bucket":"s|1[\"y\"]","table":"items","id":"a","data":{"id":"a"}}],
          [{"error":"what the real service says"}]]},
         "requests":[
          {"buckets":[{"bucket":"s|0[1,\"a\"]","priority":3,"reasons":["default"]},
                      {"bucket":"s|1[\"z\"]","priority":3,"reasons":["default"]}],"errors":[]},
          {"buckets":[],"errors":["Error evaluating bucket ids: Expected JSON string"]},
          {"buckets":[],"errors":[]}]}
        """#

    private static let requests = #"""
        [{"user":"u1","claims":{},"parameters":{"list":["z"]},"streams":{},"defaults":true},
         {"user":"u2","claims":{},"parameters":{"list":5},"streams":{},"defaults":true},
         {"user":"u1","claims":{},"parameters":{"list":["z"]},"streams":{},"defaults":false}]
        """#

    /// Judges jobs against the plan, or against messages.
    ///
    /// - Parameters:
    ///   - jobs: The lines of the file.
    ///   - diagnostics: What the compiler says; with a fatal one there is no plan.
    ///   - change: Changes the run.
    /// - Returns: What was printed, and whether all passed.
    /// - Throws: What the run throws.
    private func judge(
        _ jobs: [String], _ diagnostics: [Diagnostic] = [],
        _ change: (inout LanguageConformance) -> Void = { _ in }
    ) throws -> [String] {
        let folder = try TemporaryDirectory(prefix: "powersync-language-")
        defer { folder.remove() }
        let path = folder.path + "/jobs.jsonl"
        try Data(Self.worlds.utf8).write(to: URL(filePath: folder.path + "/worlds.json"))
        let lines = jobs.map { $0.replacing("\n", with: " ") }
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: path))
        let printed = Lock<[String]>([])
        var run = LanguageConformance { line in
            printed.withLock { $0.append(line.replacing(folder.path + "/", with: "")) }
        }
        run.compile = { yaml, _ in
            var list = DiagnosticList()
            for diagnostic in diagnostics { list.add(diagnostic) }
            return CompiledConfig(plan: JudgedPlan.plan, diagnostics: list, text: SourceText(yaml))
        }
        change(&run)
        let hasPassed = try run.run([path])
        return printed.withLock { $0 } + ["\(hasPassed)"]
    }

    private func job(_ result: String = Self.result, id: Int = 1) -> String {
        #"{"id":\#(id),"yaml":"a: 1","world":0,"schema":true,"#
            + #""requests":\#(Self.requests),"result":\#(result)}"#
    }

    /// A job of which messages alone are recorded.
    private func job(yaml: String, errors: String) -> String {
        let yaml = JSON.quoted(yaml)
        return #"{"id":1,"yaml":\#(yaml),"schema":true,"result":{"errors":\#(errors)}}"#
    }

    private static let reordered =
        "1 have the values of a bucket's name in another order, which counts as equal"

    @Test func whatIsEqualPasses() throws {
        #expect(try judge([job()]) == [Self.reordered, "1 passed, 0 failed", "true"])
    }

    /// Every change of what is recorded is noticed, and told at its place.
    @Test(arguments: [
        (#""r":1.0"#, #""r":{"i":"1"}"#, "  row 0 of items:"),
        (#""id":"a","data":{"id":"a"}}],"#, #""id":"b","data":{"id":"a"}}],"#, "  row 0 of items:"),
        (#""one":{"i":"1"},"#, "", "  row 0 of items:"),
        (#"{"error":"what the real service says"}"#, "", "  row 1 of items:"),
        (#"[\"z\"]","priority":3"#, #"[\"z\"]","priority":2"#, "  request 0:"),
        (
            #"[\"z\"]","priority":3,"reasons":["default"]"#, #"[\"z\"]","priority":3,"reasons":[0]"#,
            "  request 0:"
        ),
        (#"["Error evaluating bucket ids: Expected JSON string"]"#, "[]", "  request 1:"),
        (#"{"buckets":[],"errors":[]}"#, #"{"error":"too many"}"#, "  request 2:"),
        // The order of one row is not that of the source.
        (#"[{"bucket":"s|0[1,\"a\"]","table"#, #"[{"bucket":"s|0[\"a\",1]","table"#, "  request 0:"),
        (
            #"{"bucket":"s|1[\"x\"]","table":"items","id":"a","data":{"id":"a"}},"#,
            #"{"bucket":"s|1[\"y\"]","table":"items","id":"a","data":{"id":"a"}},"#, "  row 0 of items:"
        ),
    ])
    func whatDiffersIsTold(_ text: String, _ other: String, _ title: String) throws {
        let changed = Self.result.replacing(text, with: other, maxReplacements: 1)
        #expect(changed != Self.result)
        let printed = try judge([job(changed), job(id: 2)])
        #expect(printed.first == "jobs.jsonl: job 1 differs")
        #expect(printed.contains(title), "\(printed)")
        #expect(printed.suffix(2) == ["1 passed, 1 failed", "false"])
    }

    @Test func differencesShowBothSides() throws {
        let printed = try judge([job(Self.result.replacing(#""r":1.0"#, with: #""r":2.5"#))])
        let row = #""a" {"id": "a", "j": "[\"x\",\"y\"]", "n": 1, "one": 1, "r": "#
        #expect(printed.contains(#"    - s|0[1,"a"] items \#(row)2.5}"#), "\(printed)")
        #expect(printed.contains(#"    + s|0[1,"a"] items \#(row)1.0}"#), "\(printed)")
    }

    @Test func jobsAreChosenAndListed() throws {
        let wrong = job(Self.result.replacing(#""r":1.0"#, with: #""r":2.5"#), id: 7)
        let chosen = try judge([job(), wrong]) { $0.only = NumberRanges("1,3-5") }
        #expect(chosen.suffix(2) == ["1 passed, 0 failed", "true"])
        let shown = try judge([job(), wrong]) { $0.only = NumberRanges("7") }
        #expect(shown.contains("    | a: 1") && shown.suffix(2) == ["0 passed, 1 failed", "false"])
        let missing = try MissingJobs(parsing: "# remark\njobs 7 no doubles yet\n")
        let listed = try judge([job(), wrong]) { $0.missing = missing }
        #expect(listed.suffix(3) == ["1 differ and are listed", "1 passed, 0 failed", "true"])
        // What is listed and differs has been compared.
        let alone = try judge([job(), wrong]) {
            $0.missing = missing; $0.only = NumberRanges("7")
        }
        #expect(alone.suffix(3) == ["1 differ and are listed", "0 passed, 0 failed", "true"])
        #expect(throws: StackError.self) { try judge([job()]) { $0.only = NumberRanges("9") } }
        #expect(throws: StackError.self) { try judge(["{}"]) }
        #expect(throws: StackError.self) { try judge([job().replacing(#""world":0"#, with: #""world":1"#)]) }
    }

    @Test func aListThatIsStaleFails() throws {
        let wrong = job(Self.result.replacing(#""r":1.0"#, with: #""r":2.5"#), id: 7)
        let equal = try MissingJobs(parsing: "jobs 1,7 why\n")
        let stale = try judge([job(), wrong]) { $0.missing = equal }
        #expect(stale.contains("jobs.jsonl: job 1 is listed (why), but equal: strike it off"), "\(stale)")
        #expect(stale.suffix(2) == ["0 passed, 1 failed", "false"])
        let chosen = try judge([job(), wrong]) {
            $0.missing = equal; $0.only = NumberRanges("1")
        }
        #expect(chosen.suffix(2) == ["1 passed, 0 failed", "true"])
        let unknown = try MissingJobs(parsing: "jobs 7-9 why\n")
        let absent = try judge([job(), wrong]) { $0.missing = unknown }
        #expect(absent.contains("jobs.jsonl: there is no job 8, which is listed: strike it off"), "\(absent)")
        #expect(absent.last == "false")
        let other = try MissingJobs(parsing: "other 7 why\n", named: "list.txt")
        let error = #expect(throws: StackError.self) { try judge([job()]) { $0.missing = other } }
        #expect(error?.message == "list.txt: there is no file other, which is listed: strike it off")
    }

    @Test func listsOfJobsHaveAFormOfTheirOwn() throws {
        let list = try MissingJobs(parsing: "a 1 one\nb 2-3,5 some of them\n")
        #expect(list.reason(of: 1, in: "a") == "one" && list.reason(of: 1, in: "b") == nil)
        #expect([2, 3, 4, 5].map { list.reason(of: $0, in: "b") != nil } == [true, true, false, true])
        for text in ["a 1", "a x why", "a 3-1 why", "a 1- why", "a 1,,2 why", "a -1 why"] {
            #expect(throws: StackError.self, "\(text)") { try MissingJobs(parsing: text) }
        }
    }

    private static func message(
        _ severity: Severity, _ text: String, _ range: Range<Int>, _ recorded: Recorded? = nil
    ) -> Diagnostic {
        Diagnostic(
            name: .unknownKey, severity: severity, message: text,
            range: TextRange(start: range.lowerBound, end: range.upperBound), recorded: recorded)
    }

    private static let yaml = "é: 1\nb: 2\n"

    /// What is recorded, what ours says, whether that is equal.
    private static let cases: [(String, [Diagnostic], Bool)] = [
        // Places in UTF-16 units of the text: é has two bytes.
        (#"[{"level":"fatal","message":"m","start":5,"end":6}]"#, [message(.fatal, "m", 6..<7)], true),
        (#"[{"level":"fatal","message":"m","start":6,"end":7}]"#, [message(.fatal, "m", 6..<7)], false),
        (#"[{"level":"warning","message":"m","start":5,"end":6}]"#, [message(.fatal, "m", 6..<7)], false),
        (#"[{"level":"fatal","message":"n","start":5,"end":6}]"#, [message(.fatal, "m", 6..<7)], false),
        ("[]", [message(.fatal, "m", 6..<7)], false),
        (#"[{"level":"fatal","message":"m","start":5,"end":6}]"#, [], false),
        (
            #"[{"level":"fatal","message":"m","start":5,"end":6}]"#,
            [message(.fatal, "m", 6..<7), message(.fatal, "m", 6..<7)], false
        ),
        // The form of the admin routes.
        (
            #"[{"level":"fatal","message":"n","start":0,"end":1}]"#,
            [message(.fatal, "m", 6..<7, Recorded(.text("n", TextRange(start: 0, end: 2))))], true
        ),
        (
            #"[{"level":"fatal","message":"n","start":0,"end":1}]"#,
            [message(.warning, "m", 6..<7, Recorded(.silent)), message(.fatal, "n", 0..<2)], true
        ),
        // Of a parser's text the line counts, and nothing else does then.
        (
            #"[{"level":"fatal","message":"Syntax error at line 1","start":5,"end":6},"#
                + #"{"level":"fatal","message":"x","start":0,"end":1}]"#,
            [message(.fatal, "ours", 9..<9)], true
        ),
        (
            #"[{"level":"fatal","message":"Syntax error at line 1","start":5,"end":6}]"#,
            [message(.fatal, "ours", 0..<1)], false
        ),
        (
            #"[{"level":"fatal","message":"Bad in YAML stream","start":5,"end":6}]"#,
            [message(.warning, "ours", 9..<9), message(.fatal, "other", 0..<2)], false
        ),
        // Without a place any fatal one will do.
        (#"[{"level":"fatal","message":"m"}]"#, [message(.fatal, "n", 0..<2)], true),
        (#"[{"level":"fatal","message":"m"}]"#, [message(.warning, "n", 0..<2)], false),
        // Texts of which a part counts.
        (
            #"[{"level":"fatal","message":"Left and right sides of OR a, or separate queries. [1] != [2]","#
                + #""start":0,"end":1}]"#,
            [message(.fatal, "Left and right sides of OR a, or separate queries. [2]", 0..<2)], true
        ),
        (
            #"[{"level":"fatal","message":"array not supported here","start":0,"end":1}]"#,
            [message(.fatal, "case not supported here", 0..<2)], true
        ),
    ]

    @Test(arguments: LanguageJudgeTests.cases)
    func messagesAreComparedAsTheReadmeSays(
        _ errors: String, _ ours: [Diagnostic], _ isEqual: Bool
    ) throws {
        let printed = try judge([job(yaml: Self.yaml, errors: errors)], ours)
        #expect(printed.last == "\(isEqual)", "\(printed)")
        #expect(printed.contains("  messages:") == !isEqual)
    }

    /// A text that JavaScript has cut in the middle of a character is recorded with half of it.
    @Test func halfACharacterIsTheReplacementCharacter() throws {
        let job = #"{"id":1,"yaml":"\ud83d\ude00 \ude00","schema":false,"result":{"errors":[]}}"#
        let printed = try judge([job])
        #expect(printed.suffix(2) == ["1 passed, 0 failed", "true"])
        #expect(throws: StackError.self) { try judge([#"{"id":1,"yaml":"\x","result":{"errors":[]}}"#]) }
    }
}
