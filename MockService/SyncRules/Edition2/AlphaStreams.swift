/// Compiles the streams of edition 2 (service 6.7; LANGUAGE.md 8).
struct AlphaStreams {
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

    /// Compiles the streams of a configuration.
    ///
    /// - Parameters:
    ///   - document: The configuration.
    ///   - linker: Gets the streams.
    ///   - diagnostics: Gets what is wrong with them.
    func compile(
        _ document: SyncDocument, _ linker: inout PlanLinker, _ diagnostics: inout DiagnosticList
    ) {
        for stream in document.streams {
            diagnostics.add(stream.notes.first)
            var variants: [Variant] = []
            for text in stream.queries {
                variants += AlphaQuery(text, of: stream, context, options, &diagnostics).variants
            }
            // As recorded, the priority of a stream counts from edition 3 on.
            var linked = stream
            linked.priority = 3
            linker.add(linked, variants: variants, isMerging: false, &diagnostics)
            diagnostics.add(stream.notes.last)
        }
    }
}
