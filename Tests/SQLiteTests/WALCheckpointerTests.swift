import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncSQLite

@Suite(.patient()) struct WALCheckpointerTests {
    private let database: TemporaryDatabase
    private let writer: SQLiteConnection
    private let failures = Lock<[WALFailure]>([])

    init() throws {
        database = try TemporaryDatabase()
        writer = try SQLiteConnection(path: database.path)
        try writer.execute("PRAGMA journal_mode = WAL; CREATE TABLE t(a)")
        try writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    }

    /// What the index of the log says: how many pages are in the log, and how many of them in the file as well.
    private func log() throws -> (pages: Int, copied: Int) {
        let index = try Data(contentsOf: URL(fileURLWithPath: database.path + "-shm"))
        func number(_ offset: Int) -> Int {
            Int(index.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self) })
        }
        return (number(16), number(96))
    }

    /// Commits a row that takes that many pages, and some for the tree above them.
    private func commit(pages: Int) throws {
        try writer.run("INSERT INTO t VALUES (zeroblob(?))", [.integer(Int64(pages * 4092))])
    }

    private func checkpointer(
        _ limits: WALCheckpointer.Limits, beforeEach: @escaping @Sendable () -> Void = {}
    ) throws -> WALCheckpointer {
        let failures = failures
        let checkpointer = WALCheckpointer(
            limits: limits, beforeEach: beforeEach,
            onFailure: { failure in failures.withLock { $0.append(failure) } })
        try checkpointer.relieve(writer)
        return checkpointer
    }

    @Test func aLogOfManyPagesIsCopiedByTheThread() async throws {
        let checkpointer = try checkpointer(WALCheckpointer.Limits())
        try commit(pages: 900)
        #expect(checkpointer.counts == WALCheckpointer.Counts())
        #expect(try log().copied == 0)
        try commit(pages: 200)
        try await wait(for: "the log to be copied") { try log().copied == log().pages }
        #expect(checkpointer.counts == WALCheckpointer.Counts(byThread: 1))
        // It begins anew, and counts from there.
        try commit(pages: 10)
        #expect(try log().pages < 20)
        try commit(pages: 1000)
        try await wait(for: "the log to be copied again") { try log().copied == log().pages }
        #expect(checkpointer.counts == WALCheckpointer.Counts(byThread: 2))
        checkpointer.end()
        writer.close()
        #expect(failures.withLock { $0.isEmpty })
    }

    /// While one commit follows the other the thread never copies the last pages, without which the log goes on growing.
    @Test func theWriterCopiesALittleRestOfALongLog() async throws {
        let gate = BlockingGate()
        defer { gate.open() }
        let limits = WALCheckpointer.Limits(pages: 10, longLog: 100, rest: 5)
        let checkpointer = try checkpointer(limits, beforeEach: { gate.wait() })
        try commit(pages: 60)
        try await wait(for: "the thread to be at work") { gate.arrivals == 1 }
        // Two at once are one too many.
        for _ in 0..<2 { try commit(pages: 60) }
        #expect(checkpointer.counts == WALCheckpointer.Counts(byThread: 1))
        #expect(try log().copied == 0)
        gate.open()
        // The thread has copied all of it, or nearly all.
        try await wait(for: "the log to begin anew") {
            try commit(pages: 1)
            return try log().pages < 100
        }
        checkpointer.end()
        writer.close()
        #expect(failures.withLock { $0.isEmpty })
    }

    @Test func theWriterCopiesAllOfTheLongestLog() async throws {
        let checkpointer = try await checkpointer(
            behindAReader: WALCheckpointer.Limits(pages: 10, longLog: 100, rest: 5))
        try commit(pages: 1)
        #expect(checkpointer.counts.byWriter == 0, "it is not the longest yet")
        try commit(pages: 50)
        #expect(checkpointer.counts == WALCheckpointer.Counts(byThread: 1, byWriter: 1))
        #expect(try log().copied == log().pages)
        #expect(try log().pages > 200)
        try commit(pages: 1)
        #expect(try log().pages < 20)
        checkpointer.end()
        writer.close()
    }

    /// What was only tried to be copied is not little.
    @Test func theWriterDoesNotCopyWhatAReaderHasKept() async throws {
        let checkpointer = try await checkpointer(
            behindAReader: WALCheckpointer.Limits(pages: 10, longLog: 100, rest: 5))
        try commit(pages: 1)
        #expect(checkpointer.counts == WALCheckpointer.Counts(byThread: 1))
        #expect(try log().copied < 20)
        // That is for the thread, behind the next pages.
        try commit(pages: 10)
        try await wait(for: "the log to be copied") { try log().copied == log().pages }
        #expect(checkpointer.counts == WALCheckpointer.Counts(byThread: 2))
        checkpointer.end()
        writer.close()
    }

    /// The thread has once tried to copy more than 150 pages, which a reader has kept that is gone.
    private func checkpointer(behindAReader limits: WALCheckpointer.Limits) async throws -> WALCheckpointer {
        let checkpointer = try checkpointer(limits)
        try commit(pages: 5)
        let reader = try SQLiteConnection(path: database.path, flags: .readOnly)
        try reader.execute("BEGIN; SELECT count(*) FROM t")
        try commit(pages: 150)
        try await wait(for: "the thread to be done") {
            checkpointer.counts.byThread == 1 && !checkpointer.isWorking
        }
        try reader.execute("COMMIT")
        reader.close()
        return checkpointer
    }

    @Test func aLogThatAReaderKeepsWakesNobodyAtEachCommit() async throws {
        let checkpointer = try checkpointer(WALCheckpointer.Limits(pages: 100, longLog: 1_000, rest: 5))
        try commit(pages: 5)
        let reader = try SQLiteConnection(path: database.path, flags: .readOnly)
        try reader.execute("BEGIN; SELECT count(*) FROM t")
        try commit(pages: 150)
        try await wait(for: "the thread to be done") {
            checkpointer.counts.byThread == 1 && !checkpointer.isWorking
        }
        for _ in 0..<10 { try commit(pages: 1) }
        try commit(pages: 100)
        try await wait(for: "the thread to be done again") {
            checkpointer.counts.byThread > 1 && !checkpointer.isWorking
        }
        #expect(checkpointer.counts == WALCheckpointer.Counts(byThread: 2))
        try reader.execute("COMMIT")
        reader.close()
        checkpointer.end()
        writer.close()
    }

    /// Whoever writes much waits for the thread, while others write.
    @Test func aLongLogIsShortenedBetweenTwoTransactions() async throws {
        let gate = BlockingGate()
        let limits = WALCheckpointer.Limits(pages: 10, longLog: 100, rest: 50)
        let checkpointer = try checkpointer(limits, beforeEach: { gate.wait() })
        try commit(pages: 60)
        try await wait(for: "the thread to be at work") { gate.arrivals == 1 }
        #expect(!checkpointer.isLong)
        try commit(pages: 90)
        #expect(checkpointer.isLong)
        async let copied: Void = checkpointer.copyAll()
        gate.open()
        try await copied
        #expect(
            checkpointer.counts == WALCheckpointer.Counts(byThread: 2),
            "the first round began before it was asked")
        #expect(try log().copied == log().pages)
        checkpointer.copyRest(on: writer)
        #expect(checkpointer.counts.byWriter == 0, "nothing was left")
        try commit(pages: 1)
        #expect(try log().pages < 20)
        #expect(!checkpointer.isLong)
        checkpointer.end()
        // Nobody waits for a thread that is gone.
        try await checkpointer.copyAll()
        checkpointer.leaveRest()
        writer.close()
    }

    @Test func aReaderThatKeepsALongLogIsNotWaitedFor() async throws {
        let checkpointer = try checkpointer(WALCheckpointer.Limits(pages: 10, longLog: 100, rest: 5))
        try commit(pages: 5)
        let reader = try SQLiteConnection(path: database.path, flags: .readOnly)
        try reader.execute("BEGIN; SELECT count(*) FROM t")
        try commit(pages: 150)
        try await wait(for: "the thread to be done") {
            checkpointer.counts.byThread == 1 && !checkpointer.isWorking
        }
        #expect(!checkpointer.isLong)
        try reader.execute("COMMIT")
        reader.close()
        try commit(pages: 10)
        try await wait(for: "the thread to be done again") {
            checkpointer.counts.byThread == 2 && !checkpointer.isWorking
        }
        #expect(checkpointer.isLong)
        checkpointer.end()
        writer.close()
    }

    @Test func whatOthersWroteMeanwhileIsCopiedByTheWriter() async throws {
        let (checkpointer, reader) = try await shortening()
        try commit(pages: 1)
        try reader.execute("COMMIT")
        reader.close()
        checkpointer.copyRest(on: writer)
        #expect(checkpointer.counts == WALCheckpointer.Counts(byThread: 2, byWriter: 1))
        #expect(try log().copied == log().pages)
        try commit(pages: 1)
        #expect(try log().pages < 20)
        checkpointer.end()
        writer.close()
    }

    /// They would wait for the disk, and whoever shortens the log does so anyway.
    @Test func whileALogIsShortenedCommitsOfOthersCopyNothing() async throws {
        let (checkpointer, reader) = try await shortening()
        try commit(pages: 1)
        #expect(checkpointer.counts.byWriter == 0)
        checkpointer.leaveRest()
        try commit(pages: 1)
        #expect(checkpointer.counts.byWriter == 1)
        try reader.execute("COMMIT")
        reader.close()
        checkpointer.end()
        writer.close()
    }

    /// The thread has copied all of a long log for whoever shortens it; because of the reader it does not begin anew.
    private func shortening() async throws -> (checkpointer: WALCheckpointer, reader: SQLiteConnection) {
        let gate = BlockingGate()
        defer { gate.open() }
        let limits = WALCheckpointer.Limits(pages: 10, longLog: 100, rest: 50)
        let checkpointer = try checkpointer(limits, beforeEach: { gate.wait() })
        try commit(pages: 150)
        let reader = try SQLiteConnection(path: database.path, flags: .readOnly)
        try reader.execute("BEGIN; SELECT count(*) FROM t")
        try await wait(for: "the thread to be at work") { gate.arrivals == 1 }
        async let copied: Void = checkpointer.copyAll()
        try await wait(for: "somebody to wait") { checkpointer.waiting == 1 }
        gate.open()
        try await copied
        #expect(checkpointer.counts == WALCheckpointer.Counts(byThread: 2))
        #expect(try log().copied == log().pages)
        return (checkpointer, reader)
    }

    @Test func endingFreesWhoeverWaits() async throws {
        let gate = BlockingGate()
        let checkpointer = try checkpointer(
            WALCheckpointer.Limits(pages: 10, longLog: 100), beforeEach: { gate.wait() })
        try commit(pages: 150)
        try await wait(for: "the thread to be at work") { gate.arrivals == 1 }
        let waiting = Task { try await checkpointer.copyAll() }
        try await wait(for: "somebody to wait") { checkpointer.waiting == 1 }
        try DetachedThread.start { checkpointer.end() }
        try await wait(forEndOf: waiting)
        checkpointer.leaveRest()
        gate.open()
        checkpointer.end()
        writer.close()
    }

    @Test func aLogThatAReaderNeedsGrowsUntilItIsDone() async throws {
        let limits = WALCheckpointer.Limits(pages: 10, longLog: 100, rest: 50)
        let checkpointer = try checkpointer(limits)
        try commit(pages: 5)
        let reader = try SQLiteConnection(path: database.path, flags: .readOnly)
        try reader.execute("BEGIN; SELECT count(*) FROM t")
        for _ in 0..<10 { try commit(pages: 50) }
        #expect(try log().copied < 20)
        #expect(try log().pages > 500)
        try reader.execute("COMMIT")
        reader.close()
        try await wait(for: "the log to be short") {
            try commit(pages: 10)
            return try log().pages < 100
        }
        checkpointer.end()
        writer.close()
        #expect(failures.withLock { $0.isEmpty }, "waiting for a reader is no failure")
    }

    @Test func withoutAFileTheWriterCopiesByItselfAndSaysWhy() async throws {
        let checkpointer = try checkpointer(WALCheckpointer.Limits(pages: 10, longLog: 1_000_000))
        try FileManager.default.removeItem(atPath: database.path)
        try commit(pages: 20)
        try await wait(for: "the thread to fail") { failures.withLock { !$0.isEmpty } }
        #expect(failures.withLock { $0.map(\.error.code) } == [.cannotOpen])
        #expect(failures.withLock { $0.map(\.isCopiedByWriter) } == [true])
        try commit(pages: 20)
        #expect(checkpointer.counts == WALCheckpointer.Counts(byWriter: 1))
        #expect(try log().copied == log().pages)
        #expect(!FileManager.default.fileExists(atPath: database.path), "no new file in its place")
        checkpointer.end()
        writer.close()
    }

    @Test func aThreadThatCouldNotBeginIsTriedAgain() async throws {
        let checkpointer = try checkpointer(WALCheckpointer.Limits(pages: 10))
        let aside = database.path + "-aside"
        try FileManager.default.moveItem(atPath: database.path, toPath: aside)
        try commit(pages: 20)
        try await wait(for: "the thread to fail") { failures.withLock { !$0.isEmpty } }
        try FileManager.default.moveItem(atPath: aside, toPath: database.path)
        try commit(pages: 1)
        #expect(checkpointer.counts == WALCheckpointer.Counts(byWriter: 1))
        #expect(try log().copied == log().pages)
        try commit(pages: 10)
        try await wait(for: "the thread to copy") { checkpointer.counts.byThread == 1 }
        #expect(checkpointer.counts.byWriter == 1)
        #expect(failures.withLock { $0.count } == 1)
        checkpointer.end()
        writer.close()
    }

    @Test func endingWaitsForWhatIsBeingCopied() async throws {
        let gate = BlockingGate()
        let checkpointer = try checkpointer(
            WALCheckpointer.Limits(pages: 10), beforeEach: { gate.wait() })
        try commit(pages: 20)
        try await wait(for: "the thread to be at work") { gate.arrivals == 1 }
        let ended = Lock(false)
        try DetachedThread.start {
            checkpointer.end()
            ended.withLock { $0 = true }
        }
        try await wait(for: "somebody to wait for the end") { checkpointer.isClosing }
        #expect(!ended.withLock { $0 })
        gate.open()
        try await wait(for: "the end") { ended.withLock { $0 } }
        // What comes behind the end is left to whoever closes.
        try commit(pages: 20)
        #expect(checkpointer.counts == WALCheckpointer.Counts(byThread: 1))
        writer.close()
    }

    /// Sixteen times as many bytes are a sixteenth of the pages.
    @Test func theLimitsAreBytesWhateverThePagesHave() throws {
        writer.close()
        let other = try TemporaryDatabase()
        let wide = try SQLiteConnection(path: other.path)
        try wide.execute("PRAGMA page_size = 65536; PRAGMA journal_mode = WAL; CREATE TABLE t(a)")
        let checkpointer = WALCheckpointer(
            limits: WALCheckpointer.Limits(pages: 5, longLog: 160), onFailure: { _ in })
        try checkpointer.relieve(wide)
        try wide.run("INSERT INTO t VALUES (zeroblob(100000))")
        #expect(!checkpointer.isLong)
        try wide.run("INSERT INTO t VALUES (zeroblob(1000000))")
        #expect(checkpointer.isLong)
        checkpointer.end()
        wide.close()
    }

    @Test func whoSetHowOftenTheLogIsCopiedIsObeyed() async throws {
        try writer.execute("PRAGMA wal_autocheckpoint = 50")
        let checkpointer = try checkpointer(WALCheckpointer.Limits(pages: 10))
        try commit(pages: 30)
        #expect(try log().copied == 0)
        try commit(pages: 30)
        #expect(try log().copied == log().pages)
        #expect(checkpointer.counts == WALCheckpointer.Counts())
        checkpointer.end()
        writer.close()
    }
}
