import PowerSyncWire

/// Values.
extension QueryResolver {
    /// Resolves an expression; in the place of what is wrong there is NULL.
    mutating func expression(_ syntax: ExpressionSyntax, in scope: Scope) -> Located {
        let range = syntax.range
        level += 1
        defer { level -= 1 }
        guard takesNodes(), takesLevels(0) else { return invalid(range) }
        switch syntax.content {
        case .null: return Located(.literal(.null), at: site(range))
        case .bool(let holds): return Located(.literal(ScalarValue(holds)), at: site(range))
        case .text(let text):
            // A long one counts as more wherever a common table expression brings it.
            guard takesNodes(Expression.weight(of: text)) else { return invalid(range) }
            return Located(.literal(ScalarValue(text: text)), at: site(range))
        case .integer(let digits), .real(let digits):
            guard digits.utf8.count <= LongInteger.digitLimit else {
                tellOurs(.tooLarge, ["\(LongInteger.digitLimit) digits"], at: range)
                return invalid(range)
            }
            return Located(.literal(Self.number(digits)), at: site(range))
        case .column(let qualifier, let name): return column(qualifier, name, at: range, in: scope)
        case .call(let call): return self.call(call, at: range, in: scope)
        case .unary(.plus, let inner): return expression(inner, in: scope)
        case .and, .or, .unary(.not, _), .membership, .binary(.equal, _, _), .binary(.notEqual, _, _),
            .binary(.overlap, _, _):
            let condition = within(.value) { $0.condition(syntax, in: scope) }
            return Located(condition.expression, at: site(range), references: condition.references)
        case .binary(let operation, let left, let right):
            return binary(operation, left, right, at: range, in: scope)
        case .isCheck(let inner, let what, let isNegated):
            let value = expression(inner, in: scope)
            let check: Expression =
                what == .null ? .isNull(value.expression) : .isTrue(value.expression, what == .isTrue)
            return made(isNegated ? .not(check) : check, of: [value], at: range)
        case .between(let value, let low, let high, let isNegated):
            let all = expressions([value, low, high], in: scope)
            let between = Expression.between(all[0].expression, all[1].expression, all[2].expression)
            return made(isNegated ? .not(between) : between, of: all, at: range)
        case .choice(let base, let branches, let otherwise):
            return choice(base, branches, otherwise, at: range, in: scope)
        case .cast(let inner, let name, let typeRange):
            let type = CastType(rawValue: name)
            if type == nil { tell(.castInvalid, at: typeRange) }
            let value = expression(inner, in: scope)
            let made = type.map { Expression.cast($0, value.expression) }
            return self.made(made ?? value.expression, of: [value], at: range)
        case .star, .unary(.minus, _), .list, .array, .row, .unsupported, .parameter, .subquery:
            return refused(syntax)
        }
    }

    /// Resolves expressions in order.
    mutating func expressions(_ all: [ExpressionSyntax], in scope: Scope) -> [Located] {
        var expressions: [Located] = []
        for syntax in all { expressions.append(expression(syntax, in: scope)) }
        return expressions
    }

    /// An expression made of others.
    func made(_ expression: Expression, of parts: [Located], at range: Range<Int>) -> Located {
        Located(expression, at: site(range), references: parts.flatMap(\.references))
    }

    /// Tells of what stands where no value is; nothing in it is looked at.
    private mutating func refused(_ syntax: ExpressionSyntax) -> Located {
        switch syntax.content {
        case .star: tell(.starElsewhere, at: syntax.range)
        case .unary: tell(.minusUnsupported, at: syntax.range)
        case .parameter: tell(.sqlParameter, at: syntax.range)
        case .subquery(let select): tell(.subqueryPosition, at: select.range, hint: Hint.subquery)
        case .list: tell(.expressionUnsupported, at: syntax.range, hint: Hint.list)
        // As recorded it is taken for the name of a function.
        case .row: tell(.unknownFunction, at: syntax.range.lowerBound..<syntax.range.lowerBound + 3)
        default:
            // A SELECT is a sub-select, so a UNION in parentheses is all that begins with the word.
            let words = sql(syntax.range).text.lowercased()
            let isUnion = words.hasPrefix("select") && words.dropFirst(6).first?.isWhitespace == true
            tell(.expressionUnsupported, at: syntax.range, hint: isUnion ? Hint.subqueryUnion : nil)
        }
        return invalid(syntax.range)
    }

    /// A number as edition 3 reads it: integers have no end.
    private static func number(_ digits: String) -> ScalarValue {
        ScalarValue(digits: digits) ?? Double(digits).map { ScalarValue.real($0) } ?? .null
    }

    private mutating func column(
        _ qualifier: NameSyntax?, _ name: NameSyntax, at range: Range<Int>, in scope: Scope
    ) -> Located {
        guard let relation = relation(qualifier, at: range, in: scope) else { return invalid(range) }
        switch relation.content {
        case .row(let input, _, let known):
            if let known, !known.contains(name.text) {
                note(Diagnostic(.columnUnknown, at: text.range(range))) {
                    NearestName(name.text).column(of: known)
                }
            }
            return Located(
                .column(input, name.text), at: site(range), references: [Reference(input, at: site(range))])
        case .elements(let input, let isJSON):
            let part = ElementPart(rawValue: name.text.text)
            if isJSON, part == nil {
                tell(.columnNotInSubquery, at: range)
                return invalid(range)
            }
            return Located(
                .element(input, part ?? .value), at: site(range),
                references: [Reference(input, at: site(range))])
        case .columns(let columns):
            guard let value = columns[name.text] else {
                tell(.columnNotInSubquery, at: range)
                return invalid(range)
            }
            let extent = columns.extent(of: name.text)
            guard takesNodes(extent.size), takesLevels(extent.depth) else { return invalid(range) }
            // Messages about what it reads are placed where the inner query reads it, as recorded.
            return Located(value.expression, at: site(range), references: value.references)
        }
    }

    /// What a column is of; nil if that is not to be told, or is not there.
    mutating func relation(_ qualifier: NameSyntax?, at range: Range<Int>, in scope: Scope) -> Relation? {
        if let qualifier {
            let wanted = qualifier.schema.map { pattern($0, qualifier) }
            let found = scope.relation(qualifier.text, in: wanted)
            if found == nil {
                let title = (qualifier.schema.map { "\($0.text)." } ?? "") + qualifier.text.text
                tell(.unknownSource, [title], at: range, hint: Hint.source(qualifier.text))
            }
            return found
        }
        guard scope.own.count == 1 else {
            tell(.ambiguousColumn, at: range)
            return nil
        }
        return scope.own.first
    }

    private mutating func binary(
        _ operation: BinaryOperator, _ left: ExpressionSyntax, _ right: ExpressionSyntax,
        at range: Range<Int>, in scope: Scope
    ) -> Located {
        switch operation {
        case .matches, .ilike, .notIlike, .power:
            tell(.operatorUnsupported, at: range)
            return invalid(range)
        default: break
        }
        if operation == .like || operation == .notLike { tell(.likeUnsupported, at: range) }
        let parts = expressions([left, right], in: scope)
        let expression = Self.binary(operation, parts[0].expression, parts[1].expression)
        return made(expression, of: parts, at: range)
    }

    /// Two values with an operator between them; NULL for one that is told as unsupported.
    private static func binary(
        _ operation: BinaryOperator, _ left: Expression, _ right: Expression
    ) -> Expression {
        switch operation {
        case .concat: .concat(left, right)
        case .member: .member(left, right, .json)
        case .memberValue: .member(left, right, .value)
        default:
            if let comparison = Comparison(rawValue: operation.rawValue) {
                .comparison(comparison, left, right)
            } else if let arithmetic = Arithmetic(rawValue: operation.rawValue) {
                .arithmetic(arithmetic, left, right)
            } else {
                .literal(.null)
            }
        }
    }

    private mutating func choice(
        _ base: ExpressionSyntax?, _ branches: [ExpressionSyntax.Branch], _ otherwise: ExpressionSyntax?,
        at range: Range<Int>, in scope: Scope
    ) -> Located {
        var parts: [Located] = []
        var first: Expression?
        if let base {
            parts.append(expression(base, in: scope))
            first = parts.last?.expression
        }
        var made: [Expression.Branch] = []
        for branch in branches {
            let pair = expressions([branch.condition, branch.result], in: scope)
            made.append(.init(when: pair[0].expression, then: pair[1].expression))
            parts += pair
        }
        var last: Expression?
        if let otherwise {
            parts.append(expression(otherwise, in: scope))
            last = parts.last?.expression
        }
        return self.made(.choice(base: first, made, otherwise: last), of: parts, at: range)
    }
}
