/// The file name of a database that is given none.
public let DEFAULT_DB_FILENAME = "powersync.db"  // swift-format-ignore: AlwaysUseLowerCamelCase

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Makes a database; its file is opened at the first use, whose call throws what goes wrong then.
///
/// Instances of one file in a process share connections and syncing; a warning is logged when there is a second one.
///
/// ```swift
/// let schema = Schema(
///     Table(name: "todos", columns: [.text("description"), .integer("completed")])
/// )
/// let database = PowerSyncDatabase(schema: schema, dbFilename: "todos.db")
/// ```
///
/// - Parameters:
///   - schema: the tables.
///   - dbFilename: `:memory:` for a database in memory, an absolute path, or a name in the directory of the variable
///   `POWERSYNC_DATA_DIR`. Without that variable the directory is `databases` in Application Support on Apple systems,
///   and one of the program's own below `~/.local/share` (`XDG_DATA_HOME`) on Linux.
///   - logger: where the database logs.
///   - initialStatements: SQL that runs first on every connection. Instances of one file share connections: what an
///   instance wants that joins later, and has not run yet, runs on the open ones when it is first used. A key for
///   encryption is refused with the code ``PowerSyncError/Code/invalidArgument`` where it would have no effect.
/// - Returns: the database.
public func PowerSyncDatabase(
    schema: Schema, dbFilename: String = DEFAULT_DB_FILENAME, logger: (any LoggerProtocol) = DefaultLogger(),
    initialStatements: [String] = []
) -> any PowerSyncDatabaseProtocol {
    LocalDatabase(
        schema: schema,
        location: Result { () throws(PowerSyncError) in try DatabaseLocation(named: dbFilename) },
        logger: logger, initialStatements: initialStatements, groups: .shared)
}
