import PowerSyncSyncRules
import PowerSyncWire

/// Expressions over the columns of one row, made of SQL without scopes: enough to compute what is written in tests.
struct RowExpressions {
    /// The edition, which says what `!=` and whole numbers are.
    let edition: Int

    /// The columns of a row as inputs.
    struct Row: ExpressionInputs {
        /// The values by the names of the columns.
        var columns: [String: ScalarValue] = [:]

        func column(_ input: Input, _ name: ExactText) -> ScalarValue { columns[name.text] ?? .null }
        func element(_ input: Input, _ part: ElementPart) -> ScalarValue { .null }
        func parameter(_ parameter: RequestParameter) -> ScalarValue { .null }
        func request(_ source: RequestParameter.Source) -> ScalarValue { .null }
        func table(_ fact: TableFact, _ input: Input) -> ScalarValue { .null }
    }

    /// The expression that stands between SELECT and FROM; nil if there is none that has one row alone.
    func expression(_ sql: String) -> Expression? {
        // What is no SQL has no expression; each caller says what it needs.
        let statements = try? SQLParser.parse(Array("SELECT \(sql) FROM t".utf8))
        guard case .select(let select, _)? = statements?.first, let item = select.items.first else {
            return nil
        }
        return expression(item.expression)
    }

    /// The expression that was written; nil for what is not one value of a row.
    func expression(_ syntax: ExpressionSyntax) -> Expression? {
        switch syntax.content {
        case .null: return .literal(.null)
        case .bool(let holds): return .literal(ScalarValue(holds))
        case .integer(let digits): return literal(digits).map { .literal($0) }
        case .real(let digits): return Double(digits).map { .literal(.real($0)) }
        case .text(let text): return .literal(ScalarValue(text: text))
        case .column(_, let name): return .column(.row(0), name.text)
        case .unary(.not, let inner): return expression(inner).map { .not($0) }
        case .binary(let operation, let left, let right):
            guard let left = expression(left), let right = expression(right) else { return nil }
            return binary(operation, left, right)
        case .and(let all): return expressions(all).map { .and($0) }
        case .or(let all): return expressions(all).map { .or($0) }
        case .isCheck(let inner, let what, let isNegated):
            guard let inner = expression(inner) else { return nil }
            let check: Expression = what == .null ? .isNull(inner) : .isTrue(inner, what == .isTrue)
            return isNegated ? .not(check) : check
        case .between(let value, let low, let high, let isNegated):
            guard let all = expressions([value, low, high]) else { return nil }
            let between = Expression.between(all[0], all[1], all[2])
            return isNegated ? .not(between) : between
        case .membership(let left, let right, let isNegated):
            guard let member = membership(left, right, isNegated) else { return nil }
            return isNegated ? .not(member) : member
        case .choice(let base, let branches, let otherwise): return choice(base, branches, otherwise)
        case .cast(let inner, let type, _):
            guard let type = CastType(rawValue: type), let inner = expression(inner) else { return nil }
            return .cast(type, inner)
        case .call(let call):
            guard call.schema == nil, let function = Function(rawValue: call.name.text.text),
                !call.hasClauses, let arguments = expressions(call.arguments)
            else { return nil }
            return .call(function, arguments)
        case .unary, .star, .list, .array, .row, .subquery, .parameter, .unsupported: return nil
        }
    }

    private func expressions(_ all: [ExpressionSyntax]) -> [Expression]? {
        let made = all.compactMap { expression($0) }
        return made.count == all.count ? made : nil
    }

    /// Editions 1 and 2 read whole numbers as doubles (service 6.8).
    private func literal(_ digits: String) -> ScalarValue? {
        guard edition < 3 else { return ScalarValue(digits: digits) }
        guard let real = Double(digits) else { return nil }
        if let integer = Int64(exactly: real) { return .integer(integer) }
        return WideInteger(wholeNumber: real).map { ScalarValue.wide($0) }
    }

    private func binary(
        _ operation: BinaryOperator, _ left: Expression, _ right: Expression
    ) -> Expression? {
        switch operation {
        case .notEqual where edition > 2: return .not(.comparison(.equal, left, right))
        case .concat: return .concat(left, right)
        case .member: return .member(left, right, .json)
        case .memberValue: return .member(left, right, .value)
        case .overlap: return edition < 3 ? .overlaps(left, right) : nil
        default:
            if let comparison = Comparison(rawValue: operation.rawValue) {
                return .comparison(comparison, left, right)
            }
            return Arithmetic(rawValue: operation.rawValue).map { .arithmetic($0, left, right) }
        }
    }

    private func membership(
        _ left: ExpressionSyntax, _ right: ExpressionSyntax, _ isNegated: Bool
    ) -> Expression? {
        guard let value = expression(left) else { return nil }
        switch right.content {
        case .array(let all), .row(let all): return expressions(all).map { .oneOf(value, $0) }
        // In edition 3 IN is one row for each element, and no value.
        case _ where edition > 2 && !isNegated: return nil
        default: return expression(right).map { .contains(list: $0, value) }
        }
    }

    private func choice(
        _ base: ExpressionSyntax?, _ branches: [ExpressionSyntax.Branch], _ otherwise: ExpressionSyntax?
    ) -> Expression? {
        var made: [Expression.Branch] = []
        for branch in branches {
            guard let condition = expression(branch.condition), let result = expression(branch.result) else {
                return nil
            }
            made.append(.init(when: condition, then: result))
        }
        let (first, last) = (base.map { expression($0) }, otherwise.map { expression($0) })
        // A part that is there must have an expression.
        if case .some(.none) = first { return nil }
        if case .some(.none) = last { return nil }
        return .choice(base: first ?? nil, made, otherwise: last ?? nil)
    }
}
