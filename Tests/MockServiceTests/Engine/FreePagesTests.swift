import PowerSyncSQLite
import PowerSyncSystem
import Testing

@testable import PowerSyncServiceEngine

/// DESIGN.md, 1: vacuum.
struct FreePagesTests {
    /// Pages of 4 KiB; more than 64 KiB and a quarter of the file.
    private static let limits: StoreLimits = {
        var limits = StoreLimits()
        limits.freeBytes = 64 << 10
        limits.freeParts = 4
        return limits
    }()

    private static func areTooMany(_ count: Int64, of all: Int64, isGoingOn: Bool) -> Bool {
        FreePages(count: count, of: all, size: 4096).areTooMany(limits, isGoingOn: isGoingOn)
    }

    @Test func aFileBecomesShorterIfMuchOfItAndMuchIsFree() {
        #expect(!Self.areTooMany(0, of: 0, isGoingOn: false))
        #expect(!Self.areTooMany(16, of: 20, isGoingOn: false))
        #expect(Self.areTooMany(17, of: 20, isGoingOn: false))
        #expect(!Self.areTooMany(25, of: 100, isGoingOn: false))
        #expect(Self.areTooMany(26, of: 100, isGoingOn: false))
    }

    /// Else each row that goes would begin it anew.
    @Test func itGoesOnUntilHalfAsMuchIsFree() {
        #expect(Self.areTooMany(9, of: 20, isGoingOn: true))
        #expect(!Self.areTooMany(8, of: 20, isGoingOn: true))
        #expect(Self.areTooMany(13, of: 100, isGoingOn: true))
        #expect(!Self.areTooMany(12, of: 100, isGoingOn: true))
    }

    @Test func theLimitsOfProductionAreAQuarterAndSixteenMegabytes() {
        let limits = StoreLimits()
        #expect(limits.freeBytes == 16 << 20 && limits.freeParts == 4 && limits.vacuumedPages == 256)
        #expect(limits.logBytes == 32 << 20 && limits.keptLogBytes == 8 << 20)
        #expect(limits.logRest == .seconds(5))
        #expect(limits.smallSegments == 16 && limits.smallSegmentBytes == 64 << 10)
        #expect(limits.mergeBytes == 1 << 20)
    }

    private func withFile(_ vacuum: String, _ body: (SQLiteConnection) throws -> Void) throws {
        let folder = try TemporaryDirectory(prefix: "free-pages-")
        defer { folder.remove() }
        let connection = try SQLiteConnection(path: "\(folder.path)/a.db")
        defer { connection.close() }
        try connection.execute("PRAGMA auto_vacuum = \(vacuum); PRAGMA journal_mode = WAL")
        try connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x BLOB)")
        for _ in 0..<40 { try connection.run("INSERT INTO t(x) VALUES (randomblob(20000))") }
        try connection.run("DELETE FROM t WHERE id <= 30")
        try body(connection)
    }

    @Test func pagesAreGivenBackAFewAtATime() throws {
        try withFile("INCREMENTAL") { connection in
            let kept = "SELECT hex(x) FROM t ORDER BY id"
            let rows = try connection.query(kept) { $0.string(0) }
            let before = try FreePages(connection)
            #expect(before.count > 100 && before.all > before.count && before.size == 4096)
            #expect(try before.giveBack(10, connection))
            let after = try FreePages(connection)
            #expect(after.count <= before.count - 10 && after.all <= before.all - 10)
            #expect(after.count > 0)
            #expect(try after.giveBack(10_000, connection))
            let last = try FreePages(connection)
            #expect(last.count == 0)
            let isShorter = try last.giveBack(10, connection)
            #expect(!isShorter)
            #expect(try connection.query(kept) { $0.string(0) } == rows)
            #expect(try connection.query("PRAGMA integrity_check") { $0.string(0) } == ["ok"])
        }
    }

    /// It would be tried for ever.
    @Test func aFileThatKeepsItsPagesIsNotShorter() throws {
        try withFile("NONE") { connection in
            let free = try FreePages(connection)
            #expect(free.count > 100)
            let isShorter = try free.giveBack(10, connection)
            #expect(!isShorter)
        }
    }
}
