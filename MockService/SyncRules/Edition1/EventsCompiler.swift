import PowerSyncWire

/// Compiles the events of a configuration of any edition: each payload is a data query of edition 1 that is of no bucket
/// (service 7.9; LANGUAGE.md 9).
struct EventsCompiler {
    private let context: DefinitionContext
    private let options: CompatibilityOptions

    /// Makes a compiler.
    ///
    /// - Parameters:
    ///   - document: The configuration.
    ///   - schema: The tables that there are; nil if that is not known.
    ///   - options: What stands in no configuration.
    init(_ document: SyncDocument, schema: SourceSchema?, options: CompileOptions) {
        self.options = document.options
        context = DefinitionContext(
            schema: schema, options: options, evaluator: ExpressionRun(options: document.options))
    }

    /// Compiles the events of a configuration.
    ///
    /// - Parameters:
    ///   - document: The configuration.
    ///   - diagnostics: Gets what is wrong with them.
    /// - Returns: The events in the order of the text; of no use if something fatal was told.
    func compile(_ document: SyncDocument, _ diagnostics: inout DiagnosticList) -> [EventPlan] {
        document.events.map { event in
            diagnostics.add(event.notes.first)
            let setsWriteCheckpoints = EventPlan.setsWriteCheckpoints(event.name)
            if !setsWriteCheckpoints {
                warn(.eventUnknown, event.name, at: event.nameRange, &diagnostics)
            }
            var payloads: [RowProcessor] = []
            for text in event.payloads {
                var own = DiagnosticList()
                let query = DataQuery(text, parameters: [], context, options, isPayload: true, &own)
                diagnostics.add(own)
                payloads += query.processors
                guard setsWriteCheckpoints, !own.isFatal, let payload = query.processors.first else {
                    continue
                }
                for name in ["user_id", "checkpoint"].map({ ExactText($0) }) where !has(name, payload) {
                    warn(.eventColumnMissing, name, at: text.content, &diagnostics)
                }
            }
            diagnostics.add(event.notes.last)
            return EventPlan(name: event.name, payloads: payloads)
        }
    }

    /// Whether a payload has a column, or may have it.
    private func has(_ name: ExactText, _ payload: RowProcessor) -> Bool {
        payload.outputs.contains { output in
            switch output {
            case .column(_, let column): column == name
            case .allColumns: context.columns(of: payload.table)?.contains(name) ?? true
            }
        }
    }

    /// Notes what the admin routes are silent about.
    private func warn(
        _ name: DiagnosticName, _ argument: ExactText, at range: TextRange,
        _ diagnostics: inout DiagnosticList
    ) {
        diagnostics.add(Diagnostic(name, [argument.text], at: range, recorded: Recorded(.silent)))
    }
}
