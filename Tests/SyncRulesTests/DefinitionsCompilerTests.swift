import PowerSyncSyncRules
import PowerSyncWire
import Testing

/// Bucket definitions beyond the numbered vectors (service 6.5, 6.6; LANGUAGE.md 8).
struct DefinitionsCompilerTests {
    private static let user = ["SELECT request.user_id() AS k"]
    private static let inReaders = ["SELECT id FROM docs WHERE bucket.k IN readers AND state = 'open'"]

    private func messages(_ parameters: [String]?, _ data: [String] = []) -> [String] {
        SyncConfig.compile(DefinitionRig.yaml(parameters, data)).diagnostics.all.map(\.message)
    }

    // MARK: - Arrays of rows

    /// Elements of IN: `null` is NULL with and without the flag, and has a bucket; the text is a text.
    @Test(arguments: ["edition: 1", "fixed_json_extract: true"])
    func nullInAnArrayIsAKey(_ config: String) throws {
        let rig = try DefinitionRig(DefinitionRig.yaml(Self.user, Self.inReaders, config: config))
        let row = #"{"id":"d","state":"open","readers":["u",null,"null",1,true]}"#
        let names = [#"["u"]"#, "[null]", #"["null"]"#, "[1]", "[1]"]
        #expect(try rig.places(row, in: "docs") == names.map { #"mybucket\#($0) docs d {"id":"d"}"# })
    }

    @Test func nullOfTheRequestFindsNullInAnArray() throws {
        let query = "SELECT id AS k FROM docs WHERE request.jwt() ->> 'team' IN readers"
        let rig = try DefinitionRig(DefinitionRig.yaml([query], []))
        let rows = [("docs", #"{"id":"a","readers":["t",null]}"#), ("docs", #"{"id":"b","readers":[0]}"#)]
        let given = rows.map { (table: $0.0, row: $0.1) }
        #expect(try rig.buckets(given).names == [#"mybucket["a"]"#])
        #expect(try rig.buckets(token: #"{"team":"t"}"#, given).names == [#"mybucket["a"]"#])
        #expect(try rig.buckets(token: #"{"team":0}"#, given).names == [#"mybucket["b"]"#])
    }

    /// What is no array is an error, whatever else is false; NULL has no elements.
    @Test(arguments: [#"{"a":"u"}"#, #""u""#, #""\"u\"""#, "5"])
    func whatIsNoArrayIsAnError(_ readers: String) throws {
        let rig = try DefinitionRig(DefinitionRig.yaml(Self.user, Self.inReaders))
        let row = #"{"id":"d","state":"done","readers":\#(readers)}"#
        #expect(try rig.places(row, in: "docs") == [DefinitionRig.failure])
        #expect(try rig.places(#"{"id":"d","state":"open"}"#, in: "docs").isEmpty)
    }

    @Test func anErrorBesideAnotherAlternativeIsAnErrorOfAll() throws {
        let query = "SELECT id FROM docs WHERE owner = bucket.k OR bucket.k IN readers"
        let rig = try DefinitionRig(DefinitionRig.yaml(Self.user, [query]))
        let row = #"{"id":"d","owner":"u","readers":"x"}"#
        #expect(try Set(rig.places(row, in: "docs")) == [DefinitionRig.failure])
        let right = #"{"id":"d","owner":"u","readers":["v"]}"#
        let names = [#"["u"]"#, #"["v"]"#]
        #expect(try rig.places(right, in: "docs") == names.map { #"mybucket\#($0) docs d {"id":"d"}"# })
    }

    @Test func twoMatchesOfOneParameterMustAgree() throws {
        let query = "SELECT id FROM docs WHERE bucket.k IN readers AND owner = bucket.k"
        let rig = try DefinitionRig(DefinitionRig.yaml(Self.user, [query]))
        let row = #"{"id":"d","owner":"u","readers":["u","v",null]}"#
        #expect(try rig.places(row, in: "docs") == [#"mybucket["u"] docs d {"id":"d"}"#])
        #expect(try rig.places(#"{"id":"d","readers":[null]}"#, in: "docs").isEmpty)
    }

    /// As recorded a null in an array is found by NULL, of a lookup (configurations, 1378) and of a request (530); a column
    /// that is NULL is not.
    @Test func aNullThatALookupFindsIsOneOfAnArrayAlone() throws {
        let team = ["SELECT team AS k FROM users WHERE id = request.user_id()"]
        let data = [
            "SELECT id FROM docs WHERE team = bucket.k", "SELECT id FROM docs WHERE bucket.k IN teams",
        ]
        let rig = try DefinitionRig(DefinitionRig.yaml(team, data))
        #expect(try rig.buckets([("users", #"{"id":"user1","team":null}"#)]).names == ["mybucket[null]"])
        #expect(try rig.places(#"{"id":"a","team":null}"#, in: "docs").isEmpty)
        let row = #"{"id":"b","team":null,"teams":[null]}"#
        #expect(try rig.places(row, in: "docs") == [#"mybucket[null] docs b {"id":"b"}"#])
    }

    private static let ofUser = "SELECT team AS k FROM users WHERE id = request.user_id()"

    private static let nullable: [([String], Bool)] = [
        ([ofUser], true), (["SELECT request.jwt() ->> 'team' AS k"], true),
        (["SELECT token_parameters.team AS k"], true), (["SELECT request.user_id() AS k", ofUser], true),
        (["\(ofUser) OR lead = request.user_id()"], true), (["\(ofUser) AND team IS NOT NULL"], false),
        (["\(ofUser) AND team IS NOT NULL OR lead = request.user_id()"], true),
        (["\(ofUser) AND team != ''"], false),
        (["SELECT team AS k FROM users WHERE team IN request.jwt() -> 'teams'"], false),
        (["SELECT lower(id) AS k FROM teams WHERE request.user_id() IN members"], false),
        (["SELECT request.user_id() AS k"], false), (["SELECT request.jwt() ->> 'sub' AS k"], false),
        (["SELECT ifnull(request.jwt() ->> 'team', '') AS k"], false),
        (["SELECT request.jwt() ->> 'team' AS k WHERE request.jwt() ->> 'team' IS NOT NULL"], false),
        (["SELECT value AS k FROM json_each(request.jwt() -> 'teams')"], false),
        (["\(ofUser) AND lower(team) != ''"], false), (["\(ofUser) AND CAST(team AS TEXT) = 'a'"], false),
        (["\(ofUser) AND ifnull(team, 'a') = 'a'"], true), (["SELECT token_parameters.user_id AS k"], false),
        (["SELECT request.jwt() ->> 't' AS k WHERE request.jwt() ->> 't' IN request.jwt() -> 'all'"], false),
    ]

    /// That everybody without a value gets rows with a null is warned of where it may happen.
    @Test(arguments: nullable)
    func anArrayInWhichNullIsFoundIsWarnedOf(_ parameters: [String], _ isWarned: Bool) {
        let yaml = DefinitionRig.yaml(parameters, ["SELECT id FROM docs WHERE bucket.k IN teams"])
        let found = SyncConfig.compile(yaml).diagnostics.all
        #expect(found.map(\.name) == (isWarned ? [.nullInArray] : []))
        guard let warning = found.first else { return }
        #expect(warning.severity == .warning && warning.asRecorded == nil)
        let range = warning.range.start..<warning.range.end
        #expect(String(decoding: Array(yaml.utf8)[range], as: UTF8.self) == "teams")
    }

    /// With the option the element null is NULL.
    @Test func anElementOfTheRequestMayBeNull() {
        let query = "SELECT value AS k FROM json_each(request.jwt() -> 'teams')"
        func found(_ query: String) -> [DiagnosticName] {
            let data = ["SELECT id FROM docs WHERE bucket.k IN teams"]
            let yaml = DefinitionRig.yaml([query], data, config: "fixed_json_extract: true")
            return SyncConfig.compile(yaml).diagnostics.all.map(\.name)
        }
        #expect(found(query) == [.nullInArray])
        #expect(found("\(query) WHERE value IS NOT NULL").isEmpty)
    }

    // MARK: - Arrays of requests

    /// Elements of an array find rows; what is none finds nothing.
    @Test func elementsOfTheRequestFindRows() throws {
        let query = "SELECT id AS k FROM docs WHERE team IN request.jwt() -> 'list'"
        let rig = try DefinitionRig(DefinitionRig.yaml([query], []))
        let rows = [("docs", #"{"id":"a","team":"t"}"#), ("docs", #"{"id":"b"}"#)]
        let given = rows.map { (table: $0.0, row: $0.1) }
        func names(_ list: String) throws -> [String] {
            try rig.buckets(token: #"{"list":\#(list)}"#, given).names
        }
        #expect(try names(#"["x","t"]"#) == [#"mybucket["a"]"#])
        for other in ["[]", "[null]", "null", #""t""#, #"{"a":"t"}"#, "5"] {
            #expect(try names(other).isEmpty, "\(other)")
        }
    }

    // MARK: - Several queries

    @Test func valuesHaveTheOrderOfTheFirstQuery() throws {
        let queries = [
            "SELECT request.user_id() AS k, 'a' AS m", "SELECT id AS m, name AS k FROM teams",
        ]
        let data = ["SELECT id FROM docs WHERE m = bucket.m AND k = bucket.k"]
        let rig = try DefinitionRig(DefinitionRig.yaml(queries, data))
        let found = try rig.buckets([("teams", #"{"id":"t","name":"n"}"#)])
        #expect(found.names == [#"mybucket["user1","a"]"#, #"mybucket["n","t"]"#])
        let places = try rig.places(#"{"id":"d","m":"t","k":"n"}"#, in: "docs")
        #expect(places == [#"mybucket["n","t"] docs d {"id":"d"}"#])
    }

    @Test func definitionsShareNothing() throws {
        let definition =
            "    parameters: SELECT id AS k FROM teams\n"
            + "    data: [SELECT * FROM t WHERE a = bucket.k]\n"
        let plan = try DefinitionRig("bucket_definitions:\n  a:\n\(definition)  b:\n\(definition)").plan
        #expect(plan.sources.map(\.name.text) == ["a", "b"] && plan.streams.allSatisfy(\.isLegacy))
        #expect(plan.lookups.map(\.name.text) == ["a/1/1", "b/1/1"])
        #expect(plan.streams.map { $0.queriers.map(\.source) } == [[0], [1]])
    }

    @Test func aQueryThatStandsTwiceHasRowsTwice() throws {
        let rig = try DefinitionRig(DefinitionRig.yaml(nil, ["SELECT id FROM t", "SELECT id FROM t"]))
        #expect(try rig.places(#"{"id":"a"}"#, in: "t").count == 2)
    }

    // MARK: - Messages

    @Test func namesMustBeThoseOfTheFirstQuery() {
        let queries = ["SELECT request.user_id() AS u", "SELECT request.user_id() AS v"]
        #expect(
            messages(queries) == ["Bucket parameters must match for each parameter query within a bucket"])
        let swapped = ["SELECT 1 AS u, 2 AS v", "SELECT 1 AS v, 2 AS u"]
        #expect(messages(swapped).isEmpty)
    }

    @Test func parametersAreCovered() {
        let prefix = "Query must cover all bucket parameters. Expected: "
        #expect(
            messages(Self.user, ["SELECT id FROM t"]) == [prefix + #"["bucket.k"] Got: []"#])
        #expect(
            messages(nil, ["SELECT id FROM t WHERE a = bucket.b"]) == [prefix + #"[] Got: ["bucket.b"]"#])
    }

    @Test func withoutParametersThatCanBeReadNothingIsCompiled() {
        let found = messages(["SELECT id FROM a, b"], ["SELECT 1 + FROM t", "SELECT id FROM t"])
        let undefined = "Bucket parameters must be defined"
        #expect(found == ["Must SELECT from a single table", undefined, undefined])
    }

    private static let matches: [(String, String)] = [
        ("x IN bucket.k", "Cannot use bucket parameters on the right side of IN operators"),
        ("x = upper(bucket.k)", "Cannot use bucket parameters in expressions"),
        ("bucket.k < x", "Cannot use table values and parameters in the same clauses"),
        ("x || bucket.k = 'a'", "Cannot use table values and parameters in the same clauses"),
        ("NOT (x = bucket.k)", "Parameter match clauses cannot be used here"),
        ("(x = bucket.k) = false", "Parameter match clauses cannot be used here"),
        ("bucket.k IN x AND bucket.k IN y", "Cannot have multiple IN expressions on bucket parameters"),
        ("x = bucket.k AND request.user_id() = 'a'", "Function 'request.user_id' is not defined"),
        ("x = bucket.k AND nosuch.y", "Undefined reference: nosuch.y"),
    ]

    @Test(arguments: matches)
    func parametersOfBucketsAreCompared(_ condition: String, _ message: String) {
        #expect(messages(Self.user, ["SELECT id FROM t WHERE \(condition)"]) == [message])
    }

    private static let tables: [(String, String)] = [
        ("SELECT id AS k FROM t AS u", "Table aliases not supported in parameter queries"),
        ("SELECT * FROM t", "* is not supported here - use explicit columns"),
        ("SELECT 'a' AS _priority", "Priority must be a simple integer literal"),
        ("SELECT 4 AS _priority", "Invalid value for priority, must be between 0 and 3 (inclusive)."),
        (
            "SELECT id AS k FROM t WHERE a IN request.jwt() -> 'x' AND b IN request.jwt() -> 'y'",
            "Cannot have multiple array input parameters"
        ),
        (
            "SELECT id AS k FROM t WHERE token_parameters.start_at < t.created_at",
            "Cannot use table values and parameters in the same clauses"
        ),
        ("SELECT (t.role = request.user_id()) AS k FROM t", "Parameter match expression is not allowed here"),
        ("SELECT bucket.k AS k", "Undefined reference: bucket.k"),
        ("SELECT random() AS k", "Function 'random' is not defined"),
        ("SELECT something.length(id) AS k FROM t", "Function 'something.length' is not defined"),
    ]

    @Test(arguments: tables)
    func parameterQueriesHaveTheirMistakes(_ query: String, _ message: String) {
        #expect(messages([query]) == [message])
    }

    /// A warning stands unless the token decides something; what is not compared does not count for a table.
    @Test(arguments: [
        ("SELECT request.parameters() ->> 'p' AS k", true),
        ("SELECT user_parameters.p AS k WHERE request.user_id() = 'a'", true),
        ("SELECT request.user_id() AS u, request.parameters() ->> 'p' AS k", false),
        ("SELECT 1 AS k WHERE request.parameters() ->> 'p'", false),
        ("SELECT id AS k FROM t WHERE a = user_parameters.p", true),
        ("SELECT id AS k FROM t WHERE a = user_parameters.p AND b = token_parameters.q", false),
        ("SELECT value AS k FROM json_each(request.parameters() -> 'list')", true),
    ])
    func clientsAreNotTrusted(_ query: String, _ isWarned: Bool) {
        let found = SyncConfig.compile(DefinitionRig.yaml([query], [])).diagnostics.all
        #expect(found.map(\.name) == (isWarned ? [.dangerousQuery] : []))
        let accepted = DefinitionRig.yaml([query], [])
            .replacing("    data:", with: "    accept_potentially_dangerous_queries: true\n    data:")
        #expect(SyncConfig.compile(accepted).diagnostics.all.isEmpty)
    }

    /// A constant is computed at once: its error is that of the query, of which nothing else is told.
    @Test func aConstantWithoutAValueIsAMistake() {
        let query = "SELECT id, nosuch(1) AS a, uuid_blob('x') AS b FROM t"
        #expect(messages(nil, [query]) == ["Cannot call uuid_blob on a non UUID value"])
        let path = "SELECT id, json_extract('{}', 'a') AS b FROM t"
        #expect(messages(nil, [path]) == ["JSON path must start with $."])
    }

    /// Alternatives of ORs multiply; over the limit nothing is built.
    @Test func alternativesHaveALimit() {
        let pair = "(a = bucket.k OR b = bucket.k)"
        func found(_ count: Int) -> [DiagnosticName] {
            let condition = Array(repeating: pair, count: count).joined(separator: " AND ")
            let yaml = DefinitionRig.yaml(Self.user, ["SELECT id FROM t WHERE \(condition)"])
            return SyncConfig.compile(yaml).diagnostics.all.map(\.name)
        }
        #expect(found(6).isEmpty && found(7) == [.tooLarge] && found(60) == [.tooLarge])
    }

    /// A long chain is one expression, however many parts it has.
    @Test func aLongChainIsOneExpression() throws {
        let condition = (0..<2_000).map { "a != \($0)" }.joined(separator: " AND ")
        let rig = try DefinitionRig(DefinitionRig.yaml(nil, ["SELECT id FROM t WHERE \(condition)"]))
        #expect(try rig.places(#"{"id":"x","a":-1}"#, in: "t").count == 1)
        #expect(try rig.places(#"{"id":"x","a":7}"#, in: "t").isEmpty)
    }
}
