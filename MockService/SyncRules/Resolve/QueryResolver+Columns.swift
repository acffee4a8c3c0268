import PowerSyncWire

/// The columns of a query, and the row that they make it sync (service 6.4).
extension QueryResolver {
    /// What a query syncs.
    private struct Result {
        /// The row; nil as long as no column names one.
        var primary: Input?
        /// The client's columns.
        var outputs: [RowProcessor.Output] = []
        /// The first alias.
        var alias: ExactText?
    }

    /// Resolves a query that is no common table expression.
    ///
    /// - Parameters:
    ///   - select: The query.
    ///   - statement: Where its statement stands, up to the last parenthesis.
    /// - Returns: The query, also if something in it is wrong; nil if it has no row to sync, which is told.
    mutating func query(_ select: SelectSyntax, statement: Range<Int>) -> ResolvedQuery? {
        let body = body(of: select, statement: statement, outer: Scope())
        var result = Result()
        for item in select.items { add(item, in: body.scope, to: &result) }
        if result.primary == nil { tell(.noTableColumn, at: select.range) }
        tellClauses(of: select)
        guard let primary = result.primary, let type = types[primary] else { return nil }
        tellRename(primary, body.scope)
        tellNames(select, result.outputs)
        tellMixedArrays()
        let condition = body.conditions.count == 1 ? body.conditions[0] : .and(body.conditions)
        return ResolvedQuery(
            site: site(select.range), sources: sources, condition: condition, primary: primary, type: type,
            outputs: result.outputs)
    }

    private mutating func add(_ item: SelectSyntax.Item, in scope: Scope, to result: inout Result) {
        let range = item.expression.range
        if case .star(let qualifier) = item.expression.content {
            guard let relation = relation(qualifier, at: range, in: scope) else { return }
            if let alias = result.alias { tell(.starAfterAlias, [alias.text], at: range) }
            return addAll(of: relation, at: range, to: &result)
        }
        let value = expression(item.expression, in: scope)
        let name = name(of: item)
        if name == nil { tell(.unnamedColumn, at: range) }
        result.alias = result.alias ?? item.alias?.text
        add(value, name ?? sql(range), to: &result)
    }

    /// Adds all columns of a source.
    private mutating func addAll(of relation: Relation, at range: Range<Int>, to result: inout Result) {
        switch relation.content {
        case .row(let input, _, _):
            guard takesNodes() else { return }
            if takes([Reference(input, at: site(range))], &result) { result.outputs.append(.allColumns) }
        case .elements: tell(.listInColumn, at: range)
        case .columns(let columns):
            for column in columns.all where takesNodes(columns.extent(of: column.name).size) {
                add(column.value, column.name, to: &result)
            }
        }
    }

    private mutating func add(_ value: Located, _ name: ExactText, to result: inout Result) {
        if takes(value.references, &result) { result.outputs.append(.column(value.expression, name: name)) }
    }

    /// Whether a column may read what it reads: one row alone, the same as all others; else the first thing is told.
    private mutating func takes(_ references: [Reference], _ result: inout Result) -> Bool {
        for reference in references {
            switch reference.input {
            case .row where result.primary == nil: result.primary = reference.input
            case .row where result.primary == reference.input: break
            case .row:
                let first = sources.first { $0.input == result.primary }
                tell(.twoPrimaries, [first?.name.text ?? ""], at: reference.site)
                return false
            case .element:
                tell(.listInColumn, [], at: reference.site)
                return false
            case .request:
                tell(.syncsRequest, [], at: reference.site)
                return false
            }
        }
        return true
    }

    /// Warns of rows that are synced under an alias that may stand there for a join alone (service 6.11).
    private mutating func tellRename(_ primary: Input, _ scope: Scope) {
        guard scope.own.count > 1 else { return }
        for relation in scope.own {
            guard case .row(primary, _, _) = relation.content, let rename = relation.rename else { continue }
            let (alias, table) = (rename.alias.text, rename.table.text)
            tell(.aliasRenames, [alias, table, table, alias], at: relation.site)
        }
    }

    /// Warns of names that stand twice and of rows without an id, where the real service is silent (service 6.4).
    private mutating func tellNames(_ select: SelectSyntax, _ outputs: [RowProcessor.Output]) {
        var names: Set<ExactText> = []
        for item in select.items {
            guard let name = name(of: item), !names.insert(name).inserted else { continue }
            tellOurs(.duplicateColumn, [name.text], at: item.expression.range, severity: .warning)
        }
        let hasID = outputs.contains { output in
            switch output {
            case .allColumns: true
            case .column(_, let name): name == ExactText("id")
            }
        }
        if !hasID, let first = select.items.first {
            tellOurs(.idRequired, at: first.range, severity: .warning)
        }
    }
}
