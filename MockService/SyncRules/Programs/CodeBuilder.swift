import PowerSyncWire

/// Makes instructions of expressions that were lowered.
struct CodeBuilder {
    let options: CompatibilityOptions
    /// Where the columns are.
    let places: [ExactText: Int]
    private(set) var instructions: [Instruction] = []
    private var loops: [RowCode.Loop] = []
    private var operands: [Register] = []
    private var constants: [Slot] = []
    private var texts: [UInt8] = []
    /// Where constants are that have bytes: a long one may stand in many places.
    private var known: [ScalarValue: Int] = [:]

    /// Makes a builder for rows whose columns are at these places.
    init(options: CompatibilityOptions, places: [ExactText: Int]) {
        self.options = options
        self.places = places
    }

    /// The code so far.
    ///
    /// - Parameter headCount: How many instructions decide where the row is.
    /// - Returns: The code.
    func code(headCount: Int) -> RowCode {
        RowCode(
            instructions: instructions, headCount: headCount, loops: loops, operands: operands,
            constants: constants, texts: texts, options: options)
    }

    /// Appends an instruction; returns where its value will be.
    @discardableResult
    mutating func emit(_ instruction: Instruction) -> Register {
        instructions.append(instruction)
        return instructions.count - 1
    }

    /// Appends a loop over the elements of a value; what is appended from now on is done for each.
    mutating func beginLoop(over argument: Register) {
        endLoop()
        loops.append(RowCode.Loop(argument: argument, code: instructions.count..<instructions.count))
    }

    /// Ends the code of the innermost loop, if there is one: what is appended from now on belongs to none.
    mutating func endLoop() {
        guard let loop = loops.popLast() else { return }
        loops.append(
            RowCode.Loop(argument: loop.argument, code: loop.code.lowerBound..<instructions.count))
    }

    /// Appends the instructions of an expression; returns where its value will be.
    mutating func compile(_ expression: Expression) -> Register {
        switch expression {
        case .literal(let value): return emit(.constant(constant(value)))
        case .column(_, let name):
            return places[name].map { emit(.column($0)) } ?? compile(.literal(.null))
        case .element(.element(let loop), let part): return emit(.element(loop, part))
        case .element, .parameter, .request, .table:
            preconditionFailure("A lowered expression reads columns and elements alone.")
        case .call(.ifnull, let arguments): return firstValue(of: arguments)
        case .call(.iif, let arguments): return choice(arguments)
        case .call(let function, let arguments):
            let first = compile(operands: arguments)
            return emit(.call(function, first: first, count: arguments.count))
        case .and(let all): return all.isEmpty ? compile(.literal(ScalarValue(true))) : conjunction(all)
        case .or(let all): return all.isEmpty ? compile(.literal(ScalarValue(false))) : disjunction(all)
        case .between(let value, let low, let high):
            return emit(.between(first: compile(operands: [value, low, high])))
        case .choice(let base, let branches, let otherwise): return choice(base, branches, otherwise)
        case .oneOf(let value, let others): return oneOf(value, others)
        case .cast(_, let inner), .not(let inner), .isNull(let inner), .isTrue(let inner, _):
            return emit(Self.instruction(expression, compile(inner)))
        case .arithmetic(_, let left, let right), .concat(let left, let right),
            .member(let left, let right, _), .comparison(_, let left, let right),
            .isSame(let left, let right), .contains(let left, let right), .overlaps(let left, let right):
            let first = compile(left)
            return emit(Self.instruction(expression, first, compile(right)))
        }
    }

    private mutating func constant(_ value: ScalarValue) -> Int {
        switch value {
        case .text, .blob:
            if let place = known[value] { return place }
            known[value] = constants.count
        case .null, .integer, .wide, .real: break
        }
        constants.append(Slot(scalar: value, in: &texts))
        return constants.count - 1
    }

    private static func instruction(_ expression: Expression, _ inner: Register) -> Instruction {
        switch expression {
        case .cast(let type, _): .cast(type, inner)
        case .not: .not(inner)
        case .isTrue(_, let isTrue): .isTrue(inner, isTrue)
        default: .isNull(inner)
        }
    }

    private static func instruction(
        _ expression: Expression, _ left: Register, _ right: Register
    ) -> Instruction {
        switch expression {
        case .arithmetic(let arithmetic, _, _): .arithmetic(arithmetic, left, right)
        case .member(_, _, let form): .member(left, right, form)
        case .comparison(let comparison, _, _): .compare(comparison, left, right)
        case .isSame: .isSame(left, right)
        case .contains: .contains(list: left, right)
        case .overlaps: .overlaps(left, right)
        default: .concat(left, right)
        }
    }

    /// Compiles expressions of which one instruction reads all; returns where their registers are in `operands`.
    private mutating func compile(operands expressions: [Expression]) -> Int {
        var registers: [Register] = []
        for expression in expressions { registers.append(compile(expression)) }
        operands += registers
        return operands.count - registers.count
    }
}

/// What is passed over.
extension CodeBuilder {
    /// Appends an instruction that is known once it is clear how much it passes over.
    private mutating func hold() -> Int { emit(.jump(over: 0)) }

    /// Puts an instruction where `hold` was called, which passes over all behind it.
    private mutating func put(at place: Int, _ make: (Int) -> Instruction) {
        instructions[place] = make(instructions.count - place - 1)
    }

    /// All hold.
    ///
    /// Each operand is computed, as the default engine does; one that can have no error need not be.
    private mutating func conjunction(_ all: [Expression]) -> Register {
        chain(all, skip: { .skipUnless($0, over: $1) }, { .and($0, $1) })
    }

    /// One holds; as `conjunction`.
    private mutating func disjunction(_ all: [Expression]) -> Register {
        chain(all, skip: { .skipWhen($0, over: $1) }, { .or($0, $1) })
    }

    private mutating func chain(
        _ all: [Expression], skip: (Register, Int) -> Instruction, _ both: (Register, Register) -> Instruction
    ) -> Register {
        var result = compile(all[0])
        if all.count == 1 { return emit(both(result, result)) }
        for operand in all.dropFirst() {
            // Of three values a first one that is NULL does not decide.
            if options.engine == .standard, operand.hasNoError {
                let place = hold()
                let next = compile(operand)
                put(at: place) { skip(result, $0) }
                result = emit(both(result, next))
            } else {
                result = emit(both(result, compile(operand)))
            }
        }
        return result
    }

    /// The first value that is not NULL; those behind it are not computed.
    private mutating func firstValue(of arguments: [Expression]) -> Register {
        guard let last = arguments.last else { return compile(.literal(.null)) }
        var (moves, skips): ([(place: Int, from: Register)], [(place: Int, condition: Register)]) = ([], [])
        for argument in arguments.dropLast() {
            let value = compile(argument)
            moves.append((hold(), value))
            let isNull = emit(.isNull(value))
            skips.append((hold(), isNull))
        }
        let value = compile(last)
        let end = emit(.move(value, to: instructions.count))
        for move in moves { instructions[move.place] = .move(move.from, to: end) }
        for skip in skips { put(at: skip.place) { .skipUnless(skip.condition, over: $0) } }
        return end
    }

    /// `iif`: a condition and two values, of which one may be missing.
    private mutating func choice(_ arguments: [Expression]) -> Register {
        guard let condition = arguments.first else { return compile(.literal(.null)) }
        let values = Array(arguments.dropFirst()) + [.literal(.null), .literal(.null)]
        return choice(nil, [.init(when: condition, then: values[0])], values[1])
    }

    /// `CASE`: all branches move their value into the register of the last one.
    private mutating func choice(
        _ base: Expression?, _ branches: [Expression.Branch], _ otherwise: Expression?
    ) -> Register {
        var compared: Register?
        if let base { compared = compile(base) }
        var (moves, jumps): ([(place: Int, from: Register)], [Int]) = ([], [])
        for branch in branches {
            var condition = compile(branch.condition)
            if let compared { condition = emit(.compare(.equal, compared, condition)) }
            let place = hold()
            let value = compile(branch.result)
            moves.append((hold(), value))
            jumps.append(hold())
            put(at: place) { .skipUnless(condition, over: $0) }
        }
        let value = compile(otherwise ?? .literal(.null))
        let end = emit(.move(value, to: instructions.count))
        for move in moves { instructions[move.place] = .move(move.from, to: end) }
        for jump in jumps { put(at: jump) { .jump(over: $0) } }
        return end
    }

    /// Whether a value is one of others; in the default engine these are not computed for NULL.
    private mutating func oneOf(_ value: Expression, _ others: [Expression]) -> Register {
        let left = compile(value)
        var place: Int?
        var isNull = left
        if options.engine == .standard {
            isNull = emit(.isNull(left))
            place = hold()
        }
        var registers = [left]
        for other in others { registers.append(compile(other)) }
        if let place { put(at: place) { .skipWhen(isNull, over: $0) } }
        operands += registers
        return emit(.oneOf(first: operands.count - registers.count, count: registers.count))
    }
}

extension Expression {
    /// Whether it is sure to have a value in the default engine; false if that is not looked at.
    fileprivate var hasNoError: Bool {
        switch self {
        case .literal, .column, .element, .parameter, .request, .table: true
        case .not(let inner), .isNull(let inner), .isTrue(let inner, _): inner.hasNoError
        case .and(let all), .or(let all): all.allSatisfy(\.hasNoError)
        case .comparison(_, let left, let right), .isSame(let left, let right):
            left.hasNoError && right.hasNoError && !(left.mayBeBlob && right.mayBeBlob)
        default: false
        }
    }

    /// Whether its value may be a blob; two of them cannot be compared.
    private var mayBeBlob: Bool {
        switch self {
        case .literal(.blob), .column: true
        default: false
        }
    }
}
