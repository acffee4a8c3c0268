/// One thing that is wrong with a sync configuration, and where.
package struct SyncConfigDiagnostic: Sendable, Hashable, CustomStringConvertible {
    /// What is wrong; spelled as the real service does where it has a message for it (service 6.11).
    package let message: String
    /// Line of the configuration's text, from 1.
    package let line: Int
    /// Column in characters, from 1.
    package let column: Int

    /// Makes a diagnostic of its fields.
    package init(message: String, line: Int, column: Int) {
        self.message = message
        self.line = line
        self.column = column
    }

    /// The place and the message in one line.
    package var description: String { "line \(line), column \(column): \(message)" }
}

/// A sync configuration that cannot be used, with everything that was found wrong.
package struct SyncConfigError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What is wrong, in the order of the text.
    package let diagnostics: [SyncConfigDiagnostic]

    /// Makes an error of what was found.
    package init(_ diagnostics: [SyncConfigDiagnostic]) { self.diagnostics = diagnostics }

    /// One line for each thing that is wrong.
    package var description: String { diagnostics.map(\.description).joined(separator: "\n") }
}

/// A query that cannot be used; the place counts in UTF-8 bytes from the start of the query.
struct QueryError: Error, Equatable {
    let message: String
    let offset: Int
}
