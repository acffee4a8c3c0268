import PowerSyncWire

/// Looks up the names in one query of a bucket definition, and tells what is wrong with it (service 6.5, 6.6).
///
/// An expression that is wrong is nil, and what it is part of is, too; most messages go on to the next expression. What
/// cannot be read as a query at all, and a constant without a value, is a `QueryFailure`.
struct DefinitionQuery {
    /// What kind of query it is.
    enum Kind: Sendable {
        /// Rows of a table come into buckets.
        case data
        /// Rows of a table are found by a request.
        case lookup
        /// A request is all that there is; with or without elements of a JSON value of it.
        case request
        /// Rows of a table come into the buckets of a stream of edition 2.
        case stream
        /// Rows of a table are found for such a stream.
        case selection

        /// Whether it is of a stream.
        var isOfStream: Bool { self == .stream || self == .selection }
    }

    /// Its text.
    let text: QueryText
    /// What it is compiled with.
    let context: DefinitionContext
    /// What kind of query it is.
    private(set) var kind: Kind
    /// What its rows are of.
    private(set) var table: DefinitionTable?
    /// Of a data query the parameters of the bucket that may be NULL.
    var nullable: Set<ExactText> = []
    /// What is told before what its expressions have.
    private(set) var first = DiagnosticList()
    /// What its expressions have, in the order in which they were looked at.
    private(set) var ofExpressions = DiagnosticList()

    /// Makes a query of a text.
    init(_ text: QueryText, _ kind: Kind, _ context: DefinitionContext) {
        self.text = text
        self.kind = kind
        self.context = context
    }

    /// All that was told.
    var diagnostics: DiagnosticList {
        var all = first
        all.add(ofExpressions)
        return all
    }

    // What stands where, and what is wrong there.

    /// The SQL of a part of the text.
    func sql(_ range: Range<Int>) -> String { String(decoding: text.bytes[range], as: UTF8.self) }

    /// Notes something about an expression.
    mutating func tell(
        _ name: DiagnosticName, _ arguments: [String] = [], at range: Range<Int>, recorded: Recorded? = nil
    ) {
        ofExpressions.add(
            Diagnostic(name, arguments, at: text.range(range), isLegacy: true, recorded: recorded))
    }

    /// Notes what was told of a sub-select.
    mutating func add(_ list: DiagnosticList) { ofExpressions.add(list) }

    /// Notes something about the query; of all of it without a range.
    mutating func tellFirst(
        _ name: DiagnosticName, _ arguments: [String] = [], at range: Range<Int>? = nil
    ) {
        let place = range.map { text.range($0) } ?? text.content
        first.add(Diagnostic(name, arguments, at: place, isLegacy: true))
    }

    /// Why it is given up; of all of it without a range.
    func failure(
        _ name: DiagnosticName, _ arguments: [String] = [], at range: Range<Int>? = nil,
        recorded: Recorded? = nil
    ) -> QueryFailure {
        let place = range.map { text.range($0) } ?? text.content
        return QueryFailure(
            diagnostic: Diagnostic(name, arguments, at: place, isLegacy: true, recorded: recorded))
    }

    // The statement.

    /// Reads the one SELECT of the text.
    mutating func select() throws(QueryFailure) -> SelectSyntax {
        if let warning = FoldedComment.warning(of: text) { first.add(warning) }
        let statements: [StatementSyntax]
        do throws(SyntaxError) {
            statements = try SQLParser.parse(text.bytes)
        } catch {
            throw QueryFailure(diagnostic: StatementReader.diagnostic(error, in: text))
        }
        if statements.count > 1 { throw failure(.severalStatements, at: statements[1].range) }
        guard case .select(let select, _)? = statements.first else { throw failure(.notASelect) }
        return select
    }

    /// Tells of what is written and not supported.
    mutating func tellClauses(of select: SelectSyntax) {
        for clause in select.clauses { tellFirst(.unsupportedClause, [clause.name], at: clause.range) }
        if let lock = select.lock { tellFirst(.unsupportedLock, at: lock) }
        if select.isDistinct { tellFirst(.distinctUnsupported) }
    }

    /// Takes up the table that rows are of, and returns its pattern.
    mutating func read(_ source: SourceSyntax, schema: NameSyntax?, name: NameSyntax) -> TablePattern {
        let pattern = TablePattern(schema, name, context.options)
        let known = context.columns(of: pattern)
        if context.schema != nil, known == nil {
            let schemaName = schema?.text ?? context.options.defaultSchema
            tellFirst(.tableNotFound, [schemaName.text, name.text.text], at: source.namedRange)
        }
        let content = DefinitionTable.Content.table(pattern, known: known)
        table = DefinitionTable(name: source.alias?.text ?? name.text, content: content)
        return pattern
    }

    /// Takes it for a query that reads no table.
    mutating func readNoTable() { kind = .request }

    /// Takes up the elements of a `json_each`.
    mutating func readElements(of call: CallSyntax, _ source: SourceSyntax) {
        table = DefinitionTable(name: source.alias?.text ?? call.name.text, content: .elements)
    }

    /// The name of a column of the result.
    ///
    /// - Throws: `QueryFailure` if it has none.
    func name(of item: SelectSyntax.Item) throws(QueryFailure) -> ExactText {
        if let alias = item.alias { return alias.text }
        if case .column(_, let name) = item.expression.content { return name.text }
        throw failure(.aliasRequired, at: item.expression.range)
    }

    /// What stands behind WHERE: true if nothing does; nil if it is wrong.
    mutating func condition(of select: SelectSyntax) throws(QueryFailure) -> DefinitionClause? {
        guard let condition = select.condition else {
            return .value(DefinitionValue(source: .constant, expression: .literal(ScalarValue(true))))
        }
        return try clause(condition)
    }
}

/// What queries of bucket definitions are compiled with.
struct DefinitionContext: Sendable {
    /// The tables that there are; nil if that is not known.
    let schema: SourceSchema?
    /// What stands in no configuration.
    let options: CompileOptions
    /// What computes constants.
    let evaluator: ExpressionRun

    /// The columns of tables; nil if there is no schema, or no such table in it.
    func columns(of pattern: TablePattern) -> Set<ExactText>? {
        guard let schema else { return nil }
        let tables = schema.tables.filter {
            pattern.matches(tag: options.defaultTag, schema: $0.schema, name: $0.name)
        }
        return tables.isEmpty ? nil : Set(tables.flatMap { $0.columns.map(\.name) })
    }
}
