import PowerSyncWire

/// What stands in WHERE and ON.
extension QueryResolver {
    /// Resolves a condition.
    mutating func condition(_ syntax: ExpressionSyntax, in scope: Scope) -> Condition {
        level += 1
        defer { level -= 1 }
        guard takesLevels(0) else { return .value(invalid(syntax.range)) }
        switch syntax.content {
        case .and(let all): return .and(conditions(all, in: scope))
        case .or(let all): return .or(conditions(all, in: scope))
        case .unary(.not, let inner):
            return .not(within(nesting.negated) { $0.condition(inner, in: scope) })
        case .binary(.equal, let left, let right): return equal(left, right, at: syntax.range, in: scope)
        case .binary(.notEqual, let left, let right):
            return .not(equal(left, right, at: syntax.range, in: scope))
        case .binary(.overlap, let left, let right): return overlap(left, right, at: syntax.range, in: scope)
        case .membership(let left, let right, let isNegated):
            return membership(left, right, isNegated, at: syntax.range, in: scope)
        default: return .value(expression(syntax, in: scope))
        }
    }

    private mutating func conditions(_ all: [ExpressionSyntax], in scope: Scope) -> [Condition] {
        var conditions: [Condition] = []
        for syntax in all { conditions.append(condition(syntax, in: scope)) }
        return conditions
    }

    private mutating func equal(
        _ left: ExpressionSyntax, _ right: ExpressionSyntax, at range: Range<Int>, in scope: Scope
    ) -> Condition {
        let left = expression(left, in: scope)
        let right = expression(right, in: scope)
        return .equal(left, right, site(range))
    }

    /// `a && b`: an element of one is an element of the other, or a row of a sub-select.
    private mutating func overlap(
        _ left: ExpressionSyntax, _ right: ExpressionSyntax, at range: Range<Int>, in scope: Scope
    ) -> Condition {
        let array = expression(left, in: scope)
        let element = elements(of: array)
        if case .subquery(let select) = right.content {
            return matched(element, selected(select, in: scope), at: range)
        }
        let other = expression(right, in: scope)
        return .equal(element, elements(of: other), site(range))
    }

    private mutating func membership(
        _ left: ExpressionSyntax, _ right: ExpressionSyntax, _ isNegated: Bool, at range: Range<Int>,
        in scope: Scope
    ) -> Condition {
        let value = expression(left, in: scope)
        switch right.content {
        case .array(let all), .row(let all):
            let others = expressions(all, in: scope)
            let one = Expression.oneOf(value.expression, others.map(\.expression))
            return .value(made(isNegated ? .not(one) : one, of: [value] + others, at: range))
        case .subquery(let select):
            let inner = within(isNegated ? nesting.negated : nesting) { $0.selected(select, in: scope) }
            let match = matched(value, inner, at: range)
            return isNegated ? .not(match) : match
        case .column(nil, let name) where commonTable(name) != nil:
            let inner = within(isNegated ? nesting.negated : nesting) { $0.onlyColumn(of: name) }
            let match = matched(value, inner, at: range)
            return isNegated ? .not(match) : match
        default:
            let list = expression(right, in: scope)
            tellNoArray(list, at: right.range)
            guard isNegated else { return .equal(value, elements(of: list), site(range)) }
            let contains = Expression.contains(list: list.expression, value.expression)
            return .value(made(.not(contains), of: [value, list], at: range))
        }
    }

    /// Warns of a constant behind IN that has no elements, of which the real service says nothing: `IN ('open')`.
    private mutating func tellNoArray(_ list: Located, at range: Range<Int>) {
        guard case .literal(let value) = list.expression, !value.isNull else { return }
        let elements = JSONElements(options: CompatibilityOptions(edition: 3))
        // That there is an error is the answer.
        if (try? elements.elements(of: value)) == nil {
            tellOurs(.listNotJSON, at: range, severity: .warning)
        }
    }

    /// A value is that of a row of a sub-select.
    ///
    /// Of a sub-select that is wrong nothing is asked, but it stands for a condition on what the value reads, as recorded
    /// (mistakes, 1214).
    private func matched(
        _ value: Located, _ inner: (column: Located, conditions: [Condition])?, at range: Range<Int>
    ) -> Condition {
        guard let inner else {
            return .value(Located(.literal(.null), at: site(range), references: value.references))
        }
        let match = Condition.equal(value, inner.column, site(range))
        return inner.conditions.isEmpty ? match : .and([match] + inner.conditions)
    }

    /// The only column of a sub-select, and its conditions; nil if it has not one, which is told.
    private mutating func selected(
        _ select: SelectSyntax, in scope: Scope
    ) -> (column: Located, conditions: [Condition])? {
        let body = body(of: select, statement: select.range, outer: scope)
        var column: Located?
        if select.items.count == 1, let item = select.items.first, !item.expression.isStar {
            column = expression(item.expression, in: body.scope)
        } else {
            tell(.singleColumn, at: select.range)
        }
        tellClauses(of: select)
        return column.map { ($0, body.conditions) }
    }

    /// The only column of a common table expression, and its conditions; nil if it has not one, which is told.
    private mutating func onlyColumn(
        of name: NameSyntax
    ) -> (column: Located, conditions: [Condition])? {
        guard let entry = commonTable(name) else { return nil }
        let inner = inlined(entry)
        guard inner.columns.names.count == 1, let column = inner.columns.all.first?.value else {
            tell(.cteSingleColumn, at: name.range)
            return nil
        }
        return (column, inner.conditions)
    }
}

extension ExpressionSyntax {
    /// Whether it is `*`, of all sources or of one.
    fileprivate var isStar: Bool {
        if case .star = content { true } else { false }
    }
}
