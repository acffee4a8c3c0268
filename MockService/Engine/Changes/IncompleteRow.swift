/// A row of which a value is unknown: it has to be read again from the source (service 7.5).
package struct IncompleteRow: Sendable {
    /// The table.
    package let table: SourceTable
    /// Its values as they are now, one for each column, among them those that identify it; nil for NULL and for what is
    /// unknown.
    package let values: [String?]

    /// Makes a row of its parts.
    package init(table: SourceTable, values: [String?]) {
        self.table = table
        self.values = values
    }
}
