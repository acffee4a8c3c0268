import PowerSyncWire

/// Makes rows of some tables findable by key, so that a request finds values of theirs.
package struct LookupDefinition: Sendable, Hashable {
    /// Its name, `lookup|n`; of editions 1 and 2 the definition and the number of the query.
    package let name: ExactText
    /// The tables.
    package let table: TablePattern
    /// The `json_each` over the row, as of a processor.
    package let expansions: [Expression]
    /// What must hold.
    package let filters: [Expression]
    /// What the row is found by; none: every row is found.
    package let keys: [Expression]
    /// What is found.
    package let outputs: [Expression]

    /// Makes a definition of its parts.
    package init(
        name: ExactText, table: TablePattern, expansions: [Expression] = [], filters: [Expression] = [],
        keys: [Expression], outputs: [Expression]
    ) {
        self.name = name
        self.table = table
        self.expansions = expansions
        self.filters = filters
        self.keys = keys
        self.outputs = outputs
    }
}
