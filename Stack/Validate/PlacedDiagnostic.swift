import PowerSyncSyncRules

/// A diagnostic with its place in a file, as command and log have it.
struct PlacedDiagnostic: Sendable, Hashable {
    /// A place between two characters; lines and columns are counted from 1, columns in characters.
    struct Position: Sendable, Hashable {
        /// The line.
        let line: Int
        /// The column.
        let column: Int

        /// The place before a byte of a text.
        init(_ byte: Int, in source: SourceText) {
            let place = source.place(byte)
            line = place.line
            column = place.column
        }
    }

    /// What it is about.
    let name: DiagnosticName
    /// How bad it is.
    let severity: Severity
    /// What is wrong.
    let message: String
    /// The bytes of the file that it speaks of.
    let range: TextRange
    /// Where they begin.
    let start: Position
    /// The place behind the last one.
    let end: Position

    /// All that is shown of a configuration, in the order of places, nothing twice.
    ///
    /// - Parameters:
    ///   - config: What was compiled.
    ///   - checked: The text that it was compiled of.
    /// - Returns: The diagnostics.
    static func all(of config: CompiledConfig, in checked: CheckedConfiguration) -> [PlacedDiagnostic] {
        var found: Set<PlacedDiagnostic> = []
        var all: [PlacedDiagnostic] = []
        for diagnostic in config.diagnostics.all where diagnostic.isShown {
            let range = checked.place(diagnostic.range)
            let placed = PlacedDiagnostic(
                name: diagnostic.name, severity: diagnostic.severity, message: diagnostic.message,
                range: range, start: Position(range.start, in: checked.source),
                end: Position(range.end, in: checked.source))
            // What several parts of a query come to is told once for each by the admin routes.
            if found.insert(placed).inserted { all.append(placed) }
        }
        // Those of one place stay in the order in which they were found.
        let sorted = all.enumerated().sorted { left, right in
            let (one, other) = (left.element.range, right.element.range)
            return (one.start, one.end, left.offset) < (other.start, other.end, right.offset)
        }
        return sorted.map { $0.element }
    }
}

extension Severity {
    /// What compilers call it, and SARIF.
    var level: String {
        switch self {
        case .fatal: "error"
        case .warning: "warning"
        }
    }
}
