import PowerSyncSQLite

/// The client core on one connection: its SQL functions, its virtual tables and what they remember.
///
/// Installed once on every connection before anything else runs on it. It belongs to whoever holds the
/// connection and lives as long as that.
package final class CoreExtension {
    /// The connection; the core never keeps one alive that it does not have to.
    unowned let connection: SQLiteConnection
    /// Whether rows from the service are being written, so that triggers record nothing.
    package private(set) var isApplyingSync = false
    /// Whether the SDK's sync iteration that has written here goes on; clearing softly and resyncing are refused meanwhile.
    package var isIterationActive: Bool {
        get { memory.iteration.isActive }
        set { memory.iteration.isActive = newValue }
    }
    /// The iteration that `powersync_control` drives; the same is refused while it is active.
    var commandIteration = CommandIteration()
    /// The raw tables of the schema that was applied last, for clearing.
    var rawTables: [RawTableDefinition] {
        get { memory.rawTables }
        set { memory.rawTables = newValue }
    }
    /// What a connection has to know that takes the place of this one.
    var memory = Memory()
    let randomUUID: () -> String
    private(set) lazy var crud = CrudTables(core: self)
    /// Raw-table statements by table name, valid for one version of the database's schema.
    var inferred = RawTableInferenceCache()

    /// What a writing connection remembers, and the file does not.
    struct Memory: Sendable {
        /// The SDK's sync iteration that has written here last.
        var iteration = IterationMark()
        var rawTables: [RawTableDefinition] = []
        /// The pool of the app's own to which it belongs.
        var pool: ObjectIdentifier?
    }

    private init(connection: SQLiteConnection, randomUUID: @escaping () -> String) {
        self.connection = connection
        self.randomUUID = randomUUID
    }

    /// Installs the core on a new connection; does nothing where it is installed already.
    ///
    /// - Parameters:
    ///   - connection: The connection, writing or reading.
    ///   - randomUUID: Makes the ids that `uuid()` returns.
    /// - Returns: The core of this connection.
    /// - Throws: SQLite's error.
    @discardableResult
    package static func install(
        on connection: SQLiteConnection, randomUUID: @escaping () -> String = RandomUUID.next
    ) throws(SQLiteError) -> CoreExtension {
        if let installed = connection.context as? CoreExtension { return installed }
        let core = CoreExtension(connection: connection, randomUUID: randomUUID)
        try core.registerFunctions()
        try core.crud.register()
        connection.context = core
        return core
    }

    /// Installs the core on a connection that somebody else opened and will close; in place of one that is there.
    ///
    /// - Parameters:
    ///   - pointer: The open `sqlite3*`.
    ///   - randomUUID: Makes the ids that `uuid()` returns.
    /// - Returns: The core; it goes when the owner closes the connection.
    /// - Throws: SQLite's error.
    package static func install(
        borrowing pointer: OpaquePointer, randomUUID: @escaping () -> String = RandomUUID.next
    ) throws(SQLiteError) -> CoreExtension {
        let connection = try SQLiteConnection.borrow(pointer)
        do throws(SQLiteError) {
            let core = try install(on: connection, randomUUID: randomUUID)
            // A virtual table is disconnected before SQLite looks for statements that are still open.
            try connection.createModule(
                SQLiteInsertModule(
                    name: "powersync_internal_close", columns: "x", begin: {}, insert: { _ in },
                    disconnect: { [weak connection] in connection?.close() }))
            // Not before there is a statement: it reads the file, which may be busy, or wait for its key.
            connection.beforeFirstStatement = { [unowned connection] () throws(SQLiteError) in
                _ = try connection.prepare("SELECT x FROM powersync_internal_close")
            }
            return core
        } catch {
            // So that nobody takes it for one that is ready.
            connection.close()
            throw error
        }
    }

    /// The core of a connection.
    ///
    /// - Throws: `.misuse` where it is not installed.
    package static func of(_ connection: SQLiteConnection) throws(SQLiteError) -> CoreExtension {
        guard let core = connection.context as? CoreExtension else {
            throw CoreError.state("the core is not installed on this connection")
        }
        return core
    }

    /// Runs `body` with `powersync_in_sync_operation()` = 1, so that triggers do not queue its writes.
    package func applyingSync<T>(_ body: () throws -> T) rethrows -> T {
        let before = isApplyingSync
        isApplyingSync = true
        defer { isApplyingSync = before }
        return try body()
    }

    /// Refuses to go on outside a transaction.
    func requireTransaction() throws(SQLiteError) {
        if !connection.isInTransaction { throw CoreError.noTransaction }
    }
}

@available(*, unavailable)
extension CoreExtension: Sendable {}
