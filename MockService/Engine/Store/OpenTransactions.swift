/// Transactions that were open at some moment.
package struct OpenTransactions: Sendable, Hashable {
    /// Their ids, as Postgres spells an array.
    package let ids: String

    /// Makes them of their ids.
    package init(ids: String) { self.ids = ids }
}
