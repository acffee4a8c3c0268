/// What queries are resolved with.
struct ResolverContext {
    /// The common table expressions that they may name.
    var commonTables = CommonTableSet()
    /// The tables that there are; nil if that is not known.
    let schema: SourceSchema?
    /// What stands in no configuration.
    let options: CompileOptions
    /// The rules that expressions are evaluated by.
    let engine: Engine
    /// How many more unknown names have the nearest one told.
    var suggestionsLeft = SyntaxLimits.suggestions
}
