/// How large a query may be; what is over a limit is refused, and nothing of it is built.
package enum SyntaxLimits {
    /// Levels of expressions and sub-selects: so deep may go whatever recurses over a query.
    package static let depth = 200
    /// Expressions of one query.
    package static let nodes = 10_000
    /// Bytes of a configuration's text.
    package static let bytes = 1 << 20
}
