import PowerSyncWire

/// A query of edition 3 with its names looked up; common table expressions and sub-selects are inlined
/// (LANGUAGE.md 3).
///
/// It is made of queries with mistakes, too, as long as they have a row to sync: mistakes in conditions are told beside
/// those of names. What could not be looked up is NULL in it, with the references of what it was made of.
package struct ResolvedQuery: Sendable, Hashable {
    /// Where it stands, from SELECT to its last leaf.
    package let site: Site
    /// Where values come from, those of sub-selects included, each before what depends on it.
    package let sources: [ResolvedSource]
    /// What must hold.
    package let condition: Condition
    /// The row that is synced; a `row`.
    package let primary: Input
    /// What the client's table is called.
    package let type: RowProcessor.OutputType
    /// The client's columns, over the primary alone.
    package let outputs: [RowProcessor.Output]

    /// Makes a query of its parts.
    package init(
        site: Site, sources: [ResolvedSource], condition: Condition, primary: Input,
        type: RowProcessor.OutputType, outputs: [RowProcessor.Output]
    ) {
        self.site = site
        self.sources = sources
        self.condition = condition
        self.primary = primary
        self.type = type
        self.outputs = outputs
    }

    /// The source of an input.
    package func source(_ input: Input) -> ResolvedSource? { sources.first { $0.input == input } }
}

/// Rows of a table, or elements of a JSON value, that a query reads.
package struct ResolvedSource: Sendable, Hashable {
    /// What it is.
    package enum Content: Sendable, Hashable {
        /// Rows of a table.
        case table(TablePattern)
        /// `json_each` of a value that depends on one input at most; also what `IN` and `&&` make of an array.
        case elements(Located)
    }

    /// Its input: a `row` of a table, an `element` of a value.
    package let input: Input
    /// What it is.
    package let content: Content
    /// What messages call it: the table's name, `json_each`.
    package let name: ExactText
    /// Where it stands: with its alias, of a JOIN from that word to the end of ON; of `IN` and `&&` the array.
    package let site: Site
    /// Whether it is of an IN or `&&` that stands behind NOT or within a value: there it is not enough that one row or
    /// element is found.
    package let isNested: Bool

    /// Makes a source of its parts.
    package init(input: Input, content: Content, name: ExactText, site: Site, isNested: Bool = false) {
        self.input = input
        self.content = content
        self.name = name
        self.site = site
        self.isNested = isNested
    }
}
