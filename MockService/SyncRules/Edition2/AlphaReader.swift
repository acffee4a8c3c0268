import PowerSyncWire

/// Reads what a query of edition 2, or a sub-select of one, asks for (service 6.7).
struct AlphaReader {
    /// Looks up its names.
    var query: DefinitionQuery
    /// Whether it reads parameters of the subscription.
    private(set) var usesSubscription = false
    private let isSelection: Bool

    /// Makes a reader.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - context: What it is compiled with.
    ///   - isSelection: Whether it is a sub-select.
    init(_ text: QueryText, _ context: DefinitionContext, isSelection: Bool = false) {
        query = DefinitionQuery(text, isSelection ? .selection : .stream, context)
        self.isSelection = isSelection
    }

    /// Takes up the one table that rows are of, and tells of what is not supported.
    ///
    /// - Throws: `QueryFailure` if there are several, or something else is in its place.
    mutating func table(of select: SelectSyntax) throws(QueryFailure) -> TablePattern {
        guard select.sources.count == 1, let source = select.sources.first,
            case .table(let schema, let name) = source.content
        else { throw query.failure(.singleTable, at: select.range) }
        query.tellClauses(of: select)
        return query.read(source, schema: schema, name: name)
    }

    /// Reads a condition.
    ///
    /// - Throws: `QueryFailure` if the query is given up.
    mutating func condition(_ syntax: ExpressionSyntax) throws(QueryFailure) -> AlphaCondition {
        let range = syntax.range
        switch syntax.content {
        case .and(let all): return .all(try conditions(all), at: range)
        case .or(let all): return .any(try conditions(all), at: range)
        case .unary(.not, let inner): return .negated(try condition(inner), at: range)
        case .membership(let left, let right, let isNegated):
            let found = try membership(left, right, at: range)
            return isNegated ? .negated(found, at: range) : found
        case .binary(.overlap, let left, let right): return try overlap(left, right, at: range)
        default: return made(try query.clause(syntax), at: range)
        }
    }

    private mutating func conditions(
        _ all: [ExpressionSyntax]
    ) throws(QueryFailure) -> [AlphaCondition] {
        var conditions: [AlphaCondition] = []
        for syntax in all { conditions.append(try condition(syntax)) }
        return conditions
    }

    private mutating func membership(
        _ left: ExpressionSyntax, _ right: ExpressionSyntax, at range: Range<Int>
    ) throws(QueryFailure) -> AlphaCondition {
        if case .subquery(let select) = right.content {
            return try selection(left, select, isArray: false, at: range)
        }
        return made(try query.membership(left, right, false, at: range), at: range)
    }

    /// `a && b`: a match of an array of the row with one of the request, but in a sub-select.
    private mutating func overlap(
        _ left: ExpressionSyntax, _ right: ExpressionSyntax, at range: Range<Int>
    ) throws(QueryFailure) -> AlphaCondition {
        if case .subquery(let select) = right.content {
            return try selection(left, select, isArray: true, at: range)
        }
        let sides = (try query.clause(left), try query.clause(right))
        if !isSelection, case (.value(let row)?, .value(let list)?) = sides, row.source == .row,
            list.source == .request
        {
            let parameter = ParameterMatch.Parameter(key: ExactText(query.sql(right.range)), isArray: true)
            let pair = ParameterMatch.Pair(
                row: row.expression, isArray: true, parameter: parameter, request: list.expression)
            return made(.match(ParameterMatch(pair)), at: range)
        }
        let value = try query.composed([sides.0, sides.1], [left, right]) { .overlaps($0[0], $0[1]) }
        return made(value, at: range)
    }

    /// What a clause asks; one that is wrong is told already.
    private mutating func made(_ clause: DefinitionClause?, at range: Range<Int>) -> AlphaCondition {
        switch clause {
        case .value(let value)?:
            note(value.expression)
            return .value(value, range)
        // What is neither AND nor OR has one pair.
        case .match(let match)?:
            guard let pair = match.alternatives.first?.pairs.first else { return .invalid(range) }
            note(pair.request)
            return .match(pair, range)
        case nil: return .invalid(range)
        }
    }

    private mutating func note(_ expression: Expression) {
        usesSubscription = usesSubscription || expression.readsSubscription
    }

    // Sub-selects.

    private mutating func selection(
        _ left: ExpressionSyntax, _ select: SelectSyntax, isArray: Bool, at range: Range<Int>
    ) throws(QueryFailure) -> AlphaCondition {
        let operand = try value(left)
        var inner = AlphaReader(query.text, query.context, isSelection: true)
        let table = try inner.table(of: select)
        let column = try inner.onlyColumn(of: select)
        var condition: AlphaCondition?
        if let syntax = select.condition { condition = try inner.condition(syntax) }
        usesSubscription = usesSubscription || inner.usesSubscription
        query.add(inner.query.diagnostics)
        guard let operand, let column else { return .invalid(range) }
        note(operand.expression)
        guard operand.source == .row || operand.source == .request else {
            query.tell(.subqueryOperand, at: left.range)
            return .invalid(range)
        }
        var subquery = AlphaSubquery(
            operand: operand, isArray: isArray, at: range, table: table, column: column)
        if let condition { subquery.take(condition, &query) }
        return .selection(subquery)
    }

    /// A value of the row alone, or of the request alone; nil if it is wrong, which is told.
    private mutating func value(_ syntax: ExpressionSyntax) throws(QueryFailure) -> DefinitionValue? {
        switch try query.clause(syntax) {
        case .value(let value)?: return value
        case .match?:
            query.tell(.matchElsewhere, at: syntax.range)
            return nil
        case nil: return nil
        }
    }

    /// The one column of a sub-select; nil if it is wrong, which is told.
    private mutating func onlyColumn(of select: SelectSyntax) throws(QueryFailure) -> Expression? {
        let items = select.items
        guard items.count == 1, let item = items.first?.expression, !item.isStar else {
            query.tell(.subqueryColumn, at: select.range)
            return nil
        }
        guard let value = try self.value(item) else { return nil }
        guard value.source != .request else {
            query.tell(.mixedClause, at: item.range)
            return nil
        }
        return value.expression
    }
}

extension ExpressionSyntax {
    /// Whether it stands for all columns.
    fileprivate var isStar: Bool {
        if case .star = content { true } else { false }
    }
}

extension Expression {
    /// Whether it reads a parameter of the subscription.
    fileprivate var readsSubscription: Bool {
        switch self {
        case .parameter(let parameter): parameter.source == .subscription
        case .request(let source): source == .subscription
        default: children.contains(where: \.readsSubscription)
        }
    }
}
