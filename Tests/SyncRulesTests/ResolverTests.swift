import PowerSyncSyncRules
import PowerSyncWire
import Testing

/// Names in queries of edition 3 (service 6.3, 6.4, 6.8, 6.11; LANGUAGE.md 3).
struct ResolverTests {
    /// What is made of one stream.
    private struct Outcome {
        /// The query, if it has a row to sync.
        let query: ResolvedQuery?
        /// What is said, with the part of the text that it is about.
        let said: [String]
        /// The messages.
        let messages: [String]
        /// What is said in the form of the admin routes: the messages that they have.
        let recorded: [String]
    }

    /// Resolves one query.
    ///
    /// - Parameters:
    ///   - sql: The query, on one line.
    ///   - tables: Common table expressions of the stream.
    ///   - schema: The tables that there are.
    /// - Returns: What it comes to.
    /// - Throws: What reading the configuration throws.
    private func resolve(
        _ sql: String, with tables: [(String, String)] = [], schema: SourceSchema? = nil
    ) throws -> Outcome {
        var yaml = "config: {edition: 3}\nstreams:\n  s:\n"
        if !tables.isEmpty { yaml += "    with:\n" }
        for (name, sql) in tables { yaml += "      \(name): |-\n        \(sql)\n" }
        yaml += "    query: |-\n      \(sql)\n"
        var diagnostics = DiagnosticList()
        let document = try #require(DocumentReader.read(SourceText(yaml), &diagnostics))
        #expect(document.allDiagnostics.all.isEmpty)
        let stream = try #require(document.streams.first)
        var resolver = StreamsResolver(document, schema: schema, &diagnostics)
        resolver.begin(stream, &diagnostics)
        let query = resolver.resolve(try #require(stream.queries.first), &diagnostics)
        resolver.finish(&diagnostics)
        let bytes = Array(yaml.utf8)
        let said = diagnostics.all.map { diagnostic in
            let part = String(decoding: bytes[diagnostic.range.start..<diagnostic.range.end], as: UTF8.self)
            return "\(diagnostic.name.rawValue): \(part)"
        }
        let recorded = diagnostics.all.compactMap { diagnostic -> String? in
            switch diagnostic.recorded?.form {
            case .text(let text, _)?: text
            case .silent?: nil
            case nil: diagnostic.message
            }
        }
        return Outcome(
            query: query, said: said, messages: diagnostics.all.map(\.message), recorded: recorded)
    }

    private static let schema = SourceSchema([
        .init(
            schema: ExactText("public"), name: ExactText("lists"),
            columns: ["id", "owner_id", "name"].map { .init(name: ExactText($0), type: .text) }),
        .init(
            schema: ExactText("a"), name: ExactText("todos"),
            columns: ["id", "Name"].map { .init(name: ExactText($0), type: .text) }),
    ])

    /// Queries, and what is said of them.
    private static let columnTable: [(String, [String])] = [
        ("SELECT * FROM lists", []),
        ("SELECT id, id FROM lists", ["duplicate-column: id"]),
        ("SELECT name FROM lists", ["id-required: name"]),
        ("SELECT * FROM lists AS l", []),
        ("SELECT DISTINCT * FROM lists", ["distinct-unsupported: SELECT DISTINCT * FROM lists"]),
        ("SELECT * FROM lists; SELECT 1", ["several-statements: SELECT 1"]),
        ("SELECT 1 AS id", ["no-table-column: SELECT 1 AS id"]),
        (
            "SELECT count(*) AS id FROM lists",
            ["unknown-function: count", "no-table-column: SELECT count(*) AS id FROM lists"]
        ),
        (
            "SELECT random() AS id FROM lists",
            ["not-deterministic: random", "no-table-column: SELECT random() AS id FROM lists"]
        ),
        ("SELECT upper(name) FROM lists", ["unnamed-column: upper(name)", "id-required: upper(name)"]),
        ("SELECT 1 AS id, * FROM lists", ["star-after-alias: *"]),
        ("SELECT id, * FROM lists", []),
        (
            "SELECT * FROM json_each('[1]')",
            ["list-in-column: *", "no-table-column: SELECT * FROM json_each('[1]')"]
        ),
        (
            "SELECT lists.*, todos.* FROM lists JOIN todos ON todos.list_id = lists.id",
            ["two-primaries: todos.*"]
        ),
        (
            "SELECT l.*, t.id FROM lists l, todos t",
            ["two-primaries: t.id", "alias-renames: lists"]
        ),
        ("SELECT u.*, auth.parameter('x') AS p FROM u", ["syncs-request: auth.parameter('x')"]),
        ("SELECT id, a IN b AS c FROM lists", ["list-in-column: b"]),
        ("SELECT id, a && b AS c FROM lists", ["list-in-column: a"]),
        ("SELECT id, a NOT IN b AS c FROM lists", []),
        (
            "SELECT id, team docs",
            ["ambiguous-column: id", "ambiguous-column: team", "no-table-column: SELECT id, team"]
        ),
        ("INSERT INTO lists VALUES(1)", ["not-a-select: INSERT INTO lists VALUES(1)"]),
        (
            "SELECT id FROM a UNION SELECT id FROM b",
            ["not-a-select: SELECT id FROM a UNION SELECT id FROM b"]
        ),
        ("SELECT * FROM lists GROUP BY id", ["unsupported-clause: id"]),
        ("SELECT * FROM lists ORDER BY id", ["unsupported-clause: id"]),
        ("SELECT * FROM lists LIMIT 5", ["unsupported-clause: 5"]),
        ("SELECT * FROM lists FOR UPDATE", ["unsupported-lock: UPDATE"]),
        ("SELECT lists.* FROM lists JOIN todos USING (id)", ["unsupported-clause: id"]),
        ("SELECT lists.* FROM lists, lists", ["duplicate-source: lists"]),
        ("SELECT lists.* FROM lists CROSS JOIN b", ["join-unsupported: CROSS JOIN"]),
    ]

    @Test(arguments: columnTable)
    func columns(_ sql: String, _ said: [String]) throws {
        #expect(try resolve(sql).said == said)
    }

    /// Conditions of `SELECT * FROM lists`, and what is said of them.
    private static let conditionTable: [(String, [String])] = [
        ("owner_id = token_parameters.user_id", ["unknown-source: token_parameters.user_id"]),
        ("owner_id = request.user_id()", ["invalid-function-schema: request.user_id"]),
        ("owner_id = auth.jwt()", ["unknown-request-function: auth.jwt"]),
        ("owner_id = auth.parameter()", ["single-argument: auth.parameter()"]),
        ("owner_id = auth.user_id(1)", ["no-arguments: auth.user_id(1)"]),
        ("owner_id = auth.parameters(1)", ["no-arguments: auth.parameters(1)"]),
        ("owner_id = connection.user_id()", ["user-id-elsewhere: connection.user_id()"]),
        ("owner_id = auth.parameter(name)", []),
        ("nosuch(a.b)", ["unknown-function: nosuch"]),
        ("upper(name, name)", ["too-many-arguments: upper(name, name)"]),
        ("substring(name) = 1", ["too-few-arguments: substring(name)"]),
        ("substr(name, 1) = 1", ["unknown-function: substr"]),
        ("json_valid(name)", ["unknown-function: json_valid"]),
        ("count(DISTINCT name) = 1", ["aggregate-clauses: count(DISTINCT name)"]),
        ("name LIKE 'a%'", ["like-unsupported: name LIKE 'a%'"]),
        ("name ILIKE 'a%'", ["operator-unsupported: name ILIKE 'a%'"]),
        ("a.b ~ 'a%'", ["operator-unsupported: a.b ~ 'a%'"]),
        ("-i = 1", ["minus-unsupported: -i"]),
        ("CAST(name AS varchar) = 1", ["cast-invalid: varchar"]),
        ("name::int = 1", ["cast-invalid: int"]),
        ("i IN (1, 2)", ["expression-unsupported: 1, 2"]),
        ("name IN ('open')", ["list-not-json: 'open'"]),
        ("NOT (name NOT IN 'open')", ["list-not-json: 'open'"]),
        ("i IN 5", ["list-not-json: 5"]),
        (#"name IN '["open"]' AND name NOT IN '[]' AND i IN '5' AND i IN NULL"#, []),
        ("i = ROW(1, 2)", ["unknown-function: ROW"]),
        ("EXISTS (SELECT 1 FROM todos)", ["unknown-function: EXISTS"]),
        ("id = (SELECT list_id FROM todos)", ["subquery-position: SELECT list_id FROM todos"]),
        ("id = $1", ["sql-parameter: $1"]),
        ("lists.schema() = 'a'", []),
        ("lists.table_suffix() = 'a'", ["suffix-empty: lists.table_suffix()"]),
        ("lists.table_name(1) = 'a'", ["no-arguments: lists.table_name(1)"]),
        ("lists.nosuch() = 'a'", ["invalid-function-schema: lists.nosuch"]),
        ("id IN (SELECT * FROM todos)", ["single-column: SELECT * FROM todos"]),
        ("id IN (SELECT a, b FROM todos)", ["single-column: SELECT a, b FROM todos"]),
        ("id IN (SELECT a FROM b, c)", ["ambiguous-column: a"]),
        ("id IN (SELECT b.a FROM b WHERE lists.x = c.y)", ["unknown-source: c.y"]),
        ("id IN (SELECT a FROM b LIMIT 1)", ["unsupported-clause: 1"]),
        ("id IN (SELECT e.x FROM json_each(lists.a) e)", ["column-not-in-subquery: e.x"]),
        ("id IN (SELECT b.a FROM b WHERE b.c IN b.d || lists.e)", ["mixes-row-row: lists.e"]),
        ("a IN b || auth.user_id()", ["mixes-row-request: auth.user_id()"]),
        ("a IN auth.parameter(b)", ["mixes-request-row: b"]),
    ]

    @Test(arguments: conditionTable)
    func conditions(_ condition: String, _ said: [String]) throws {
        let outcome = try resolve("SELECT * FROM lists WHERE \(condition)")
        #expect(outcome.said == said)
        // What is wrong in a condition leaves the query for the messages of conditions.
        #expect(outcome.query?.primary == .row(0))
    }

    /// What authors often write, and what is told to be written instead; the admin routes have the message alone.
    @Test(arguments: [
        ("owner_id = token_parameters.user_id", "Write auth.user_id() for"),
        ("owner_id = user_parameters.x", "Write connection.parameter('x')"),
        ("owner_id = bucket.user_id", "Streams have no bucket parameters"),
        ("owner_id = request.user_id()", "Write auth.user_id()."),
        ("owner_id = Request.jwt() ->> 'sub'", "Write auth.parameters()."),
        ("owner_id = request.parameters() ->> 'x'", "Write connection.parameters()."),
        ("owner_id = auth.jwt() ->> 'sub'", "Write auth.parameters()."),
        ("id = (SELECT id FROM todos)", "In WHERE, write IN (SELECT …)"),
        ("name IN ('open', 'done')", "Write ARRAY[…]"),
    ])
    func commonMistakesAreHelpedWith(_ condition: String, _ hint: String) throws {
        let outcome = try resolve("SELECT * FROM lists WHERE \(condition)")
        let (message, recorded) = (try #require(outcome.messages.first), try #require(outcome.recorded.first))
        #expect(outcome.messages.count == 1 && outcome.recorded.count == 1)
        #expect(message.hasPrefix(recorded) && !recorded.contains(hint))
        let rest = message.dropFirst(recorded.count).drop { $0 == "." || $0 == " " }
        #expect(rest.hasPrefix(hint))
    }

    @Test(arguments: ["owner_id = other.x", "owner_id = other.f()", "owner_id = subscription.jwt()"])
    func otherMistakesAreNot(_ condition: String) throws {
        let outcome = try resolve("SELECT * FROM lists WHERE \(condition)")
        #expect(outcome.messages == outcome.recorded && outcome.messages.count == 1)
    }

    @Test func theRealServiceCallsEachJoinFull() throws {
        let outcome = try resolve("SELECT * FROM lists LEFT JOIN todos ON todos.list_id = lists.id")
        #expect(
            outcome.recorded == [
                "FULL JOIN is not supported",
                "Invalid unqualified reference since multiple tables are in scope",
                "Must have a result column selecting from a table",
            ])
        #expect(outcome.said.first == "join-unsupported: LEFT JOIN")
        #expect(try resolve("SELECT id, id FROM lists; SELECT 2").recorded.isEmpty)
        #expect(try resolve("SELECT * FROM").recorded == ["Unexpected end of input"])
        let syntax = try resolve("SELECT * FROM lists WHERE name = 'a' COLLATE nocase").recorded
        #expect(syntax.first?.hasPrefix("Syntax error at line 1 col 38:") == true)
    }

    /// Queries with aliases, and what is said of them.
    private static let renameTable: [(String, [String])] = [
        ("SELECT cm.* FROM comments cm JOIN lists ON lists.id = cm.id", ["alias-renames: comments"]),
        ("SELECT cm.* FROM comments AS cm, lists", ["alias-renames: comments AS cm"]),
        ("SELECT cm.* FROM lists, comments AS \"cm\"", []),
        ("SELECT cm.* FROM \"comments\" cm, lists", []),
        ("SELECT * FROM comments cm", []),
        ("SELECT lists.* FROM lists, comments cm", []),
        ("SELECT t.* FROM \"user%\" t, lists", []),
    ]

    @Test(arguments: renameTable)
    func renames(_ sql: String, _ said: [String]) throws {
        #expect(try resolve(sql).said == said)
    }

    /// Queries, the common table expression `c`, and what is said of both.
    private static let innerTable: [(String, String, [String])] = [
        ("SELECT * FROM lists WHERE id IN c", "SELECT id FROM t", []),
        ("SELECT * FROM lists", "SELECT id FROM t", ["unreferenced-cte: c"]),
        ("SELECT * FROM lists WHERE id IN c", "SELECT id, a FROM t", ["cte-single-column: c"]),
        ("SELECT * FROM lists WHERE id IN c", "SELECT nosuch(id) AS id FROM t", ["unknown-function: nosuch"]),
        (
            "SELECT * FROM lists WHERE id IN c", "SELECT * FROM t",
            ["star-in-subquery: *", "cte-single-column: c"]
        ),
        (
            "SELECT c.b, d.a FROM c, c AS d", "SELECT id AS a FROM t",
            ["column-not-in-subquery: c.b", "id-required: c.b"]
        ),
        ("SELECT * FROM c AS x(id, id2)", "SELECT id FROM t", ["column-count: c AS x(id, id2"]),
        ("SELECT * FROM lists WHERE id IN c", "SELECT id, id FROM t", ["duplicate-column: id"]),
        ("SELECT * FROM lists WHERE id IN c", "SELECT a || b FROM t", ["unnamed-column: a || b"]),
        (
            "SELECT * FROM lists WHERE c.schema() = 'a' AND id IN c", "SELECT id FROM t",
            ["invalid-function-schema: c.schema"]
        ),
        (
            "SELECT lists.* FROM lists, c WHERE c.schema() = 'a'", "SELECT id FROM t",
            ["schema-on-subquery: c.schema()"]
        ),
        ("SELECT * FROM other.c", "SELECT id FROM t", ["unreferenced-cte: c"]),
        (
            "SELECT * FROM lists WHERE id IN c", "INSERT INTO t VALUES(1)",
            ["not-a-select: INSERT INTO t VALUES(1)"]
        ),
    ]

    @Test(arguments: innerTable)
    func commonTables(_ sql: String, _ inner: String, _ said: [String]) throws {
        #expect(try resolve(sql, with: [("c", inner)]).said == said)
    }

    @Test func commonTablesDoNotSeeEachOther() throws {
        let outcome = try resolve(
            "SELECT * FROM lists WHERE id IN d",
            with: [("c", "SELECT id FROM t"), ("d", "SELECT id FROM c WHERE id IN c")])
        #expect(outcome.said == ["unreferenced-cte: c"])
        let tables = outcome.query?.sources.filter { $0.input != outcome.query?.primary }.map(\.name)
        #expect(tables == [ExactText("c"), ExactText("json_each")])
    }

    /// Queries, and what is said of them beside `schema`.
    private static let schemaTable: [(String, [String])] = [
        ("SELECT id, nope FROM lists", ["column-unknown: nope"]),
        ("SELECT * FROM LISTS", []),
        ("SELECT * FROM \"LISTS\"", ["table-unknown: \"LISTS\""]),
        ("SELECT * FROM todos AS t", ["table-unknown: todos AS t"]),
        ("SELECT * FROM todos t", ["table-unknown: todos"]),
        ("SELECT t.id, t.name FROM a.todos t", ["column-unknown: t.name"]),
        ("SELECT id, \"Name\" FROM \"%\".todos", []),
        ("SELECT id, \"Name\", name FROM \"%\".\"%\"", []),
        ("SELECT * FROM \"x%\"", ["table-unknown: \"x%\""]),
        ("SELECT * FROM lists WHERE id IN nowhere", ["column-unknown: nowhere"]),
    ]

    @Test(arguments: schemaTable)
    func schemaIsAsked(_ sql: String, _ said: [String]) throws {
        #expect(try resolve(sql, schema: Self.schema).said == said)
    }

    @Test func theNearestNameIsToldButByTheAdminRoutes() throws {
        let unknownTable = "This table could not be found in the source schema."
        let unknownColumn = "Column not found."
        for (sql, recorded, meant) in [
            ("SELECT * FROM listz", unknownTable, "lists"),
            ("SELECT * FROM \"LISTS\"", unknownTable, "lists"),
            ("SELECT * FROM todos", unknownTable, "a.todos"),
            ("SELECT * FROM b.todo", unknownTable, "a.todos"),
            ("SELECT id, nam FROM lists", unknownColumn, "name"),
            ("SELECT t.id, t.name FROM a.todos t", unknownColumn, "\"Name\""),
        ] {
            let outcome = try resolve(sql, schema: Self.schema)
            #expect(outcome.messages == ["\(recorded) Did you mean \(meant)?"])
            #expect(outcome.recorded == [recorded])
        }
        // Of a wildcard, and of what is like nothing, nothing is said.
        for (sql, message) in [
            ("SELECT * FROM \"listz%\"", unknownTable), ("SELECT * FROM elsewhere", unknownTable),
            ("SELECT id, nope FROM lists", unknownColumn),
        ] {
            #expect(try resolve(sql, schema: Self.schema).messages == [message])
        }
    }

    /// Each is compared with all columns there are.
    @Test func onlyTheFirstUnknownNamesAreComparedWithAllOthers() throws {
        let count = SyntaxLimits.suggestions + 1
        let columns = (0..<count).map { "nam AS n\($0)" }.joined(separator: ", ")
        let messages = try resolve("SELECT id, \(columns) FROM lists", schema: Self.schema).messages
        let helped = "Column not found. Did you mean name?"
        #expect(messages == Array(repeating: helped, count: count - 1) + ["Column not found."])
        // The stream's common table expressions count with its query.
        let inner = try resolve(
            "SELECT lists.id, lists.nam FROM lists, c",
            with: [("c", "SELECT id, \(columns) FROM lists AS l")], schema: Self.schema
        ).messages.filter { $0.hasPrefix("Column not found") }
        #expect(inner.count == count + 1 && inner.suffix(2) == ["Column not found.", "Column not found."])
    }

    /// Queries, and what no source of theirs has.
    private static let namedSchemas: [(String, [String])] = [
        (
            "SELECT x.id FROM tenant.docs x, public.docs "
                + "WHERE tenant.docs.owner = auth.user_id() AND x.id = docs.id",
            ["tenant.docs.owner"]
        ),
        ("SELECT id FROM \"public\".docs WHERE other.docs.owner = auth.user_id()", ["other.docs.owner"]),
        ("SELECT other.docs.* FROM docs", ["other.docs.*"]),
        ("SELECT id FROM docs WHERE public.docs.owner = auth.user_id()", []),
        ("SELECT id FROM tenant.docs WHERE tenant.docs.owner = auth.user_id()", []),
        ("SELECT id FROM \"default.public\".docs WHERE public.docs.owner = auth.user_id()", []),
    ]

    @Test(arguments: namedSchemas)
    func theSchemaBeforeATableIsThatOfASource(_ sql: String, _ unknown: [String]) throws {
        let outcome = try resolve(sql)
        let said = outcome.said.filter { $0.hasPrefix("unknown-source") }
        #expect(said == unknown.map { "unknown-source: \($0)" })
        if let name = unknown.first?.split(separator: ".").first {
            let message = "Table '\(name).docs' has not been added in a FROM clause here."
            #expect(outcome.messages.contains(message))
        }
    }

    @Test func aCommonTableHidesATable() throws {
        let outcome = try resolve(
            "SELECT * FROM lists", with: [("lists", "SELECT id FROM a.todos")], schema: Self.schema)
        #expect(outcome.said == ["cte-shadows: lists"])
        let query = try #require(outcome.query)
        #expect(query.sources.map(\.name) == [ExactText("todos")])
        #expect(query.type == .named(ExactText("todos")))
        #expect(query.outputs == [.column(.column(.row(0), ExactText("id")), name: ExactText("id"))])
    }

    private static let sub = Expression.parameter(.userID)
    private static func column(_ row: Int, _ name: String) -> Expression {
        .column(.row(row), ExactText(name))
    }

    @Test func aSubSelectIsAMatchAndItsConditions() throws {
        let query = try #require(
            try resolve(
                "SELECT * FROM todos WHERE list_id IN (SELECT id FROM lists WHERE owner_id = auth.user_id())"
            ).query)
        guard case .and(let parts) = query.condition, parts.count == 2,
            case .equal(let left, let right, let match) = parts[0],
            case .equal(let owner, let user, _) = parts[1]
        else {
            Issue.record("another condition: \(query.condition)")
            return
        }
        #expect(left.expression == Self.column(0, "list_id") && right.expression == Self.column(1, "id"))
        #expect(owner.expression == Self.column(1, "owner_id") && user.expression == Self.sub)
        #expect(match.range.lowerBound == 26 && match.range.upperBound == match.query.bytes.count - 1)
        #expect(user.references.map(\.input) == [.request] && user.inputs == [.request])
        #expect(query.primary == .row(0) && query.outputs == [.allColumns])
        #expect(query.sources.map(\.input) == [.row(0), .row(1)])
    }

    @Test func listsAreElements() throws {
        let query = try #require(
            try resolve(
                "SELECT * FROM t WHERE auth.user_id() IN readers AND a && b AND c IN ARRAY[1, d]"
            ).query)
        guard case .and(let parts) = query.condition, parts.count == 3,
            case .equal(let user, let reader, _) = parts[0], case .equal(let one, let other, _) = parts[1],
            case .value(let inArray) = parts[2]
        else {
            Issue.record("another condition: \(query.condition)")
            return
        }
        #expect(user.expression == Self.sub && reader.expression == .element(.element(0), .value))
        #expect(one.expression == .element(.element(1), .value))
        #expect(other.expression == .element(.element(2), .value))
        #expect(
            inArray.expression
                == .oneOf(Self.column(0, "c"), [.literal(.integer(1)), Self.column(0, "d")]))
        let lists = query.sources.compactMap { source -> Expression? in
            if case .elements(let list) = source.content { list.expression } else { nil }
        }
        #expect(lists == [Self.column(0, "readers"), Self.column(0, "a"), Self.column(0, "b")])
    }

    @Test func negationStandsAsItIsWritten() throws {
        let query = try #require(
            try resolve("SELECT * FROM t WHERE NOT (a IN (SELECT b FROM c)) OR d NOT IN e OR f != 1").query)
        guard case .or(let parts) = query.condition, parts.count == 3,
            case .not(.equal(let left, let right, _)) = parts[0], case .value(let contained) = parts[1],
            case .not(.equal) = parts[2]
        else {
            Issue.record("another condition: \(query.condition)")
            return
        }
        #expect(left.inputs == [.row(0)] && right.inputs == [.row(1)])
        #expect(
            contained.expression == .not(.contains(list: Self.column(0, "e"), Self.column(0, "d"))))
    }

    @Test func eachUseOfACommonTableHasInputsOfItsOwn() throws {
        let query = try #require(
            try resolve(
                "SELECT * FROM a WHERE x IN c OR y IN c", with: [("c", "SELECT id FROM t WHERE u = 1")]
            ).query)
        #expect(query.sources.map(\.input) == [.row(0), .row(1), .row(2)])
        guard case .or(let parts) = query.condition, parts.count == 2 else {
            Issue.record("another condition: \(query.condition)")
            return
        }
        #expect(parts.map(\.inputs) == [[.row(0), .row(1)], [.row(0), .row(2)]])
        // What a common table expression reads is placed in its own text.
        let text = query.site.query
        #expect(parts[1].references.map { $0.site.query == text } == [true, false, false])
        let site = try #require(parts[1].references.last?.site)
        let diagnostic = site.diagnostic(.mixesRowRow, ["a"], in: text)
        #expect(diagnostic.range == site.place)
        guard case .text(_, let recorded)? = diagnostic.recorded?.form else {
            Issue.record("no other place")
            return
        }
        #expect(recorded == text.range(site.range))
    }

    @Test func expressionsAreAsWritten() throws {
        let query = try #require(
            try resolve(
                "SELECT id, CASE a WHEN 1 THEN b ELSE 2.5 END AS c, a::text ->> 'k' || '-' AS d, "
                    + "a IS NOT NULL AS e, a BETWEEN 1 AND +b AS f, t.table_name() AS g, "
                    + "9223372036854775808 AS h FROM \"t%\" t"
            ).query)
        let (a, b) = (Self.column(0, "a"), Self.column(0, "b"))
        let expressions = query.outputs.compactMap { output -> Expression? in
            if case .column(let expression, _) = output { expression } else { nil }
        }
        let wide = try #require(ScalarValue(digits: "9223372036854775808"))
        #expect(
            expressions == [
                Self.column(0, "id"),
                .choice(
                    base: a, [.init(when: .literal(.integer(1)), then: b)], otherwise: .literal(.real(2.5))),
                .concat(
                    .member(.cast(.text, a), .literal(ScalarValue(text: "k")), .value),
                    .literal(ScalarValue(text: "-"))),
                .not(.isNull(a)), .between(a, .literal(.integer(1)), b), .table(.name, .row(0)),
                .literal(wide),
            ])
        #expect(query.type == .named(ExactText("t")))
    }

    @Test func tablesArePatterns() throws {
        let query = try #require(
            try resolve("SELECT a.* FROM \"default.x_%\".\"y%\" AS \"a\", b.c, d").query)
        let patterns = query.sources.compactMap { source -> TablePattern? in
            if case .table(let pattern) = source.content { pattern } else { nil }
        }
        func exact(_ name: String) -> NamePart { .exact(ExactText(name)) }
        #expect(
            patterns == [
                TablePattern(
                    tag: exact("default"), schema: .prefix(ExactText("x_")), name: .prefix(ExactText("y"))),
                TablePattern(tag: exact("default"), schema: exact("b"), name: exact("c")),
                TablePattern(tag: exact("default"), schema: exact("public"), name: exact("d")),
            ])
        let all = try #require(try resolve("SELECT * FROM \"%\"").query)
        #expect(all.type == .table)
    }

    @Test func inliningHasALimit() throws {
        func all(_ condition: String, _ count: Int) -> String {
            Array(repeating: condition, count: count).joined(separator: " AND ")
        }
        let inner = "SELECT id FROM t WHERE \(all("a = 1", 500))"
        let sql = "SELECT * FROM t WHERE \(all("id IN c", 100))"
        let said = try resolve(sql, with: [("c", inner)]).said
        #expect(said.first?.hasPrefix("too-large: ") == true, "\(said)")
    }

    /// The functions of edition 3 (service 6.10).
    @Test func edition3HasTheseFunctions() {
        let names = Function.allCases.filter { $0.isInEdition3(.standard) }.map(\.rawValue)
        #expect(
            names.sorted() == [
                "base64", "datetime", "hex", "ifnull", "iif", "instr", "json_array_length", "json_extract",
                "json_keys", "length", "lower", "st_asgeojson", "st_astext", "st_x", "st_y", "substring",
                "typeof", "unixepoch", "upper", "uuid_blob",
            ])
        #expect(Function.substr.isInEdition3(.sqlite) && !Function.jsonValid.isInEdition3(.sqlite))
    }
}
