/// Instructions of the SQLite engine, computed on values with bytes of their own.
extension RowProgramRun {
    /// The value of an instruction.
    ///
    /// - Parameters:
    ///   - instruction: One that `advance` leaves.
    ///   - code: The code that it is of.
    ///   - arena: What texts lie in; gets those that are made.
    /// - Returns: The value.
    /// - Throws: `EvaluationError` if it has none.
    func sqliteValue(
        of instruction: Instruction, in code: RowCode, _ arena: inout [UInt8]
    ) throws(EvaluationError) -> Slot {
        let value: ScalarValue
        switch instruction {
        case .compare(let comparison, let left, let right):
            value = ScalarValue(truth: try order(left, right, of: code, arena).map(comparison.holds))
        case .isSame(let left, let right):
            let order = try order(left, right, of: code, arena)
            let areNull = registers[left].kind == .null && registers[right].kind == .null
            value = ScalarValue(order == .same || areNull)
        case .isTrue(let inner, let isTrue): value = ScalarValue(scalar(inner, arena).sqliteTruth == isTrue)
        case .not(let inner): value = ScalarValue(truth: scalar(inner, arena).sqliteTruth.map { !$0 })
        case .and(let left, let right):
            let parts = [scalar(left, arena).sqliteTruth, scalar(right, arena).sqliteTruth]
            value = ScalarValue(truth: ScalarValue.all(parts))
        case .or(let left, let right):
            let parts = [scalar(left, arena).sqliteTruth, scalar(right, arena).sqliteTruth]
            value = ScalarValue(truth: ScalarValue.any(parts))
        case .between(let first):
            let (inner, low) = (code.operands[first], code.operands[first + 1])
            value = ScalarValue.isBetween(
                try order(inner, low, of: code, arena),
                try order(inner, code.operands[first + 2], of: code, arena))
        case .oneOf(let first, let count):
            let affinity = affinity(of: code.operands[first], in: code)
            let others = scalars(first + 1, count - 1, of: code, arena)
            value = try affinity.isOneOf(scalar(code.operands[first], arena), others)
        case .cast(let type, let inner): value = scalar(inner, arena).sqliteCast(to: type)
        case .arithmetic(let arithmetic, let left, let right):
            value = SQLiteArithmetic.value(arithmetic, scalar(left, arena), scalar(right, arena))
        case .concat(let left, let right):
            if let one = scalar(left, arena).sqliteText, let other = scalar(right, arena).sqliteText {
                value = ScalarValue(text: one + other)
            } else {
                value = .null
            }
        case .member(let left, let right, let form):
            value = try SQLiteJSON.member(scalar(left, arena), scalar(right, arena), form)
        case .call(let function, let first, let count):
            let run = ExpressionRun(options: code.options)
            value = try run.sqliteCall(function, scalars(first, count, of: code, arena))
        case .contains(let list, let inner):
            value = try JSONFunctions.contains(scalar(list, arena), scalar(inner, arena))
        case .overlaps(let left, let right):
            value = try JSONFunctions.overlaps(scalar(left, arena), scalar(right, arena))
        case .column, .constant, .element, .isNull, .skipUnless, .skipWhen, .jump, .move, .require,
            .requireKey:
            preconditionFailure("This instruction is never left.")
        }
        return Slot(scalar: value, in: &arena)
    }

    /// How the values of two registers relate; nil if one is NULL.
    private func order(
        _ left: Register, _ right: Register, of code: RowCode, _ arena: [UInt8]
    ) throws(EvaluationError) -> ScalarOrder? {
        try SQLiteAffinity.order(
            (affinity(of: left, in: code), scalar(left, arena)),
            (affinity(of: right, in: code), scalar(right, arena)))
    }

    /// That of the expression whose value a register has.
    private func affinity(of register: Register, in code: RowCode) -> SQLiteAffinity {
        if case .cast(let type, _) = code.instructions[register] { .init(castTo: type) } else { .none }
    }
}
