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
        var plan: SyncPlan?
        if let document = DocumentReader.read(source, &diagnostics) {
            diagnostics.add(document.diagnostics)
            var compiled = self.plan(of: document, schema: schema, options: options, &diagnostics)
            compiled.events = EventsCompiler(document, schema: schema, options: options)
                .compile(document, &diagnostics)
            diagnostics.add(trailing(of: document, besideErrors: diagnostics.isFatal))
            plan = compiled
        }
        return CompiledConfig(plan: plan, diagnostics: diagnostics, text: source)
    }

    /// The plan of a document by the rules of its edition, without events.
    private static func plan(
        of document: SyncDocument, schema: SourceSchema?, options: CompileOptions,
        _ diagnostics: inout DiagnosticList
    ) -> SyncPlan {
        if document.edition >= 3 {
            return StreamsCompiler.plan(of: document, schema: schema, options: options, &diagnostics)
        }
        var linker = PlanLinker()
        DefinitionsCompiler(document, schema: schema, options: options)
            .compile(document, &linker, &diagnostics)
        if document.edition == 2 {
            AlphaStreams(document, schema: schema, options: options).compile(document, &linker, &diagnostics)
        } else {
            // Edition 1 has streams to say what is wrong with them.
            for stream in document.streams { diagnostics.add(stream.notes.all) }
        }
        return linker.plan(of: document)
    }

    /// What is told of a document behind all else.
    ///
    /// The admin routes do not say that an edition is too high beside other errors, as recorded.
    private static func trailing(of document: SyncDocument, besideErrors isFatal: Bool) -> DiagnosticList {
        var list = DiagnosticList()
        for diagnostic in document.trailing.all {
            let isHidden = isFatal && diagnostic.name == .mustBeBelowFour
            list.add(
                Diagnostic(
                    name: diagnostic.name, severity: diagnostic.severity, message: diagnostic.message,
                    range: diagnostic.range,
                    recorded: isHidden ? Recorded(.silent) : diagnostic.recorded))
        }
        return list
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
