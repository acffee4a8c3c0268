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
    /// How many bytes a program may look at for one row: one element after the other may look at a value of megabytes.
    package static let workLimit = 256 << 20

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
    /// How many bytes the program has looked at; an instruction counts as a few.
    private var work = 0
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
        work = 0
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
        var bytes = 0
        let range = program.code.headCount..<program.code.instructions.count
        var outcome = try start(program.code, slots, in: &arena, texts: texts, keepsBytes: true)
        while outcome == .inside {
            outcome = try compute(range, of: program.code, slots, in: &arena, texts)
            guard outcome == .inside else { break }
            let entry = LookupEntry(
                key: program.keys.map { registers[$0] }, outputs: program.outputs.map { registers[$0] })
            entries.append(entry)
            // What is stored has them all: each of many elements may be found with a value of megabytes.
            bytes += (entry.key + entry.outputs).reduce(0) { $0 + $1.byteCount }
            guard bytes <= Self.byteLimit else {
                throw EvaluationError(message: "What one row is found by is longer than 64 MiB.")
            }
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
        // Of an array that is walked for each element of another one, though it has no elements.
        try spend(registers[loop.argument].byteCount)
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

    /// Counts bytes that are looked at.
    private mutating func spend(_ bytes: Int) throws(EvaluationError) {
        work += bytes
        guard work <= Self.workLimit else {
            throw EvaluationError(message: "To compute this for one row, more than 256 MiB are to be read.")
        }
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
        try spend(4 * instructions.count)
        while true {
            if let outcome = try advance(&index, to: instructions.upperBound, of: code, slots, arena, texts) {
                return outcome
            }
            // It needs values with bytes of their own, or makes new bytes.
            let instruction = code.instructions[index]
            try spend(cost(of: instruction, in: code))
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
                guard try holds(condition, isStandard, in: arena) else { return .outside }
            case .requireKey(let key):
                guard registers[key].isKey else { return .outside }
            case .skipUnless(let condition, let count):
                if !(try holds(condition, isStandard, in: arena)) { index += count }
            case .skipWhen(let condition, let count):
                if try holds(condition, isStandard, in: arena) { index += count }
            case .jump(let count): index += count
            case .move(let register, let target): registers[target] = registers[register]
            case .isNull(let inner): registers[index] = Slot(registers[inner].kind == .null)
            case .compare(let comparison, let left, let right) where isStandard:
                let order = try compared(registers[left], registers[right], in: arena)
                registers[index] = order.map { Slot(comparison.holds($0)) } ?? .null
            case .not(let inner) where isStandard:
                let holds = try holds(inner, isStandard, in: arena)
                registers[index] = Slot(!holds)
            case .and(let left, let right) where isStandard:
                // The right one is skipped behind a left one that decides, and has no value then.
                var truth = try holds(left, isStandard, in: arena)
                if truth { truth = try holds(right, isStandard, in: arena) }
                registers[index] = Slot(truth)
            case .or(let left, let right) where isStandard:
                var truth = try holds(left, isStandard, in: arena)
                if !truth { truth = try holds(right, isStandard, in: arena) }
                registers[index] = Slot(truth)
            case .isSame(let left, let right) where isStandard:
                let isSame = try isSame(registers[left], registers[right], in: arena)
                registers[index] = Slot(isSame)
            case .isTrue(let inner, let isTrue) where isStandard:
                let isSame = try isSame(registers[inner], Slot(isTrue), in: arena)
                registers[index] = Slot(isSame)
            case .between(let first) where isStandard:
                let value = try between(first, of: code, in: arena)
                registers[index] = value
            case .oneOf(let first, let count) where isStandard:
                let value = try oneOf(first, count, of: code, in: arena)
                registers[index] = value
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
    private mutating func holds(
        _ register: Register, _ isStandard: Bool, in arena: [UInt8]
    ) throws(EvaluationError) -> Bool {
        let slot = registers[register]
        try spend(slot.byteCount)
        if isStandard || (slot.kind != .text && slot.kind != .blob) { return slot.holds(in: arena) }
        return slot.scalar(in: arena).sqliteTruth ?? false
    }

    private mutating func compared(
        _ left: Slot, _ right: Slot, in arena: [UInt8]
    ) throws(EvaluationError) -> ScalarOrder? {
        try spend(min(left.byteCount, right.byteCount))
        return try Slot.compare(left, right, in: arena)
    }

    private mutating func isSame(
        _ left: Slot, _ right: Slot, in arena: [UInt8]
    ) throws(EvaluationError) -> Bool {
        guard let order = try compared(left, right, in: arena) else {
            return left.kind == .null && right.kind == .null
        }
        return order == .same
    }

    private mutating func between(
        _ first: Int, of code: RowCode, in arena: [UInt8]
    ) throws(EvaluationError) -> Slot {
        let value = registers[code.operands[first]]
        guard let low = try compared(value, registers[code.operands[first + 1]], in: arena),
            let high = try compared(value, registers[code.operands[first + 2]], in: arena)
        else { return .null }
        return Slot(Comparison.greaterOrEqual.holds(low) && Comparison.lessOrEqual.holds(high))
    }

    private mutating func oneOf(
        _ first: Int, _ count: Int, of code: RowCode, in arena: [UInt8]
    ) throws(EvaluationError) -> Slot {
        let value = registers[code.operands[first]]
        // The others were not computed.
        if value.kind == .null { return .null }
        var hasNull = false
        for place in first + 1..<first + count {
            guard let order = try compared(value, registers[code.operands[place]], in: arena) else {
                hasNull = true
                continue
            }
            if order == .same { return Slot(true) }
        }
        return hasNull ? .null : Slot(false)
    }

    /// About how many bytes an instruction looks at.
    private func cost(of instruction: Instruction, in code: RowCode) -> Int {
        switch instruction {
        case .concat(let left, let right), .member(let left, let right, _), .compare(_, let left, let right),
            .isSame(let left, let right), .and(let left, let right), .or(let left, let right),
            .contains(let left, let right), .overlaps(let left, let right):
            return registers[left].byteCount + registers[right].byteCount
        case .arithmetic(_, let left, let right):
            let (one, other) = (registers[left].byteCount, registers[right].byteCount)
            // A product of long integers costs that of their lengths.
            let digits = (min(one, LongInteger.digitLimit), min(other, LongInteger.digitLimit))
            return one + other + (digits.0 * digits.1) >> 8
        case .cast(_, let inner), .not(let inner), .isTrue(let inner, _): return registers[inner].byteCount
        case .call(_, let first, let count), .oneOf(let first, let count):
            return code.operands[first..<first + count].reduce(0) { $0 + registers[$1].byteCount }
        case .between(let first):
            return code.operands[first..<first + 3].reduce(0) { $0 + registers[$1].byteCount }
        case .column, .constant, .element, .isNull, .skipUnless, .skipWhen, .jump, .move, .require,
            .requireKey:
            return 0
        }
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
    /// How many bytes a text, a blob or a long integer has.
    fileprivate var byteCount: Int {
        switch kind {
        case .text, .blob, .wide: range.count
        case .null, .integer, .real, .missing: 0
        }
    }

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
