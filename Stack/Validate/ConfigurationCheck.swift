import PowerSyncMockService
import PowerSyncSyncRules
import PowerSyncWire

/// A configuration that was compiled for a command, with what is wrong with it.
struct ConfigurationCheck: Sendable {
    /// How diagnostics are written.
    enum Format: String, Sendable, CaseIterable {
        /// Lines for people.
        case text
        /// One JSON object.
        case json
        /// SARIF 2.1.0.
        case sarif
    }

    /// The exit status of a configuration that cannot be used, or not be read.
    static let fatalStatus: Int32 = 2

    /// The text.
    let checked: SyncConfigText
    /// What it was compiled to.
    let config: CompiledConfig
    /// The tables that it was compiled with; nil if they are not known.
    let schema: SourceSchema?
    /// What is wrong with it, in the order of places.
    let diagnostics: [PlacedDiagnostic]

    /// Takes what was compiled.
    init(_ checked: SyncConfigText, _ config: CompiledConfig, schema: SourceSchema? = nil) {
        self.checked = checked
        self.config = config
        self.schema = schema
        diagnostics = checked.diagnostics(of: config)
    }

    /// Compiles a configuration.
    ///
    /// - Parameters:
    ///   - checked: The text.
    ///   - schema: The tables that there are; nil if that is not known.
    init(_ checked: SyncConfigText, schema: SourceSchema? = nil) {
        self.init(checked, SyncConfig.compile(checked.text, schema: schema), schema: schema)
    }

    /// 0; 1 if there are warnings and they count; 2 if it cannot be used.
    func status(isStrict: Bool) -> Int32 {
        if config.plan == nil { return Self.fatalStatus }
        return isStrict && !diagnostics.isEmpty ? 1 : 0
    }

    /// What is wrong, in a form; nil if there is nothing to write.
    func report(_ format: Format) -> String? {
        switch format {
        case .text:
            let lines = DiagnosticText(checked)
            let all = diagnostics.flatMap { lines.lines($0) }
            return all.isEmpty ? nil : all.joined(separator: "\n")
        case .json: return DiagnosticJSON.object(diagnostics, file: checked.file).text
        case .sarif: return SARIF.log(diagnostics, file: checked.file).text
        }
    }

    /// How much is wrong, in a line for people.
    var summary: String {
        let errors = diagnostics.count { $0.severity == .fatal }
        let warnings = diagnostics.count - errors
        func count(_ number: Int, _ word: String) -> String { "\(number) \(word)\(number == 1 ? "" : "s")" }
        return "\(checked.file): \(count(errors, "error")), \(count(warnings, "warning"))"
    }
}
