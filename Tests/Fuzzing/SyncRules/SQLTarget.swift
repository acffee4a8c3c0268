import Foundation
import PowerSyncSyncRules
import PowerSyncWire

/// The parser of SQL, and what each edition makes of a query; the first byte chooses what is repeated.
struct SQLTarget: FuzzTarget {
    static let words = [
        "SELECT ", "DISTINCT ", " FROM ", " WHERE ", " AND ", " OR ", "NOT ", " IS ", "NULL", " AS ", "*",
        ",",
        ".", "(", ")", "=", "<>", "!=", "<=", ">=", "->", "->>", "||", "&&", "::text", "-- ", "/*", "*/",
        "\n",
        ";", "''", "\"\"", "E'\\", "1.5", "-", "$1", "[", "]", "auth.user_id()", "auth.parameter('a')",
        "connection.parameter('$.a.b')", "subscription.parameters()", "request.user_id()", "bucket.a",
        "token_parameters.a", "user_parameters.a", " JOIN ", " ON ", " USING (", " IN ", " LIKE ",
        " BETWEEN ", "CASE WHEN ", " THEN ", " ELSE ", " END", "CAST(", "ARRAY[", "ROW(", "json_each(",
        "json_extract(", "hex(", "upper(", "length(", "substring(", "instr(", "unixepoch(", "datetime(",
        "st_astext(", "ifnull(", "iif(", "uuid_blob(", " LIMIT 1", " ORDER BY ", " GROUP BY ", " UNION ",
        "true", "false", "docs", "users", "\"Tags\"", "\u{E9}", "9223372036854775808", "table_suffix()", "%",
    ]

    private(set) var tally = Tally()

    static func firstInputs(fixtures: URL) throws -> [[UInt8]] {
        try LanguageRecordings.queries(fixtures).map { [0] + Array($0.utf8) }
            + written.map { [0] + Array($0.utf8) } + repeated.map { [255] + Array($0.utf8) }
    }

    private static let written = [
        """
        SELECT DISTINCT t.id, "Name" AS name, 5 AS five -- a comment
        FROM app.t AS t
        WHERE owner = auth.user_id() AND subscription.parameter('x') = t.x AND (done = false AND NOT a IS NULL)
          AND rank >= -1.5 AND auth.parameter('$.app.role') = 'admin' AND (a = 1 OR b <> 2e3);
        """
    ]

    private static let repeated = [
        "SELECT * FROM t WHERE \0a = 1 OR \0b",
        "SELECT * FROM t WHERE \0(a = auth.user_id() OR b = 2) AND \0c",
        "SELECT * FROM t WHERE \0NOT \0a", "SELECT * FROM t WHERE \0(\0a", "SELECT \0a, \0b FROM t",
        "SELECT * FROM t WHERE a = \0hex(\0'a'", "SELECT * FROM t WHERE a = 'b'\0 || a\0",
        "SELECT s.a AS id FROM \0(SELECT s.a || s.a AS a FROM \0t", "SELECT \0*, \0id FROM t",
        "SELECT t.id FROM t\0, json_each(t.a) AS e\0",
        "SELECT * FROM t WHERE a IN \0(SELECT a FROM u WHERE b IN \0c",
        "SELECT * FROM t WHERE a = \09\0", "SELECT * FROM t WHERE a = auth.parameter('\0b.\0')",
        "SELECT id FROM t WHERE \0a = bucket.a AND \0b = bucket.b", "\0SELECT 1; \0", "SELECT * FROM \0a.\0b",
    ]

    mutating func check(_ input: [UInt8]) {
        let text = String(decoding: Repetition.unfold(input, limit: 1 << 15), as: UTF8.self)
        checkSyntax(Array(text.utf8))
        let query = JSON.quoted(text)
        for yaml in [
            "config: {edition: 3}\nstreams: {a: {auto_subscribe: true, query: \(query)}}\n",
            "config: {edition: 3}\nwith: {a: \(query)}\nstreams: {a: {query: SELECT t.* FROM t, a}}\n",
            "config: {edition: 2}\nstreams: {a: {query: \(query)}}\n",
            "bucket_definitions: {a: {data: [\(query)]}}\n",
            "bucket_definitions: {a: {parameters: \(query), data: [SELECT id FROM t WHERE a = bucket.a]}}\n",
        ] {
            LanguageProperties.check(yaml, &tally)
        }
    }

    // MARK: - Tokens and tree

    private mutating func checkSyntax(_ sql: [UInt8]) {
        var end = 0
        let tokens = SQLTokenizer.tokens(of: sql)
        for token in tokens {
            guard token.range.lowerBound >= end, token.range.upperBound <= sql.count else {
                fatalError("a token that is nowhere in the text: \(token)")
            }
            end = token.range.upperBound
        }
        guard tokens.last?.kind == .end else { fatalError("tokens without an end") }
        let results = (0..<2).map { _ in
            Result { () throws(SyntaxError) in try SQLParser.parse(sql) }
        }
        guard results[0] == results[1] else { fatalError("two answers for one query") }
        switch results[0] {
        case .success(let statements):
            tally.count("queries")
            for statement in statements {
                Self.check(statement.range, in: sql)
                if case .select(let select, _) = statement { Self.check(select, in: sql) }
            }
        case .failure(let error):
            tally.count("queries refused")
            Self.check(error.range, in: sql)
            guard !error.message.isEmpty else { fatalError("an error without a message") }
        }
    }

    private static func check(_ range: Range<Int>, in sql: [UInt8]) {
        guard range.lowerBound >= 0, range.upperBound <= sql.count else {
            fatalError("a place that is not in the query: \(range)")
        }
    }

    private static func check(_ select: SelectSyntax, in sql: [UInt8]) {
        check(select.range, in: sql)
        // Those in FROM may have expressions of all levels.
        guard select.depth <= 2 * SyntaxLimits.depth else { fatalError("nested \(select.depth) deep") }
        for item in select.items {
            check(item.range, in: sql)
            check(item.expression, in: sql)
        }
        for source in select.sources {
            check(source.range, in: sql)
            if let condition = source.condition { check(condition, in: sql) }
            switch source.content {
            case .select(let inner, let range):
                check(range, in: sql)
                check(inner, in: sql)
            case .call(let call, let range):
                check(range, in: sql)
                for argument in call.arguments { check(argument, in: sql) }
            case .union(let range): check(range, in: sql)
            case .table: break
            }
        }
        for clause in select.clauses { check(clause.range, in: sql) }
        if let condition = select.condition { check(condition, in: sql) }
    }

    private static func check(_ expression: ExpressionSyntax, in sql: [UInt8]) {
        check(expression.range, in: sql)
        if case .subquery(let select) = expression.content { check(select, in: sql) }
        for child in expression.content.children { check(child, in: sql) }
    }
}
