/// What a request asks of the store: the rows of a lookup with one key.
package struct LookupRead: Sendable, Hashable {
    /// Index into the plan's lookups.
    package let lookup: Int
    /// The values of the key; none finds all rows.
    package let key: [ScalarValue]

    /// Makes a read of both.
    package init(lookup: Int, key: [ScalarValue]) {
        self.lookup = lookup
        self.key = key
    }
}

/// What the evaluation of a request needs next.
package enum RequestNeed: Sendable, Hashable {
    /// The rows of these, each once, at one checkpoint.
    case rows([LookupRead])
    /// Nothing.
    case done(Resolution)
}
