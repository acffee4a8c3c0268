import PowerSyncWire

/// The SQLite engine: expressions as libsqlite3 computes them over columns without affinity (service 6.12).
extension ExpressionRun {
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
        case .call(let function, let arguments):
            return try bounded(sqliteCall(function, arguments, in: inputs))
        case .cast(let type, let inner): return try operand(inner, in: inputs).sqliteCast(to: type)
        case .not(let inner):
            return ScalarValue(truth: try operand(inner, in: inputs).sqliteTruth.map { !$0 })
        case .isNull(let inner): return ScalarValue(try value(of: inner, in: inputs).isNull)
        case .isTrue(let inner, let isTrue):
            return ScalarValue(try operand(inner, in: inputs).sqliteTruth == isTrue)
        case .and(let all):
            return ScalarValue(truth: ScalarValue.all(try values(of: all, in: inputs).map(\.sqliteTruth)))
        case .or(let all):
            return ScalarValue(truth: ScalarValue.any(try values(of: all, in: inputs).map(\.sqliteTruth)))
        case .between(let value, let low, let high):
            let values = try values(of: [value, low, high], in: inputs)
            return ScalarValue.isBetween(
                try order((value, values[0]), (low, values[1])),
                try order((value, values[0]), (high, values[2])))
        case .choice(let base, let branches, let otherwise):
            return try sqliteChoice(base, branches, otherwise, in: inputs)
        case .oneOf(let value, let others): return try sqliteOneOf(value, others, in: inputs)
        case .arithmetic(_, let one, let other), .concat(let one, let other), .member(let one, let other, _),
            .comparison(_, let one, let other), .isSame(let one, let other),
            .contains(let one, let other), .overlaps(let one, let other):
            let (left, right) = (try value(of: one, in: inputs), try value(of: other, in: inputs))
            if let known = try counted(expression, left, right, inputs.work) { return known }
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
            return ScalarValue(truth: try order(left, right).map(comparison.holds))
        case .isSame:
            let order = try order(left, right)
            return ScalarValue(order == .same || (left.1.isNull && right.1.isNull))
        case .contains: return try JSONFunctions.contains(left.1, right.1)
        case .overlaps: return try JSONFunctions.overlaps(left.1, right.1)
        default:
            guard let one = left.1.sqliteText, let other = right.1.sqliteText else { return .null }
            return try joined(one, other)
        }
    }

    private func sqliteChoice(
        _ base: Expression?, _ branches: [Expression.Branch], _ otherwise: Expression?,
        in inputs: some ExpressionInputs
    ) throws(EvaluationError) -> ScalarValue {
        var compared: (Expression, ScalarValue)?
        if let base { compared = (base, try value(of: base, in: inputs)) }
        for branch in branches {
            let condition = try operand(branch.condition, in: inputs)
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

    private func sqliteOneOf(
        _ value: Expression, _ others: [Expression], in inputs: some ExpressionInputs
    ) throws(EvaluationError) -> ScalarValue {
        let left = try self.value(of: value, in: inputs)
        return try SQLiteAffinity(of: value).isOneOf(left, values(of: others, in: inputs))
    }

    /// How two sides of a comparison relate; nil if one is NULL.
    private func order(
        _ left: (Expression, ScalarValue), _ right: (Expression, ScalarValue)
    ) throws(EvaluationError) -> ScalarOrder? {
        try SQLiteAffinity.order(
            (SQLiteAffinity(of: left.0), left.1), (SQLiteAffinity(of: right.0), right.1))
    }
}
