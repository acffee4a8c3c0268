import CPowerSyncSQLite

/// Connections that somebody else has opened and will close.
///
/// What borrows one belongs to it: a function that is registered there, under a name of ours, keeps it until the
/// owner closes. The connection itself is asked for it, and no list is kept, since SQLite gives the address of a
/// connection that is gone to a new one. The answer goes through a pointer that SQL cannot make
/// (sqlite.org/bindptr.html).
extension SQLiteConnection {
    /// Borrows a connection until its owner closes it, and lets ``borrower(of:)`` find what borrows it.
    ///
    /// - Parameter pointer: The open `sqlite3*`.
    /// - Returns: What borrows it; whatever borrowed it so before is gone then.
    /// - Throws: SQLite's error.
    package static func borrow(_ pointer: OpaquePointer) throws(SQLiteError) -> SQLiteConnection {
        let connection = SQLiteConnection(borrowing: pointer)
        // SQLite releases the borrower when the connection is closed, also when this call fails.
        let result = sqlite3_create_function_v2(
            pointer, functionName, 1, SQLITE_UTF8 | SQLITE_DIRECTONLY,
            Unmanaged.passRetained(Borrower(connection)).toOpaque(), tellBorrower, nil, nil,
            { data in
                guard let data else { return }
                Unmanaged<Borrower>.fromOpaque(data).release()
            })
        if result != SQLITE_OK { throw SQLiteError.last(pointer, result: result) }
        return connection
    }

    /// Returns what borrows a connection of somebody else since ``borrow(_:)``.
    ///
    /// - Parameter pointer: The open `sqlite3*`.
    /// - Returns: What borrows it and has not closed; nil if there is none.
    /// - Throws: SQLite's error.
    package static func borrower(of pointer: OpaquePointer) throws(SQLiteError) -> SQLiteConnection? {
        var statement: OpaquePointer?
        let prepared = sqlite3_prepare_v2(pointer, "SELECT \(functionName)(?1)", -1, &statement, nil)
        defer { sqlite3_finalize(statement) }
        guard prepared == SQLITE_OK else {
            // There is no such function: nobody has borrowed it.
            if prepared & 0xff == SQLITE_ERROR { return nil }
            throw SQLiteError.last(pointer, result: prepared)
        }
        let answer = Answer()
        let result = withExtendedLifetime(answer) {
            let place = Unmanaged.passUnretained(answer).toOpaque()
            let bound = sqlite3_bind_pointer(statement, 1, place, pointerType, nil)
            return bound == SQLITE_OK ? sqlite3_step(statement) : bound
        }
        guard result == SQLITE_ROW else { throw SQLiteError.last(pointer, result: result) }
        guard let connection = answer.connection, !connection.isClosed else { return nil }
        return connection
    }
}

private let functionName = "powersync_swift_borrower"

/// What the pointer is, for SQLite to compare.
///
/// Safe because it points into a string literal's static storage, which nobody writes or frees.
nonisolated(unsafe) private let pointerType: UnsafePointer<CChar> = {
    let text: StaticString = "PowerSyncSQLite.SQLiteConnection"
    return UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
}()

/// What the function keeps.
private final class Borrower {
    let connection: SQLiteConnection
    init(_ connection: SQLiteConnection) { self.connection = connection }
}

/// Where the function puts its answer.
private final class Answer {
    var connection: SQLiteConnection?
}

private func tellBorrower(
    _ context: OpaquePointer?, _ count: Int32, _ arguments: UnsafeMutablePointer<OpaquePointer?>?
) {
    guard let context, let data = sqlite3_user_data(context),
        let place = sqlite3_value_pointer(arguments?[0], pointerType)
    else { return }
    let borrower = Unmanaged<Borrower>.fromOpaque(data).takeUnretainedValue()
    Unmanaged<Answer>.fromOpaque(place).takeUnretainedValue().connection = borrower.connection
}
