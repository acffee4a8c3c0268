/// What was found wrong so far, in the order in which `validate` shows it (LANGUAGE.md 10).
package struct DiagnosticList: Sendable, Hashable {
    /// All of it.
    package private(set) var all: [Diagnostic] = []

    /// Makes an empty list.
    package init() {}

    /// Whether the configuration cannot be used.
    package var isFatal: Bool { all.contains { $0.severity == .fatal } }

    /// Adds a diagnostic behind the others.
    package mutating func add(_ diagnostic: Diagnostic) { all.append(diagnostic) }

    /// Adds those of another list behind the others.
    package mutating func add(_ list: DiagnosticList) { all += list.all }
}
