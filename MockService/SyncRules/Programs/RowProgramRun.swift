/// Runs row programs over the values of rows, one after the other; of memory it needs the registers alone, once.
package struct RowProgramRun: Sendable {
    /// What a program says of a row.
    package enum Outcome: Sendable, Hashable {
        /// It is in no bucket.
        case outside
        /// That cannot be said: a value that was left out is needed.
        case waiting
        /// It is in the bucket of the program's keys; all values of the output are there.
        case inside
    }

    private var registers: [Slot] = []

    /// Makes a run.
    package init() {}

    /// Runs a program.
    ///
    /// - Parameters:
    ///   - program: The program.
    ///   - slots: The row, a value for each column of the program's shape.
    ///   - arena: What texts of the row lie in, and the program's.
    ///   - texts: Where the bytes of the program's constants begin there.
    /// - Returns: Where the row is.
    /// - Throws: `EvaluationError` if an expression has no value; then the row is in no bucket of the program.
    package mutating func run(
        _ program: RowProgram, _ slots: [Slot], in arena: [UInt8], texts: Int
    ) throws(EvaluationError) -> Outcome {
        if registers.count < program.code.count {
            registers += Array(repeating: Slot.null, count: program.code.count - registers.count)
        }
        guard try compute(0..<program.headCount, of: program, slots, arena, texts) else { return .waiting }
        // Those behind one that fails were skipped, and are not looked at.
        for index in program.filters.indices where !registers[program.filters[index]].holds(in: arena) {
            return .outside
        }
        for index in program.keys.indices {
            let value = key(program.keys[index])
            if value.kind == .null || value.kind == .blob { return .outside }
        }
        guard try compute(program.headCount..<program.code.count, of: program, slots, arena, texts) else {
            return .waiting
        }
        for index in program.members.indices
        where value(of: program.members[index].value, slots).kind == .missing { return .waiting }
        return .inside
    }

    /// The value of a part of the bucket's name, of the row that was run last.
    package func key(_ key: RowProgram.Key) -> Slot {
        switch key {
        case .value(let register): registers[register]
        }
    }

    /// A value of the output, of the row that was run last.
    ///
    /// - Parameters:
    ///   - value: Where it comes from.
    ///   - slots: The row.
    /// - Returns: The value.
    package func value(of value: RowProgram.Value, _ slots: [Slot]) -> Slot {
        switch value {
        case .column(let column): slots[column]
        case .value(let register): registers[register]
        }
    }

    /// Does some of the instructions; returns whether all values that they read are there.
    private mutating func compute(
        _ instructions: Range<Int>, of program: RowProgram, _ slots: [Slot], _ arena: [UInt8], _ texts: Int
    ) throws(EvaluationError) -> Bool {
        var index = instructions.lowerBound
        while index < instructions.upperBound {
            switch program.code[index] {
            case .column(let column):
                guard slots[column].kind != .missing else { return false }
                registers[index] = slots[column]
            case .constant(let constant): registers[index] = program.constants[constant].moved(by: texts)
            case .compare(let comparison, let left, let right):
                let order = try Slot.compare(registers[left], registers[right], in: arena)
                registers[index] = order.map { Slot(comparison.holds($0)) } ?? .null
            case .not(let inner): registers[index] = Slot(!registers[inner].holds(in: arena))
            case .isNull(let inner): registers[index] = Slot(registers[inner].kind == .null)
            case .skipUnless(let condition, let count):
                if !registers[condition].holds(in: arena) { index += count }
            case .skipWhen(let condition, let count):
                if registers[condition].holds(in: arena) { index += count }
            case .and(let left, let right):
                registers[index] = Slot(
                    registers[left].holds(in: arena) && registers[right].holds(in: arena))
            case .or(let left, let right):
                registers[index] = Slot(
                    registers[left].holds(in: arena) || registers[right].holds(in: arena))
            }
            index += 1
        }
        return true
    }
}
