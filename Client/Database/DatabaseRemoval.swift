import PowerSyncSQLite
import PowerSyncSystem

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
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
    /// - Parameters:
    ///   - location: where they are.
    ///   - initialStatements: what the app wants to run first on each connection.
    /// - Throws: `PowerSyncError`, also where it cannot be told whether another process has it open.
    static func removeFiles(at location: DatabaseLocation, initialStatements: [String]) throws {
        let owner = try location.resolved.flatMap { try alone(with: $0, initialStatements) }
        defer { owner?.close() }
        let locks = location.resolved.map { attachmentLocks(beside: $0) } ?? []
        for file in location.files + locks where unlink(file) != 0 && errno != ENOENT {
            throw PowerSyncError(
                .fileAccess, "Could not remove \(file)", detail: SystemError.text(of: errno))
        }
    }

    /// The files that queues of attachments have locked, which are empty.
    private static func attachmentLocks(beside path: String) -> [String] {
        let name = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8.index(after: $0) }
        let folder = String(path[..<(name ?? path.startIndex)])
        let beginning = String(path[(name ?? path.startIndex)...]) + SyncLock.Purpose.beginning
        // A folder that is gone has none.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { $0.utf8.starts(with: beginning.utf8) }.map { folder + $0 }
            .filter { isEmpty($0) }
    }

    /// Whether a file has nothing in it; a link, and what cannot be opened, count as something.
    private static func isEmpty(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return lseek(descriptor, 0, SEEK_END) == 0
    }

    /// Returns a connection that keeps others out; nil where there is no database.
    private static func alone(with path: String, _ initialStatements: [String]) throws -> SQLiteConnection? {
        guard access(path, F_OK) == 0 else { return nil }
        do {
            let connection = try SQLiteConnection(path: path, flags: .readWrite)
            connection.setBusyTimeout(.zero)
            // One of them may have the key, without which an encrypted file is taken for no database.
            try DatabaseOpener.runFirst(initialStatements, on: connection)
            // What they attach stays as it is, and is nobody's reason to keep this file.
            let attached = try connection.query(
                "SELECT name FROM pragma_database_list WHERE name NOT IN ('main', 'temp')"
            ) {
                $0.string(0)
            }
            for name in attached { try connection.execute("DETACH \(SQLText.identifier(name))") }
            // SQLite gives the log up only if no other connection has the file open, and from then on the lock counts.
            try connection.execute("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE")
            return connection
        } catch let error as SQLiteError {
            switch error.code {
            case .busy, .locked:
                throw PowerSyncError(
                    .invalidState, "Cannot delete a database that another process has open")
            // Nobody writes into it, or can use it.
            case .readOnly, .notADatabase, .corrupt: return nil
            default:
                let reason = PowerSyncError(error).errorDescription ?? error.errorString
                throw PowerSyncError(
                    .fileAccess, "Could not remove \(path)",
                    detail: "whether another process has it open cannot be told, \(reason)")
            }
        }
    }
}
