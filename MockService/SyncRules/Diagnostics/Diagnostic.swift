/// One thing that is wrong with a configuration, or may be, with its place.
package struct Diagnostic: Sendable, Hashable {
    /// What it is about.
    package let name: DiagnosticName
    /// How bad it is.
    package let severity: Severity
    /// What is wrong, on one line.
    package let message: String
    /// The place for command and log: the smallest expression, name or key that it speaks of.
    package let range: TextRange
    /// What the admin routes say in its place, if that is something else.
    package let recorded: Recorded?

    /// Makes a diagnostic of its fields.
    package init(
        name: DiagnosticName, severity: Severity, message: String, range: TextRange, recorded: Recorded? = nil
    ) {
        self.name = name
        self.severity = severity
        self.message = message
        self.range = range
        self.recorded = recorded
    }

    /// Makes a diagnostic with the message of its name.
    ///
    /// - Parameters:
    ///   - name: What it is about.
    ///   - arguments: What stands in the places of the name's text.
    ///   - range: Its place.
    ///   - severity: How bad it is; that of the name unless it is said.
    ///   - isLegacy: Whether it is of editions 1 and 2.
    ///   - recorded: What the admin routes say in its place.
    package init(
        _ name: DiagnosticName, _ arguments: [String] = [], at range: TextRange, severity: Severity? = nil,
        isLegacy: Bool = false, recorded: Recorded? = nil
    ) {
        self.init(
            name: name, severity: severity ?? name.severity,
            message: name.message(arguments, isLegacy: isLegacy), range: range, recorded: recorded)
    }

    /// Whether it shows in command and log, which some of what the admin routes say does not.
    package var isShown: Bool { recorded?.isOnlyThere != true }
}
