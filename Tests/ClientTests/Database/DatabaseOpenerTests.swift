import CPowerSyncSQLite
import PowerSyncSQLite
import PowerSyncSystem
import Testing

@testable import PowerSync

struct DatabaseOpenerTests {
    /// SQLite's file system with lock files has no shared memory, as network file systems have none.
    @Test func aFileThatCannotHaveAWriteAheadLogIsRefused() throws {
        let folder = try TemporaryDirectory()
        let connection = try SQLiteConnection(
            path: "file:\(folder.file())?vfs=unix-dotfile",
            flags: [.readWriteCreate, SQLiteOpenFlags(rawValue: SQLITE_OPEN_URI)])
        defer { withExtendedLifetime(folder) { connection.close() } }
        let error = #expect(throws: PowerSyncError.self) {
            try DatabaseOpener.setUp(connection, isWriter: true)
        }
        let text = error?.errorDescription ?? ""
        #expect(text.contains("stays \"delete\"") && text.contains("Keep it on a local disk"), "\(text)")
    }

    @Test func aDatabaseInMemoryNeedsNone() throws {
        let connection = try SQLiteConnection(path: ":memory:")
        defer { connection.close() }
        try DatabaseOpener.setUp(connection, isWriter: true)
        #expect(try connection.one("PRAGMA journal_mode") { $0.string(0) } == "memory")
    }
}
