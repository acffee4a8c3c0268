import PowerSyncWire

/// A parameter query of a bucket definition: which of its buckets a request has (service 6.5).
struct ParameterQuery {
    /// What a definition says of all of its parameter queries.
    struct Definition {
        /// Its name.
        let name: ExactText
        /// The names of its parameters in order; nil before the first query that could be read.
        var parameters: [ExactText]?
        /// Whether its queries may rest on what clients say of themselves, without a warning.
        let acceptsDangerousQueries: Bool
    }

    /// The names of its columns in order; nil if it could not be read.
    let names: [ExactText]?
    /// The names of those that may be NULL.
    let nullable: Set<ExactText>
    /// The priority that it gives its buckets; nil if it gives none.
    let priority: Int?
    /// How a request finds its buckets, one for each alternative of its condition; none if something is wrong.
    let requests: [RequestSide]

    /// Compiles a query.
    ///
    /// - Parameters:
    ///   - text: The query.
    ///   - number: Its number in the definition, from 1.
    ///   - definition: The definition.
    ///   - context: What it is compiled with.
    ///   - options: What of an older edition the configuration keeps.
    ///   - diagnostics: Where it is noted what is wrong.
    init(
        _ text: QueryText, number: Int, of definition: Definition, _ context: DefinitionContext,
        _ options: CompatibilityOptions, _ diagnostics: inout DiagnosticList
    ) {
        var compiler = ParameterQueryCompiler(
            query: DefinitionQuery(text, .lookup, context), options: options, definition: definition,
            number: number)
        do throws(QueryFailure) {
            let select = try compiler.query.select()
            requests = try compiler.requests(of: select)
            names = compiler.outputs.map(\.name)
            nullable = compiler.nullable
            priority = compiler.priority
            diagnostics.add(compiler.query.diagnostics)
            diagnostics.add(compiler.warnings)
        } catch {
            requests = []
            names = nil
            nullable = []
            priority = nil
            diagnostics.add(error.diagnostic)
        }
    }
}

/// The steps from a query to the ways in which requests find buckets.
private struct ParameterQueryCompiler {
    /// A column of the result; without a value if something is wrong with it.
    struct Output {
        let name: ExactText
        let value: DefinitionValue?
    }

    var query: DefinitionQuery
    let options: CompatibilityOptions
    let definition: ParameterQuery.Definition
    let number: Int
    private(set) var outputs: [Output] = []
    private(set) var nullable: Set<ExactText> = []
    private(set) var priority: Int?
    private(set) var warnings = DiagnosticList()

    private static let priorityName = ExactText("_priority")

    init(
        query: DefinitionQuery, options: CompatibilityOptions, definition: ParameterQuery.Definition,
        number: Int
    ) {
        self.query = query
        self.options = options
        self.definition = definition
        self.number = number
    }

    mutating func requests(of select: SelectSyntax) throws(QueryFailure) -> [RequestSide] {
        let source = select.sources.first
        if select.sources.count > 1 { throw query.failure(.singleTable, at: source?.namedRange) }
        switch source?.content {
        case nil:
            query.readNoTable()
            return try requests(of: select, elementsOf: nil)
        case .call(let call, let range)?:
            let list = try elements(call, at: range, source)
            return try requests(of: select, elementsOf: list)
        case .table(let schema, let name)?:
            guard let source else { return [] }
            if source.alias != nil { throw query.failure(.tableAlias, at: source.namedRange) }
            query.tellClauses(of: select)
            let pattern = query.read(source, schema: schema, name: name)
            return try lookups(in: pattern, select)
        case .select?, .union?: throw query.failure(.subqueryUnsupported, at: source?.namedRange)
        }
    }

    // Of the request alone.

    /// The value whose elements a query reads.
    private mutating func elements(
        _ call: CallSyntax, at range: Range<Int>, _ source: SourceSyntax?
    ) throws(QueryFailure) -> Expression {
        guard let source, call.schema == nil, call.name.text == ExactText("json_each") else {
            throw query.failure(.functionNotDefined, [call.name.text.text], at: range)
        }
        guard call.arguments.count == 1, let argument = call.arguments.first else {
            let name = call.arguments.isEmpty ? DiagnosticName.tooFewArguments : .tooManyArguments
            throw query.failure(name, ["1"], at: range)
        }
        query.readNoTable()
        let list = try query.clause(argument)
        query.readElements(of: call, source)
        // Without a table there is no match, and what is wrong is told.
        guard case .value(let value)? = list else { return .literal(.null) }
        return value.expression
    }

    private mutating func requests(
        of select: SelectSyntax, elementsOf list: Expression?
    ) throws(QueryFailure) -> [RequestSide] {
        query.tellClauses(of: select)
        let condition = try query.condition(of: select)
        try readOutputs(of: select)
        warn(list.map { [$0] } ?? outputs.compactMap { $0.value?.expression })
        guard case .value(let value)? = condition else { return [] }
        // Without the option the element null is a text.
        let elements: [Expression] = options.fixedJSONExtract ? [] : [.element(.element(0), .value)]
        noteNullable(where: [value.expression], present: elements)
        let isAlwaysTrue = value.expression == .literal(ScalarValue(true))
        let conditions = isAlwaysTrue ? [] : [value.expression]
        let keys = outputs.compactMap { $0.value?.expression }
        guard keys.count == outputs.count else { return [] }
        let ordered = ordered(keys)
        guard let list else { return [RequestSide(gates: conditions, keys: ordered)] }
        return [RequestSide(steps: [.elements(list, filters: conditions)], keys: ordered)]
    }

    // Of a table.

    private mutating func lookups(
        in pattern: TablePattern, _ select: SelectSyntax
    ) throws(QueryFailure) -> [RequestSide] {
        let condition = try query.condition(of: select)
        let key = select.condition.map { ParameterSpelling(text: query.text).spelling($0) } ?? ""
        let match = condition.map { query.match($0, key: key) }
        try readOutputs(of: select)
        let pairs = match?.alternatives.flatMap(\.pairs) ?? []
        warn(pairs.map(\.request))
        let values = outputs.compactMap(\.value)
        guard let match, values.count == outputs.count else { return [] }
        for alternative in match.alternatives { noteNullable(of: alternative) }
        let checks = RowChecks(match)
        return match.alternatives.indices.map { request($0, of: match, checks, values, in: pattern) }
    }

    /// How a request finds the rows of one alternative.
    private func request(
        _ index: Int, of match: ParameterMatch, _ checks: RowChecks, _ values: [DefinitionValue],
        in pattern: TablePattern
    ) -> RequestSide {
        let alternative = match.alternatives[index]
        let conditions = RowConditions(alternative, checks, options)
        var steps: [RequestSide.Step] = []
        var rowKeys: [Expression] = []
        var requestKeys: [[Expression]] = []
        for (pair, value) in zip(alternative.pairs, conditions.values) {
            if pair.isArray {
                // An element that is NULL is found by NULL, as recorded, which keys of lookups are not.
                rowKeys += Self.nullable(value)
                requestKeys += Self.nullable(pair.request).map { [$0] }
            } else if pair.parameter.isArray {
                steps.append(.elements(Self.array(pair.request), filters: []))
                rowKeys.append(value)
                requestKeys.append([.element(.element(0), .value)])
            } else {
                rowKeys.append(value)
                requestKeys.append([pair.request])
            }
        }
        let stage = steps.count
        let ofRow = values.filter { $0.source == .row }.map(\.expression)
        var place = 0
        let keys = values.map { value -> Expression in
            guard value.source == .row else { return value.expression }
            defer { place += 1 }
            return .column(.row(stage), ExactText("\(place)"))
        }
        let lookup = LookupDefinition(
            name: ExactText("\(definition.name.text)/\(number)/\(index + 1)"), table: pattern,
            expansions: conditions.expansions, filters: conditions.filters, keys: rowKeys, outputs: ofRow)
        steps.append(.lookup(lookup, keys: requestKeys))
        return RequestSide(steps: steps, keys: ordered(keys))
    }

    /// Two keys that tell NULL from all other values.
    private static func nullable(_ value: Expression) -> [Expression] {
        [.isNull(value), .call(.ifnull, [value, .literal(.integer(0))])]
    }

    /// A value if it is a JSON array that has elements, else NULL.
    private static func array(_ value: Expression) -> Expression {
        let hasElements = Expression.Branch(when: .call(.jsonArrayLength, [value]), then: value)
        let isJSON = Expression.Branch(
            when: .call(.jsonValid, [value]), then: .choice(base: nil, [hasElements], otherwise: nil))
        return .choice(base: nil, [isJSON], otherwise: nil)
    }

    // Columns.

    private mutating func readOutputs(of select: SelectSyntax) throws(QueryFailure) {
        for item in select.items {
            if case .star = item.expression.content {
                query.tell(.starInParameters, at: item.expression.range)
                continue
            }
            let name = try query.name(of: item)
            if name == Self.priorityName {
                readPriority(item.expression)
                continue
            }
            var output = Output(name: name, value: nil)
            switch try query.clause(item.expression) {
            case .value(let value)?: output = Output(name: name, value: value)
            case .match?: query.tell(.matchInColumn, at: item.expression.range)
            case nil: break
            }
            outputs.append(output)
        }
    }

    private mutating func readPriority(_ syntax: ExpressionSyntax) {
        guard case .integer(let digits) = syntax.content else {
            return query.tell(.priorityLiteral, at: syntax.range)
        }
        guard let number = Int(digits), (0...3).contains(number) else {
            return query.tell(.priorityRange, at: syntax.range)
        }
        priority = number
    }

    /// Notes which columns may be NULL where an alternative holds: what rows are found by is not, but for elements.
    private mutating func noteNullable(of alternative: ParameterMatch.Conjunction) {
        let pairs = alternative.pairs.filter { !$0.isArray }
        let gates = pairs.filter { $0.row == .literal(ScalarValue(true)) }.map(\.request)
        let found = pairs.flatMap { $0.parameter.isArray ? [$0.row] : [$0.row, $0.request] }
        noteNullable(where: alternative.filters + gates, present: found)
    }

    /// Notes which columns may be NULL where conditions hold.
    private mutating func noteNullable(where conditions: [Expression], present: [Expression]) {
        let present = Set(conditions.flatMap(\.presentWhereTrue) + present)
        for output in outputs where output.value?.expression.mayBeNull(where: present) == true {
            nullable.insert(output.name)
        }
    }

    /// Values in the order of the definition's parameters, which that of its first query is.
    private func ordered(_ values: [Expression]) -> [[Expression]] {
        guard let names = definition.parameters else { return values.map { [$0] } }
        let places = Dictionary(
            outputs.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        return names.compactMap { name in places[name].map { [values[$0]] } }
    }

    /// Warns of values of the request that clients may choose, if none of them is of the token.
    private mutating func warn(_ values: [Expression]) {
        let sources = values.reduce(into: Set<RequestParameter.Source>()) { $0.formUnion($1.requestSources) }
        guard !definition.acceptsDangerousQueries, sources == [.connection] else { return }
        warnings.add(Diagnostic(.dangerousQuery, at: query.text.content, isLegacy: true))
    }
}

extension Expression {
    /// The parts of the request that it reads.
    fileprivate var requestSources: Set<RequestParameter.Source> {
        switch self {
        case .parameter(let parameter): [parameter.source]
        case .request(let source): [source]
        default: children.reduce(into: Set()) { $0.formUnion($1.requestSources) }
        }
    }
}
