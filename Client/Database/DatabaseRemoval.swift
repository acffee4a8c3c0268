import PowerSyncSQLite
import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Removes the files of a database that this process has closed.
enum DatabaseRemoval {
    /// Removes the files, unless another process has the database open: what that one writes would be lost.
    ///
    /// - Throws: `PowerSyncError`.
    static func removeFiles(at location: DatabaseLocation) throws {
        let owner = try location.resolved.flatMap { try alone(with: $0) }
        defer { owner?.close() }
        for file in location.files where unlink(file) != 0 && errno != ENOENT {
            throw PowerSyncError(
                .fileAccess, "Could not remove \(file)", detail: SystemError.text(of: errno))
        }
    }

    /// Returns a connection that keeps others out; nil where there is no database.
    private static func alone(with path: String) throws -> SQLiteConnection? {
        guard access(path, F_OK) == 0 else { return nil }
        do {
            let connection = try SQLiteConnection(path: path, flags: .readWrite)
            connection.setBusyTimeout(.zero)
            // SQLite gives the log up only if no other connection has the file open, and from then on the lock counts.
            try connection.execute("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE")
            return connection
        } catch {
            switch error.code {
            case .busy, .locked:
                throw PowerSyncError(
                    .invalidState, "Cannot delete a database that another process has open")
            // Nobody writes into it, or can use it.
            case .readOnly, .notADatabase, .corrupt: return nil
            default:
                throw PowerSyncError(
                    .fileAccess, "Could not remove \(path)",
                    detail: "whether another process has it open cannot be told, \(error.message)")
            }
        }
    }
}
