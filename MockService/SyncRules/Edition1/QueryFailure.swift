/// Why a query of a bucket definition is given up; of what else is wrong in it nothing is told, as recorded.
struct QueryFailure: Error {
    /// What is told.
    let diagnostic: Diagnostic
}
