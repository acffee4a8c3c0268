/// Instructions of the default engine that make bytes, or are computed on values with bytes of their own.
extension RowProgramRun {
    /// The value of an instruction.
    ///
    /// - Parameters:
    ///   - instruction: One that `advance` leaves.
    ///   - code: The code that it is of.
    ///   - arena: What texts lie in; gets those that are made.
    /// - Returns: The value.
    /// - Throws: `EvaluationError` if it has none.
    func value(
        of instruction: Instruction, in code: RowCode, _ arena: inout [UInt8]
    ) throws(EvaluationError) -> Slot {
        let run = ExpressionRun(options: code.options)
        let value: ScalarValue
        switch instruction {
        case .concat(let left, let right): return concat(registers[left], registers[right], in: &arena)
        case .cast(let type, let inner):
            if let slot = cast(registers[inner], to: type) { return slot }
            value = try scalar(inner, arena).cast(to: type)
        case .arithmetic(let arithmetic, let left, let right):
            value = try NumberArithmetic.value(arithmetic, scalar(left, arena), scalar(right, arena))
        case .member(let left, let right, let form):
            value = try run.json.member(scalar(left, arena), scalar(right, arena), form)
        case .call(let function, let first, let count):
            value = try run.call(function, scalars(first, count, of: code, arena))
        case .contains(let list, let inner):
            value = try JSONFunctions.contains(scalar(list, arena), scalar(inner, arena))
        case .overlaps(let left, let right):
            value = try JSONFunctions.overlaps(scalar(left, arena), scalar(right, arena))
        case .column, .constant, .element, .compare, .isSame, .isTrue, .not, .isNull, .and, .or, .between,
            .oneOf, .skipUnless, .skipWhen, .jump, .move, .require, .requireKey:
            preconditionFailure("This instruction is never left.")
        }
        return Slot(scalar: value, in: &arena)
    }

    /// The value of a register with bytes of its own.
    func scalar(_ register: Register, _ arena: [UInt8]) -> ScalarValue {
        registers[register].scalar(in: arena)
    }

    /// The values of operands with bytes of their own.
    func scalars(_ first: Int, _ count: Int, of code: RowCode, _ arena: [UInt8]) -> [ScalarValue] {
        code.operands[first..<first + count].map { scalar($0, arena) }
    }

    private func concat(_ left: Slot, _ right: Slot, in arena: inout [UInt8]) -> Slot {
        guard left.kind != .null, right.kind != .null else { return .null }
        let start = arena.count
        RowTextWriter.appendTextForm(left, to: &arena)
        RowTextWriter.appendTextForm(right, to: &arena)
        return Slot(text: start..<arena.count)
    }

    /// A value whose bytes need not change for another type; nil if they may.
    private func cast(_ slot: Slot, to type: CastType) -> Slot? {
        switch (type, slot.kind) {
        case (_, .null), (.text, .text), (.blob, .blob), (.integer, .integer), (.integer, .wide),
            (.numeric, .integer), (.numeric, .wide), (.numeric, .real), (.real, .real):
            return slot
        case (.blob, .text): return Slot(blob: slot.range)
        default: return nil
        }
    }
}
