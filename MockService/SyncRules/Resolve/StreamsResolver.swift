import PowerSyncWire

/// Looks up the names in the queries of a configuration of edition 3, stream by stream (LANGUAGE.md 3).
///
/// It is asked in the order in which mistakes are told: all common table expressions of the configuration, then for
/// each stream its own ones and its queries, and what nobody referred to at the end.
package struct StreamsResolver {
    private var context: ResolverContext
    /// The common table expressions of the configuration that can be used.
    private var tables: [CommonTable] = []
    /// Those of streams.
    private var streamTables: [CommonTable] = []
    /// Where the names of those stand that were used.
    private var used: Set<TextRange> = []

    /// Reads the common table expressions of the configuration.
    ///
    /// - Parameters:
    ///   - document: The configuration.
    ///   - schema: The tables that there are; nil if that is not known.
    ///   - options: What stands in no configuration.
    ///   - diagnostics: Where it is noted what is wrong.
    package init(
        _ document: SyncDocument, schema: SourceSchema? = nil, options: CompileOptions = CompileOptions(),
        _ diagnostics: inout DiagnosticList
    ) {
        context = ResolverContext(schema: schema, options: options, engine: document.options.engine)
        for entry in entries(document.commonTables, &diagnostics) {
            context.commonTables.add(entry)
            tables.append(entry.table)
        }
    }

    /// Takes up a stream: reads its common table expressions.
    package mutating func begin(_ stream: StreamDefinition, _ diagnostics: inout DiagnosticList) {
        let found = entries(stream.commonTables, &diagnostics)
        context.commonTables.begin(found)
        streamTables += found.map(\.table)
    }

    /// Looks up the names of a query of the stream.
    ///
    /// - Parameters:
    ///   - text: The query.
    ///   - diagnostics: Where it is noted what is wrong.
    /// - Returns: The query, also with mistakes in it; nil if it is no SELECT or has no row to sync.
    package mutating func resolve(
        _ text: QueryText, _ diagnostics: inout DiagnosticList
    ) -> ResolvedQuery? {
        guard let (select, statement) = StatementReader.select(text, &diagnostics) else { return nil }
        var resolver = QueryResolver(text, context)
        let query = resolver.query(select, statement: statement)
        diagnostics.add(resolver.diagnostics)
        used.formUnion(resolver.used)
        context.suggestionsLeft = resolver.context.suggestionsLeft
        return query
    }

    /// Tells of common table expressions that no query names: those of the configuration, then those of streams.
    package func finish(_ diagnostics: inout DiagnosticList) {
        for table in tables + streamTables where !used.contains(table.nameRange) {
            diagnostics.add(Diagnostic(.unreferencedCte, at: table.nameRange))
        }
    }

    /// Those of some common table expressions that can be used; what is wrong in them is told here and at no use.
    private mutating func entries(
        _ tables: [CommonTable], _ diagnostics: inout DiagnosticList
    ) -> [CommonTableSet.Entry] {
        var entries: [CommonTableSet.Entry] = []
        for table in tables {
            let read = StatementReader.select(table.query, &diagnostics)
            guard let (select, statement) = read else { continue }
            var resolver = QueryResolver(table.query, context, isInCommonTable: true)
            resolver.check(select, statement: statement)
            diagnostics.add(resolver.diagnostics)
            context.suggestionsLeft = resolver.context.suggestionsLeft
            if isTable(table.name) { diagnostics.add(Diagnostic(.cteShadows, at: table.nameRange)) }
            entries.append(CommonTableSet.Entry(table: table, select: select, statement: statement))
        }
        return entries
    }

    /// Whether the schema has a table of a name that needs no schema before it.
    private func isTable(_ name: ExactText) -> Bool {
        let tables = context.schema?.tables ?? []
        return tables.contains { $0.schema == context.options.defaultSchema && $0.name == name }
    }
}
