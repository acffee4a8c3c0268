import PowerSyncWire

/// The one way from a configuration's text to what it means.
package enum SyncConfig {
    /// Compiles a text.
    ///
    /// - Parameters:
    ///   - text: The YAML.
    ///   - schema: The tables that there are; nil if that is not known.
    ///   - options: What stands in no configuration.
    /// - Returns: What was found wrong, and the plan unless some of it is fatal.
    package static func compile(
        _ text: String, schema: SourceSchema? = nil, options: CompileOptions = CompileOptions()
    ) -> CompiledConfig {
        let source = SourceText(text)
        var diagnostics = DiagnosticList()
        if let document = DocumentReader.read(source, &diagnostics) {
            diagnostics.add(document.allDiagnostics)
        }
        // Editions leave this refusal one after the other; the service runs on its own compiler until they have.
        if !diagnostics.isFatal {
            diagnostics.add(
                Diagnostic(.notCompiled, at: TextRange(start: 0, end: 0), recorded: Recorded(.silent)))
        }
        return CompiledConfig(plan: nil, diagnostics: diagnostics, text: source)
    }
}

/// A configuration that was read and checked.
package struct CompiledConfig: Sendable, Hashable {
    /// What it means; nil exactly if a diagnostic is fatal.
    package let plan: SyncPlan?
    /// What was found wrong.
    package let diagnostics: DiagnosticList
    /// The text, with the places that diagnostics name.
    package let text: SourceText

    /// Makes one of its parts; of a plan beside a fatal diagnostic nothing is kept.
    package init(plan: SyncPlan?, diagnostics: DiagnosticList, text: SourceText) {
        precondition(plan != nil || diagnostics.isFatal, "A configuration without a plan has no error.")
        self.plan = diagnostics.isFatal ? nil : plan
        self.diagnostics = diagnostics
        self.text = text
    }
}

/// What a compilation needs that stands in no configuration.
package struct CompileOptions: Sendable, Hashable {
    /// The schema of tables that are named without one.
    package var defaultSchema = ExactText("public")
    /// The tag of the connection.
    package var defaultTag = ExactText("default")

    /// Makes those of the service.
    package init() {}
}
