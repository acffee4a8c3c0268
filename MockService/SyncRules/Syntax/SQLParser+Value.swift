import PowerSyncWire

extension SQLParser {
    /// Reads a value without operators behind it.
    mutating func value(allowsStar: Bool) throws(SyntaxError) -> ExpressionSyntax {
        let start = token.range.lowerBound
        let content: ExpressionSyntax.Content
        switch token.kind {
        case .text(let text): content = .text(text)
        case .integer(let digits): content = .integer(digits)
        case .real(let digits): content = .real(digits)
        case .parameter(let name): content = .parameter(name)
        case .sign(.star) where allowsStar: content = .star(qualifier: nil)
        case .sign(.plus), .sign(.minus): return try signed()
        case .sign(.open): return try parenthesized()
        case .word("null"): content = .null
        case .word("true"): content = .bool(true)
        case .word("false"): content = .bool(false)
        case .word("case"): return try choice()
        case .word("cast"): return try cast()
        case .word("array"): return try array()
        case .word(let word) where Keywords.values.contains(word) && following != .sign(.open):
            content = .unsupported([])
        default: return try nameOrCall()
        }
        advance()
        return try make(content, start..<lastEnd)
    }

    /// Reads what stands behind a sign; a minus before digits is a part of the number.
    private mutating func signed() throws(SyntaxError) -> ExpressionSyntax {
        let start = token.range.lowerBound
        let operation: UnaryOperator = isSign(.minus) ? .minus : .plus
        advance()
        if operation == .minus {
            switch token.kind {
            case .integer(let digits):
                advance()
                return try make(.integer("-" + digits), start..<lastEnd)
            case .real(let digits):
                advance()
                return try make(.real("-" + digits), start..<lastEnd)
            default: break
            }
        }
        let inner = try expression(Level.sign)
        return try make(.unary(operation, inner), start..<inner.range.upperBound)
    }

    private mutating func parenthesized() throws(SyntaxError) -> ExpressionSyntax {
        try need(.open)
        if isWord("select") {
            let start = token.range.lowerBound
            let select = try query()
            let end = lastEnd
            try need(.close)
            guard let select else { return try make(.unsupported([]), start..<end) }
            return try make(.subquery(select), select.range)
        }
        let first = try expression()
        guard isSign(.comma) else {
            try need(.close)
            return first
        }
        var all = [first]
        while takeSign(.comma) { all.append(try expression()) }
        try need(.close)
        let end = all.last?.range.upperBound ?? lastEnd
        return try make(.list(all), first.range.lowerBound..<end)
    }

    private mutating func choice() throws(SyntaxError) -> ExpressionSyntax {
        let start = token.range.lowerBound
        try need("case")
        let base = isWord("when") ? nil : try expression()
        var branches: [ExpressionSyntax.Branch] = []
        while takeWord("when") {
            let condition = try expression()
            try need("then")
            branches.append(ExpressionSyntax.Branch(condition: condition, result: try expression()))
        }
        guard !branches.isEmpty else { throw unexpected("WHEN") }
        let otherwise = takeWord("else") ? try expression() : nil
        try need("end")
        return try make(.choice(base: base, branches, otherwise: otherwise), start..<lastEnd)
    }

    private mutating func cast() throws(SyntaxError) -> ExpressionSyntax {
        let start = token.range.lowerBound
        try need("cast")
        try need(.open)
        let value = try expression()
        try need("as")
        let type = try typeName()
        try need(.close)
        return try make(.cast(value, type: type.name, typeRange: type.range), start..<lastEnd)
    }

    private mutating func array() throws(SyntaxError) -> ExpressionSyntax {
        let start = token.range.lowerBound
        try need("array")
        if takeSign(.open) {
            _ = try query()
            try need(.close)
            return try make(.unsupported([]), start..<lastEnd)
        }
        try need(.openBracket)
        var elements: [ExpressionSyntax] = []
        if !isSign(.closeBracket) {
            repeat { elements.append(try expression()) } while takeSign(.comma)
        }
        try need(.closeBracket)
        return try make(.array(elements), start..<lastEnd)
    }

    /// Reads a column, all columns of a source, a call, or a text behind the name of its type.
    private mutating func nameOrCall() throws(SyntaxError) -> ExpressionSyntax {
        let start = token.range.lowerBound
        let callables = following == .sign(.open) ? Keywords.callables : []
        guard var name = takeName(also: callables) else { throw unexpected("an expression") }
        var qualifier: NameSyntax?
        while takeSign(.dot) {
            // Before the name of a table may stand that of its schema.
            let owner = name.inSchema(qualifier?.text)
            if takeSign(.star) { return try make(.star(qualifier: owner), start..<lastEnd) }
            qualifier = owner
            // Behind a point every word is a name.
            guard let next = takeName(also: Keywords.reserved) else { throw unexpected("a name") }
            name = next
        }
        if isSign(.open) { return try calling(schema: qualifier, name: name, from: start) }
        if qualifier == nil, !name.isQuoted, case .text(let text) = token.kind {
            let literal = try make(.text(text), token.range)
            advance()
            return try make(
                .cast(literal, type: name.text.text, typeRange: name.range), start..<lastEnd)
        }
        return try make(.column(qualifier: qualifier, name: name), start..<lastEnd)
    }

    private mutating func calling(
        schema: NameSyntax?, name: NameSyntax, from start: Int
    ) throws(SyntaxError) -> ExpressionSyntax {
        let read = try call(schema: schema, name: name)
        if read.hasWords { return try make(.unsupported(read.call.arguments), start..<lastEnd) }
        let isRow = schema == nil && !name.isQuoted && name.text.text == "row"
        return try make(isRow ? .row(read.call.arguments) : .call(read.call), start..<lastEnd)
    }

    /// Reads the arguments of a call in their parentheses, and what may follow them.
    ///
    /// - Parameters:
    ///   - schema: What stands before the name.
    ///   - name: The name.
    /// - Returns: The call, and whether words stand between its arguments, as in `EXTRACT(YEAR FROM at)`.
    /// - Throws: `SyntaxError`.
    mutating func call(
        schema: NameSyntax?, name: NameSyntax
    ) throws(SyntaxError) -> (call: CallSyntax, hasWords: Bool) {
        try need(.open)
        var hasClauses = takeWord("distinct")
        if !hasClauses { _ = takeWord("all") }
        var arguments: [ExpressionSyntax] = []
        if isWord("select") {
            // EXISTS has a SELECT in its own parentheses.
            let start = token.range.lowerBound
            let select = try query()
            let content = select.map { ExpressionSyntax.Content.subquery($0) } ?? .unsupported([])
            arguments.append(try make(content, select?.range ?? start..<lastEnd))
        } else if !isSign(.close) {
            repeat { arguments.append(try expression(allowsStar: true)) } while takeSign(.comma)
        }
        var hasWords = false
        if schema == nil, !name.isQuoted, ["extract", "overlay", "substring"].contains(name.text.text) {
            while takeWord("from") || takeWord("for") || takeWord("placing") {
                hasWords = true
                arguments.append(try expression())
            }
        }
        if takeWord("order") {
            _ = try ordering()
            hasClauses = true
        }
        try need(.close)
        if isWord("filter"), following == .sign(.open) {
            advance()
            advance()
            try need("where")
            _ = try expression()
            try need(.close)
            hasClauses = true
        }
        if isWord("over"), following == .sign(.open) {
            advance()
            try skipParentheses()
            hasClauses = true
        }
        let call = CallSyntax(schema: schema, name: name, arguments: arguments, hasClauses: hasClauses)
        return (call, hasWords)
    }

    /// Passes over what stands in parentheses.
    private mutating func skipParentheses() throws(SyntaxError) {
        var open = 0
        repeat {
            switch token.kind {
            case .sign(.open): open += 1
            case .sign(.close): open -= 1
            case .end, .invalid: throw unexpected("')'")
            default: break
            }
            advance()
        } while open > 0
    }
}
