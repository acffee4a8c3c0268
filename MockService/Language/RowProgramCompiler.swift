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
        var matching: [(source: Int, processor: RowProcessor)] = []
        for (index, source) in config.sources.enumerated() {
            for processor in source.processors
            where processor.schema == ExactText(schema) && processor.table == ExactText(table) {
                matching.append((index, processor))
            }
        }
        let groups = OutputGroups.numbers(
            matching.map { match -> (output: SharedOutput, isRepeated: Bool)? in
                (output: SharedOutput(match.processor), isRepeated: false)
            })
        return zip(matching, groups).map { match, group in
            compiler.program(match.processor, source: match.source, outputGroup: group)
        }
    }

    /// What an output is.
    private struct SharedOutput: Hashable {
        let type: ExactText
        let outputs: [RowProcessor.Output]

        init(_ processor: RowProcessor) {
            type = processor.outputTable
            outputs = processor.outputs
        }
    }

    /// The program of a processor; it begins with what decides on the bucket.
    private func program(_ processor: RowProcessor, source: Int, outputGroup: Int?) -> RowProgram {
        var compiler = self
        for filter in processor.filters {
            let register = compiler.compile(filter)
            compiler.code.append(.require(register))
        }
        let keys = processor.partitionKeys.map { compiler.compile($0) }
        for key in keys { compiler.code.append(.requirePart(key)) }
        let headCount = compiler.code.count
        let output = RowMembers(compiler.output(processor.outputs))
        let code = RowCode(
            instructions: compiler.code, headCount: headCount, constants: compiler.constants,
            texts: compiler.texts, options: CompatibilityOptions(edition: 3))
        return RowProgram(
            source: source, type: .named(processor.outputTable.text), code: code, keys: keys, output: output,
            outputGroup: outputGroup)
    }

    /// The columns of the client's table with their values, in order.
    private mutating func output(_ outputs: [RowProcessor.Output]) -> [RowMembers.Column] {
        var members: [RowMembers.Column] = []
        for output in outputs {
            switch output {
            case .allColumns:
                members += columns.enumerated().map { RowMembers.Column($1, .column($0)) }
            case .column(let expression, let name):
                if case .column(let column) = expression, let place = places[column] {
                    members.append(RowMembers.Column(name.text, .column(place)))
                } else {
                    members.append(RowMembers.Column(name.text, .value(compile(expression))))
                }
            }
        }
        return members
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
