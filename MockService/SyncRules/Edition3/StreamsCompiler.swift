/// Makes the plan of a configuration of edition 3: names are looked up, conditions brought into normal form, and what
/// comes of them is linked (service 6.9; LANGUAGE.md 1).
enum StreamsCompiler {
    /// Makes a plan.
    ///
    /// - Parameters:
    ///   - document: The configuration.
    ///   - schema: The tables that there are; nil if that is not known.
    ///   - options: What stands in no configuration.
    ///   - diagnostics: Gets what is wrong with the streams, in the order in which it is told.
    /// - Returns: The plan; of no use if something fatal was told.
    static func plan(
        of document: SyncDocument, schema: SourceSchema?, options: CompileOptions,
        _ diagnostics: inout DiagnosticList
    ) -> SyncPlan {
        var resolver = StreamsResolver(document, schema: schema, options: options, &diagnostics)
        var linker = PlanLinker(isFixed: document.options.fixedJSONExtract)
        var conditionsLeft = PlanLimits.allConditions
        for stream in document.streams {
            diagnostics.add(stream.notes.first)
            resolver.begin(stream, &diagnostics)
            var variants: [Variant] = []
            var calls = UnauthenticatedParameters()
            for text in stream.queries {
                guard let query = resolver.resolve(text, &diagnostics) else { continue }
                variants += QueryNormalizer.variants(of: query, &conditionsLeft, &calls, &diagnostics)
            }
            if !stream.acceptsDangerousQueries { diagnostics.add(calls.diagnostics) }
            linker.add(stream, variants: variants, &diagnostics)
            diagnostics.add(stream.notes.last)
        }
        resolver.finish(&diagnostics)
        return linker.plan(of: document)
    }
}
