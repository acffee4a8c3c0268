/// Connections to one database that an app opens, lends and closes itself.
///
/// They are handed over to ``OpenedPowerSyncDatabase(schema:pool:identifier:logger:)``.
///
/// One connection writes; others read, if there are any. A connection is lent to one callback at a time, outside of a
/// transaction. A pool may read in one, but then `readTransaction` fails on it, since transactions do not nest.
///
/// What the SDK does on connections of its own it leaves to the pool here: journal mode, busy timeout, page cache. A
/// write-ahead log lets reads and writes go on beside each other; with a busy timeout of 0 a database that another
/// process holds is an error at once. On each connection that it is lent the SDK registers functions and virtual
/// tables, `uuid()` and others whose names begin with `powersync_`, and keeps prepared statements, which are gone
/// when the pool closes the connection. It takes none of SQLite's hooks.
public protocol SQLiteConnectionPoolProtocol: Sendable {
    /// The tables that commits have changed: a new, independent stream on each access.
    ///
    /// Each element holds names as SQLite knows them, such as `ps_data__users` and `ps_crud`. What the SDK writes is
    /// told here, too, since the hooks that tell of it are the pool's: without `ps_crud` nothing is uploaded, without
    /// `ps_data__users` no watched query of that table runs again. (SQLite's update hook is silent about a `DELETE`
    /// of all rows, unless there is a pre-update hook, too.) The name `__powersync_external_changes__` says that
    /// something has changed elsewhere, in tables that are not known; every watched query runs again. A pool that
    /// knows no tables may use it for all changes, but must not tell any where nothing has changed.
    var tableUpdates: AsyncStream<Set<String>> { get }

    /// Runs a callback with a connection to read from, which sees all that was committed before.
    ///
    /// Its task is cancelled when nobody waits for the callback any more. A pool may run it all the same: it throws
    /// `CancellationError` then. So it is for the other two calls.
    func read<T: Sendable>(
        onConnection: @Sendable @escaping (any SQLiteConnectionLease) throws -> T
    ) async throws -> T

    /// Runs a callback alone with the connection that writes.
    ///
    /// What the callback has committed is told in ``tableUpdates`` afterwards, also when it has thrown.
    func write<T: Sendable>(
        onConnection: @Sendable @escaping (any SQLiteConnectionLease) throws -> T
    ) async throws -> T

    /// Runs a callback that has all connections to itself; it changes tables and views.
    ///
    /// Connections that are opened later need not be among them. Behind the callback is the place to drop what the
    /// pool knows of the schema.
    func withAllConnections<T: Sendable>(
        onConnection:
            @Sendable @escaping (
                _ writer: any SQLiteConnectionLease, _ readers: [any SQLiteConnectionLease]
            ) throws -> T
    ) async throws -> T

    /// Closes all connections; called once, when the last database that stands on the pool is closed.
    func close() async throws
}
