import PowerSyncWire

/// A table as programs are made for it.
package struct TableShape: Sendable, Hashable {
    /// The tag of the connection.
    package let tag: ExactText
    /// The schema.
    package let schema: ExactText
    /// The name.
    package let name: ExactText
    /// The names of the columns in table order.
    package let columns: [ExactText]

    /// Makes a shape of its parts.
    package init(tag: ExactText, schema: ExactText, name: ExactText, columns: [ExactText]) {
        self.tag = tag
        self.schema = schema
        self.name = name
        self.columns = columns
    }
}

/// All that a plan makes of the rows of a table.
package struct TablePrograms: Sendable {
    /// Those of its sources, in the order of sources and their processors.
    package let rows: [RowProgram]
    /// Those of its lookups, in their order.
    package let lookups: [LookupProgram]
    /// Those of the payloads that set write checkpoints, in their order: what each finds are the values of
    /// `EventPlan.writeCheckpointColumns`.
    package let writeCheckpoints: [LookupProgram]
}

/// Makes programs of a plan's processors, lookups and events for tables of a shape.
package struct RowProgramCompiler {
    private let lowering: ExpressionLowering
    private var builder: CodeBuilder

    private init(_ pattern: TablePattern, _ shape: TableShape, _ options: CompatibilityOptions) {
        // The first column of its name counts.
        let places = Dictionary(
            shape.columns.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        lowering = ExpressionLowering(
            shape: shape, suffix: pattern.name.suffix(of: shape.name) ?? ExactText(""), options: options,
            places: places)
        builder = CodeBuilder(options: options, places: places)
    }

    /// Compiles all that a plan makes of a table's rows.
    ///
    /// - Parameters:
    ///   - plan: The plan.
    ///   - shape: The table.
    /// - Returns: The programs; none if the rows do not matter.
    package static func compile(_ plan: SyncPlan, _ shape: TableShape) -> TablePrograms {
        func isRead(_ pattern: TablePattern) -> Bool {
            pattern.matches(tag: shape.tag, schema: shape.schema, name: shape.name)
        }
        var drafts: [Draft] = []
        for (source, bucketSource) in plan.sources.enumerated() {
            for processor in bucketSource.processors where isRead(processor.table) {
                drafts.append(Draft(source, processor, shape, plan.options))
            }
        }
        let groups = OutputGroups.numbers(drafts.map(\.shared))
        let rows = zip(drafts, groups).map { $0.program(outputGroup: $1) }
        let lookups = plan.lookups.enumerated().filter { isRead($1.table) }.map { index, lookup in
            Self(lookup.table, shape, plan.options).program(lookup, definition: index)
        }
        let payloads = plan.writeCheckpointPayloads.enumerated().filter { isRead($1.table) }
        let writeCheckpoints = payloads.map { index, payload in
            let values = payload.values(of: EventPlan.writeCheckpointColumns)
            return Self(payload.table, shape, plan.options).program(values, definition: index)
        }
        return TablePrograms(rows: rows, lookups: lookups, writeCheckpoints: writeCheckpoints)
    }

    /// Appends what decides where a row is: filters as soon as what they read is there, then the keys.
    ///
    /// - Parameters:
    ///   - expansions: The arrays of the row, each in the scope of the elements before.
    ///   - filters: What must hold.
    ///   - keys: The values that it is found by.
    ///   - listsNull: Whether NULL is a key.
    /// - Returns: Where the keys will be.
    private mutating func appendHead(
        _ expansions: [Expression], _ filters: [Expression], _ keys: [Expression], listsNull: Bool = false
    ) -> [Register] {
        let lowered = filters.map { lowering.lowered($0, loops: expansions.count) }
        for depth in 0...expansions.count {
            if depth > 0 {
                let list = lowering.lowered(expansions[depth - 1], loops: depth - 1)
                let argument = builder.compile(list)
                builder.beginLoop(over: argument)
            }
            for filter in lowered where filter.loops == depth {
                let register = builder.compile(filter)
                builder.emit(.require(register))
            }
        }
        var registers: [Register] = []
        for key in keys {
            let register = builder.compile(lowering.lowered(key, loops: expansions.count))
            if listsNull {
                let isNull = builder.emit(.isNull(register))
                builder.emit(.skipWhen(isNull, over: 1))
            }
            builder.emit(.requireKey(register))
            registers.append(register)
        }
        builder.endLoop()
        return registers
    }

    private func program(_ lookup: LookupDefinition, definition: Int) -> LookupProgram {
        var compiler = self
        let keys = compiler.appendHead(lookup.expansions, lookup.filters, lookup.keys)
        let headCount = compiler.builder.instructions.count
        var outputs: [Register] = []
        for output in lookup.outputs {
            let lowered = lowering.lowered(output, loops: lookup.expansions.count)
            outputs.append(compiler.builder.compile(lowered))
        }
        return LookupProgram(
            definition: definition, code: compiler.builder.code(headCount: headCount), keys: keys,
            outputs: outputs)
    }
}

/// Row programs.
extension RowProgramCompiler {
    /// A processor whose output is known, but not yet with whom it shares it.
    private struct Draft {
        /// What an output is; equal ones have the same data, id and type.
        struct Output: Hashable {
            let type: ExactText
            let outputs: [RowProcessor.Output]
            let form: OutputForm
        }

        private let source: Int
        private let processor: RowProcessor
        private let compiler: RowProgramCompiler
        private let output: Output

        init(_ source: Int, _ processor: RowProcessor, _ shape: TableShape, _ options: CompatibilityOptions) {
            self.source = source
            self.processor = processor
            let compiler = RowProgramCompiler(processor.table, shape, options)
            self.compiler = compiler
            let type: ExactText =
                switch processor.type {
                case .named(let name): name
                case .table: shape.name
                }
            let outputs = processor.outputs.map { output -> RowProcessor.Output in
                guard case .column(let expression, let name) = output else { return output }
                let lowered = compiler.lowering.lowered(expression, loops: processor.expansions.count)
                return .column(lowered, name: name)
            }
            output = Output(type: type, outputs: outputs, form: processor.form)
        }

        /// The output, unless it differs from element to element; each element may need it again.
        var shared: (output: Output, isRepeated: Bool)? {
            let readsElements = output.outputs.contains { output in
                if case .column(let expression, _) = output { expression.loops > 0 } else { false }
            }
            return readsElements ? nil : (output: output, isRepeated: !processor.expansions.isEmpty)
        }

        func program(outputGroup: Int?) -> RowProgram {
            var compiler = self.compiler
            let keys = compiler.appendHead(
                processor.expansions, processor.filters, processor.keys,
                listsNull: processor.form.contains(.listsNull))
            let headCount = compiler.builder.instructions.count
            let columns = compiler.columns(of: output)
            return RowProgram(
                source: source, type: .named(output.type.text),
                code: compiler.builder.code(headCount: headCount), keys: keys, output: RowMembers(columns),
                outputGroup: outputGroup)
        }
    }

    /// Appends what computes the columns of the client's table; returns these in order.
    private mutating func columns(of output: Draft.Output) -> [RowMembers.Column] {
        var columns: [RowMembers.Column] = []
        // Of several `*` the first one says where columns are, and the last one what they are.
        let first = output.outputs.firstIndex(of: .allColumns)
        let last = output.outputs.lastIndex(of: .allColumns)
        for (index, item) in output.outputs.enumerated() {
            switch item {
            case .allColumns:
                if index != first, index != last { continue }
                for (place, name) in lowering.shape.columns.enumerated() {
                    let isHidden =
                        output.form.contains(.skipsUnderscores) && name.text.utf8.first == UInt8(ascii: "_")
                    if isHidden { continue }
                    let givesWay = output.form.contains(.aliasWins)
                    columns.append(.init(name.text, .column(place), givesWay: givesWay))
                }
            case .column(let expression, let name): columns.append(.init(name.text, value(of: expression)))
            }
        }
        return columns
    }

    /// A column is put out where it is; the SQLite engine has another value of some.
    private mutating func value(of expression: Expression) -> RowProgram.Value {
        if lowering.options.engine == .standard, case .column(_, let name) = expression,
            let place = lowering.places[name]
        {
            return .column(place)
        }
        return .value(builder.compile(expression))
    }
}

extension Expression {
    /// How many expansions it needs: element n is of expansion n.
    var loops: Int {
        inputs.members.reduce(0) { loops, input in
            if case .element(let number) = input { max(loops, number + 1) } else { loops }
        }
    }
}
