import PowerSyncWire

/// A data query of a bucket definition, or a payload of an event: what puts rows of a table into its buckets, or is made of
/// them beside buckets (service 6.6, 7.9).
struct DataQuery {
    /// What puts them there, one for each alternative of its condition; none if something is wrong.
    let processors: [RowProcessor]

    /// Compiles a query.
    ///
    /// - Parameters:
    ///   - text: The query.
    ///   - parameters: The names of the bucket's parameters in order; nil if no parameter query could be read.
    ///   - nullable: Those that may be NULL.
    ///   - context: What it is compiled with.
    ///   - options: What of an older edition the configuration keeps.
    ///   - isPayload: Whether it is of an event: then its rows need no id.
    ///   - diagnostics: Where it is noted what is wrong.
    init(
        _ text: QueryText, parameters: [ExactText]?, nullable: Set<ExactText> = [],
        _ context: DefinitionContext, _ options: CompatibilityOptions, isPayload: Bool = false,
        _ diagnostics: inout DiagnosticList
    ) {
        var compiler = DataQueryCompiler(
            query: DefinitionQuery(text, .data, context), options: options, isPayload: isPayload)
        compiler.query.nullable = nullable
        do throws(QueryFailure) {
            processors = try compiler.processors(parameters)
            diagnostics.add(compiler.query.diagnostics)
        } catch {
            processors = []
            diagnostics.add(error.diagnostic)
        }
    }
}

/// The steps from a query to processors.
private struct DataQueryCompiler {
    var query: DefinitionQuery
    let options: CompatibilityOptions
    let isPayload: Bool

    mutating func processors(_ names: [ExactText]?) throws(QueryFailure) -> [RowProcessor] {
        guard let names else { throw query.failure(.parametersUndefined) }
        let select = try query.select()
        guard select.sources.count == 1, let source = select.sources.first,
            case .table(let schema, let name) = source.content
        else { throw query.failure(.singleTable, at: select.sources.first?.namedRange) }
        query.tellClauses(of: select)
        let pattern = query.read(source, schema: schema, name: name)
        let condition = try query.condition(of: select)
        let key = select.condition.map { ParameterSpelling(text: query.text).spelling($0) } ?? ""
        let match = condition.map { query.match($0, key: key) }
        let isCovered = tellUncovered(match, names, at: select.range)
        let outputs = try query.outputs(of: select, refusing: .bucket, .parameterInExpression)
        if !outputs.hasID, !isPayload { query.tellFirst(.idRequired, at: select.items.first?.namedRange) }
        guard let match, isCovered else { return [] }
        let type = RowProcessor.OutputType(of: pattern, name, alias: source.alias)
        let checks = RowChecks(match)
        return match.alternatives.map { alternative in
            let conditions = RowConditions(alternative, checks, options)
            return processor(pattern, type, outputs.columns, conditions, alternative, names)
        }
    }

    /// Tells of a condition that does not use the very parameters of the bucket; true if it does.
    ///
    /// A condition that is wrong has none, and is told if the bucket has two parameters of one name, as recorded.
    private mutating func tellUncovered(
        _ match: ParameterMatch?, _ names: [ExactText], at range: Range<Int>
    ) -> Bool {
        let expected = names.map { "bucket.\($0.text)" }
        let found = match?.parameters.map(\.key.text) ?? []
        let all = Set((expected + found).map { ExactText($0) })
        guard all.count != expected.count || (match != nil && all.count != found.count) else { return true }
        query.tellFirst(.parametersUncovered, [Self.list(expected), Self.list(found)], at: range)
        return false
    }

    private static func list(_ names: [String]) -> String {
        "[\(names.map { JSON.quoted($0) }.joined(separator: ","))]"
    }

    /// What puts rows of one alternative into buckets: its keys are those of the parameters, in their order.
    private func processor(
        _ pattern: TablePattern, _ type: RowProcessor.OutputType, _ outputs: [RowProcessor.Output],
        _ conditions: RowConditions, _ alternative: ParameterMatch.Conjunction, _ names: [ExactText]
    ) -> RowProcessor {
        var filters = conditions.filters
        var keys: [Expression] = []
        let hasArray = !conditions.expansions.isEmpty
        for name in names {
            let places = alternative.pairs.indices.filter {
                alternative.pairs[$0].parameter.key == ExactText("bucket.\(name.text)")
            }
            let values = places.map { conditions.values[$0] }
            guard let key = values.first else { continue }
            keys.append(key)
            filters += values.dropFirst().map { Expression.comparison(.equal, key, $0) }
            // Where elements that are NULL have a bucket, other values that are have none.
            let isElement = places.first.map { alternative.pairs[$0].isArray } ?? false
            if hasArray, !isElement { filters.append(.not(.isNull(key))) }
        }
        var form = OutputForm.edition(1)
        if hasArray { form.insert(.listsNull) }
        return RowProcessor(
            table: pattern, type: type, expansions: conditions.expansions, filters: filters, keys: keys,
            outputs: outputs, form: form)
    }
}
