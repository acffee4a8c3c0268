/// How much of everything the parts have; the goals are for the standard.
struct BackendSizes: Sendable {
    /// The sizes that the goals are for.
    static let standard = BackendSizes()

    /// Rows of a transaction of `uniform`, `mixed` and `plain`.
    var rows = 1000
    /// Transactions of a round that are measured, each a request of its own.
    var transactions = 40
    /// Users of `singles`, each with a connection.
    var users = 32
    /// Requests of each of them in a round, with one operation each.
    var singles = 250
}
