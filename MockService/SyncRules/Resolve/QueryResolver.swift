import PowerSyncWire

/// Looks up the names of one query of edition 3 (LANGUAGE.md 3).
///
/// It goes on behind what is wrong: sources first, then conditions, then columns, as the real service does.
struct QueryResolver {
    /// What a SELECT reads and asks for.
    struct Body {
        /// Its names.
        var scope: Scope
        /// Its conditions, those of its sources included.
        var conditions: [Condition] = []
    }

    /// What a condition stands in.
    enum Nesting {
        /// AND and OR alone, or NOT of NOT.
        case none
        /// NOT.
        case negation
        /// A value, such as a CASE.
        case value

        /// What stands behind NOT there.
        var negated: Nesting {
            switch self {
            case .none: .negation
            case .negation: .none
            case .value: .value
            }
        }
    }

    /// What it is resolved with.
    private(set) var context: ResolverContext
    /// What was found wrong.
    private(set) var diagnostics = DiagnosticList()
    /// Where the names of the common table expressions stand that were used.
    private(set) var used: Set<TextRange> = []
    /// What values come from, by their inputs.
    private(set) var sources: [ResolvedSource] = []
    /// What the client's tables are called, by the rows that are synced.
    private(set) var types: [Input: RowProcessor.OutputType] = [:]
    /// The text that the syntax at hand is of: that of a common table expression while it is inlined.
    private(set) var text: QueryText
    /// Whether that is a common table expression, which sees no others.
    private(set) var isInCommonTable: Bool
    /// Whether what is wrong is told already: of a common table expression that is inlined.
    private var isSilent = false
    /// What the condition at hand stands in.
    private(set) var nesting = Nesting.none
    private var rowCount = 0
    private var elementCount = 0
    private var nodeCount = 0
    /// How many expressions and conditions stand around what is resolved.
    var level = 0
    private var isTooDeep = false

    /// Makes a resolver of a text.
    init(_ text: QueryText, _ context: ResolverContext, isInCommonTable: Bool = false) {
        self.text = text
        self.context = context
        self.isInCommonTable = isInCommonTable
    }

    // What stands where, and what is wrong there.

    /// A part of the text.
    func site(_ range: Range<Int>) -> Site { Site(text, range) }

    /// The SQL of a part of the text.
    func sql(_ range: Range<Int>) -> ExactText {
        ExactText(String(decoding: text.bytes[range], as: UTF8.self))
    }

    /// Notes something about a part of the text.
    mutating func tell(
        _ name: DiagnosticName, _ arguments: [String] = [], at range: Range<Int>, severity: Severity? = nil,
        recorded: Recorded? = nil
    ) {
        note(Diagnostic(name, arguments, at: text.range(range), severity: severity, recorded: recorded))
    }

    /// Notes something about a part of the text, with what may help.
    mutating func tell(
        _ name: DiagnosticName, _ arguments: [String] = [], at range: Range<Int>, hint: String?
    ) {
        note(Diagnostic(name, arguments, at: text.range(range)).hinting(hint))
    }

    /// Notes something about a place that may be in another text.
    mutating func note(_ diagnostic: Diagnostic) {
        if !isSilent { diagnostics.add(diagnostic) }
    }

    /// Notes a name that is not there, with the one that may be meant; only the first such names of a configuration have it.
    mutating func note(_ diagnostic: Diagnostic, suggesting name: () -> String?) {
        guard !isSilent, context.suggestionsLeft > 0 else { return note(diagnostic) }
        context.suggestionsLeft -= 1
        note(diagnostic.suggesting(name()))
    }

    /// Notes something that stands in this text or in a common table expression.
    mutating func tell(_ name: DiagnosticName, _ arguments: [String], at site: Site) {
        note(site.diagnostic(name, arguments, in: text))
    }

    /// Notes something that the admin routes are silent about.
    mutating func tellOurs(
        _ name: DiagnosticName, _ arguments: [String] = [], at range: Range<Int>, severity: Severity? = nil
    ) {
        tell(name, arguments, at: range, severity: severity, recorded: Recorded(.silent))
    }

    /// What stands in the place of an expression that is wrong.
    func invalid(_ range: Range<Int>) -> Located { Located(.literal(.null), at: site(range)) }

    /// Whether there is more in the query than it may have.
    private var isTooLarge: Bool { nodeCount > SyntaxLimits.nodes }

    /// Counts an expression or a source, or as many as a column of an inner query is made of; false if there are too
    /// many, which inlining makes possible.
    mutating func takesNodes(_ count: Int = 1) -> Bool {
        let wasTooLarge = isTooLarge
        nodeCount += count
        if isTooLarge, !wasTooLarge {
            let limit = "\(SyntaxLimits.nodes) expressions"
            diagnostics.add(Diagnostic(.tooLarge, [limit], at: text.content, recorded: Recorded(.silent)))
        }
        return !isTooLarge
    }

    /// Whether so many levels may stand where the resolver is; the first that may not are told.
    mutating func takesLevels(_ depth: Int) -> Bool {
        guard level + depth > SyntaxLimits.resolvedDepth else { return true }
        if !isTooDeep {
            isTooDeep = true
            let limit = "\(SyntaxLimits.resolvedDepth)"
            diagnostics.add(
                Diagnostic(.nestingTooDeep, [limit], at: text.content, recorded: Recorded(.silent)))
        }
        return false
    }

    // What values come from.

    /// Adds rows of a table.
    mutating func addRow(
        _ pattern: TablePattern, name: ExactText, type: RowProcessor.OutputType, at range: Range<Int>
    ) -> Input {
        let input = Input.row(rowCount)
        rowCount += 1
        types[input] = type
        sources.append(
            ResolvedSource(
                input: input, content: .table(pattern), name: name, site: site(range),
                isNested: nesting != .none))
        return input
    }

    /// Adds elements of a value.
    mutating func addElements(_ value: Located, name: ExactText, at site: Site) -> Input {
        let input = Input.element(elementCount)
        elementCount += 1
        sources.append(
            ResolvedSource(
                input: input, content: .elements(value), name: name, site: site, isNested: nesting != .none))
        return input
    }

    /// Does something in another nesting.
    mutating func within<Result>(_ inner: Nesting, _ body: (inout QueryResolver) -> Result) -> Result {
        let outer = nesting
        nesting = inner
        let result = body(&self)
        nesting = outer
        return result
    }

    /// The elements of an array as IN and `&&` read them.
    mutating func elements(of array: Located) -> Located {
        let input = addElements(array, name: ExactText("json_each"), at: array.site)
        return Located(
            .element(input, .value), at: array.site, references: [Reference(input, at: array.site)])
    }

    // What a SELECT is made of.

    /// Resolves sources and conditions of a SELECT.
    ///
    /// - Parameters:
    ///   - select: The SELECT.
    ///   - statement: Where it stands for messages that mean it with its parentheses.
    ///   - outer: The names around it.
    /// - Returns: Its names and conditions.
    mutating func body(of select: SelectSyntax, statement: Range<Int>, outer: Scope) -> Body {
        var body = Body(scope: outer.inner())
        for source in select.sources { add(source, in: statement, to: &body) }
        if let condition = select.condition {
            body.conditions.append(self.condition(condition, in: body.scope))
        }
        return body
    }

    /// Tells of what is written in a SELECT and not supported.
    mutating func tellClauses(of select: SelectSyntax) {
        for clause in select.clauses { tell(.unsupportedClause, [clause.name], at: clause.range) }
        if let lock = select.lock { tell(.unsupportedLock, at: lock) }
        if select.isDistinct { tellOurs(.distinctUnsupported, at: select.range, severity: .warning) }
    }

    /// The columns of a SELECT in FROM or of a common table expression; they have names, each once.
    mutating func columns(of select: SelectSyntax, in scope: Scope) -> ColumnList {
        var columns = ColumnList()
        for item in select.items {
            let range = item.expression.range
            if case .star = item.expression.content {
                tell(.starInSubquery, at: range)
                continue
            }
            let found = name(of: item)
            if found == nil { tell(.unnamedColumn, at: range) }
            let value = expression(item.expression, in: scope)
            // A column without a name is called as it is written.
            guard found != nil || range.count < 1_024 || takesNodes(range.count / 1_024) else { continue }
            let title = found ?? sql(range)
            if !columns.add(title, value) { tell(.duplicateColumn, [title.text], at: range) }
        }
        return columns
    }

    /// The name of a column of the result: its alias, or that of the column that it is.
    func name(of item: SelectSyntax.Item) -> ExactText? {
        if let alias = item.alias { return alias.text }
        if case .column(_, let name) = item.expression.content { return name.text }
        return nil
    }

    /// Tells what is wrong in a common table expression.
    mutating func check(_ select: SelectSyntax, statement: Range<Int>) {
        let body = body(of: select, statement: statement, outer: Scope())
        _ = columns(of: select, in: body.scope)
        tellClauses(of: select)
    }

    /// Columns and conditions of a common table expression at one of its uses, with inputs of their own.
    mutating func inlined(
        _ entry: CommonTableSet.Entry
    ) -> (columns: ColumnList, conditions: [Condition]) {
        used.insert(entry.table.nameRange)
        let (outer, wasIn, wasSilent) = (text, isInCommonTable, isSilent)
        (text, isInCommonTable, isSilent) = (entry.table.query, true, true)
        defer { (text, isInCommonTable, isSilent) = (outer, wasIn, wasSilent) }
        let body = body(of: entry.select, statement: entry.statement, outer: Scope())
        return (columns(of: entry.select, in: body.scope), body.conditions)
    }

    /// The common table expression of a name, where one may be named.
    func commonTable(_ name: NameSyntax) -> CommonTableSet.Entry? {
        isInCommonTable || isTooLarge ? nil : context.commonTables.entry(name.text)
    }
}
