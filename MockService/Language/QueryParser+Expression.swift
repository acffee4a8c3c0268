import PowerSyncSQLite
import PowerSyncSyncRules

extension QueryParser {
    /// Reads an expression; OR binds weakest, then AND, NOT, comparisons.
    mutating func expression() throws(QueryError) -> ExpressionSyntax {
        try nested { (parser) throws(QueryError) in
            var left = try parser.conjunction()
            var offset = parser.token.offset
            while try parser.takeLink("or") {
                left = ExpressionSyntax(content: .or(left, try parser.conjunction()), offset: offset)
                offset = parser.token.offset
            }
            return left
        }
    }

    private mutating func conjunction() throws(QueryError) -> ExpressionSyntax {
        var left = try negation()
        var offset = token.offset
        while try takeLink("and") {
            left = ExpressionSyntax(content: .and(left, try negation()), offset: offset)
            offset = token.offset
        }
        return left
    }

    private mutating func negation() throws(QueryError) -> ExpressionSyntax {
        let offset = token.offset
        guard takeWord("not") else { return try predicate() }
        return try nested { (parser) throws(QueryError) in
            ExpressionSyntax(content: .not(try parser.negation()), offset: offset)
        }
    }

    private mutating func predicate() throws(QueryError) -> ExpressionSyntax {
        let left = try operand()
        let offset = token.offset
        switch token.kind {
        case .sign(let sign):
            if sign == "!=" || sign == "<>" {
                advance()
                let equal = ExpressionSyntax.Content.comparison(.equal, left, try operand())
                return ExpressionSyntax(
                    content: .not(ExpressionSyntax(content: equal, offset: offset)), offset: offset)
            }
            if let comparison = Comparison(rawValue: sign) {
                advance()
                return ExpressionSyntax(content: .comparison(comparison, left, try operand()), offset: offset)
            }
            return left
        case .word("is"):
            advance()
            let isNegated = takeWord("not")
            guard takeWord("null") else { throw notYet("IS with anything but NULL") }
            let isNull = ExpressionSyntax(content: .isNull(left), offset: offset)
            return isNegated ? ExpressionSyntax(content: .not(isNull), offset: offset) : isNull
        case .word("like"), .word("ilike"): throw error("LIKE expressions are not currently supported.")
        case .word("in"): throw notYet("IN")
        case .word("not"): throw notYet("NOT behind a value (NOT IN, NOT BETWEEN)")
        case .word("between"): throw notYet("BETWEEN")
        default: return left
        }
    }

    private func notYet(_ what: String) -> QueryError { error("\(what) is not supported by this service.") }

    private mutating func operand() throws(QueryError) -> ExpressionSyntax {
        let value = try primary()
        if case .sign(let sign) = token.kind {
            switch sign {
            case "->", "->>": throw notYet("'\(sign)' (use .parameter('name') for values of the request)")
            case "+", "-", "*", "/", "%", "||", "&&", "&", "|", "<<", ">>", "::", "[":
                throw notYet("The operator '\(sign)'")
            default: break
            }
        }
        return value
    }

    private mutating func primary() throws(QueryError) -> ExpressionSyntax {
        let offset = token.offset
        func make(_ content: ExpressionSyntax.Content) -> ExpressionSyntax {
            ExpressionSyntax(content: content, offset: offset)
        }
        switch token.kind {
        case .text(let text):
            advance()
            return make(.literal(.text(text)))
        case .number(let lexeme):
            advance()
            return make(.literal(try number(lexeme, at: offset)))
        case .sign("-"):
            advance()
            guard case .number(let lexeme) = token.kind else {
                throw error("Unary minus is not currently supported")
            }
            advance()
            return make(.literal(try number("-" + lexeme, at: offset)))
        case .sign("("):
            advance()
            if isWord("select") { throw error("Subqueries are not supported by this service.") }
            let inner = try expression()
            guard takeSign(")") else { throw unexpected("')'") }
            return inner
        case .sign("?"), .sign("$"):
            throw error(
                "SQL parameters are not allowed. Use parameter functions instead: auth.parameter('name'), "
                    + "connection.parameter('name') or subscription.parameter('name')")
        case .word("true"), .word("false"):
            let value: Int64 = isWord("true") ? 1 : 0
            advance()
            return make(.literal(.integer(value)))
        case .word("null"):
            advance()
            return make(.literal(.null))
        case .word("case"): throw notYet("CASE")
        case .word("cast"): throw notYet("CAST")
        case .word("exists"): throw notYet("EXISTS")
        default: return try nameOrCall(offset)
        }
    }

    private func number(_ lexeme: String, at offset: Int) throws(QueryError) -> SQLiteValue {
        if let integer = Int64(lexeme) { return .integer(integer) }
        guard let real = Double(lexeme) else {
            throw QueryError(message: "This is no number.", offset: offset)
        }
        return .real(real)
    }

    private mutating func nameOrCall(_ offset: Int) throws(QueryError) -> ExpressionSyntax {
        guard let first = takeName() else { throw unexpected("an expression") }
        var qualifier: String?
        var name = first
        if takeSign(".") {
            guard let second = takeName() else { throw unexpected("a name") }
            qualifier = first
            name = second
        }
        guard takeSign("(") else {
            return ExpressionSyntax(content: .column(qualifier: qualifier, name: name), offset: offset)
        }
        var arguments: [ExpressionSyntax] = []
        if !takeSign(")") {
            repeat {
                if token.kind == .sign("*") { throw error("Unknown function") }
                arguments.append(try expression())
            } while takeSign(",")
            guard takeSign(")") else { throw unexpected("')'") }
        }
        return ExpressionSyntax(
            content: .call(schema: qualifier, name: name, arguments: arguments), offset: offset)
    }
}
