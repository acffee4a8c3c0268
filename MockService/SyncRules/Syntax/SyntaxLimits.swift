/// How large a query may be; what is over a limit is refused, and nothing of it is built.
package enum SyntaxLimits {
    /// Levels of expressions and sub-selects as they are written.
    ///
    /// One level is up to five calls of the parser or the resolver, and some threads have 512 KiB for all that is called.
    package static let depth = 100
    /// Levels of an expression in which stands what sub-selects and common table expressions give.
    package static let resolvedDepth = 200
    /// Expressions of one query.
    package static let nodes = 10_000
    /// Unknown names of a configuration that the nearest one is told of: each is compared with all names of a schema.
    package static let suggestions = 100
    /// Bytes of a configuration's text.
    package static let bytes = 1 << 20
}
