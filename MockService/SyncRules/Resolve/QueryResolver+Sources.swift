import PowerSyncWire

/// What stands in FROM.
extension QueryResolver {
    /// Adds a part of FROM to the names of its query.
    ///
    /// - Parameters:
    ///   - source: The part.
    ///   - statement: Where its SELECT stands with its parentheses.
    ///   - body: Names and conditions of its SELECT.
    mutating func add(_ source: SourceSyntax, in statement: Range<Int>, to body: inout Body) {
        guard takesNodes() else { return }
        let relation: Relation
        switch source.content {
        case .table(let schema, let name): relation = table(source, schema, name, &body)
        case .call(let call, _): relation = function(source, call, body.scope)
        case .select(let select, _):
            let inner = self.body(of: select, statement: select.range, outer: body.scope)
            let columns = self.columns(of: select, in: inner.scope)
            tellClauses(of: select)
            body.conditions += inner.conditions
            let renamed = renamed(columns, source, select.range)
            relation = self.relation(source, ExactText(""), .columns(renamed))
        case .union(let range):
            tell(.notASelect, at: range, hint: Hint.union)
            relation = self.relation(source, ExactText(""), .columns(ColumnList()))
        }
        if !body.scope.add(relation) {
            tell(.duplicateSource, [relation.name.text], at: source.namedRange)
        }
        tellJoin(source, statement)
        if let condition = source.condition {
            body.conditions.append(self.condition(condition, in: body.scope))
        }
    }

    /// Tells of a join that is none of those that are supported; the real service calls all of them FULL JOIN.
    private mutating func tellJoin(_ source: SourceSyntax, _ statement: Range<Int>) {
        switch source.join {
        case .none, .comma, .inner: break
        case .cross, .left, .right, .full:
            let message = DiagnosticName.joinUnsupported.message([SourceSyntax.Join.full.rawValue])
            let recorded = Recorded(.text(message, text.range(statement)))
            tell(.joinUnsupported, [source.join.rawValue], at: source.joinRange, recorded: recorded)
        }
        if let column = source.using.first { tell(.unsupportedClause, ["USING"], at: column.range) }
    }

    private func relation(
        _ source: SourceSyntax, _ name: ExactText, _ content: Relation.Content,
        rename: (alias: ExactText, table: ExactText)? = nil
    ) -> Relation {
        Relation(
            name: source.alias?.text ?? name, content: content, site: site(source.namedRange), rename: rename)
    }

    /// A table, or a common table expression.
    private mutating func table(
        _ source: SourceSyntax, _ schema: NameSyntax?, _ name: NameSyntax, _ body: inout Body
    ) -> Relation {
        if schema == nil, let entry = commonTable(name) {
            let inner = inlined(entry)
            body.conditions += inner.conditions
            let columns = renamed(inner.columns, source, source.range)
            return relation(source, name.text, .columns(columns))
        }
        let pattern = pattern(schema?.text, name)
        let type = RowProcessor.OutputType(of: pattern, name, alias: source.alias)
        let input = addRow(pattern, name: name.text, type: type, at: siteRange(source))
        var rename: (alias: ExactText, table: ExactText)?
        if let alias = source.alias, !alias.isQuoted, !name.isQuoted, alias.text != name.text {
            rename = (alias.text, name.text)
        }
        let known = knownColumns(pattern, named: name, source.namedRange)
        return relation(source, name.text, .row(input, pattern, known: known), rename: rename)
    }

    /// A function with rows: `json_each`; what others return is not known, and no edition evaluates them.
    private mutating func function(
        _ source: SourceSyntax, _ call: CallSyntax, _ scope: Scope
    ) -> Relation {
        let range = source.contentRange
        let isJSON = call.schema == nil && call.name.text == ExactText("json_each")
        let arguments = expressions(call.arguments, in: scope)
        if !isJSON {
            // The admin routes are silent about it, as recorded of `FROM sum(id)`.
            tellOurs(.unknownFunction, at: call.nameRange)
        } else if arguments.count < 1 {
            tell(.tooFewArguments, ["1"], at: range)
        } else if arguments.count > 1 {
            tell(.tooManyArguments, ["1"], at: range)
        }
        let argument = isJSON ? arguments.first : nil
        let input = addElements(
            argument ?? invalid(range), name: call.name.text, at: site(siteRange(source)))
        return relation(source, call.name.text, .elements(input, isJSON: isJSON))
    }

    /// Columns under the names that stand behind an alias.
    private mutating func renamed(
        _ columns: ColumnList, _ source: SourceSyntax, _ range: Range<Int>
    ) -> ColumnList {
        guard !source.columns.isEmpty else { return columns }
        guard source.columns.count == columns.names.count else {
            tell(.columnCount, ["\(source.columns.count)", "\(columns.names.count)"], at: range)
            return columns
        }
        var list = ColumnList()
        for (name, column) in zip(source.columns, columns.all) {
            let isNew = list.add(name.text, column.value)
            if !isNew { tell(.duplicateColumn, [name.text.text], at: name.range) }
        }
        return list
    }

    /// The tables that a name stands for; a schema may have the connection's tag before it: `"tag.schema"`.
    func pattern(_ schema: ExactText?, _ name: NameSyntax) -> TablePattern {
        var tag = NamePart.exact(context.options.defaultTag)
        var part = NamePart.exact(context.options.defaultSchema)
        if let schema {
            let parts = schema.text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { tag = NamePart(ExactText(String(parts[0]))) }
            part = NamePart(ExactText(String(parts[parts.count - 1])))
        }
        return TablePattern(tag: tag, schema: part, name: NamePart(name.text))
    }

    /// The columns of tables; nil if there is no schema, or no such table in it, which is told.
    private mutating func knownColumns(
        _ pattern: TablePattern, named name: NameSyntax, _ range: Range<Int>
    ) -> Set<ExactText>? {
        guard let schema = context.schema else { return nil }
        let tag = context.options.defaultTag
        let tables = schema.tables.filter { pattern.matches(tag: tag, schema: $0.schema, name: $0.name) }
        guard !tables.isEmpty else {
            let first = context.options.defaultSchema
            note(Diagnostic(.tableUnknown, at: text.range(range))) {
                pattern.name.isWildcard ? nil : NearestName(name.text).table(of: schema, default: first)
            }
            return nil
        }
        return Set(tables.flatMap { $0.columns.map(\.name) })
    }

    /// Where a source stands for messages about its join: from that word to the end of ON.
    private func siteRange(_ source: SourceSyntax) -> Range<Int> {
        switch source.join {
        case .none, .comma: source.namedRange
        default: source.joinRange.lowerBound..<source.end
        }
    }
}
