/// Runs programs over the values of rows, one after the other.
///
/// Of memory it needs the registers, once; what walks arrays or makes texts needs more. Texts that are made are
/// appended to the arena of the row.
package struct RowProgramRun: Sendable {
    /// What a program says of a row.
    package enum Outcome: Sendable, Hashable {
        /// It is in no bucket, or in no further one; nothing finds it.
        case outside
        /// That cannot be said: a value that was left out is needed.
        case waiting
        /// It is in the bucket of the program's keys, or is found by them.
        case inside
    }

    /// How many elements of arrays a program looks at for one row.
    package static let elementLimit = 100_000
    /// How many bytes a program may make for one row.
    package static let byteLimit = 64 << 20

    /// The element of a `json_each`.
    private struct Element {
        let key: Slot
        let value: Slot
    }

    /// A loop that has begun.
    private struct Level {
        /// Where its elements lie in `elements`.
        let range: Range<Int>
        /// The element that it is at; the one before its first at the beginning.
        var place: Int
        /// Where bytes begin that are made for the element.
        let mark: Int
    }

    /// The values of instructions.
    var registers: [Slot] = []
    private var elements: [Element] = []
    private var levels: [Level] = []
    /// How many elements the program has looked at.
    private var elementCount = 0
    /// Where bytes begin that the program makes.
    private var floor = 0
    /// Whether what was made for an element stays when the next one comes.
    private var keepsBytes = false

    /// Makes a run.
    package init() {}

    /// Runs the code up to where it is decided on the first place of a row.
    ///
    /// - Parameters:
    ///   - code: The code of a program.
    ///   - slots: The row, a value for each column of the program's shape.
    ///   - arena: What texts of the row lie in, and the program's; gets those that are made.
    ///   - texts: Where the bytes of the program's constants begin there.
    ///   - keepsBytes: Whether what is made for one element outlives the next.
    /// - Returns: `.inside` if there is such a place; its keys are in their registers.
    /// - Throws: `EvaluationError` if an expression has no value; then the row is nowhere.
    package mutating func start(
        _ code: RowCode, _ slots: [Slot], in arena: inout [UInt8], texts: Int, keepsBytes: Bool = false
    ) throws(EvaluationError) -> Outcome {
        if registers.count < code.instructions.count {
            registers += Array(repeating: Slot.null, count: code.instructions.count - registers.count)
        }
        floor = arena.count
        guard !code.loops.isEmpty else {
            return try compute(0..<code.headCount, of: code, slots, in: &arena, texts)
        }
        elements.removeAll(keepingCapacity: true)
        levels.removeAll(keepingCapacity: true)
        elementCount = 0
        self.keepsBytes = keepsBytes
        let first = code.loops[0].code.lowerBound
        let outcome = try compute(0..<first, of: code, slots, in: &arena, texts)
        guard outcome == .inside else { return outcome }
        try begin(code.loops[0], of: code, in: &arena)
        return try next(code, slots, in: &arena, texts: texts)
    }

    /// Runs the code up to where it is decided on a further place of a row.
    ///
    /// - Parameters:
    ///   - code: The code that was started, and has said `.inside`.
    ///   - slots: The row.
    ///   - arena: What was handed to `start`.
    ///   - texts: Where the bytes of the program's constants begin there.
    /// - Returns: `.inside` if there is one more.
    /// - Throws: `EvaluationError` if an expression has no value; then the row is nowhere, whatever came before.
    package mutating func next(
        _ code: RowCode, _ slots: [Slot], in arena: inout [UInt8], texts: Int
    ) throws(EvaluationError) -> Outcome {
        guard !code.loops.isEmpty else { return .outside }
        while let level = levels.last {
            guard level.place + 1 < level.range.upperBound else {
                elements.removeLast(level.range.count)
                levels.removeLast()
                continue
            }
            levels[levels.count - 1].place += 1
            if !keepsBytes { arena.removeLast(arena.count - level.mark) }
            let range = code.loops[levels.count - 1].code
            switch try compute(range, of: code, slots, in: &arena, texts) {
            case .outside: continue
            case .waiting: return .waiting
            case .inside: break
            }
            if levels.count == code.loops.count { return .inside }
            try begin(code.loops[levels.count], of: code, in: &arena)
        }
        return .outside
    }

    /// Computes the output of the place that was found last.
    ///
    /// - Returns: `.inside`, or `.waiting` if a value was left out.
    /// - Throws: `EvaluationError` if an expression has no value; then the row is in no bucket of the program.
    package mutating func output(
        _ program: RowProgram, _ slots: [Slot], in arena: inout [UInt8], texts: Int
    ) throws(EvaluationError) -> Outcome {
        let range = program.code.headCount..<program.code.instructions.count
        let outcome = try compute(range, of: program.code, slots, in: &arena, texts)
        for index in program.members.indices
        where value(of: program.members[index].value, slots).kind == .missing { return .waiting }
        return outcome
    }

    /// All ways in which a row is found.
    ///
    /// - Parameters:
    ///   - program: The program.
    ///   - slots: The row, a value for each column of the program's shape.
    ///   - arena: What texts of the row lie in, and the program's; gets those of the entries.
    ///   - texts: Where the bytes of the program's constants begin there.
    /// - Returns: The entries in order, among which may be equal ones; nil if a value was left out that is needed.
    /// - Throws: `EvaluationError` if an expression has no value; then nothing finds the row.
    package mutating func entries(
        of program: LookupProgram, _ slots: [Slot], in arena: inout [UInt8], texts: Int
    ) throws(EvaluationError) -> [LookupEntry]? {
        var entries: [LookupEntry] = []
        let range = program.code.headCount..<program.code.instructions.count
        var outcome = try start(program.code, slots, in: &arena, texts: texts, keepsBytes: true)
        while outcome == .inside {
            outcome = try compute(range, of: program.code, slots, in: &arena, texts)
            guard outcome == .inside else { break }
            entries.append(
                LookupEntry(
                    key: program.keys.map { registers[$0] }, outputs: program.outputs.map { registers[$0] }))
            outcome = try next(program.code, slots, in: &arena, texts: texts)
        }
        return outcome == .waiting ? nil : entries
    }

    /// The value of a register, such as a part of the bucket's name, of the place that was found last.
    package func key(_ register: Register) -> Slot { registers[register] }

    /// A value of the output, of the place that was found last.
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

    /// Begins a loop over the elements of a value that was computed.
    private mutating func begin(
        _ loop: RowCode.Loop, of code: RowCode, in arena: inout [UInt8]
    ) throws(EvaluationError) {
        let list = registers[loop.argument].scalar(in: arena)
        let found = try JSONElements(options: code.options).elements(of: list)
        elementCount += found.count
        guard elementCount <= Self.elementLimit else {
            throw EvaluationError(
                message: "The arrays of one row have more than \(Self.elementLimit) elements.")
        }
        let start = elements.count
        for element in found {
            elements.append(
                Element(
                    key: Slot(scalar: element.key, in: &arena), value: Slot(scalar: element.value, in: &arena)
                ))
        }
        try checkBytes(arena)
        levels.append(Level(range: start..<elements.count, place: start - 1, mark: arena.count))
    }

    /// Bounds what a program makes for a row.
    private func checkBytes(_ arena: [UInt8]) throws(EvaluationError) {
        guard arena.count - floor <= Self.byteLimit else {
            throw EvaluationError(message: "What is computed for one row is longer than 64 MiB.")
        }
    }
}

/// Instructions.
extension RowProgramRun {
    /// Does some of the instructions.
    ///
    /// - Returns: `.inside` behind the last one; else why it has ended before.
    private mutating func compute(
        _ instructions: Range<Int>, of code: RowCode, _ slots: [Slot], in arena: inout [UInt8], _ texts: Int
    ) throws(EvaluationError) -> Outcome {
        var index = instructions.lowerBound
        while true {
            if let outcome = try advance(&index, to: instructions.upperBound, of: code, slots, arena, texts) {
                return outcome
            }
            // It needs values with bytes of their own, or makes new bytes.
            let instruction = code.instructions[index]
            if code.options.engine == .sqlite {
                registers[index] = try sqliteValue(of: instruction, in: code, &arena)
            } else {
                registers[index] = try value(of: instruction, in: code, &arena)
            }
            try checkBytes(arena)
            index += 1
        }
    }

    /// Does instructions up to one that `value(of:)` has to do: the arena stays as it is, and nothing is allocated.
    ///
    /// - Returns: As `compute`; nil if `index` is that of an instruction that is left.
    private mutating func advance(
        _ index: inout Int, to end: Int, of code: RowCode, _ slots: [Slot], _ arena: [UInt8], _ texts: Int
    ) throws(EvaluationError) -> Outcome? {
        let isStandard = code.options.engine == .standard
        while index < end {
            switch code.instructions[index] {
            case .column(let column):
                guard slots[column].kind != .missing else { return .waiting }
                registers[index] = isStandard ? slots[column] : slots[column].sqlite(in: arena)
            case .constant(let constant):
                let slot = code.constants[constant].moved(by: texts)
                registers[index] = isStandard ? slot : slot.sqlite(in: arena)
            case .element(let loop, let part):
                let element = elements[levels[loop].place]
                let slot = part == .key ? element.key : element.value
                registers[index] = isStandard ? slot : slot.sqlite(in: arena)
            case .require(let condition):
                guard holds(condition, isStandard, in: arena) else { return .outside }
            case .requireKey(let key):
                guard registers[key].isKey else { return .outside }
            case .skipUnless(let condition, let count):
                if !holds(condition, isStandard, in: arena) { index += count }
            case .skipWhen(let condition, let count):
                if holds(condition, isStandard, in: arena) { index += count }
            case .jump(let count): index += count
            case .move(let register, let target): registers[target] = registers[register]
            case .isNull(let inner): registers[index] = Slot(registers[inner].kind == .null)
            case .compare(let comparison, let left, let right) where isStandard:
                let order = try Slot.compare(registers[left], registers[right], in: arena)
                registers[index] = order.map { Slot(comparison.holds($0)) } ?? .null
            case .not(let inner) where isStandard:
                registers[index] = Slot(!registers[inner].holds(in: arena))
            case .and(let left, let right) where isStandard:
                registers[index] = Slot(
                    registers[left].holds(in: arena) && registers[right].holds(in: arena))
            case .or(let left, let right) where isStandard:
                registers[index] = Slot(
                    registers[left].holds(in: arena) || registers[right].holds(in: arena))
            case .isSame(let left, let right) where isStandard:
                registers[index] = Slot(try isSame(registers[left], registers[right], in: arena))
            case .isTrue(let inner, let isTrue) where isStandard:
                registers[index] = Slot(try isSame(registers[inner], Slot(isTrue), in: arena))
            case .between(let first) where isStandard:
                registers[index] = try between(first, of: code, in: arena)
            case .oneOf(let first, let count) where isStandard:
                registers[index] = try oneOf(first, count, of: code, in: arena)
            case .arithmetic(let arithmetic, let left, let right) where isStandard:
                guard let result = Self.integer(arithmetic, registers[left], registers[right]) else {
                    return nil
                }
                registers[index] = result
            default: return nil
            }
            index += 1
        }
        return .inside
    }

    /// Whether the value of a register counts as true.
    private func holds(_ register: Register, _ isStandard: Bool, in arena: [UInt8]) -> Bool {
        let slot = registers[register]
        if isStandard || (slot.kind != .text && slot.kind != .blob) { return slot.holds(in: arena) }
        return slot.scalar(in: arena).sqliteTruth ?? false
    }

    private func isSame(_ left: Slot, _ right: Slot, in arena: [UInt8]) throws(EvaluationError) -> Bool {
        guard let order = try Slot.compare(left, right, in: arena) else {
            return left.kind == .null && right.kind == .null
        }
        return order == .same
    }

    private func between(
        _ first: Int, of code: RowCode, in arena: [UInt8]
    ) throws(EvaluationError) -> Slot {
        let value = registers[code.operands[first]]
        guard let low = try Slot.compare(value, registers[code.operands[first + 1]], in: arena),
            let high = try Slot.compare(value, registers[code.operands[first + 2]], in: arena)
        else { return .null }
        return Slot(Comparison.greaterOrEqual.holds(low) && Comparison.lessOrEqual.holds(high))
    }

    private func oneOf(
        _ first: Int, _ count: Int, of code: RowCode, in arena: [UInt8]
    ) throws(EvaluationError) -> Slot {
        let value = registers[code.operands[first]]
        // The others were not computed.
        if value.kind == .null { return .null }
        var hasNull = false
        for place in first + 1..<first + count {
            guard let order = try Slot.compare(value, registers[code.operands[place]], in: arena) else {
                hasNull = true
                continue
            }
            if order == .same { return Slot(true) }
        }
        return hasNull ? .null : Slot(false)
    }

    /// What two integers come to within 64 bits; nil for all else.
    private static func integer(_ arithmetic: Arithmetic, _ left: Slot, _ right: Slot) -> Slot? {
        guard left.kind == .integer, right.kind == .integer else { return nil }
        let (result, isBeyond) =
            switch arithmetic {
            case .add: left.integer.addingReportingOverflow(right.integer)
            case .subtract: left.integer.subtractingReportingOverflow(right.integer)
            case .multiply: left.integer.multipliedReportingOverflow(by: right.integer)
            default: (partialValue: Int64(0), overflow: true)
            }
        return isBeyond ? nil : Slot(integer: result)
    }
}

extension Slot {
    /// Whether something can be found by it.
    fileprivate var isKey: Bool {
        switch kind {
        case .null, .blob, .missing: false
        case .real: !real.isNaN
        case .integer, .wide, .text: true
        }
    }

    /// The value as the SQLite engine has it, `ScalarValue.sqlite`.
    fileprivate func sqlite(in arena: [UInt8]) -> Slot {
        switch kind {
        case .real: return real.isNaN ? .null : self
        case .wide:
            if case .wide(let integer) = scalar(in: arena) { return Slot(real: integer.real) }
            return .null
        case .null, .integer, .text, .blob, .missing: return self
        }
    }
}
