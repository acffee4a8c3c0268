import PowerSyncWire

/// Values.
extension DefinitionQuery {
    /// What an expression comes to: a value or a match; nil if it is wrong, which is told.
    ///
    /// - Throws: `QueryFailure` if a constant has no value, or an OR makes too much.
    mutating func clause(_ syntax: ExpressionSyntax) throws(QueryFailure) -> DefinitionClause? {
        let range = syntax.range
        switch syntax.content {
        case .null: return constant(.null)
        case .bool(let holds): return constant(ScalarValue(holds))
        case .integer(let digits): return constant(Self.integer(digits))
        case .real(let digits): return constant(Double(digits).map { ScalarValue.real($0) } ?? .null)
        case .text(let text): return constant(ScalarValue(text: text))
        case .column(let qualifier, let name): return column(qualifier, name, at: range)
        case .call(let call): return try self.call(call, at: range)
        case .unary(.not, let inner): return try composed([inner]) { .not($0[0]) }
        case .and(let all): return try chain(all, .and)
        case .or(let all): return try chain(all, .or)
        case .binary(let operation, let left, let right):
            return try binary(operation, left, right, at: range)
        case .membership(let left, let right, let isNegated):
            return try membership(left, right, isNegated, at: range)
        case .isCheck(let inner, .null, let isNegated):
            return try composed([inner]) { isNegated ? .not(.isNull($0[0])) : .isNull($0[0]) }
        case .cast(let inner, let name, _):
            guard let type = CastType(rawValue: name) else { return refuse(.legacyCast, [name], at: range) }
            return try composed([inner]) { .cast(type, $0[0]) }
        case .unary(let operation, _): return refuse(.legacyUnary, [operation.rawValue], at: range)
        case .isCheck(_, let what, let isNegated):
            return refuse(.legacyUnary, ["IS \(isNegated ? "NOT " : "")\(what.rawValue)"], at: range)
        // As recorded it is taken for a function.
        case .row: return refuse(.functionNotDefined, ["row"], at: range)
        case .between: return refuse(.legacyForm, ["ternary"], at: range)
        case .choice: return refuse(.legacyForm, ["case"], at: range)
        case .list: return refuse(.legacyForm, ["list"], at: range)
        case .array: return refuse(.legacyForm, ["array"], at: range)
        case .subquery: return refuse(.legacyForm, ["select"], at: range)
        case .parameter: return refuse(.legacyForm, ["parameter"], at: range)
        case .star, .unsupported: return refuse(.legacyForm, ["expression"], at: range)
        }
    }

    /// Tells of an expression that is wrong.
    mutating func refuse(
        _ name: DiagnosticName, _ arguments: [String] = [], at range: Range<Int>
    ) -> DefinitionClause? {
        tell(name, arguments, at: range)
        return nil
    }

    private func constant(_ value: ScalarValue) -> DefinitionClause {
        .value(DefinitionValue(source: .constant, expression: .literal(value)))
    }

    /// A whole number: editions 1 and 2 read it as a double (service 6.8).
    private static func integer(_ digits: String) -> ScalarValue {
        guard let real = Double(digits) else { return .null }
        if let integer = Int64(exactly: real) { return .integer(integer) }
        return WideInteger(wholeNumber: real).map { ScalarValue.wide($0) } ?? .real(real)
    }

    // Names.

    private mutating func column(
        _ qualifier: NameSyntax?, _ name: NameSyntax, at range: Range<Int>
    ) -> DefinitionClause? {
        if name.isFolded { tell(.foldedName, [sql(name.range)], at: name.range) }
        if let table, qualifier == nil || qualifier?.text == table.name {
            if table.lacks(name.text) {
                // As recorded the real service says nothing of elements that have no such part (mistakes, 173).
                let recorded = table.content == .elements ? Recorded(.silent) : nil
                tell(.columnNotFound, [name.text.text], at: range, recorded: recorded)
            }
            return .value(table.value(name.text))
        }
        guard let qualifier else { return refuse(.undefinedReference, [name.text.text], at: range) }
        guard let value = parameter(qualifier.text.text, name.text) else {
            return refuse(.undefinedReference, ["\(qualifier.text.text).\(name.text.text)"], at: range)
        }
        return .value(value)
    }

    /// A parameter of the bucket, or a value of the request by its old name (service 2.4).
    private func parameter(_ qualifier: String, _ name: ExactText) -> DefinitionValue? {
        let value: RequestParameter
        switch (kind, qualifier) {
        // Values of the request are parameters that no bucket has (service 9.8, W16).
        case (.data, "bucket"), (.data, "token_parameters"), (.data, "user_parameters"):
            return DefinitionValue(source: .bucket, expression: .literal(.null))
        case (.data, _), (.stream, _), (.selection, _): return nil
        case (_, "token_parameters"):
            let isUser = name == ExactText("user_id")
            value = isUser ? .userID : RequestParameter(.tokenParameters, path: [name])
        case (_, "user_parameters"): value = RequestParameter(.connection, path: [name])
        default: return nil
        }
        return DefinitionValue(source: .request, expression: .parameter(value))
    }

    private mutating func call(
        _ call: CallSyntax, at range: Range<Int>
    ) throws(QueryFailure) -> DefinitionClause? {
        let name = call.name.text.text.lowercased()
        if let schema = call.schema {
            if kind.isOfStream { return try streamCall(call, of: schema, at: range) }
            let whole = "\(schema.text.text.lowercased()).\(name)"
            guard kind != .data, let value = Self.request(whole) else {
                return refuse(.functionNotDefined, [whole], at: range)
            }
            return .value(DefinitionValue(source: .request, expression: value))
        }
        // What a call of an unknown function has in it is not looked at, as recorded.
        guard let function = Function(rawValue: name), function.signature.editions.contains(1),
            !function.signature.isSQLiteOnly
        else { return refuse(.functionNotDefined, [name], at: range) }
        return try composed(call.arguments) { .call(function, $0) }
    }

    private static func request(_ name: String) -> Expression? {
        switch name {
        case "request.user_id": .parameter(.userID)
        case "request.jwt": .request(.auth)
        case "request.parameters": .request(.connection)
        default: nil
        }
    }

    // Operators.

    private static let arithmetic: [BinaryOperator: Arithmetic] = [
        .add: .add, .subtract: .subtract, .multiply: .multiply, .divide: .divide,
    ]

    private mutating func binary(
        _ operation: BinaryOperator, _ left: ExpressionSyntax, _ right: ExpressionSyntax, at range: Range<Int>
    ) throws(QueryFailure) -> DefinitionClause? {
        switch operation {
        case .member, .memberValue: return try member(operation, left, right, at: range)
        case .equal: return try equal(left, right)
        case .concat: return try composed([left, right]) { .concat($0[0], $0[1]) }
        default: break
        }
        if let comparison = Comparison(rawValue: operation.rawValue) {
            return try composed([left, right]) { .comparison(comparison, $0[0], $0[1]) }
        }
        if let arithmetic = Self.arithmetic[operation] {
            return try composed([left, right]) { .arithmetic(arithmetic, $0[0], $0[1]) }
        }
        // Both sides are looked at first; the operator of what is wrong is not told.
        let sides = (try clause(left), try clause(right))
        guard sides.0 != nil, sides.1 != nil else { return nil }
        return refuse(.legacyOperator, [operation.rawValue], at: range)
    }

    private mutating func member(
        _ operation: BinaryOperator, _ left: ExpressionSyntax, _ right: ExpressionSyntax, at range: Range<Int>
    ) throws(QueryFailure) -> DefinitionClause? {
        guard case .text(let path) = right.content else {
            return refuse(.legacyMember, [operation.rawValue], at: range)
        }
        let form: MemberForm = operation == .member ? .json : .value
        return try composed([left]) { .member($0[0], .literal(ScalarValue(text: path)), form) }
    }

    /// A value that is computed of others, all of the row or all of the request.
    ///
    /// - Parameters:
    ///   - parts: The others; all of them are looked at.
    ///   - make: What makes an expression of theirs.
    /// - Returns: The value; nil if one of them is wrong, or they may not stand together, which is told.
    /// - Throws: `QueryFailure` if it is a constant without a value.
    mutating func composed(
        _ parts: [ExpressionSyntax], _ make: ([Expression]) -> Expression
    ) throws(QueryFailure) -> DefinitionClause? {
        var clauses: [DefinitionClause?] = []
        for part in parts { clauses.append(try clause(part)) }
        return try composed(clauses, parts, make)
    }

    /// A value that is computed of others that were looked at.
    mutating func composed(
        _ clauses: [DefinitionClause?], _ parts: [ExpressionSyntax], _ make: ([Expression]) -> Expression
    ) throws(QueryFailure) -> DefinitionClause? {
        let found = clauses.compactMap { $0 }
        guard found.count == parts.count else { return nil }
        var values: [DefinitionValue] = []
        for (clause, part) in zip(found, parts) {
            guard case .value(let value) = clause else { return refuse(.matchElsewhere, at: part.range) }
            values.append(value)
        }
        let parameter = values.firstIndex { $0.source == .request || $0.source == .bucket }
        if let parameter {
            let range = parts[parameter].range
            if values.contains(where: { $0.source == .row }) { return refuse(.mixedClause, at: range) }
            if values[parameter].source == .bucket { return refuse(.parameterInExpression, at: range) }
        }
        let source = values.map(\.source).first { $0 != .constant } ?? .constant
        let expression = make(values.map(\.expression))
        let start = parts.first?.range.lowerBound ?? 0
        return .value(try folded(expression, source, start..<(parts.last?.range.upperBound ?? start)))
    }

    /// A value, computed if it is a constant.
    ///
    /// A constant is not much longer than what it is written as, so that all of them have room.
    func folded(
        _ expression: Expression, _ source: DefinitionValue.Source, _ range: Range<Int>
    ) throws(QueryFailure) -> DefinitionValue {
        guard source == .constant else { return DefinitionValue(source: source, expression: expression) }
        do throws(EvaluationError) {
            let evaluator = context.evaluator.limited(toBytes: 1_024 + 16 * range.count)
            let value = try evaluator.value(of: expression, in: NoInputs())
            return DefinitionValue(source: .constant, expression: .literal(value))
        } catch {
            if error.kind == .path { throw failure(.jsonPath) }
            throw failure(.constantFails, [error.message])
        }
    }
}

/// What a constant reads: nothing.
private struct NoInputs: ExpressionInputs {
    func column(_ input: Input, _ name: ExactText) -> ScalarValue { .null }
    func element(_ input: Input, _ part: ElementPart) -> ScalarValue { .null }
    func parameter(_ parameter: RequestParameter) -> ScalarValue { .null }
    func request(_ source: RequestParameter.Source) -> ScalarValue { .null }
    func table(_ fact: TableFact, _ input: Input) -> ScalarValue { .null }
}
