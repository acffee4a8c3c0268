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

    /// Something to tell about it.
    ///
    /// The admin routes place what stands in a common table expression by its offsets in the text of the query that
    /// uses it, as recorded; ours is placed where it stands.
    ///
    /// - Parameters:
    ///   - name: What it is about.
    ///   - arguments: What stands in the places of the name's text.
    ///   - text: The text of the query that is compiled.
    /// - Returns: The diagnostic.
    package func diagnostic(
        _ name: DiagnosticName, _ arguments: [String] = [], in text: QueryText
    ) -> Diagnostic {
        guard query != text else { return Diagnostic(name, arguments, at: place) }
        let recorded = Recorded(.text(name.message(arguments), text.range(range)))
        return Diagnostic(name, arguments, at: place, recorded: recorded)
    }
}

/// A place where an expression reads an input, for messages: a column, a call, or an array of which elements are read.
package struct Reference: Sendable, Hashable {
    /// What is read.
    package let input: Input
    /// Where that is written.
    package let site: Site

    /// Makes a reference of both.
    package init(_ input: Input, at site: Site) {
        self.input = input
        self.site = site
    }
}

/// An expression with its names looked up, and where it stands.
package struct Located: Sendable, Hashable {
    /// The expression.
    package let expression: Expression
    /// Where it stands.
    package let site: Site
    /// Where it reads inputs, in the order of the text.
    package let references: [Reference]

    /// Makes one of its parts.
    package init(_ expression: Expression, at site: Site, references: [Reference] = []) {
        self.expression = expression
        self.site = site
        self.references = references
    }

    /// What it depends on.
    package var inputs: InputSet { InputSet(Set(references.map(\.input))) }
}
