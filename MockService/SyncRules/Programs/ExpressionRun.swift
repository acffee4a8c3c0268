import PowerSyncWire

/// Computes expressions over values (service 6.12); row programs are held to it.
package struct ExpressionRun: Sendable {
    /// How many bytes a value may have that is computed; `hex` of `hex` of `hex` doubles it each time.
    package static let byteLimit = 32 << 20

    /// What of an older edition is kept.
    let options: CompatibilityOptions
    private var byteLimit = ExpressionRun.byteLimit

    /// Computes as the options of a configuration say.
    package init(options: CompatibilityOptions) { self.options = options }

    /// The same for values that have no more bytes.
    func limited(toBytes limit: Int) -> ExpressionRun {
        var run = self
        run.byteLimit = limit
        return run
    }

    /// A value, if it is no longer than values may be.
    func bounded(_ value: ScalarValue) throws(EvaluationError) -> ScalarValue {
        switch value {
        case .text(let text): try checkBytes(text.text.utf8.count)
        case .blob(let bytes): try checkBytes(bytes.count)
        case .null, .integer, .wide, .real: break
        }
        return value
    }

    /// Both texts as one.
    func joined(_ left: String, _ right: String) throws(EvaluationError) -> ScalarValue {
        try checkBytes(left.utf8.count + right.utf8.count)
        return ScalarValue(text: left + right)
    }

    private func checkBytes(_ count: Int) throws(EvaluationError) {
        guard count > byteLimit else { return }
        throw EvaluationError(message: "A value is longer than \(byteLimit) bytes.")
    }

    /// Whether the value of an expression counts as true.
    ///
    /// - Throws: `EvaluationError` if it has no value.
    package func holds(
        _ expression: Expression, in inputs: some ExpressionInputs
    ) throws(EvaluationError) -> Bool {
        let value = try operand(expression, in: inputs)
        return options.engine == .sqlite ? value.sqliteTruth ?? false : value.holds
    }

    /// The value of an expression.
    ///
    /// All operands are computed, those of AND and OR too; but of CASE, `iif` and `ifnull` those alone that the value comes
    /// from, and in the default engine no elements of an `ARRAY[…]` that NULL is looked for in.
    ///
    /// - Parameters:
    ///   - expression: The expression.
    ///   - inputs: What it reads.
    /// - Returns: The value.
    /// - Throws: `EvaluationError` if it has none.
    package func value(
        of expression: Expression, in inputs: some ExpressionInputs
    ) throws(EvaluationError) -> ScalarValue {
        try inputs.work?.spend(1)
        if options.engine == .sqlite { return try sqliteValue(of: expression, in: inputs) }
        switch expression {
        case .literal(let value): return value
        case .column(let input, let name): return try inputs.column(input, name)
        case .element(let input, let part): return try inputs.element(input, part)
        case .parameter(let parameter): return try inputs.parameter(parameter)
        case .request(let source): return try inputs.request(source)
        case .table(let fact, let input): return try inputs.table(fact, input)
        case .call(let function, let arguments):
            return try bounded(call(function, arguments, in: inputs))
        case .cast(let type, let inner): return try operand(inner, in: inputs).cast(to: type)
        case .not(let inner): return ScalarValue(!(try holds(inner, in: inputs)))
        case .isNull(let inner): return ScalarValue(try value(of: inner, in: inputs).isNull)
        case .isTrue(let inner, let isTrue):
            return try Self.isSame(operand(inner, in: inputs), ScalarValue(isTrue))
        case .and(let all): return ScalarValue(try values(of: all, in: inputs).allSatisfy(\.holds))
        case .or(let all): return ScalarValue(try values(of: all, in: inputs).contains(where: \.holds))
        case .between(let value, let low, let high):
            return try Self.isBetween(values(of: [value, low, high], in: inputs))
        case .choice(let base, let branches, let otherwise):
            return try choice(base, branches, otherwise, in: inputs)
        case .oneOf(let value, let others):
            let left = try self.value(of: value, in: inputs)
            if left.isNull { return .null }
            return try Self.isOneOf(left, values(of: others, in: inputs))
        case .arithmetic(_, let one, let other), .concat(let one, let other), .member(let one, let other, _),
            .comparison(_, let one, let other), .isSame(let one, let other),
            .contains(let one, let other), .overlaps(let one, let other):
            let (left, right) = (try value(of: one, in: inputs), try value(of: other, in: inputs))
            if let known = try counted(expression, left, right, inputs.work) { return known }
            return try value(of: expression, left, right)
        }
    }

    /// The value of an expression that is an operand of what looks at all of it.
    func operand(
        _ expression: Expression, in inputs: some ExpressionInputs
    ) throws(EvaluationError) -> ScalarValue {
        let value = try value(of: expression, in: inputs)
        try inputs.work?.spend(value.byteCount)
        return value
    }

    /// Counts what an expression looks at of its two operands.
    ///
    /// - Returns: The value of one that is looked up in a list that was read; nil for all others.
    func counted(
        _ expression: Expression, _ left: ScalarValue, _ right: ScalarValue, _ work: RequestWork?
    ) throws(EvaluationError) -> ScalarValue? {
        guard let work else { return nil }
        let (one, other) = (left.byteCount, right.byteCount)
        switch expression {
        case .contains: return try work.contains(left, right)
        case .comparison, .isSame: try work.spend(min(one, other))
        case .arithmetic:
            // A product of long integers costs that of their lengths.
            let digits = (min(one, LongInteger.digitLimit), min(other, LongInteger.digitLimit))
            try work.spend(one + other + (digits.0 * digits.1) >> 8)
        default: try work.spend(one + other)
        }
        return nil
    }

    /// The value of an expression that has two operands.
    private func value(
        of expression: Expression, _ left: ScalarValue, _ right: ScalarValue
    ) throws(EvaluationError) -> ScalarValue {
        switch expression {
        case .arithmetic(let arithmetic, _, _): return try NumberArithmetic.value(arithmetic, left, right)
        case .member(_, _, let form): return try json.member(left, right, form)
        case .comparison(let comparison, _, _): return try Self.compare(comparison, left, right)
        case .isSame: return try Self.isSame(left, right)
        case .contains: return try JSONFunctions.contains(left, right)
        case .overlaps: return try JSONFunctions.overlaps(left, right)
        default:
            guard let left = left.textForm, let right = right.textForm else { return .null }
            return try joined(left, right)
        }
    }

    /// The values of expressions, in order.
    func values(
        of expressions: [Expression], in inputs: some ExpressionInputs
    ) throws(EvaluationError) -> [ScalarValue] {
        var values: [ScalarValue] = []
        for expression in expressions { values.append(try operand(expression, in: inputs)) }
        return values
    }

    /// The functions on JSON as the options say.
    var json: JSONFunctions { JSONFunctions(isFixed: options.fixedJSONExtract) }

    private func choice(
        _ base: Expression?, _ branches: [Expression.Branch], _ otherwise: Expression?,
        in inputs: some ExpressionInputs
    ) throws(EvaluationError) -> ScalarValue {
        var compared: ScalarValue?
        if let base { compared = try value(of: base, in: inputs) }
        for branch in branches {
            var condition = try operand(branch.condition, in: inputs)
            if let compared { condition = try Self.compare(.equal, compared, condition) }
            if condition.holds { return try value(of: branch.result, in: inputs) }
        }
        guard let otherwise else { return .null }
        return try value(of: otherwise, in: inputs)
    }
}

/// Comparisons.
extension ExpressionRun {
    private static func compare(
        _ comparison: Comparison, _ left: ScalarValue, _ right: ScalarValue
    ) throws(EvaluationError) -> ScalarValue {
        guard let order = try ScalarOrder.compare(left, right) else { return .null }
        return ScalarValue(comparison.holds(order))
    }

    private static func isSame(
        _ left: ScalarValue, _ right: ScalarValue
    ) throws(EvaluationError) -> ScalarValue {
        guard let order = try ScalarOrder.compare(left, right) else {
            return ScalarValue(left.isNull && right.isNull)
        }
        return ScalarValue(order == .same)
    }

    /// Of a value and two bounds; NULL if one of the three is NULL.
    private static func isBetween(_ values: [ScalarValue]) throws(EvaluationError) -> ScalarValue {
        guard let low = try ScalarOrder.compare(values[0], values[1]),
            let high = try ScalarOrder.compare(values[0], values[2])
        else { return .null }
        return ScalarValue(Comparison.greaterOrEqual.holds(low) && Comparison.lessOrEqual.holds(high))
    }

    /// Whether a value is among others; NULL if it is not and one of them is NULL.
    private static func isOneOf(
        _ value: ScalarValue, _ others: [ScalarValue]
    ) throws(EvaluationError) -> ScalarValue {
        var hasNull = false
        for other in others {
            guard let order = try ScalarOrder.compare(value, other) else {
                hasNull = true
                continue
            }
            if order == .same { return ScalarValue(true) }
        }
        return hasNull ? .null : ScalarValue(false)
    }
}
