import PowerSyncSQLite

/// The connections of one database, as everything above them sees them: those of the SDK, or a pool of the app's own.
package protocol ConnectionPool: AnyObject, Sendable {
    /// Runs `body` alone on the writing connection; it opens no transaction by itself.
    ///
    /// - Parameters:
    ///   - isCounted: Whether the request shows in ``countedWrites``.
    ///   - body: The work; the connection must not leave it.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws, `CancellationError` while waiting, `.misuse` after the closing or if `body` left a
    ///   transaction open; of a pool of the app's own, what that throws.
    func write<T: Sendable>(
        isCounted: Bool, _ body: @escaping @Sendable (SQLiteConnection) throws -> T
    ) async throws -> T

    /// Runs `body` on a reading connection, which sees what was committed before.
    ///
    /// - Parameter body: The work; the connection must not leave it.
    /// - Returns: What `body` returns.
    /// - Throws: As ``write(isCounted:_:)``.
    func read<T: Sendable>(
        _ body: @escaping @Sendable (SQLiteConnection) throws -> T
    ) async throws -> T

    /// Runs `body` as ``write(isCounted:_:)`` if nobody has the connection or waits for it.
    ///
    /// A pool of the app's own cannot be asked for that, and has a moment to lend the connection.
    ///
    /// - Parameters:
    ///   - isCounted: Whether the request shows in ``countedWrites``.
    ///   - body: The work; the connection must not leave it.
    /// - Returns: What `body` returns; nil if the connection is in use.
    /// - Throws: As ``write(isCounted:_:)``.
    func writeIfFree<T: Sendable>(
        isCounted: Bool, _ body: @escaping @Sendable (SQLiteConnection) throws -> T
    ) async throws -> T?

    /// Runs `body` as ``read(_:)`` if there is a connection that nobody has or waits for; see ``writeIfFree(isCounted:_:)``.
    ///
    /// - Parameter body: The work; the connection must not leave it.
    /// - Returns: What `body` returns; nil if all connections are in use.
    /// - Throws: As ``write(isCounted:_:)``.
    func readIfFree<T: Sendable>(
        _ body: @escaping @Sendable (SQLiteConnection) throws -> T
    ) async throws -> T?

    /// Runs `body` while it has every connection to itself.
    ///
    /// - Parameter body: The work; the connections must not leave it.
    /// - Returns: What `body` returns.
    /// - Throws: As ``write(isCounted:_:)``.
    func all<T: Sendable>(
        _ body: @escaping @Sendable (_ writer: SQLiteConnection, _ readers: [SQLiteConnection]) throws -> T
    ) async throws -> T

    /// Lets the write-ahead log begin anew if it is long: for whoever writes much, between two transactions.
    ///
    /// - Throws: As ``write(isCounted:_:)``.
    func shortenLog() async throws

    /// Cuts the write-ahead log if it is long: for whoever has written much, once that is over.
    ///
    /// - Throws: As ``write(isCounted:_:)``.
    func cutLog() async throws

    /// How many counted requests for the writing connection there have been.
    var countedWrites: Int { get }

    /// Closes the connections, once what was accepted is done.
    ///
    /// - Throws: What a pool of the app's own throws.
    func close() async throws

    /// Lets go of the connections: closes those that nobody else can have.
    func leave() async
}

extension ConnectionPool {
    /// Runs `body` alone on the writing connection, uncounted.
    package func write<T: Sendable>(
        _ body: @escaping @Sendable (SQLiteConnection) throws -> T
    ) async throws -> T { try await write(isCounted: false, body) }
}

extension SQLitePool: ConnectionPool {
    /// Closes the connections: the SDK has opened them.
    package func leave() async { await close() }
}
