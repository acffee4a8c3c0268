/// What was found wrong so far, in the order in which `validate` shows it (LANGUAGE.md 10).
package struct DiagnosticList: Sendable, Hashable {
    /// How many are kept: a query may mix things in thousands of places, in each of a hundred terms.
    package static let limit = 10_000

    /// All of it; the last one says so if there is more than the limit.
    package private(set) var all: [Diagnostic] = []

    /// Whether the configuration cannot be used.
    package private(set) var isFatal = false

    /// Makes an empty list.
    package init() {}

    /// Whether nothing more is kept.
    var isFull: Bool { all.count >= Self.limit }

    /// Adds a diagnostic behind the others.
    package mutating func add(_ diagnostic: Diagnostic) {
        if diagnostic.severity == .fatal { isFatal = true }
        guard !isFull else { return }
        guard all.count == Self.limit - 1 else { return all.append(diagnostic) }
        all.append(
            Diagnostic(
                .tooLarge, ["\(Self.limit) messages"], at: diagnostic.range, severity: .warning,
                recorded: Recorded(.silent)))
    }

    /// Adds those of another list behind the others.
    package mutating func add(_ list: DiagnosticList) {
        if list.isFatal { isFatal = true }
        for diagnostic in list.all { add(diagnostic) }
    }
}
