import PowerSyncSyncRules
import Testing

/// The grammar that was recorded of the real service (service 6.3, 6.8; LANGUAGE.md 2).
struct SQLParserTests {
    private func select(_ sql: String) throws -> SelectSyntax {
        let statements = try SQLParser.parse(Array(sql.utf8))
        guard case .select(let select, _) = try #require(statements.first) else {
            throw SyntaxError(.notASelect, "no SELECT", at: 0..<0)
        }
        return select
    }

    /// The first column of `SELECT … FROM t`.
    private func expression(_ sql: String) throws -> ExpressionSyntax {
        try #require(try select("SELECT \(sql) FROM t").items.first).expression
    }

    private func refusal(_ sql: String) -> SyntaxError? {
        do throws(SyntaxError) {
            _ = try SQLParser.parse(Array(sql.utf8))
            return nil
        } catch {
            return error
        }
    }

    /// What a range covers of a text.
    private func part(_ sql: String, _ range: Range<Int>) -> String {
        String(decoding: Array(sql.utf8)[range], as: UTF8.self)
    }

    @Test(arguments: [
        ("a OR b AND c", "(OR a (AND b c))"), ("a OR b OR c", "(OR a b c)"), ("(a OR b) OR c", "(OR a b c)"),
        ("a OR (b OR c)", "(OR a (OR b c))"), ("a AND b AND c OR d", "(OR (AND a b c) d)"),
        ("NOT a AND b", "(AND (NOT a) b)"), ("NOT NOT a", "(NOT (NOT a))"), ("NOT a = b", "(NOT (= a b))"),
        ("NOT a IS NULL", "(NOT (IS-NULL a))"), ("NOT s -> -1", "(NOT (-> s -1))"),
    ])
    func joinedConditions(_ sql: String, _ tree: String) throws {
        #expect(SyntaxText.text(try expression(sql)) == tree)
    }

    /// `n != 1 IS FALSE` was evaluated: it is `n != (1 IS FALSE)`.
    @Test(arguments: [
        ("n != 1 IS FALSE", "(!= n (IS-FALSE 1))"), ("a IS NULL = b", "(= (IS-NULL a) b)"),
        ("a = b < c", "(= a (< b c))"), ("a < b = c", "(= (< a b) c)"), ("a <> b > c", "(!= a (> b c))"),
        ("a < b IS TRUE", "(IS-TRUE (< a b))"), ("a IS TRUE IS NOT FALSE", "(IS-NOT-FALSE (IS-TRUE a))"),
        ("a = b = c", "(= (= a b) c)"), ("a < b <= c", "(<= (< a b) c)"), ("a ~ b = c", "(= (~ a b) c)"),
        ("a ISNULL", "(IS-NULL a)"), ("a NOTNULL AND b", "(AND (IS-NOT-NULL a) b)"),
        ("a = b IN c", "(= a (IN b c))"), ("a IN b = c", "(= (IN a b) c)"),
        ("a NOT IN b || c", "(NOT-IN a (|| b c))"), ("a IN (1, 2) || b", "(IN a (|| (LIST 1 2) b))"),
        ("a LIKE 'a%' - b", "(LIKE a (- 'a%' b))"), ("a NOT ILIKE b", "(NOT ILIKE a b)"),
        ("a BETWEEN b AND c AND d", "(AND (BETWEEN a b c) d)"),
        ("a NOT BETWEEN s AND s NOT BETWEEN s && j AND c", "(NOT-BETWEEN (NOT-BETWEEN a s s) (&& s j) c)"),
        ("a < b BETWEEN c AND d", "(< a (BETWEEN b c d))"),
        ("a BETWEEN b IN c AND d", "(BETWEEN a (IN b c) d)"),
    ])
    func comparisons(_ sql: String, _ tree: String) throws {
        #expect(SyntaxText.text(try expression(sql)) == tree)
    }

    @Test(arguments: [
        ("a || b - c", "(- (|| a b) c)"), ("s || t && j", "(&& (|| s t) j)"),
        ("s && j + n", "(+ (&& s j) n)"),
        ("a + b * c", "(+ a (* b c))"), ("a * b % c / d", "(/ (% (* a b) c) d)"),
        ("a * b ^ c", "(* a (^ b c))"),
        ("a << 1 | b & c >> d", "(>> (<< a (& (| 1 b) c)) d)"), ("a + s ->> 0", "(+ a (->> s 0))"),
        ("a * j ->> 'b'", "(* a (->> j 'b'))"), ("j -> 'a' ->> -1", "(->> (-> j 'a') -1)"),
        ("j -> 'a'::text", "(CAST (-> j 'a') text)"), ("n::text -> 'a'", "(-> (CAST n text) 'a')"),
        ("-1", "-1"), ("-1.5", "-1.5"), ("- 1", "-1"), ("-n", "(- n)"), ("-n::text", "(- (CAST n text))"),
        ("-(a - b)", "(- (- a b))"), ("+j", "(+ j)"), ("a - -1", "(- a -1)"), ("a -1", "(- a 1)"),
        (".5 + 1.", "(+ .5 1.)"),
    ])
    func operators(_ sql: String, _ tree: String) throws {
        #expect(SyntaxText.text(try expression(sql)) == tree)
    }

    @Test(arguments: [
        ("CASE WHEN a THEN b END", "(CASE (a b))"),
        ("CASE a WHEN b THEN c WHEN d THEN NOT e ELSE f END", "(CASE a (b c) (d (NOT e)) else f)"),
        ("CAST(NOT a AS NUMERIC)", "(CAST (NOT a) numeric)"), ("a::varchar(10)", "(CAST a varchar(10))"),
        ("a::double precision", "(CAST a double precision)"), ("a::text[]", "(CAST a text[])"),
        ("a::TIMESTAMP WITH TIME ZONE", "(CAST a timestamp with time zone)"), ("a[1]", "(? a 1)"),
        ("date '2024-01-01'", "(CAST '2024-01-01' date)"), ("CURRENT_DATE", "(?)"), ("$1", "$1"),
        ("EXTRACT(year FROM a)", "(? year a)"), ("any(a)", "(any a)"),
        ("EXISTS (SELECT 1)", "(exists^ (SELECT 1))"),
        ("ARRAY[]", "(ARRAY)"), ("ARRAY[a, b < c]", "(ARRAY a (< b c))"), ("Row(1, 2)", "(ROW 1 2)"),
        ("(1, 2)", "(LIST 1 2)"), ("((a))", "a"), ("(SELECT 1)", "(SELECT 1)"), ("ARRAY(SELECT 1)", "(?)"),
        ("count(*)", "(count *)"), ("Count(DISTINCT a)", "(count^! a)"), ("max(a ORDER BY b)", "(max! a)"),
        ("sum(a) OVER (PARTITION BY (b))", "(sum! a)"), ("sum(a) FILTER (WHERE b)", "(sum! a)"),
        ("auth.parameter('a')", "(auth.parameter 'a')"), ("f()", "(f)"), ("t.*", "t.*"), ("*", "*"),
        ("t.* * a", "(* t.* a)"), ("t.select", "t.select"), ("Tags.\"ID\"", "tags^.\"ID\""),
        ("public.t.id", "t.id"), ("between", "between"), ("'O''B'", "'O'B'"), ("E'a\\n\\'b'", "'a\n'b'"),
        ("\"a\"\"b\"", "\"a\"b\""), ("TRUE", "true"), ("Null", "null"), ("größe", "größe"), ("_a$1", "_a$1"),
    ])
    func values(_ sql: String, _ tree: String) throws {
        #expect(SyntaxText.text(try expression(sql)) == tree)
    }

    @Test(arguments: [
        ("select A, b AS c, d e from t", "SELECT a^ b:c d:e FROM t"),
        ("SELECT * FROM a.b AS x", "SELECT * FROM a.b:x"),
        (
            "SELECT * FROM a x, b AS \"Y\" JOIN c ON x.id = c.id",
            "SELECT * FROM a:x , b:\"Y\" INNER JOIN c ON (= x.id c.id)"
        ),
        (
            "SELECT 1 FROM a LEFT OUTER JOIN b JOIN c USING (d, e)",
            "SELECT 1 FROM a LEFT JOIN b INNER JOIN c USING d e"
        ),
        (
            "SELECT 1 FROM a CROSS JOIN b FULL JOIN c ON true",
            "SELECT 1 FROM a CROSS JOIN b FULL JOIN c ON true"
        ),
        ("SELECT * FROM (SELECT a FROM b) AS c(d)", "SELECT * FROM (SELECT a FROM b):c[d]"),
        (
            "SELECT * FROM json_each(t.x) AS e WHERE e.value = 1",
            "SELECT * FROM (json_each t.x):e WHERE (= e.value 1)"
        ),
        ("SELECT * FROM auth.user_id() AS x", "SELECT * FROM (auth.user_id):x"),
        ("SELECT DISTINCT ON (a) b FROM c", "SELECT DISTINCT b FROM c"), ("SELECT FROM t", "SELECT FROM t"),
        ("SELECT 1 WHERE a IN (SELECT b FROM c)", "SELECT 1 WHERE (IN a (SELECT b FROM c))"),
        ("(SELECT 1)", "SELECT 1"),
        ("SELECT a FROM b GROUP BY c, d HAVING e", "SELECT a FROM b !GROUP BY !HAVING"),
        ("SELECT a FROM b ORDER BY f DESC NULLS LAST, g LIMIT 1", "SELECT a FROM b !ORDER BY !LIMIT"),
        ("SELECT a FROM b OFFSET 2 LIMIT 1 FOR UPDATE SKIP LOCKED", "SELECT a FROM b !LIMIT !SKIP !FOR"),
        ("SELECT a FROM b FETCH FIRST 3 ROWS ONLY", "SELECT a FROM b !LIMIT"),
        ("SELECT a FROM \"assets_%\"", "SELECT a FROM \"assets_%\""),
        ("SELECT a -- comment\nFROM /* another\n one */ b;", "SELECT a FROM b"),
        ("SELECT a FROM (SELECT b UNION SELECT c) AS d", "SELECT a FROM (UNION):d"),
    ])
    func selects(_ sql: String, _ tree: String) throws {
        #expect(SyntaxText.text(try select(sql)) == tree)
    }

    @Test func statements() throws {
        func kinds(_ sql: String) throws -> [String] {
            try SQLParser.parse(Array(sql.utf8)).map { statement in
                switch statement {
                case .select: "select " + part(sql, statement.range)
                case .union: "union " + part(sql, statement.range)
                case .other: "other " + part(sql, statement.range)
                }
            }
        }
        #expect(try kinds("SELECT 1") == ["select SELECT 1"])
        #expect(try kinds(" ; SELECT (1) ;; SELECT 2; ") == ["select SELECT (1)", "select SELECT 2"])
        #expect(try kinds("SELECT 1 UNION ALL SELECT 2") == ["union SELECT 1 UNION ALL SELECT 2"])
        #expect(try kinds("(SELECT 1) UNION (SELECT 2)") == ["union (SELECT 1) UNION (SELECT 2)"])
        #expect(try kinds("INSERT INTO t (1); SELECT 1") == ["other INSERT INTO t (1)", "select SELECT 1"])
    }

    /// The range of an expression, marked by `[` and `]` in the SQL.
    @Test(arguments: [
        "[a + b]", "([a + b])", "([a + b])::text", "([a]) + (b)", "([a] OR b) IS TRUE", "[upper(a)]",
        "[ARRAY[1]]", "[CASE WHEN a THEN (b) END]", "[CAST(a AS text)]", "-([a - b])", "(([1, 2]))",
        "[auth.user_id()] = 'ü'",
        "x IN ([SELECT a FROM b WHERE c = 2])", "'ü😀' = [b]", "[n::int] + 1", "[a IS NOT NULL] = 1",
        "x IN ([SELECT a FROM b WHERE (c = d]))",
    ])
    func rangesLeaveParenthesesOut(_ marked: String) throws {
        // Of brackets in the SQL the outer ones are the marks.
        let bytes = Array(marked.utf8)
        let open = try #require(bytes.firstIndex(of: UInt8(ascii: "[")))
        let close = try #require(bytes.lastIndex(of: UInt8(ascii: "]")))
        var sql = bytes
        sql.remove(at: close)
        sql.remove(at: open)
        let prefix = "SELECT "
        let whole = prefix + String(decoding: sql, as: UTF8.self) + " FROM t"
        let root = try #require(try select(whole).items.first)
        let wanted = prefix.utf8.count + open..<prefix.utf8.count + close - 1
        var all = [root.expression]
        var found: [Range<Int>] = []
        while let next = all.popLast() {
            found.append(next.range)
            all += next.content.children
            if case .subquery(let select) = next.content {
                #expect(select.range == next.range)
                all += select.items.map(\.expression) + (select.condition.map { [$0] } ?? [])
            }
        }
        #expect(found.contains(wanted), "\(found) for \(wanted)")
    }

    @Test func otherRanges() throws {
        let sql =
            "SELECT Auth.User_ID() AS x FROM a.\"b\" AS y, (SELECT 1) z LIMIT 1 OFFSET 2 FOR NO KEY UPDATE"
        let select = try select(sql)
        let item = try #require(select.items.first)
        #expect(part(sql, item.range) == "Auth.User_ID() AS x")
        let unnamed = try self.select("SELECT id, team docs")
        #expect(part("SELECT id, team docs", unnamed.range) == "SELECT id, team")
        guard case .call(let call) = item.expression.content else {
            Issue.record("no call")
            return
        }
        #expect(part(sql, call.nameRange) == "Auth.User_ID")
        #expect(select.sources.map { part(sql, $0.range) } == ["a.\"b\" AS y", "(SELECT 1) z"])
        #expect(part(sql, try #require(select.sources.first).contentRange) == "a.\"b\"")
        #expect(select.clauses.map { part(sql, $0.range) } == ["1 OFFSET 2"])
        #expect(part(sql, try #require(select.lock)) == "NO KEY UPDATE")
        #expect(part(sql, select.range) == sql)
        let cast = "CAST(a AS int) + b::TEXT"
        guard case .binary(_, let left, let right) = try expression(cast).content,
            case .cast(_, let one, let oneRange) = left.content,
            case .cast(_, let other, let otherRange) = right.content
        else {
            Issue.record("no casts")
            return
        }
        #expect([one, other] == ["int", "text"])
        let whole = "SELECT " + cast
        #expect([part(whole, oneRange), part(whole, otherRange)] == ["int", "TEXT"])
    }

    /// The token at which a query goes wrong; as recorded but where a word that means nothing stands before it.
    @Test(arguments: [
        ("a + NOT b", "NOT"), ("a < NOT b", "NOT"), ("a BETWEEN NOT b AND c", "NOT"), ("a = NOT b", "NOT"),
        ("a IS NULL < b", "<"), ("a IS NOT NULL - b", "-"), ("a IS TRUE || b", "||"),
        ("a IS TRUE IN b", "IN"),
        ("a IS TRUE NOT IN b", "NOT"), ("a BETWEEN b <= c AND d", "<="), ("a BETWEEN b IS TRUE AND d", "IS"),
        ("~a", "~"), ("a COLLATE NOCASE", "COLLATE"), ("a IS DISTINCT FROM b", "DISTINCT"), ("a IS b", "b"),
        ("a == b", "="), ("1e3 AS e", "AS"), ("coalesce(1e3, 2)", "e3"), ("a -> b", "b"), ("a ->> (1)", "("),
        ("a, DISTINCT b", "DISTINCT"), ("a AS 1", "1"), ("a AS b.c", "."), ("CASE END", "END"),
        ("ARRAY[a", "FROM"), ("a?", "?"), ("f(a b)", "b"), ("*, a, * * b", "*"), ("(a", "FROM"), ("a)", ")"),
        ("SELECT", "SELECT"), ("cast(a)", ")"), ("a IN ()", ")"), ("$", "$"), ("a.'b'", "'b'"),
    ])
    func refusals(_ sql: String, _ token: String) throws {
        let sql = "SELECT \(sql) FROM t"
        let error = try #require(refusal(sql), "accepted")
        #expect(error.name == .sqlSyntax)
        #expect(part(sql, error.range) == token, "\(error.message)")
        #expect(!error.message.contains("\n"))
    }

    @Test(arguments: [
        ("", ""), (" -- nothing", ""), ("SELECT a FROM", "FROM"), ("SELECT a FROM t WHERE", "WHERE"),
        ("SELECT a FROM t WHERE b AND", "AND"), ("SELECT a FROM (SELECT b)", ")"),
        ("SELECT a FROM t WHERE (b", "b"),
        ("SELECT a FROM t WHERE b = ", "="),
    ])
    func unexpectedEnds(_ sql: String, _ last: String) throws {
        let error = try #require(refusal(sql), "accepted")
        #expect(error.name == .sqlUnexpectedEnd)
        #expect(part(sql, error.range) == last)
    }

    @Test(arguments: [
        ("SELECT 'abc FROM t", "'"), ("SELECT \"a FROM t", "\""), ("SELECT a FROM t /* b", "/*"),
        ("SELECT E'a FROM t", "E'"), ("SELECT a # b FROM t", "#"), ("SELECT 'a\0b' FROM t", "\0"),
        ("SELECT nosuch FROM t HAVING 1 'abc", "HAVING"), ("SELECTx id FROM t", "SELECTx"),
        ("SELECT a FROM t HAVING 1", "HAVING"), ("SELECT a FROM t FOR UPDATE OFFSET 2", "OFFSET"),
        ("SELECT a FROM b NATURAL JOIN c", "NATURAL"), ("SELECT a FROM 1", "1"), ("INSERT 'a", "'"),
        ("SELECT 1 SELECT 2", "SELECT"), ("SELECT 1; nosuch", "nosuch"),
    ])
    func otherRefusals(_ sql: String, _ token: String) throws {
        let error = try #require(refusal(sql), "accepted")
        #expect(error.name == .sqlSyntax)
        #expect(part(sql, error.range) == token, "\(error.message)")
    }

    @Test(arguments: [
        ("(", "a", ")"), ("NOT ", "a", ""), ("- ", "a", ""), ("f(", "a", ")"),
        ("CASE WHEN ", "a", " THEN 1 END"),
        ("a IN (SELECT b FROM c WHERE ", "a", ")"), ("ARRAY[", "a", "]"), ("a + (", "a", ")"),
        ("CAST(", "a", " AS text)"),
        ("a OR b AND NOT c = d < e BETWEEN f AND g IN h + i * j ^ - (", "a", ")"),
    ])
    func nestingHasALimit(_ before: String, _ inside: String, _ behind: String) {
        func nested(_ count: Int) -> String {
            "SELECT " + String(repeating: before, count: count) + inside
                + String(repeating: behind, count: count)
        }
        #expect(refusal(nested(8)) == nil)
        #expect(refusal(nested(SyntaxLimits.depth + 1))?.name == .nestingTooDeep)
        #expect(refusal(nested(20_000))?.name == .nestingTooDeep)
    }

    @Test(arguments: ["||", "+", "=", "<", "->> 'a' ->", "::text ::", "IS NULL IS"])
    func chainsThatNestHaveALimit(_ operation: String) {
        let behind = operation.hasSuffix("::") ? "text" : operation.hasSuffix("IS") ? "TRUE" : "'a'"
        func chain(_ count: Int) -> String {
            "SELECT a" + String(repeating: " \(operation) \(behind)", count: count)
        }
        #expect(refusal(chain(SyntaxLimits.depth / 2 - 1)) == nil)
        #expect(refusal(chain(SyntaxLimits.depth + 1))?.name == .nestingTooDeep)
    }

    @Test(arguments: ["AND", "OR"])
    func chainsOfConditionsAreOneLevel(_ word: String) throws {
        let sql = "SELECT 1 WHERE a = 1" + String(repeating: " \(word) a = 2", count: 2_000)
        let condition = try #require(try select(sql).condition)
        #expect(condition.depth == 3)
        #expect(condition.content.children.count == 2_001)
    }

    @Test func queriesHaveALimit() {
        let sql = "SELECT 1 WHERE a" + String(repeating: " OR a", count: SyntaxLimits.nodes)
        #expect(refusal(sql)?.name == .tooLarge)
    }
}
