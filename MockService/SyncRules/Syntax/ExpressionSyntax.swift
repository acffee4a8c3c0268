/// An expression as it is written, before its names are looked up.
///
/// Its range begins with the first byte of its first leaf or prefix and ends with the last byte of its last leaf or
/// closing word: its own parentheses and those around its outermost operands do not count, so that `('abc' OR b) IS TRUE`
/// begins at `'abc'` (as recorded).
package struct ExpressionSyntax: Sendable, Hashable {
    /// What it is.
    package indirect enum Content: Sendable, Hashable {
        /// NULL.
        case null
        /// TRUE or FALSE.
        case bool(Bool)
        /// An integer, its digits with a minus if one stands before them.
        case integer(String)
        /// A decimal number, as an integer.
        case real(String)
        /// A text.
        case text(String)
        /// A column.
        case column(qualifier: NameSyntax?, name: NameSyntax)
        /// All columns, of one source if it is qualified.
        case star(qualifier: NameSyntax?)
        /// A call.
        case call(CallSyntax)
        /// A sign before a value, or NOT.
        case unary(UnaryOperator, ExpressionSyntax)
        /// An operator between two values.
        case binary(BinaryOperator, ExpressionSyntax, ExpressionSyntax)
        /// What AND joins, at least two: `a AND b AND c` is one of three, `a AND (b AND c)` one of two.
        case and([ExpressionSyntax])
        /// What OR joins, as of AND.
        case or([ExpressionSyntax])
        /// `IS`.
        case isCheck(ExpressionSyntax, IsWhat, isNegated: Bool)
        /// `BETWEEN`.
        case between(ExpressionSyntax, ExpressionSyntax, ExpressionSyntax, isNegated: Bool)
        /// `IN`; the right side is a `list`, `array`, `row`, `subquery`, a name, or any value.
        case membership(ExpressionSyntax, ExpressionSyntax, isNegated: Bool)
        /// Values in parentheses, at least two.
        case list([ExpressionSyntax])
        /// `ARRAY[…]`.
        case array([ExpressionSyntax])
        /// `ROW(…)`.
        case row([ExpressionSyntax])
        /// `CASE`.
        case choice(base: ExpressionSyntax?, [Branch], otherwise: ExpressionSyntax?)
        /// `CAST(… AS type)`, `…::type`, `type '…'`; the type as it is written, in small letters.
        case cast(ExpressionSyntax, type: String, typeRange: Range<Int>)
        /// A SELECT in parentheses.
        case subquery(SelectSyntax)
        /// A place for a value, such as `$1`.
        case parameter(String)
        /// Something that the grammar has and no edition: an index, `EXTRACT(… FROM …)`, `CURRENT_DATE`.
        case unsupported([ExpressionSyntax])
    }

    /// A branch of a CASE.
    package struct Branch: Sendable, Hashable {
        /// What stands behind WHEN.
        package let condition: ExpressionSyntax
        /// What stands behind THEN.
        package let result: ExpressionSyntax
    }

    /// What it is.
    package let content: Content
    /// Where it stands, in bytes of the SQL.
    package let range: Range<Int>
    /// How many levels it has, at most `SyntaxLimits.depth`.
    package let depth: Int

    init(_ content: Content, _ range: Range<Int>) {
        self.content = content
        self.range = range
        if case .subquery(let select) = content {
            depth = select.depth + 1
        } else {
            depth = 1 + (content.children.lazy.map(\.depth).max() ?? 0)
        }
    }
}

extension ExpressionSyntax.Content {
    /// The expressions that it is made of, in the order of the text; those of a sub-select are its own.
    package var children: [ExpressionSyntax] {
        switch self {
        case .null, .bool, .integer, .real, .text, .column, .star, .parameter, .subquery: []
        case .call(let call): call.arguments
        case .unary(_, let inner), .isCheck(let inner, _, _), .cast(let inner, _, _): [inner]
        case .binary(_, let left, let right), .membership(let left, let right, _): [left, right]
        case .and(let all), .or(let all), .list(let all), .array(let all), .row(let all),
            .unsupported(let all):
            all
        case .between(let value, let low, let high, _): [value, low, high]
        case .choice(let base, let branches, let otherwise):
            (base.map { [$0] } ?? []) + branches.flatMap { [$0.condition, $0.result] }
                + (otherwise.map { [$0] } ?? [])
        }
    }
}

/// A call of a function as it is written.
package struct CallSyntax: Sendable, Hashable {
    /// What stands before the name.
    package let schema: NameSyntax?
    /// The name.
    package let name: NameSyntax
    /// The arguments; `count(*)` has a `star`.
    package let arguments: [ExpressionSyntax]
    /// Whether it has DISTINCT, ORDER BY, FILTER or OVER.
    package let hasClauses: Bool

    /// Where the name stands with its schema, in bytes of the SQL.
    package var nameRange: Range<Int> { (schema ?? name).range.lowerBound..<name.range.upperBound }
}

/// An operator before a value.
package enum UnaryOperator: String, Sendable, Hashable {
    /// `+`.
    case plus = "+"
    /// `-`, not before digits.
    case minus = "-"
    /// `NOT`.
    case not = "NOT"
}

/// An operator between two values.
package enum BinaryOperator: String, Sendable, Hashable, CaseIterable {
    /// Equal.
    case equal = "="
    /// Not equal, also spelled `<>`.
    case notEqual = "!="
    /// Below.
    case less = "<"
    /// Below, or equal.
    case lessOrEqual = "<="
    /// Above.
    case greater = ">"
    /// Above, or equal.
    case greaterOrEqual = ">="
    /// A match with a regular expression.
    case matches = "~"
    /// A match with a pattern.
    case like = "LIKE"
    /// A match with a pattern, small and capital letters alike.
    case ilike = "ILIKE"
    /// No match with a pattern.
    case notLike = "NOT LIKE"
    /// No match with a pattern, small and capital letters alike.
    case notIlike = "NOT ILIKE"
    /// Sum.
    case add = "+"
    /// Difference.
    case subtract = "-"
    /// Both texts.
    case concat = "||"
    /// A value in common.
    case overlap = "&&"
    /// Bits of both.
    case bitAnd = "&"
    /// Bits of one.
    case bitOr = "|"
    /// Bits moved up.
    case shiftLeft = "<<"
    /// Bits moved down.
    case shiftRight = ">>"
    /// Product.
    case multiply = "*"
    /// Quotient.
    case divide = "/"
    /// What a division leaves.
    case remainder = "%"
    /// Power.
    case power = "^"
    /// A member as JSON; the right side is a text or an integer.
    case member = "->"
    /// A member as a value; the right side is a text or an integer.
    case memberValue = "->>"
}

/// What `IS` asks for.
package enum IsWhat: String, Sendable, Hashable {
    /// NULL.
    case null = "NULL"
    /// TRUE.
    case isTrue = "TRUE"
    /// FALSE.
    case isFalse = "FALSE"
}
