/// A diagnostic with its place in a file, as command and log have it.
package struct PlacedDiagnostic: Sendable, Hashable {
    /// A place between two characters; lines and columns are counted from 1, columns in characters.
    package struct Position: Sendable, Hashable {
        /// The line.
        package let line: Int
        /// The column.
        package let column: Int

        /// The place before a byte of a text.
        package init(_ byte: Int, in source: SourceText) {
            let place = source.place(byte)
            line = place.line
            column = place.column
        }
    }

    /// What it is about.
    package let name: DiagnosticName
    /// How bad it is.
    package let severity: Severity
    /// What is wrong.
    package let message: String
    /// The bytes of the file that it speaks of.
    package let range: TextRange
    /// Where they begin.
    package let start: Position
    /// The place behind the last one.
    package let end: Position

    /// Places a diagnostic.
    ///
    /// - Parameters:
    ///   - diagnostic: The diagnostic.
    ///   - range: The bytes of the file that it speaks of.
    ///   - source: The text of the file.
    private init(_ diagnostic: Diagnostic, at range: TextRange, in source: SourceText) {
        name = diagnostic.name
        severity = diagnostic.severity
        message = diagnostic.message
        self.range = range
        start = Position(range.start, in: source)
        end = Position(range.end, in: source)
    }

    /// Place, severity and message; behind the name of the file it is a line as compilers write it.
    package var line: String { "\(start.line):\(start.column): \(severity.level): \(message)" }

    /// All that is shown of a configuration, in the order of places, nothing twice.
    ///
    /// - Parameters:
    ///   - config: What was compiled.
    ///   - source: The text of the file; nil for the configuration itself.
    ///   - map: The way from the configuration to the file; nil if it is the whole file.
    /// - Returns: The diagnostics.
    package static func all(
        of config: CompiledConfig, in source: SourceText? = nil, through map: ScalarMap? = nil
    ) -> [PlacedDiagnostic] {
        var found: Set<PlacedDiagnostic> = []
        var all: [PlacedDiagnostic] = []
        for diagnostic in config.diagnostics.all where diagnostic.isShown {
            let own = diagnostic.range
            let range = map?.range(own.start..<own.end) ?? own
            let placed = PlacedDiagnostic(diagnostic, at: range, in: source ?? config.text)
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
    package var level: String {
        switch self {
        case .fatal: "error"
        case .warning: "warning"
        }
    }
}
