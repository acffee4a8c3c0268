import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncSQLite

/// How long the write-ahead log of a pool becomes.
@Suite(.patient())
struct SQLitePoolLogTests {
    private let database: TemporaryDatabase

    init() throws { database = try TemporaryDatabase() }

    private func open(
        _ path: String? = nil, logLimit: Int? = nil, keptLog: Int? = nil
    ) async throws -> SQLitePool {
        try await SQLitePool.open(
            path: path ?? database.path, readers: 1, logLimit: logLimit, keptLog: keptLog,
            setUp: { connection, isWriter in
                connection.setBusyTimeout(TestOptions.deadline)
                if isWriter { try connection.execute("PRAGMA journal_mode = WAL; CREATE TABLE t(a)") }
            })
    }

    /// The size of the log's file in bytes.
    private func log() throws -> Int {
        try Data(contentsOf: URL(fileURLWithPath: database.path + "-wal")).count
    }

    /// Commits a row of so many bytes.
    private func commit(_ bytes: Int, to pool: SQLitePool) async throws {
        try await pool.write { try $0.run("INSERT INTO t VALUES (zeroblob(?))", [.integer(Int64(bytes))]) }
    }

    private func rows(_ pool: SQLitePool) async throws -> Int64? {
        try await pool.read { try $0.one("SELECT count(*) FROM t") { $0.int64(0) } }
    }

    private func fileLimit(_ pool: SQLitePool) async throws -> Int64? {
        try await pool.write { try $0.one("PRAGMA journal_size_limit") { $0.int64(0) } }
    }

    /// Whoever writes much has no transaction wait for the cut; it comes when that is over.
    @Test func aLogBeginsAnewFromItsLimitOnAndItsFileIsCutLater() async throws {
        let pool = try await open(logLimit: 400 << 10, keptLog: 100 << 10)
        #expect(try await fileLimit(pool) == 100 << 10)
        try await pool.cutLog()
        try await commit(600_000, to: pool)
        let before = try log()
        #expect(before > 600_000)
        for _ in 0..<2 {
            try await pool.shortenLog()
            try await commit(1, to: pool)
            #expect(try log() == before)
            try await commit(500_000, to: pool)
            #expect(try log() == before)
        }
        // One that a single transaction made longer than a log becomes is cut to that.
        try await commit(2_000_000, to: pool)
        #expect(try log() > 2_000_000)
        try await pool.shortenLog()
        try await commit(1, to: pool)
        #expect(try log() == 200 * (4096 + 24) + 32)
        #expect(try await rows(pool) == 7)
        try await pool.cutLog()
        #expect(try log() == 0)
        #expect(try await fileLimit(pool) == 100 << 10, "in force again")
        await pool.close()
    }

    @Test func aLogThatBeginsAnewByItselfHasItsFileCutToWhatIsKept() async throws {
        let pool = try await open(keptLog: 100 << 10)
        try await commit(10_000_000, to: pool)
        let file = try SQLiteConnection(path: database.path, flags: .readWrite)
        try file.run("PRAGMA schema_version")
        try await wait(for: "all to be copied") {
            try file.one("PRAGMA wal_checkpoint(PASSIVE)") { row in
                row.int64(0) == 0 && row.int64(1) > 0 && row.int64(1) == row.int64(2)
            } == true
        }
        file.close()
        #expect(try log() > 10_000_000)
        try await commit(1, to: pool)
        #expect(try log() == 100 << 10)
        await pool.close()
    }

    @Test func aShortLogIsNotCut() async throws {
        let pool = try await open()
        try await commit(10_000_000, to: pool)
        let before = try log()
        try await pool.cutLog()
        #expect(try log() == before)
        try await commit(10_000_000, to: pool)
        try await pool.cutLog()
        #expect(try log() == 0)
        await pool.close()
    }

    @Test func belowItsLimitALogGoesOn() async throws {
        let pool = try await open(logLimit: 10 << 20, keptLog: 100 << 10)
        try await commit(1_000_000, to: pool)
        let before = try log()
        try await pool.shortenLog()
        try await commit(1, to: pool)
        #expect(try log() > before)
        await pool.close()
    }

    @Test func theFileStaysAsLongAsItWasUnlessItIsToBeCut() async throws {
        let pool = try await open(logLimit: 400 << 10)
        try await commit(1_000_000, to: pool)
        let before = try log()
        try await pool.shortenLog()
        try await commit(1, to: pool)
        #expect(try log() == before)
        await pool.close()
    }

    @Test func theLimitsOfAShortLogArePartsOfIt() {
        let usual = WALCheckpointer.Limits.forLog(of: 32 << 20)
        #expect(usual.pages == 1000 && usual.longLog == 8192 && usual.rest == 1000)
        #expect(usual.longestLog == 16_384)
        let short = WALCheckpointer.Limits.forLog(of: 400 << 10)
        #expect(short.pages == 25 && short.longLog == 100 && short.rest == 12)
        let shortest = WALCheckpointer.Limits.forLog(of: 0)
        #expect(shortest.pages > 0 && shortest.longLog > shortest.pages && shortest.rest > 0)
    }

    @Test(arguments: [10_000, 10_000_000])
    func aLogAtRestIsCutToNothing(_ size: Int) async throws {
        let pool = try await open()
        try await commit(size, to: pool)
        #expect(try log() > size)
        #expect(try await pool.truncateLog())
        #expect(try log() == 0)
        #expect(try await pool.truncateLog(), "it is empty already")
        // It goes on from there.
        try await commit(1, to: pool)
        #expect(try log() > 0)
        #expect(try await rows(pool) == 2)
        #expect(try await pool.truncateLog())
        #expect(try log() == 0)
        await pool.close()
        let file = try SQLiteConnection(path: database.path, flags: .readOnly)
        #expect(try file.one("SELECT count(*) FROM t") { $0.int64(0) } == 2)
        file.close()
    }

    @Test func aReaderThatNeedsTheLogIsNotWaitedFor() async throws {
        let pool = try await open()
        try await commit(10_000, to: pool)
        let reader = try SQLiteConnection(path: database.path, flags: .readOnly)
        try reader.execute("BEGIN; SELECT count(*) FROM t")
        try await commit(10_000, to: pool)
        let timeout = try await pool.write { try $0.one("PRAGMA busy_timeout") { $0.int64(0) } }
        let start = ContinuousClock.now
        let isCut = try await pool.truncateLog()
        #expect(!isCut)
        #expect(ContinuousClock.now - start < TestOptions.deadline, "the writer waits for locks as long")
        #expect(try log() > 20_000)
        #expect(try reader.one("SELECT count(*) FROM t") { $0.int64(0) } == 1)
        let now = try await pool.write { try $0.one("PRAGMA busy_timeout") { $0.int64(0) } }
        #expect(now == timeout && now != 0, "the writer waits for locks as before")
        try reader.execute("COMMIT")
        reader.close()
        #expect(try await pool.truncateLog())
        #expect(try log() == 0)
        await pool.close()
    }

    @Test func whatHasNoLogIsAtRest() async throws {
        let pool = try await open(":memory:")
        try await commit(10_000, to: pool)
        #expect(try await pool.truncateLog())
        #expect(try await rows(pool) == 1)
        await pool.close()
    }

    @Test func aClosedPoolCutsNothing() async throws {
        let pool = try await open()
        await pool.close()
        let error = await #expect(throws: SQLiteError.self) { try await pool.truncateLog() }
        #expect(error?.code == .misuse)
    }

    /// What follows is copied and begins anew as if the log had never been cut.
    @Test func aLogThatWasCutIsCopiedAgainByTheThread() async throws {
        let checkpointer = WALCheckpointer(
            limits: WALCheckpointer.Limits(pages: 10, longLog: 100, rest: 50), onFailure: { _ in })
        let pool = try await SQLitePool(
            opening: database.path, readers: 0,
            setUp: { connection, _ in
                try connection.execute("PRAGMA journal_mode = WAL; CREATE TABLE t(a)")
            }, onChange: { _ in }, checkpointer: checkpointer)
        try await commit(1_000_000, to: pool)
        #expect(checkpointer.isLong)
        #expect(try await pool.truncateLog())
        #expect(!checkpointer.isLong)
        #expect(checkpointer.shortening == 0)
        try await wait(for: "the thread to rest") { !checkpointer.isWorking }
        let rounds = checkpointer.counts.byThread
        try await commit(50_000, to: pool)
        try await wait(for: "the thread to copy") { checkpointer.counts.byThread > rounds }
        #expect(!checkpointer.isLong)
        await pool.close()
    }
}
