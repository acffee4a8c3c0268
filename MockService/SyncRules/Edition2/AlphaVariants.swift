import PowerSyncWire

/// Makes the variant of a term of edition 2: its keys are in the order of the conditions, the same column twice is two
/// keys (service 5, 6.7; LANGUAGE.md 8).
struct AlphaVariants {
    /// The tables whose rows are synced.
    let table: TablePattern
    /// What the client's table is called.
    let type: RowProcessor.OutputType
    /// The client's columns.
    let outputs: [RowProcessor.Output]
    /// What of an older edition the configuration keeps.
    let options: CompatibilityOptions

    /// A variant that is being made.
    private struct Draft {
        var rows = ParameterMatch.Conjunction()
        /// For each key whether NULL has a bucket, as recorded of what a sub-select is asked for.
        var listsNull: [Bool] = []
        var gates: [Expression] = []
        var steps: [RequestSide.Step] = []
        var keys: [[Expression]] = []
    }

    /// The variant of a term.
    func variant(_ term: [AlphaCondition]) -> Variant {
        var draft = Draft()
        for condition in term {
            switch condition {
            case .value(let value, _) where value.source == .request: draft.gates.append(value.expression)
            case .value(let value, _): draft.rows.filters.append(value.expression)
            case .match(let pair, _): add(pair, to: &draft)
            case .selection(let subquery): add(subquery, to: &draft)
            case .and, .or, .not, .invalid: preconditionFailure("A term is a conjunction of what is right.")
            }
        }
        return Variant(
            processor: processor(draft),
            request: RequestSide(gates: draft.gates, steps: draft.steps, keys: draft.keys))
    }

    private func add(_ pair: ParameterMatch.Pair, to draft: inout Draft) {
        draft.rows.pairs.append(pair)
        draft.listsNull.append(pair.isArray)
        let value = pair.parameter.isArray ? element(of: pair.request, &draft) : pair.request
        draft.keys.append([value])
    }

    /// An element of an array of the request, which is walked in a step of its own; other JSON has none, and what is no
    /// JSON text is an error of the subscription (service 3.6; 9.2, P24).
    private func element(of array: Expression, _ draft: inout Draft) -> Expression {
        let element = Input.element(draft.steps.count)
        // An index is an integer; a member has its name, a single value nothing.
        let isOfArray = Expression.comparison(
            .equal, .call(.typeof, [.element(element, .key)]), .literal(ScalarValue(text: "integer")))
        draft.steps.append(.elements(array, filters: [isOfArray]))
        return .element(element, .value)
    }

    /// A sub-select is a lookup: for a value of the row it has those of the key, for one of the request it is a gate.
    private func add(_ subquery: AlphaSubquery, to draft: inout Draft) {
        draft.gates += subquery.gates
        let conditions = RowConditions(
            subquery.rows, RowChecks(ParameterMatch(subquery.rows)), options)
        var rowKeys = conditions.values
        var requestKeys = subquery.rows.pairs.map { [$0.request] }
        let operand = subquery.operand.expression
        let isOfRow = subquery.operand.source == .row
        if !isOfRow {
            rowKeys.append(subquery.column)
            let value = subquery.isArray ? element(of: operand, &draft) : operand
            requestKeys.append([value])
        }
        // NULL is a bucket of rows, as recorded, but no value of a sub-select leads there (service 5).
        let notNull = isOfRow ? [Expression.not(.isNull(subquery.column))] : []
        let lookup = LookupDefinition(
            name: ExactText(""), table: subquery.table, expansions: conditions.expansions,
            filters: conditions.filters + notNull, keys: rowKeys, outputs: isOfRow ? [subquery.column] : [])
        let number = draft.steps.count
        draft.steps.append(.lookup(lookup, keys: requestKeys))
        guard isOfRow else { return }
        let found = Expression.column(.row(number), ExactText("0"))
        let parameter = ParameterMatch.Parameter(key: ExactText("\(number)"), isArray: false)
        draft.rows.pairs.append(
            ParameterMatch.Pair(
                row: operand, isArray: subquery.isArray, parameter: parameter, request: found))
        draft.listsNull.append(true)
        draft.keys.append([found])
    }

    private func processor(_ draft: Draft) -> RowProcessor {
        let conditions = RowConditions(draft.rows, RowChecks(ParameterMatch(draft.rows)), options)
        var filters = conditions.filters
        var form = OutputForm.edition(2)
        if draft.listsNull.contains(true) {
            form.insert(.listsNull)
            // Where NULL has a bucket for one key, it has none for another.
            for (key, listsNull) in zip(conditions.values, draft.listsNull) where !listsNull {
                filters.append(.not(.isNull(key)))
            }
        }
        return RowProcessor(
            table: table, type: type, expansions: conditions.expansions, filters: filters,
            keys: conditions.values, outputs: outputs, form: form)
    }
}
