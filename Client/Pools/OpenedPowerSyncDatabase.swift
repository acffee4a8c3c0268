// swift-format-ignore: AlwaysUseLowerCamelCase
/// Makes a database on connections that the app has opened.
///
/// The pool belongs to the database from now on: closing the database closes it. Databases of one identifier in a
/// process share connections and syncing, with one warning in the log. They use the pool of the one that was used
/// first, and it is closed when the last of them is closed; the pool of another is closed with that one. A database
/// that is only let go of closes no pool.
///
/// The file is not known here. So `close(deleteDatabase: true)` removes nothing, and no other process is kept from
/// syncing it: let one process sync.
///
/// - Parameters:
///   - schema: the tables.
///   - pool: the connections.
///   - identifier: names the database, such as by its path.
///   - logger: where the database logs.
/// - Returns: the database; the connections are made ready at its first use, whose call throws what goes wrong then.
public func OpenedPowerSyncDatabase(
    schema: Schema, pool: any SQLiteConnectionPoolProtocol, identifier: String,
    logger: (any LoggerProtocol) = DefaultLogger()
) -> any PowerSyncDatabaseProtocol {
    LocalDatabase(
        schema: schema, location: .success(.pool(identifier: identifier)), logger: logger,
        initialStatements: [], groups: .shared, appPool: pool)
}
