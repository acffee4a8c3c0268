import PowerSyncSQLite

/// Reads one SELECT of the Sync Streams language (service 6.8).
///
/// What the language has and this service cannot do yet is an error at its place, never left out silently.
struct QueryParser {
    private let tokens: [QueryToken]
    private var index = 0
    private var depth = 0
    private var links = 0

    /// Reads the text of a query.
    static func parse(_ text: String) throws(QueryError) -> SelectSyntax {
        var parser = QueryParser(tokens: try QueryTokenizer.tokens(of: text))
        return try parser.select()
    }

    private init(tokens: [QueryToken]) { self.tokens = tokens }

    var token: QueryToken { tokens[min(index, tokens.count - 1)] }

    mutating func advance() { index += 1 }

    func error(_ message: String) -> QueryError { QueryError(message: message, offset: token.offset) }

    func isWord(_ word: String) -> Bool { token.kind == .word(word) }

    mutating func takeWord(_ word: String) -> Bool {
        guard isWord(word) else { return false }
        advance()
        return true
    }

    mutating func takeSign(_ sign: String) -> Bool {
        guard token.kind == .sign(sign) else { return false }
        advance()
        return true
    }

    func unexpected(_ expected: String) -> QueryError {
        switch token.kind {
        case .end: error("Unexpected end of input")
        case .word(let word): error("Syntax error: found '\(word)', expected \(expected).")
        case .sign(let sign): error("Syntax error: found '\(sign)', expected \(expected).")
        default: error("Syntax error: expected \(expected).")
        }
    }

    /// Counts the nesting, so that no query can exhaust the stack.
    mutating func nested<T>(_ body: (inout QueryParser) throws(QueryError) -> T) throws(QueryError) -> T {
        guard depth < 100 else { throw error("This expression is nested too deep.") }
        depth += 1
        defer { depth -= 1 }
        return try body(&self)
    }

    /// Counts an AND or OR that was taken: a chain of them becomes a tree as deep as it is long.
    mutating func takeLink(_ word: String) throws(QueryError) -> Bool {
        guard isWord(word) else { return false }
        guard links < 500 else { throw error("More than 500 AND and OR are not supported by this service.") }
        links += 1
        advance()
        return true
    }

    private mutating func select() throws(QueryError) -> SelectSyntax {
        guard takeWord("select") else {
            if token.kind == .end { throw unexpected("SELECT") }
            throw error("Expected a SELECT statement")
        }
        _ = takeWord("distinct")
        var items = [try item()]
        while takeSign(",") { items.append(try item()) }
        guard takeWord("from") else { throw unexpected("FROM") }
        let source = try source()
        var condition: ExpressionSyntax?
        if takeWord("where") { condition = try expression() }
        try end()
        return SelectSyntax(items: items, source: source, condition: condition)
    }

    private mutating func end() throws(QueryError) {
        if case .word(let word) = token.kind {
            switch word {
            case "limit", "offset", "fetch": throw error("LIMIT is not supported")
            case "order": throw error("ORDER BY is not supported")
            case "group": throw error("GROUP BY is not supported")
            case "having": throw error("HAVING is not supported")
            case "for": throw error("SELECT FOR is not supported")
            case "union", "intersect", "except": throw error("Expected a SELECT statement")
            default: break
            }
        }
        _ = takeSign(";")
        guard token.kind == .end else { throw unexpected("the end of the query") }
    }

    private mutating func item() throws(QueryError) -> SelectSyntax.Item {
        let offset = token.offset
        if takeSign("*") { return SelectSyntax.Item(content: .all(qualifier: nil), offset: offset) }
        let start = index
        if let name = takeName(), takeSign("."), takeSign("*") {
            return SelectSyntax.Item(content: .all(qualifier: name), offset: offset)
        }
        index = start
        let expression = try expression()
        return SelectSyntax.Item(content: .expression(expression, alias: try alias()), offset: offset)
    }

    private mutating func source() throws(QueryError) -> SelectSyntax.Source {
        let offset = token.offset
        if token.kind == .sign("(") { throw error("Subqueries in FROM are not supported by this service.") }
        guard let first = takeName() else { throw unexpected("the name of a table") }
        if token.kind == .sign("(") {
            throw error("Table-valued functions are not supported by this service.")
        }
        var schema: String?
        var table = first
        if takeSign(".") {
            guard let second = takeName() else { throw unexpected("the name of a table") }
            schema = first
            table = second
        }
        let alias = try alias()
        if token.kind == .sign(",") { throw error("Joins are not supported by this service.") }
        if case .word(let word) = token.kind {
            let joins = ["join", "inner", "left", "right", "full", "cross", "natural"]
            if joins.contains(word) { throw error("Joins are not supported by this service.") }
        }
        return SelectSyntax.Source(schema: schema, table: table, alias: alias, offset: offset)
    }

    private static let reserved: Set<String> = [
        "select", "from", "where", "and", "or", "not", "is", "null", "in", "between", "like", "case", "when",
        "then",
        "else", "end", "limit", "offset", "order", "group", "having", "union", "intersect", "except", "join",
        "inner",
        "left", "right", "full", "cross", "natural", "on", "using", "for", "as", "fetch", "collate", "ilike",
        "true",
        "false", "distinct", "cast", "window", "exists",
    ]

    /// Takes a name, quoted or not; a reserved word is none.
    mutating func takeName() -> String? {
        switch token.kind {
        case .quotedName(let name):
            advance()
            return name
        case .word(let word) where !Self.reserved.contains(word):
            advance()
            return word
        default: return nil
        }
    }

    private mutating func alias() throws(QueryError) -> String? {
        if takeWord("as") {
            guard let name = takeName() else { throw unexpected("an alias") }
            return name
        }
        return takeName()
    }
}
