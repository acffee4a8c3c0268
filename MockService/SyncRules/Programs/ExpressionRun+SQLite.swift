import PowerSyncWire

/// The SQLite engine: expressions as libsqlite3 computes them over columns without affinity (service 6.12).
extension ExpressionRun {
    /// How a side of a comparison takes the other one; an expression has one by its CAST alone.
    private enum Affinity {
        case none
        case blob
        case text
        case number
    }

    /// The value of an expression.
    func sqliteValue(
        of expression: Expression, in inputs: some ExpressionInputs
    ) throws(EvaluationError) -> ScalarValue {
        switch expression {
        case .literal(let value): return value.sqlite
        case .column(let input, let name): return try inputs.column(input, name).sqlite
        case .element(let input, let part): return try inputs.element(input, part).sqlite
        case .parameter(let parameter): return try inputs.parameter(parameter).sqlite
        case .request(let source): return try inputs.request(source).sqlite
        case .table(let fact, let input): return try inputs.table(fact, input).sqlite
        case .call(let function, let arguments): return try sqliteCall(function, arguments, in: inputs)
        case .cast(let type, let inner): return try value(of: inner, in: inputs).sqliteCast(to: type)
        case .not(let inner): return Self.value(try value(of: inner, in: inputs).sqliteTruth.map { !$0 })
        case .isNull(let inner): return ScalarValue(try value(of: inner, in: inputs).isNull)
        case .isTrue(let inner, let isTrue):
            return ScalarValue(try value(of: inner, in: inputs).sqliteTruth == isTrue)
        case .and(let all): return Self.value(Self.all(try values(of: all, in: inputs).map(\.sqliteTruth)))
        case .or(let all):
            let reversed = try values(of: all, in: inputs).map { value in value.sqliteTruth.map { !$0 } }
            return Self.value(Self.all(reversed).map { !$0 })
        case .between(let value, let low, let high):
            let values = try values(of: [value, low, high], in: inputs)
            let first = try order((value, values[0]), (low, values[1]))
            let second = try order((value, values[0]), (high, values[2]))
            return Self.value(
                Self.all([
                    first.map(Comparison.greaterOrEqual.holds), second.map(Comparison.lessOrEqual.holds),
                ]))
        case .choice(let base, let branches, let otherwise):
            return try sqliteChoice(base, branches, otherwise, in: inputs)
        case .oneOf(let value, let others): return try sqliteOneOf(value, others, in: inputs)
        case .arithmetic(_, let one, let other), .concat(let one, let other), .member(let one, let other, _),
            .comparison(_, let one, let other), .isSame(let one, let other),
            .contains(let one, let other), .overlaps(let one, let other):
            let (left, right) = (try value(of: one, in: inputs), try value(of: other, in: inputs))
            return try sqliteValue(of: expression, (one, left), (other, right))
        }
    }

    /// The value of an expression that has two operands.
    private func sqliteValue(
        of expression: Expression, _ left: (Expression, ScalarValue), _ right: (Expression, ScalarValue)
    ) throws(EvaluationError) -> ScalarValue {
        switch expression {
        case .arithmetic(let arithmetic, _, _): return SQLiteArithmetic.value(arithmetic, left.1, right.1)
        case .member(_, _, let form): return try SQLiteJSON.member(left.1, right.1, form)
        case .comparison(let comparison, _, _):
            return Self.value(try order(left, right).map(comparison.holds))
        case .isSame:
            let order = try order(left, right)
            return ScalarValue(order == .same || (left.1.isNull && right.1.isNull))
        case .contains: return try JSONFunctions.contains(left.1, right.1)
        case .overlaps: return try JSONFunctions.overlaps(left.1, right.1)
        default:
            guard let one = left.1.sqliteText, let other = right.1.sqliteText else { return .null }
            return ScalarValue(text: one + other)
        }
    }

    private func sqliteChoice(
        _ base: Expression?, _ branches: [Expression.Branch], _ otherwise: Expression?,
        in inputs: some ExpressionInputs
    ) throws(EvaluationError) -> ScalarValue {
        var compared: (Expression, ScalarValue)?
        if let base { compared = (base, try value(of: base, in: inputs)) }
        for branch in branches {
            let condition = try value(of: branch.condition, in: inputs)
            let isTaken: Bool
            if let compared {
                isTaken = try order(compared, (branch.condition, condition)) == .same
            } else {
                isTaken = condition.sqliteTruth ?? false
            }
            if isTaken { return try value(of: branch.result, in: inputs) }
        }
        guard let otherwise else { return .null }
        return try value(of: otherwise, in: inputs)
    }

    /// The affinity of the left side alone counts, as in `x IN (…)`.
    private func sqliteOneOf(
        _ value: Expression, _ others: [Expression], in inputs: some ExpressionInputs
    ) throws(EvaluationError) -> ScalarValue {
        let left = try self.value(of: value, in: inputs)
        var hasNull = left.isNull
        let affinity = affinity(of: value)
        for other in try values(of: others, in: inputs) {
            let order = try ScalarValue.sqliteOrder(taken(left, affinity), taken(other, affinity))
            if order == .same { return ScalarValue(true) }
            if order == nil { hasNull = true }
        }
        return hasNull ? .null : ScalarValue(false)
    }

    /// How two sides of a comparison relate; nil if one is NULL.
    private func order(
        _ left: (Expression, ScalarValue), _ right: (Expression, ScalarValue)
    ) throws(EvaluationError) -> ScalarOrder? {
        let affinity: Affinity =
            switch (affinity(of: left.0), affinity(of: right.0)) {
            case (.none, let other): other
            case (let one, .none): one
            case (.number, _), (_, .number): .number
            default: .blob
            }
        return try ScalarValue.sqliteOrder(taken(left.1, affinity), taken(right.1, affinity))
    }

    private func affinity(of expression: Expression) -> Affinity {
        guard case .cast(let type, _) = expression else { return .none }
        return switch type {
        case .text: .text
        case .integer, .numeric, .real: .number
        case .blob: .blob
        }
    }

    /// A side of a comparison with that affinity: a text that is a number as this, or a number as text.
    private func taken(_ value: ScalarValue, _ affinity: Affinity) -> ScalarValue {
        switch (affinity, value) {
        case (.number, .text(let text)): SQLiteNumber(text.text).compared ?? value
        case (.text, .integer), (.text, .real): value.sqliteText.map { ScalarValue(text: $0) } ?? .null
        default: value
        }
    }

    /// 1, 0 or NULL.
    private static func value(_ holds: Bool?) -> ScalarValue { holds.map { ScalarValue($0) } ?? .null }

    /// Whether all hold; nil if that depends on what is not known.
    private static func all(_ parts: [Bool?]) -> Bool? {
        if parts.contains(false) { return false }
        return parts.contains(nil) ? nil : true
    }
}
