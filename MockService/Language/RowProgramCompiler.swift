import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncWire

/// Makes row programs of a configuration's processors for tables of a shape.
package struct RowProgramCompiler {
    private let columns: [String]
    /// Where the columns are; the first of its name counts.
    private let places: [ExactText: Int]
    private var code: [Instruction] = []
    private var constants: [Slot] = []
    private var texts: [UInt8] = []

    private init(columns: [String]) {
        self.columns = columns
        places = Dictionary(
            columns.enumerated().map { (ExactText($1), $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Compiles all that a configuration makes of a table's rows, in the order of its sources and their processors.
    ///
    /// - Parameters:
    ///   - config: The configuration.
    ///   - schema: The schema of the table.
    ///   - table: The table.
    ///   - columns: The names of its columns in table order.
    /// - Returns: The programs; none if the rows do not matter.
    package static func compile(
        _ config: CompiledSyncConfig, schema: String, table: String, columns: [String]
    ) -> [RowProgram] {
        let compiler = RowProgramCompiler(columns: columns)
        var programs: [RowProgram] = []
        for (index, source) in config.sources.enumerated() {
            for processor in source.processors
            where processor.schema == ExactText(schema) && processor.table == ExactText(table) {
                programs.append(compiler.program(processor, source: index))
            }
        }
        return programs
    }

    /// The program of a processor; it begins with what decides on the bucket.
    private func program(_ processor: RowProcessor, source: Int) -> RowProgram {
        var compiler = self
        var filters: [Register] = []
        for filter in processor.filters {
            let register = compiler.compile(filter)
            filters.append(register)
            // Where it leads is known once the keys are there.
            compiler.code.append(.skipUnless(register, over: 0))
        }
        let keys = processor.partitionKeys.map { RowProgram.Key.value(compiler.compile($0)) }
        let headCount = compiler.code.count
        for register in filters {
            compiler.code[register + 1] = .skipUnless(register, over: headCount - register - 2)
        }
        let output = OutputMembers(compiler.output(processor.outputs))
        return RowProgram(
            source: source, type: .named(processor.outputTable.text), code: compiler.code,
            headCount: headCount, filters: filters, keys: keys, members: output.members, names: output.names,
            twins: output.twins, id: output.id, constants: compiler.constants, texts: compiler.texts,
            columns: compiler.columnsRead(by: output.members))
    }

    /// The columns of the client's table with their values, in order.
    private mutating func output(
        _ outputs: [RowProcessor.Output]
    ) -> [(name: String, value: RowProgram.Value)] {
        var members: [(name: String, value: RowProgram.Value)] = []
        for output in outputs {
            switch output {
            case .allColumns:
                members += columns.enumerated().map { (name: $1, value: RowProgram.Value.column($0)) }
            case .column(let expression, let name):
                if case .column(let column) = expression, let place = places[column] {
                    members.append((name: name.text, value: .column(place)))
                } else {
                    members.append((name: name.text, value: .value(compile(expression))))
                }
            }
        }
        return members
    }

    /// The columns that the instructions and the members read.
    private func columnsRead(by members: [RowProgram.Member]) -> Set<Int> {
        var read: Set<Int> = []
        for case .column(let column) in code { read.insert(column) }
        for member in members {
            if case .column(let column) = member.value { read.insert(column) }
        }
        return read
    }

    private mutating func emit(_ instruction: Instruction) -> Register {
        code.append(instruction)
        return code.count - 1
    }

    private mutating func constant(_ value: SQLiteValue) -> Register {
        constants.append(Slot(value, in: &texts))
        return emit(.constant(constants.count - 1))
    }

    /// Appends the instructions of an expression; returns where its value will be.
    private mutating func compile(_ expression: Expression) -> Register {
        switch expression {
        case .literal(let value): return constant(value)
        case .column(let name):
            guard let place = places[name] else { return constant(.null) }
            return emit(.column(place))
        // A row brings no request along.
        case .parameter: return constant(.null)
        case .comparison(let comparison, let left, let right):
            let sides = (compile(left), compile(right))
            return emit(.compare(comparison, sides.0, sides.1))
        case .and(let left, let right):
            return pair(left, right, skip: { .skipUnless($0, over: $1) }, { .and($0, $1) })
        case .or(let left, let right):
            return pair(left, right, skip: { .skipWhen($0, over: $1) }, { .or($0, $1) })
        case .not(let inner):
            let value = compile(inner)
            return emit(.not(value))
        case .isNull(let inner):
            let value = compile(inner)
            return emit(.isNull(value))
        }
    }

    /// Compiles two expressions of which the second one is passed over if the first one decides.
    private mutating func pair(
        _ left: Expression, _ right: Expression, skip: (Register, Int) -> Instruction,
        _ both: (Register, Register) -> Instruction
    ) -> Register {
        let first = compile(left)
        let skipping = emit(skip(first, 0))
        let second = compile(right)
        code[skipping] = skip(first, code.count - skipping - 1)
        return emit(both(first, second))
    }
}

/// The members of a data text in the order in which JavaScript writes them (service 4.4).
private struct OutputMembers {
    private(set) var members: [RowProgram.Member] = []
    private(set) var names: [UInt8] = []
    private(set) var twins: [Int] = []
    let id: RowProgram.Value?

    init(_ columns: [(name: String, value: RowProgram.Value)]) {
        id = columns.last { ExactText($0.name) == ExactText("id") }?.value
        // JavaScript moves keys that are array indexes to the front. Those of one name stay in their order.
        let keys = columns.enumerated().map { (index: Self.arrayIndex($1.name), place: $0) }
        let indexes = keys.filter { $0.index != nil }
            .sorted { ($0.index ?? 0, $0.place) < ($1.index ?? 0, $1.place) }
        let ordered = (indexes + keys.filter { $0.index == nil }).map { columns[$0.place] }
        var places: [ExactText: [Int]] = [:]
        for (place, column) in ordered.enumerated() {
            places[ExactText(column.name), default: []].append(place)
        }
        var known: [ExactText: Range<Int>] = [:]
        for column in ordered {
            let name = ExactText(column.name)
            let start = names.count
            JSON.appendQuoted(column.name, to: &names)
            names.append(UInt8(ascii: ":"))
            if known[name] == nil {
                let same = places[name] ?? []
                let first = twins.count
                if same.count > 1 { twins += same }
                known[name] = first..<twins.count
            }
            members.append(
                RowProgram.Member(
                    name: start..<names.count, value: column.value, twins: known[name] ?? 0..<0))
        }
    }

    private static func arrayIndex(_ name: String) -> UInt32? {
        guard name.utf8.first.map({ $0 >= 0x30 && $0 <= 0x39 }) == true, let index = UInt32(name),
            index < UInt32.max, String(index) == name
        else { return nil }
        return index
    }
}
