/// A word, value or sign of a query.
package struct SQLToken: Sendable, Hashable {
    /// What it is.
    package enum Kind: Sendable, Hashable {
        /// A name without quotes or a keyword, in lower case, as Postgres folds it.
        case word(String)
        /// A name in double quotes, as it stands.
        case name(String)
        /// A text in single quotes, without them.
        case text(String)
        /// Digits.
        case integer(String)
        /// Digits with a point.
        case real(String)
        /// A place for a value, such as `$1`.
        case parameter(String)
        /// An operator or a punctuation mark.
        case sign(Sign)
        /// Something that no token begins with, and why; nothing follows it but the end.
        case invalid(String)
        /// What follows the last token.
        case end
    }

    /// Operators and punctuation marks.
    package enum Sign: String, Sendable, Hashable, CaseIterable {
        /// Begins a group.
        case open = "("
        /// Ends a group.
        case close = ")"
        /// Parts elements.
        case comma = ","
        /// Parts a qualifier and a name.
        case dot = "."
        /// Ends a statement.
        case semicolon = ";"
        /// All columns, or a product.
        case star = "*"
        /// Equal.
        case equal = "="
        /// Not equal.
        case notEqual = "!="
        /// Not equal, in the other spelling.
        case unequal = "<>"
        /// Below.
        case less = "<"
        /// Below, or equal.
        case lessOrEqual = "<="
        /// Above.
        case greater = ">"
        /// Above, or equal.
        case greaterOrEqual = ">="
        /// Sum, or a sign.
        case plus = "+"
        /// Difference, or a sign.
        case minus = "-"
        /// Quotient.
        case slash = "/"
        /// What a division leaves.
        case percent = "%"
        /// Power.
        case caret = "^"
        /// Both texts.
        case concat = "||"
        /// A value in common.
        case overlap = "&&"
        /// Bits of both.
        case ampersand = "&"
        /// Bits of one.
        case bar = "|"
        /// Bits moved up.
        case shiftLeft = "<<"
        /// Bits moved down.
        case shiftRight = ">>"
        /// A member as JSON.
        case arrow = "->"
        /// A member as a value.
        case longArrow = "->>"
        /// A cast.
        case cast = "::"
        /// Begins an array or an index.
        case openBracket = "["
        /// Ends an array or an index.
        case closeBracket = "]"
        /// A match with a regular expression.
        case tilde = "~"
    }

    /// What it is.
    package let kind: Kind
    /// Where it stands, in bytes of the SQL.
    package let range: Range<Int>
    /// Whether it is a word that was written with capital letters.
    package let isFolded: Bool

    /// Makes a token of its fields.
    package init(_ kind: Kind, _ range: Range<Int>, isFolded: Bool = false) {
        self.kind = kind
        self.range = range
        self.isFolded = isFolded
    }
}
