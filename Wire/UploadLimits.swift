/// What an upload may be made of (backend 1.8).
package struct UploadLimits: Sendable, Hashable {
    /// The most transactions of a request.
    package var transactions = 50
    /// The most operations of a transaction, which a client cannot split.
    package var operations = 50_000
    /// The most operations of a request.
    package var requestOperations = 100_000
    /// The most values of JSON in a request, each of which takes up to a hundred bytes, however few it was written with.
    ///
    /// A body of 16 MiB with fewer than eight bytes for each value is nobody's rows.
    package var values = 1 << 21
    /// How deep a body may nest: the operations, their data, and JSON columns within.
    package var depth = 64
    /// The most bytes of a number.
    ///
    /// None is too long here: that is the fault of one operation, which its column refuses. The body as a whole would be
    /// sent again for ever.
    package var numberBytes = Int.max

    /// Makes the default limits.
    package init() {}
}
