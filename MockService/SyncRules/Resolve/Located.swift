/// A part of a query's SQL, for messages.
package struct Site: Sendable, Hashable {
    /// The query.
    package let query: QueryText
    /// The part, in bytes of its SQL.
    package let range: Range<Int>

    /// Makes a site of both.
    package init(_ query: QueryText, _ range: Range<Int>) {
        self.query = query
        self.range = range
    }

    /// The part in bytes of the configuration's text.
    package var place: TextRange { query.range(range) }
}

/// An expression with its names looked up, and where it stands.
package struct Located: Sendable, Hashable {
    /// The expression.
    package let expression: Expression
    /// What it depends on.
    package let inputs: InputSet
    /// Where it stands.
    package let site: Site

    /// Makes one of an expression and its place.
    package init(_ expression: Expression, at site: Site) {
        self.expression = expression
        inputs = expression.inputs
        self.site = site
    }
}
