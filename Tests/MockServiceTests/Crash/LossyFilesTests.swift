import CPowerSyncLossyFiles
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The files themselves, each time in a process of its own, in which every connection has such.
@Suite(.patient())
struct LossyFilesTests {
    /// What is committed is there for other connections at once, and on the disk once SQLite has synced it.
    @Test(arguments: zip(["FULL", "NORMAL", "OFF", "FULL"], [true, true, true, false]))
    func aKillLosesWhatWasNotSynced(synchronous: String, isSyncing: Bool) async throws {
        let folder = try TemporaryDirectory(prefix: "lossy-files-")
        defer { folder.remove() }
        let path = folder.path + "/a.db"
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [path = path as String, synchronous = synchronous as String, isSyncing = isSyncing as Bool] in
            #expect(powersync_lossy_files_register(1, 0, isSyncing) == 0)
            // Once a process.
            #expect(powersync_lossy_files_register(1, 0, isSyncing) != 0)
            let writer = try SQLiteConnection(path: path)
            try writer.execute("PRAGMA synchronous = \(synchronous); PRAGMA journal_mode = WAL")
            try writer.execute("CREATE TABLE t(x); INSERT INTO t VALUES (7)")
            let reader = try SQLiteConnection(path: path, flags: .readOnly)
            let seen = try reader.query("SELECT x FROM t") { $0.int64(0) }
            #expect(seen == [7])
            // A connection that goes before would bring all of it to the disk.
            withExtendedLifetime((writer, reader)) { _ = kill(getpid(), SIGKILL) }
        }
        let connection = try SQLiteConnection(path: path)
        defer { connection.close() }
        let tables = try connection.query("SELECT name FROM sqlite_schema") { $0.string(0) }
        let isKept = synchronous == "FULL" && isSyncing
        #expect(tables == (isKept ? ["t"] : []))
        if isKept { #expect(try connection.query("SELECT x FROM t") { $0.int64(0) } == [7]) }
    }

    /// However much goes through at once, SQLite reads what it has written, and files that are closed are whole.
    @Test(arguments: [0, 60], ["WAL", "TRUNCATE"])
    func whatIsReadIsWhatWasWritten(percentThrough: Int, mode: String) async throws {
        let folder = try TemporaryDirectory(prefix: "lossy-files-")
        defer { folder.remove() }
        let (path, model) = (folder.path + "/a.db", folder.path + "/model.db")
        let expected = try Self.work(on: model, mode: mode, synchronous: "OFF", seed: percentThrough)
        #expect(expected.count > 10)
        await #expect(processExitsWith: .success) {
            [
                path = path as String, mode = mode as String, percentThrough = percentThrough as Int,
                expected = expected as [String]
            ] in
            #expect(powersync_lossy_files_register(7, Int32(percentThrough), true) == 0)
            let seen = try LossyFilesTests.work(
                on: path, mode: mode, synchronous: "FULL", seed: percentThrough)
            #expect(seen == expected)
        }
        let connection = try SQLiteConnection(path: path)
        defer { connection.close() }
        #expect(try connection.query("PRAGMA integrity_check") { $0.string(0) } == ["ok"])
        #expect(try Self.content(connection) == expected)
    }

    /// Does random work on a new database, and returns what another connection sees of it in the end.
    static func work(on path: String, mode: String, synchronous: String, seed: Int) throws -> [String] {
        var random = SeededRandom(seed: seed)
        let writer = try SQLiteConnection(path: path)
        defer { writer.close() }
        // Pages leave the cache, and the log is copied, all the while.
        try writer.execute("PRAGMA synchronous = \(synchronous); PRAGMA journal_mode = \(mode)")
        try writer.execute("PRAGMA cache_size = 10; PRAGMA wal_autocheckpoint = 20")
        try writer.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x BLOB)")
        let reader = try SQLiteConnection(path: path, flags: .readOnly)
        defer { reader.close() }
        for step in 0..<120 {
            let isUndone = random.once(in: 6)
            if isUndone { try writer.execute("BEGIN") }
            switch random.below(30) {
            case 0: if !isUndone { try writer.execute("VACUUM") }
            case 1...3:
                try writer.run("DELETE FROM t WHERE id % 5 = ?", [.integer(Int64(random.below(5)))])
            default:
                let blob = [UInt8](repeating: UInt8(step % 256), count: random.below(9000))
                let id = SQLiteValue.integer(Int64(random.below(80)))
                try writer.run("INSERT OR REPLACE INTO t VALUES (?, ?)", [id, .blob(blob)])
            }
            if isUndone { try writer.execute("ROLLBACK") }
            if random.once(in: 10) { _ = try content(reader) }
        }
        return try content(reader)
    }

    /// All rows, as texts.
    static func content(_ connection: SQLiteConnection) throws -> [String] {
        try connection.query(
            "SELECT id, length(x), hex(substr(x, 1, 1)), hex(substr(x, -1)) FROM t ORDER BY id"
        ) { "\($0.int64(0)) \($0.int64(1)) \($0.string(2)) \($0.string(3))" }
    }
}
