import CPowerSyncSQLite

/// A row on its way into a virtual table; valid while `insert` runs.
package struct SQLiteInsertedRow {
    /// The number of columns.
    package let count: Int
    fileprivate let values: UnsafeMutablePointer<OpaquePointer?>

    /// Returns the value of a column, from 0.
    package subscript(_ column: Int) -> SQLiteValue { value(of: pointer(column)) }

    /// Whether a column holds text.
    package func isText(_ column: Int) -> Bool { sqlite3_value_type(pointer(column)) == SQLITE_TEXT }

    /// Lends the bytes of a column as text in UTF-8; converts as SQLite does.
    ///
    /// - Parameters:
    ///   - column: The column, from 0.
    ///   - body: The use; nil for NULL. SQLite does not check that text is UTF-8.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    package func withText<Result, Failure: Error>(
        _ column: Int, _ body: (UnsafeBufferPointer<UInt8>?) throws(Failure) -> Result
    ) throws(Failure) -> Result { try PowerSyncSQLite.withText(of: pointer(column), body) }

    private func pointer(_ column: Int) -> OpaquePointer? {
        precondition(column >= 0 && column < count, "column \(column) of \(count)")
        return values[column]
    }
}

/// A virtual table without stored rows: each INSERT into it calls Swift.
///
/// It exists in every schema under its module's name (eponymous). SELECT, UPDATE and DELETE fail with
/// `.misuse`. The closures must not hold the connection strongly.
package struct SQLiteInsertModule {
    /// Its name, for the module and the table.
    package var name: String
    /// The column list of its declaration, such as `op TEXT, options INT HIDDEN`.
    package var columns: String
    /// Runs once a transaction, when the first statement that can write to it starts, also if no row follows.
    package var begin: () throws -> Void
    /// Stores one row.
    package var insert: (SQLiteInsertedRow) throws -> Void
    /// Runs after ROLLBACK TO, or a failed statement, undid changes made since `begin`.
    package var rollbackTo: () -> Void
    /// Runs when the transaction is over, committed or not.
    package var end: () -> Void
    /// Runs when the connection closes, or forgets the table; the last moment to finalise statements.
    package var disconnect: () -> Void

    /// Creates a module.
    package init(
        name: String, columns: String, begin: @escaping () throws -> Void,
        insert: @escaping (SQLiteInsertedRow) throws -> Void, rollbackTo: @escaping () -> Void = {},
        end: @escaping () -> Void = {}, disconnect: @escaping () -> Void = {}
    ) {
        self.name = name
        self.columns = columns
        self.begin = begin
        self.insert = insert
        self.rollbackTo = rollbackTo
        self.end = end
        self.disconnect = disconnect
    }
}

/// The Swift side and the C function table of one module.
private final class ModuleBox {
    let module: SQLiteInsertModule
    let functions = UnsafeMutablePointer<sqlite3_module>.allocate(capacity: 1)

    init(_ module: SQLiteInsertModule) {
        self.module = module
        functions.initialize(to: makeFunctions())
    }

    deinit { functions.deallocate() }
}

/// `sqlite3_vtab` with our context behind it; SQLite sees the first field alone.
private struct Table {
    var base = sqlite3_vtab()
    let box: Unmanaged<ModuleBox>
}

extension SQLiteConnection {
    /// Registers a virtual table that takes inserts.
    ///
    /// - Parameter module: Name, columns and what runs.
    /// - Throws: SQLite's error.
    package func createModule(_ module: SQLiteInsertModule) throws(SQLiteError) {
        try checkOpen()
        let box = ModuleBox(module)
        // SQLite releases the box when the module goes, also when this call fails.
        let result = sqlite3_create_module_v2(
            pointer, module.name, box.functions, Unmanaged.passRetained(box).toOpaque(),
            { data in
                guard let data else { return }
                Unmanaged<ModuleBox>.fromOpaque(data).release()
            })
        if result != SQLITE_OK { throw lastError(result, sql: nil) }
    }
}

private func makeFunctions() -> sqlite3_module {
    var functions = sqlite3_module()
    functions.iVersion = 2
    functions.xConnect = { db, context, _, _, result, message in
        guard let context, let result else { return SQLITE_MISUSE }
        let box = Unmanaged<ModuleBox>.fromOpaque(context)
        let module = box.takeUnretainedValue().module
        let status = sqlite3_declare_vtab(db, "CREATE TABLE x(\(module.columns))")
        guard status == SQLITE_OK else {
            message?.pointee = sqliteCopy("bad declaration of \(module.name)")
            return status
        }
        let table = UnsafeMutablePointer<Table>.allocate(capacity: 1)
        table.initialize(to: Table(box: box))
        result.pointee = UnsafeMutableRawPointer(table).assumingMemoryBound(to: sqlite3_vtab.self)
        return SQLITE_OK
    }
    functions.xDisconnect = { pointer in
        guard let pointer else { return SQLITE_MISUSE }
        let table = UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: Table.self)
        table.pointee.box.takeUnretainedValue().module.disconnect()
        table.deinitialize(count: 1)
        table.deallocate()
        return SQLITE_OK
    }
    // A failure here would reach SQL as a plain error; the one of xOpen keeps its code.
    functions.xBestIndex = { _, _ in SQLITE_OK }
    functions.xOpen = { pointer, _ in refuse(pointer, "can only be inserted into") }
    functions.xClose = { _ in SQLITE_MISUSE }
    functions.xFilter = { _, _, _, _, _ in SQLITE_MISUSE }
    functions.xNext = { _ in SQLITE_MISUSE }
    functions.xEof = { _ in 1 }
    functions.xColumn = { _, _, _ in SQLITE_MISUSE }
    functions.xRowid = { _, _ in SQLITE_MISUSE }
    functions.xUpdate = { pointer, count, arguments, _ in
        guard count > 2, let arguments, sqlite3_value_type(arguments[0]) == SQLITE_NULL else {
            return refuse(pointer, "can only be inserted into")
        }
        return perform(pointer) { module in
            try module.insert(SQLiteInsertedRow(count: Int(count) - 2, values: arguments + 2))
        }
    }
    functions.xBegin = { pointer in perform(pointer) { try $0.begin() } }
    functions.xSync = { _ in SQLITE_OK }
    functions.xCommit = { pointer in perform(pointer) { $0.end() } }
    functions.xRollback = { pointer in perform(pointer) { $0.end() } }
    functions.xSavepoint = { _, _ in SQLITE_OK }
    functions.xRelease = { _, _ in SQLITE_OK }
    functions.xRollbackTo = { pointer, _ in perform(pointer) { $0.rollbackTo() } }
    return functions
}

private func perform(
    _ pointer: UnsafeMutablePointer<sqlite3_vtab>?, _ body: (SQLiteInsertModule) throws -> Void
) -> Int32 {
    guard let pointer else { return SQLITE_MISUSE }
    let table = UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: Table.self)
    do {
        try body(table.pointee.box.takeUnretainedValue().module)
        return SQLITE_OK
    } catch {
        let (code, message) = report(error)
        return fail(pointer, code, message)
    }
}

private func refuse(_ pointer: UnsafeMutablePointer<sqlite3_vtab>?, _ reason: String) -> Int32 {
    guard let pointer else { return SQLITE_MISUSE }
    let table = UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: Table.self)
    let name = table.pointee.box.takeUnretainedValue().module.name
    return fail(pointer, SQLITE_MISUSE, "\(name) \(reason)")
}

private func fail(_ pointer: UnsafeMutablePointer<sqlite3_vtab>, _ code: Int32, _ message: String) -> Int32 {
    sqlite3_free(pointer.pointee.zErrMsg)
    pointer.pointee.zErrMsg = sqliteCopy(message)
    return code
}
