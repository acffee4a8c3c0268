import PowerSyncServiceEngine
import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// The SQLite engine beside libsqlite3.
@Suite(.namesSeed)
struct SQLiteEngineTests {
    /// The columns of a row as inputs.
    private struct Row: ExpressionInputs {
        let values: [ScalarValue]

        func column(_ input: Input, _ name: ExactText) -> ScalarValue {
            RandomExpressions.columns.firstIndex(of: name.text).map { values[$0] } ?? .null
        }
        func element(_ input: Input, _ part: ElementPart) -> ScalarValue { .null }
        func parameter(_ parameter: RequestParameter) -> ScalarValue { .null }
        func request(_ source: RequestParameter.Source) -> ScalarValue { .null }
        func table(_ fact: TableFact, _ input: Input) -> ScalarValue { .null }
    }

    private var run: ExpressionRun {
        var options = CompatibilityOptions(edition: 3)
        options.engine = .sqlite
        return ExpressionRun(options: options)
    }

    /// What SQLite makes of SQL whose parameters are the columns.
    private func expected(
        _ sql: String, _ row: [ScalarValue], _ connection: SQLiteConnection
    ) throws -> ScalarValue {
        // Each parameter is named, so that all can be bound.
        let sources = row.indices.map { "?\($0 + 1) AS p\($0)" }.joined(separator: ", ")
        let text = "SELECT \(sql) FROM (SELECT \(sources))"
        return ScalarValue(try #require(try connection.one(text, row.map(\.stored)) { $0[0] }))
    }

    @Test func tenThousandRandomExpressions() async throws {
        let connection = try SQLiteConnection(path: ":memory:")
        defer { connection.close() }
        var kinds: [String: Int] = [:]
        try await forEachSeed(500) { random in
            var expressions = RandomExpressions(random)
            for _ in 0..<20 {
                let sample = expressions.sample(depth: 4)
                let row = expressions.row()
                let expected = try expected(sample.sql, row, connection)
                let found = try run.value(of: sample.expression, in: Row(values: row))
                #expect(found == expected, "\(sample.sql) of \(row)")
                let holds = try run.holds(sample.expression, in: Row(values: row))
                let isTrue = try self.expected("(\(sample.sql)) IS TRUE", row, connection)
                #expect(ScalarValue(holds) == isTrue, "\(sample.sql) of \(row)")
                kinds["\(found)".prefix { $0 != "(" }.description, default: 0] += 1
            }
        }
        // Seeds of the environment are few.
        guard TestOptions.number("POWERSYNC_SEED", standard: -1) < 0 else { return }
        for kind in ["null", "integer", "real", "text", "blob"] {
            #expect(kinds[kind, default: 0] > 100, "\(kinds)")
        }
    }

    @Test func whatIsNoNumberIsNULL() throws {
        let row = Row(values: [.real(.nan), .integer(1), .null])
        #expect(try run.value(of: .column(.row(0), ExactText("a")), in: row) == .null)
        let infinite = Expression.literal(.real(.infinity))
        #expect(try run.value(of: .arithmetic(.subtract, infinite, infinite), in: row) == .null)
    }

    @Test func nothingIsInAnEmptyArray() throws {
        let connection = try SQLiteConnection(path: ":memory:")
        defer { connection.close() }
        let nulls: [ScalarValue] = [.null, .null, .null]
        for value in [ScalarValue.null, .integer(1)] {
            let found = try run.value(of: .oneOf(.literal(value), []), in: Row(values: nulls))
            let sql = value.isNull ? "NULL IN ()" : "1 IN ()"
            let expected = try expected(sql, nulls, connection)
            #expect(found == expected && found == .integer(0))
        }
    }

    /// What stands right of `->`: brackets are a path, a sign makes a name.
    @Test(arguments: [
        ("[1,2]", "+1"), ("[1,2]", "[1]"), ("[1,2]", "[#-1]"), ("[[1,2],3]", "[0][1]"),
        ("{\"+1\":7}", "+1"), ("{\"-1\":7}", "-1"), ("{\"[1]\":5}", "[1]"),
    ])
    func membersAreFoundAsSQLiteFindsThem(_ json: String, _ name: String) throws {
        let connection = try SQLiteConnection(path: ":memory:")
        defer { connection.close() }
        let row = [ScalarValue(text: json), ScalarValue(text: name)]
        for form in MemberForm.allCases {
            let member = Expression.member(.literal(row[0]), .literal(row[1]), form)
            let found = try run.value(of: member, in: Row(values: [.null, .null, .null]))
            let expected = try expected("p0 \(form.rawValue) p1", row, connection)
            #expect(found == expected, "\(json) \(form.rawValue) \(name)")
        }
    }

    @Test(arguments: ["{", "", "nul"])
    func whatIsNoJSONIsAnError(_ text: String) throws {
        let json = Expression.literal(ScalarValue(text: text))
        let name = Expression.literal(ScalarValue(text: "a"))
        for expression: Expression in [
            .member(json, name, .json), .call(.jsonExtract, [json, name]), .call(.jsonArrayLength, [json]),
        ] {
            #expect(throws: EvaluationError.self) {
                try run.value(of: expression, in: Row(values: [.null, .null, .null]))
            }
        }
    }

    @Test(arguments: ["a", "$.", "$[", "$[x]", "$a", "$.\"a"])
    func whatIsNoPathIsAnError(_ path: String) throws {
        let arguments = ["{}", path].map { Expression.literal(ScalarValue(text: $0)) }
        #expect(throws: EvaluationError.self) {
            try run.value(of: .call(.jsonExtract, arguments), in: Row(values: [.null, .null, .null]))
        }
    }
}
