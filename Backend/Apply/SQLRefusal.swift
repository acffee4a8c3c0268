/// The SQL that ends a transaction for reasons of ours, by functions of Postgres that refuse what they are given.
///
/// Everybody may call them: a function of our own would need a right on the schema psb for the roles that write. Both fail with
/// one state, and which it was tells the function of the server. They are volatile, so that they fail where they are evaluated
/// and not while a statement is planned.
enum SQLRefusal {
    /// The state of both.
    static let state = "22023"

    /// Refuses a row of another user: `setseed` takes numbers from -1 to 1.
    static let otherOwner = "pg_catalog.setseed(2) IS NULL"
    /// The function that raises it.
    static let otherOwnerFunction = "setseed"

    /// Refuses a row whose parent is missing, or another's: no channel has an empty name.
    static let missingParent = "pg_catalog.pg_notify('', '') IS NULL"
    /// The function that raises it.
    static let missingParentFunction = "Async_Notify"
    /// The code of a missing parent.
    static let missingParentCode = "PARENT_MISSING"
}
