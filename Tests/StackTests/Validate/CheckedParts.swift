import PowerSyncMockService
import PowerSyncSyncRules
import PowerSyncWire

@testable import PowerSyncStack

/// Configurations as commands check them, made of what is told of them.
enum CheckedParts {
    /// A plan that does nothing.
    static let emptyPlan = SyncPlan(
        edition: 3, options: CompatibilityOptions(edition: 3), streams: [], sources: [])

    /// A text of which something is told; it has a plan unless that is fatal.
    static func check(
        _ text: String, _ diagnostics: [Diagnostic], file: String = "sync.yaml"
    ) -> ConfigurationCheck {
        var list = DiagnosticList()
        for diagnostic in diagnostics { list.add(diagnostic) }
        let config = CompiledConfig(plan: emptyPlan, diagnostics: list, text: SourceText(text))
        return ConfigurationCheck(SyncConfigText(file: file, text: text), config)
    }

    /// A diagnostic about some bytes.
    static func diagnostic(
        _ name: DiagnosticName, _ arguments: [String] = [], at range: Range<Int>, recorded: Recorded? = nil
    ) -> Diagnostic {
        let place = TextRange(start: range.lowerBound, end: range.upperBound)
        return Diagnostic(name, arguments, at: place, recorded: recorded)
    }
}
