/// A column of a `json_each`.
package enum ElementPart: String, Sendable, Hashable, CaseIterable {
    /// The index or the name of the element.
    case key
    /// The element.
    case value
}

/// What is known of the table that a row is of (service 6.8).
package enum TableFact: String, Sendable, Hashable, CaseIterable {
    /// Its schema.
    case schema
    /// Its name.
    case name = "table_name"
    /// Of a wildcard, what stands in the place of the `%`; else empty.
    case suffix = "table_suffix"
}

/// A type that values are cast to.
package enum CastType: String, Sendable, Hashable, CaseIterable {
    /// The text form.
    case text
    /// An integer.
    case integer
    /// An integer or a double, as the value is spelled.
    case numeric
    /// A double.
    case real
    /// The bytes of the text form.
    case blob
}

/// An operator on two numbers; those behind `divide` exist in the SQLite engine alone.
package enum Arithmetic: String, Sendable, Hashable, CaseIterable {
    /// The sum.
    case add = "+"
    /// The difference.
    case subtract = "-"
    /// The product.
    case multiply = "*"
    /// The quotient.
    case divide = "/"
    /// What a division leaves.
    case remainder = "%"
    /// The bits that both have.
    case bitAnd = "&"
    /// The bits that one has.
    case bitOr = "|"
    /// The bits of the left one, moved up.
    case shiftLeft = "<<"
    /// The bits of the left one, moved down.
    case shiftRight = ">>"
}

/// What a member of a JSON text becomes.
package enum MemberForm: String, Sendable, Hashable, CaseIterable {
    /// JSON text.
    case json = "->"
    /// A value of SQL.
    case value = "->>"
}

/// Which rules expressions are evaluated by.
package enum Engine: Sendable, Hashable {
    /// The real service's own (service 6.12).
    case standard
    /// Those of libsqlite3.
    case sqlite
}
