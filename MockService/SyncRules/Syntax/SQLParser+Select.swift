extension SQLParser {
    /// Reads a SELECT, in parentheses or not, or several that UNION joins.
    ///
    /// - Returns: The SELECT; nil if there are several.
    /// - Throws: `SyntaxError`.
    mutating func query() throws(SyntaxError) -> SelectSyntax? {
        try enter()
        var first: SelectSyntax?
        if takeSign(.open) {
            first = try query()
            try need(.close)
        } else {
            first = try select()
        }
        if takeWord("union") {
            _ = takeWord("all")
            _ = try query()
            first = nil
        }
        leave()
        return first
    }

    private mutating func select() throws(SyntaxError) -> SelectSyntax {
        let start = token.range.lowerBound
        try need("select")
        let isDistinct = takeWord("distinct")
        if isDistinct, takeWord("on") {
            try need(.open)
            _ = try expressions()
            try need(.close)
        }
        var end = lastEnd
        let items = try items()
        if let last = items.last { end = last.namedRange.upperBound }
        let sources = takeWord("from") ? try sources() : []
        if let last = sources.last { end = last.end }
        var condition: ExpressionSyntax?
        if takeWord("where") {
            let expression = try expression(allowsStar: true)
            condition = expression
            end = expression.range.upperBound
        }
        var clauses: [SelectSyntax.Clause] = []
        try grouping(&clauses, &end)
        try limit(&clauses, &end)
        let lock = try lock(&clauses, &end)
        return SelectSyntax(
            isDistinct: isDistinct, items: items, sources: sources, condition: condition, clauses: clauses,
            lock: lock, range: start..<end)
    }

    private mutating func items() throws(SyntaxError) -> [SelectSyntax.Item] {
        switch token.kind {
        case .end, .sign(.semicolon), .sign(.close): return []
        case .word(let word) where Keywords.clauses.contains(word): return []
        default: break
        }
        var items = [try item()]
        while takeSign(.comma) { items.append(try item()) }
        return items
    }

    private mutating func item() throws(SyntaxError) -> SelectSyntax.Item {
        let expression = try expression(allowsStar: true)
        let hasAs = isWord("as")
        return SelectSyntax.Item(expression: expression, alias: try alias(), hasAs: hasAs)
    }

    private mutating func alias() throws(SyntaxError) -> NameSyntax? {
        takeWord("as") ? try name("an alias") : takeName()
    }

    // What stands in FROM.

    private mutating func sources() throws(SyntaxError) -> [SourceSyntax] {
        var sources = [try source(.none, token.range.lowerBound..<token.range.lowerBound)]
        while let join = try join() {
            sources.append(try source(join.kind, join.range))
        }
        return sources
    }

    /// Takes what joins the next source to those before it; nil if there is none.
    private mutating func join() throws(SyntaxError) -> (kind: SourceSyntax.Join, range: Range<Int>)? {
        let start = token.range.lowerBound
        if takeSign(.comma) { return (.comma, start..<lastEnd) }
        let outer: [(word: String, kind: SourceSyntax.Join)] = [
            ("left", .left), ("right", .right), ("full", .full),
        ]
        var kind: SourceSyntax.Join?
        for (word, outerKind) in outer where kind == nil && takeWord(word) {
            _ = takeWord("outer")
            kind = outerKind
        }
        if kind == nil {
            if takeWord("cross") { kind = .cross } else if takeWord("inner") { kind = .inner }
        }
        if let kind {
            try need("join")
            return (kind, start..<lastEnd)
        }
        guard takeWord("join") else { return nil }
        return (.inner, start..<lastEnd)
    }

    private mutating func source(
        _ join: SourceSyntax.Join, _ joinRange: Range<Int>
    ) throws(SyntaxError) -> SourceSyntax {
        let needsAlias = isSign(.open)
        let content = try sourceContent()
        let hasAs = isWord("as")
        let alias = try alias()
        if needsAlias, alias == nil { throw unexpected("the alias of the sub-select") }
        var columns: [NameSyntax] = []
        if alias != nil, takeSign(.open) { columns = try namesInParentheses() }
        var condition: ExpressionSyntax?
        var using: [NameSyntax] = []
        if join != .none, join != .comma {
            if takeWord("on") {
                condition = try expression(allowsStar: true)
            } else if takeWord("using") {
                try need(.open)
                using = try namesInParentheses()
            }
        }
        return SourceSyntax(
            content: content, alias: alias, hasAs: hasAs, columns: columns, join: join,
            joinRange: joinRange, condition: condition, using: using)
    }

    private mutating func sourceContent() throws(SyntaxError) -> SourceSyntax.Content {
        let start = token.range.lowerBound
        if takeSign(.open) {
            let select = try query()
            try need(.close)
            guard let select else { return .union(start..<lastEnd) }
            return .select(select, start..<lastEnd)
        }
        guard let first = takeName(also: Keywords.callables) else { throw unexpected("a table") }
        var schema: NameSyntax?
        var name = first
        if takeSign(.dot) {
            schema = first
            name = try self.name("a table")
        }
        guard isSign(.open) else { return .table(schema: schema, name: name) }
        let call = try call(schema: schema, name: name).call
        return .call(call, start..<lastEnd)
    }

    // What may be written and is not supported.

    /// Reads GROUP BY, HAVING behind it, and ORDER BY.
    private mutating func grouping(
        _ clauses: inout [SelectSyntax.Clause], _ end: inout Int
    ) throws(SyntaxError) {
        if takeWord("group") {
            try need("by")
            let all = try expressions()
            clauses.append(SelectSyntax.Clause(name: "GROUP BY", range: all.first.range))
            end = all.end
            if takeWord("having") {
                let condition = try expression()
                clauses.append(SelectSyntax.Clause(name: "HAVING", range: condition.range))
                end = condition.range.upperBound
            }
        }
        guard takeWord("order") else { return }
        let first = try ordering()
        clauses.append(SelectSyntax.Clause(name: "ORDER BY", range: first))
        end = max(lastEnd, end)
    }

    /// Reads what stands behind ORDER; returns where its first expression stands.
    mutating func ordering() throws(SyntaxError) -> Range<Int> {
        try need("by")
        var first: Range<Int>?
        repeat {
            let expression = try expression()
            first = first ?? expression.range
            if !takeWord("asc") { _ = takeWord("desc") }
            if takeWord("nulls"), !takeWord("first"), !takeWord("last") { throw unexpected("FIRST or LAST") }
        } while takeSign(.comma)
        return first ?? token.range
    }

    /// Reads LIMIT, OFFSET and FETCH in any order.
    private mutating func limit(
        _ clauses: inout [SelectSyntax.Clause], _ end: inout Int
    ) throws(SyntaxError) {
        // As recorded LIMIT itself has no place, OFFSET has one.
        var start: Int?
        while true {
            let word = token.range.lowerBound
            if isWord("limit") || isWord("offset") {
                let isLimit = isWord("limit")
                advance()
                var value = token.range
                if !takeWord("all") { value = try expression().range }
                end = value.upperBound
                start = start ?? (isLimit ? value.lowerBound : word)
                if takeWord("row") || takeWord("rows") { end = lastEnd }
            } else if takeWord("fetch") {
                start = start ?? word
                guard takeWord("first") || takeWord("next") else { throw unexpected("FIRST or NEXT") }
                if !isWord("row"), !isWord("rows") { _ = try expression() }
                guard takeWord("row") || takeWord("rows") else { throw unexpected("ROWS") }
                try need("only")
                end = lastEnd
            } else {
                break
            }
        }
        guard let start else { return }
        clauses.append(SelectSyntax.Clause(name: "LIMIT", range: start..<end))
    }

    /// Reads FOR; returns where what is locked stands.
    private mutating func lock(
        _ clauses: inout [SelectSyntax.Clause], _ end: inout Int
    ) throws(SyntaxError) -> Range<Int>? {
        guard takeWord("for") else { return nil }
        let start = token.range.lowerBound
        if takeWord("no") {
            try need("key")
            try need("update")
        } else if takeWord("key") {
            try need("share")
        } else if !takeWord("update"), !takeWord("share") {
            throw unexpected("UPDATE or SHARE")
        }
        end = lastEnd
        let range = start..<end
        let skip = token.range.lowerBound
        if takeWord("skip") {
            try need("locked")
            clauses.append(SelectSyntax.Clause(name: "SKIP", range: skip..<lastEnd))
            end = lastEnd
        } else if takeWord("nowait") {
            end = lastEnd
        }
        return range
    }

    /// Reads expressions that commas part, at least one.
    private mutating func expressions() throws(SyntaxError) -> (first: ExpressionSyntax, end: Int) {
        let first = try expression()
        var end = first.range.upperBound
        while takeSign(.comma) { end = try expression().range.upperBound }
        return (first, end)
    }
}
