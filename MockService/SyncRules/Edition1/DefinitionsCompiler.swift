import PowerSyncWire

/// Compiles the bucket definitions of editions 1 and 2 (service 6.5, 6.6; LANGUAGE.md 8).
struct DefinitionsCompiler {
    /// A bucket definition, compiled.
    struct Compiled {
        /// What puts rows into its buckets.
        var processors: [RowProcessor] = []
        /// How requests find them, each with the priority that it gives them, if it gives one.
        var requests: [(side: RequestSide, priority: Int?)] = []
    }

    private let context: DefinitionContext
    private let options: CompatibilityOptions

    /// Makes a compiler.
    ///
    /// - Parameters:
    ///   - document: The configuration.
    ///   - schema: The tables that there are; nil if that is not known.
    ///   - options: What stands in no configuration.
    init(_ document: SyncDocument, schema: SourceSchema? = nil, options: CompileOptions = CompileOptions()) {
        self.options = document.options
        context = DefinitionContext(
            schema: schema, options: options, evaluator: ExpressionRun(options: document.options))
    }

    /// Compiles the bucket definitions of a configuration.
    ///
    /// - Parameters:
    ///   - document: The configuration.
    ///   - linker: Gets the definitions.
    ///   - diagnostics: Gets what is wrong with them.
    func compile(
        _ document: SyncDocument, _ linker: inout PlanLinker, _ diagnostics: inout DiagnosticList
    ) {
        for definition in document.definitions {
            diagnostics.add(definition.notes.first)
            let compiled = compile(definition, &diagnostics)
            diagnostics.add(definition.notes.last)
            linker.add(definition, compiled)
        }
    }

    private func compile(
        _ definition: BucketDefinition, _ diagnostics: inout DiagnosticList
    ) -> Compiled {
        var compiled = Compiled()
        var nullable: Set<ExactText> = []
        var common = ParameterQuery.Definition(
            name: definition.name, parameters: nil,
            acceptsDangerousQueries: definition.acceptsDangerousQueries)
        if let queries = definition.parameters {
            for (index, text) in queries.enumerated() {
                let query = ParameterQuery(
                    text, number: index + 1, of: common, context, options, &diagnostics)
                guard let names = query.names else { continue }
                tell(names, query.priority, of: text, definition, common.parameters, &diagnostics)
                common.parameters = common.parameters ?? names
                nullable.formUnion(query.nullable)
                compiled.requests += query.requests.map { (side: $0, priority: query.priority) }
            }
        } else {
            // One bucket that all requests have.
            common.parameters = []
            compiled.requests = [(side: RequestSide(), priority: nil)]
        }
        // Parameters that are no text are told, and nothing of what depends on them.
        if definition.parameters?.isEmpty == true, definition.notes.first.isFatal { return compiled }
        for text in definition.data {
            let query = DataQuery(
                text, parameters: common.parameters, nullable: nullable, context, options, &diagnostics)
            compiled.processors += query.processors
        }
        return compiled
    }

    /// Tells of other names than those of the first query, and of a priority beside that of the definition.
    private func tell(
        _ names: [ExactText], _ priority: Int?, of text: QueryText, _ definition: BucketDefinition,
        _ first: [ExactText]?, _ diagnostics: inout DiagnosticList
    ) {
        if let first, first.sorted() != names.sorted() {
            diagnostics.add(Diagnostic(.parametersDiffer, at: text.content))
        }
        if priority != nil, definition.priority != nil {
            diagnostics.add(Diagnostic(.priorityTwice, at: definition.priorityRange ?? definition.nameRange))
        }
    }
}
