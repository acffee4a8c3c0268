import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncSQLite

@Suite(.patient())
struct SQLitePoolTests {
    let database: TemporaryDatabase
    let pool: SQLitePool

    init() async throws {
        database = try TemporaryDatabase()
        pool = try await Self.open(database.path)
    }

    static func open(
        _ path: String, readers: Int = 3, onChange: @escaping @Sendable (Set<String>) -> Void = { _ in }
    ) async throws -> SQLitePool {
        try await SQLitePool.open(
            path: path, readers: readers,
            setUp: { connection, isWriter in
                connection.setBusyTimeout(TestOptions.deadline)
                if isWriter {
                    try connection.execute("PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS t(a)")
                }
            }, onChange: onChange)
    }

    func count() async throws -> Int64? {
        try await pool.read { try $0.one("SELECT count(*) FROM t") { $0.int64(0) } }
    }

    @Test func readersSeeWhatTheWriterCommitted() async throws {
        for value in 0..<20 {
            try await pool.write { try $0.run("INSERT INTO t VALUES (?)", [.integer(Int64(value))]) }
            #expect(try await count() == Int64(value + 1))
        }
        await pool.close()
    }

    /// Its cache has what the others would have to read, and keep, too.
    @Test func readsOneAfterTheOtherHaveTheSameConnection() async throws {
        let used = Lock<[ObjectIdentifier: Int]>([:])
        for _ in 0..<100 {
            try await pool.read { connection in
                used.withLock { $0[ObjectIdentifier(connection), default: 0] += 1 }
            }
        }
        // Another one has the turn if a read comes before the thread of the last one waits again. By turns each of the three
        // would have a third.
        let most = used.withLock { $0.values.max() ?? 0 }
        #expect(most > 36, "\(used.withLock { $0.values.sorted() })")
        await pool.close()
    }

    /// Whoever copies or moves the file after closing has everything.
    @Test(arguments: [true, false]) func aClosedFileIsWhole(_ isClosed: Bool) async throws {
        let other = try TemporaryDatabase()
        do {
            let pool = try await Self.open(other.path)
            try await pool.write { try $0.run("INSERT INTO t SELECT value FROM json_each('[1, 2, 3]')") }
            #expect(try await pool.read { try $0.one("SELECT count(*) FROM t") { $0.int64(0) } } == 3)
            if isClosed { await pool.close() }
        }
        try await wait(for: "the log to be gone") {
            !FileManager.default.fileExists(atPath: other.path + "-wal")
        }
        let file = try SQLiteConnection(path: other.path, flags: .readOnly)
        // The last connection removes the log a moment before it lets the file go.
        file.setBusyTimeout(TestOptions.deadline)
        #expect(try file.one("SELECT count(*) FROM t") { $0.int64(0) } == 3)
        file.close()
        await pool.close()
    }

    @Test func requestsAreCountedWhereThatIsAskedForAndWhileTheyWait() async throws {
        try await pool.write { try $0.run("INSERT INTO t VALUES (1)") }
        #expect(pool.countedWrites == 0)
        let gate = BlockingGate()
        async let first: Void = pool.write(isCounted: true) { _ in gate.wait() }
        async let second: Void = pool.write(isCounted: true) { _ in }
        defer { gate.open() }
        try await wait(for: "both to be asked for") { pool.countedWrites == 2 }
        gate.open()
        try await first
        try await second
        await pool.close()
    }

    @Test func readersCannotWrite() async throws {
        let error = await #expect(throws: SQLiteError.self) {
            try await pool.read { try $0.run("INSERT INTO t VALUES (1)") }
        }
        #expect(error?.code == .readOnly)
        await pool.close()
    }

    @Test func readsGoOnBesideAWrite() async throws {
        let gate = BlockingGate()
        let writer = Task { [pool] in
            try await pool.write { connection in
                try connection.transaction {
                    try connection.run("INSERT INTO t VALUES (1)")
                    gate.wait()
                }
            }
        }
        try await wait(for: "the write to begin") { gate.arrivals == 1 }
        for _ in 0..<10 { #expect(try await count() == 0) }
        gate.open()
        try await writer.value
        #expect(try await count() == 1)
        await pool.close()
    }

    @Test func writesNeverOverlap() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<40 {
                group.addTask {
                    try await pool.write { connection in
                        try connection.transaction {
                            let next = try connection.one("SELECT count(*) FROM t") { $0.int64(0) } ?? 0
                            try connection.run("INSERT INTO t VALUES (?)", [.integer(next)])
                        }
                    }
                }
                group.addTask { _ = try await count() }
            }
            try await group.waitForAll()
        }
        let distinct = try await pool.read { try $0.one("SELECT count(DISTINCT a) FROM t") { $0.int64(0) } }
        #expect(distinct == 40)
        await pool.close()
    }

    @Test func aCancelledTaskStopsWaiting() async throws {
        let gate = BlockingGate()
        let holder = Task { [pool] in try await pool.write { _ in gate.wait() } }
        try await wait(for: "the connection to be in use") { gate.arrivals == 1 }
        let waiting = Task { [pool] in try await pool.write { try $0.run("INSERT INTO t VALUES (1)") } }
        try await wait(for: "a task to wait for it") { pool.writes.count == 1 }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        gate.open()
        try await holder.value
        #expect(try await count() == 0)
        await pool.close()
    }

    @Test func whoeverHoldsTheWriterLearnsThatOthersWantIt() async throws {
        let gate = BlockingGate()
        let holder = Task { [pool] in
            try await pool.write { _ in
                gate.wait()
                return pool.waitingWrites
            }
        }
        try await wait(for: "the connection to be in use") { gate.arrivals == 1 }
        let other = Task { [pool] in try await pool.write { try $0.run("SELECT 1") } }
        try await wait(for: "a task to wait for it") { pool.waitingWrites == 1 }
        gate.open()
        #expect(try await holder.value == 1)
        try await other.value
        #expect(pool.waitingWrites == 0)
        await pool.close()
    }

    /// Also right behind a request that was awaited, whose thread may not rest yet.
    @Test func whoeverAsksForAFreeConnectionGetsOneThatNobodyHas() async throws {
        for number in 0..<500 {
            try await pool.write { try $0.run("INSERT INTO t VALUES (1)") }
            let changes = try await pool.writeIfFree { connection in
                try connection.run("INSERT INTO t VALUES (2)")
                return connection.changes
            }
            #expect(changes == 1)
            #expect(try await count() == Int64(2 * number + 2))
            _ = try await pool.all { _, readers in readers.count }
            let read = try await pool.readIfFree { try $0.one("SELECT count(*) FROM t") { $0.int64(0) } }
            #expect(read == Int64(2 * number + 2))
        }
        await pool.close()
        await #expect(throws: SQLiteError.self) { try await pool.writeIfFree { _ in } }
    }

    @Test func whoeverAsksForAFreeConnectionWaitsForNobody() async throws {
        let (writer, readers, last) = (BlockingGate(), BlockingGate(), BlockingGate())
        defer {
            for gate in [writer, readers, last] { gate.open() }
        }
        let writing = Task { [pool] in try await pool.write { _ in writer.wait() } }
        let reading = (0..<2).map { _ in Task { [pool] in try await pool.read { _ in readers.wait() } } }
        try await wait(for: "three to be in use") { writer.arrivals == 1 && readers.arrivals == 2 }
        // One that was cancelled waits no more.
        let waiting = Task { [pool] in try await pool.write { _ in } }
        try await wait(for: "it to wait") { pool.waitingWrites == 1 }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(try await pool.writeIfFree { _ in 1 } == nil)
        #expect(try await pool.readIfFree { _ in 1 } == 1)
        let third = Task { [pool] in try await pool.read { _ in last.wait() } }
        try await wait(for: "the third to be in use") { last.arrivals == 1 }
        #expect(try await pool.readIfFree { _ in 1 } == nil)
        last.open()
        try await third.value
        #expect(try await pool.readIfFree { _ in 1 } == 1)
        readers.open()
        for task in reading { try await task.value }
        writer.open()
        try await writing.value
        #expect(try await pool.writeIfFree { _ in 1 } == 1)
        await pool.close()
    }

    /// Who asks again and again while all readers are busy leaves nothing behind.
    @Test func whatWasCancelledIsNotKept() async throws {
        let gate = BlockingGate()
        let holders = (0..<3).map { _ in Task { [pool] in try await pool.read { _ in gate.wait() } } }
        try await wait(for: "the readers to be in use") { gate.arrivals == 3 }
        let waiting = (0..<20).map { _ in Task { try await count() } }
        try await wait(for: "tasks to wait for them") { pool.waitingReads == 20 }
        for task in waiting { task.cancel() }
        for task in waiting { await #expect(throws: CancellationError.self) { try await task.value } }
        #expect(pool.waitingReads == 0)
        gate.open()
        for holder in holders { try await holder.value }
        #expect(try await count() == 0)
        await pool.close()
    }

    /// What a piece of work holds, such as rows to be written, goes with it, however much waits behind it.
    @Test func whatHasRunIsNotKept() async throws {
        final class Held: Sendable {}
        let (first, last) = (BlockingGate(), BlockingGate())
        defer { last.open() }
        let holder = Task { [pool] in try await pool.write { _ in first.wait() } }
        try await wait(for: "the connection to be in use") { first.arrivals == 1 }
        var held: Held? = Held()
        weak let kept = held
        let work = Task { [pool, held] in try await pool.write { _ in withExtendedLifetime(held) {} } }
        held = nil
        try await wait(for: "the work to wait") { pool.waitingWrites == 1 }
        let next = Task { [pool] in try await pool.write { _ in last.wait() } }
        try await wait(for: "the next to wait") { pool.waitingWrites == 2 }
        first.open()
        try await holder.value
        try await work.value
        try await wait(for: "the next to have the connection") { last.arrivals == 1 }
        try await wait(for: "the work to be gone") { kept == nil }
        last.open()
        try await next.value
        await pool.close()
    }

    @Test func anOpenTransactionIsRolledBackAndReported() async throws {
        let error = await #expect(throws: SQLiteError.self) {
            try await pool.write { try $0.execute("BEGIN; INSERT INTO t VALUES (1)") }
        }
        #expect(error?.code == .misuse)
        struct Stop: Error {}
        await #expect(throws: Stop.self) {
            try await pool.write { connection in
                try connection.execute("BEGIN; INSERT INTO t VALUES (1)")
                throw Stop()
            }
        }
        #expect(try await count() == 0)
        try await pool.write { #expect(!$0.isInTransaction) }
        await pool.close()
    }

    /// Whoever begins to follow changes when a write has returned is not told of it.
    @Test func changesAreToldBeforeTheWriteReturnsAlsoAfterAFailure() async throws {
        struct Stop: Error {}
        let told = Lock<[Set<String>]>([])
        let other = try TemporaryDatabase()
        let pool = try await Self.open(other.path) { tables in told.withLock { $0.append(tables) } }
        await #expect(throws: Stop.self) {
            try await pool.write { connection in
                try connection.run("INSERT INTO t VALUES (1)")
                throw Stop()
            }
        }
        #expect(told.withLock { $0 } == [["t"]])
        try await pool.write { connection in
            try connection.execute("CREATE TABLE u(a)")
            try connection.run("INSERT INTO u VALUES (1)")
        }
        #expect(told.withLock { $0 } == [["t"], ["u"]])
        await #expect(throws: Stop.self) {
            try await pool.write { connection in
                try connection.transaction {
                    try connection.run("INSERT INTO t VALUES (1)")
                    throw Stop()
                }
            }
        }
        try await pool.write { try $0.run("SELECT 1") }
        #expect(told.withLock { $0 } == [["t"], ["u"]])
        try await pool.all { writer, _ in try writer.run("DELETE FROM u") }
        #expect(told.withLock { $0 } == [["t"], ["u"], ["u"]])
        await pool.close()
        await self.pool.close()
    }

    @Test func allHoldsEveryConnection() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<10 {
                group.addTask {
                    let counts = try await pool.all { writer, readers in
                        try writer.run("INSERT INTO t VALUES (1)")
                        return try readers.map { reader in
                            try reader.one("SELECT count(*) FROM t") { $0.int64(0) }
                        }
                    }
                    #expect(counts.count == 3)
                    #expect(Set(counts).count == 1)
                }
                group.addTask { _ = try await count() }
            }
            try await group.waitForAll()
        }
        #expect(try await count() == 10)
        await pool.close()
    }

    @Test func aDatabaseInMemoryReadsThroughTheWriter() async throws {
        let memory = try await Self.open(":memory:")
        try await memory.write { try $0.run("INSERT INTO t VALUES (7)") }
        #expect(try await memory.read { try $0.one("SELECT a FROM t") { $0.int64(0) } } == 7)
        #expect(try await memory.all { _, readers in readers.count } == 0)
        await memory.close()
        await pool.close()
    }

    @Test func aClosedPoolHasWrittenEverythingAndRefusesMore() async throws {
        let gate = BlockingGate()
        let holder = Task { [pool] in try await pool.write { _ in gate.wait() } }
        try await wait(for: "the connection to be in use") { gate.arrivals == 1 }
        let accepted = Task { [pool] in try await pool.write { try $0.run("INSERT INTO t VALUES (1)") } }
        try await wait(for: "a write to wait for it") { pool.waitingWrites == 1 }
        let closing = Task { [pool] in await pool.close() }
        try await wait(for: "closing to begin") { pool.writes.isClosed }
        gate.open()
        try await holder.value
        try await accepted.value
        await closing.value
        await pool.close()
        let error = await #expect(throws: SQLiteError.self) {
            try await pool.write { try $0.run("SELECT 1") }
        }
        #expect(error?.code == .misuse)
        await #expect(throws: SQLiteError.self) { try await pool.read { try $0.run("SELECT 1") } }
        let again = try SQLiteConnection(path: database.path)
        #expect(try again.one("SELECT count(*) FROM t") { $0.int64(0) } == 1)
    }

    /// Disconnecting and closing wait for whoever stores.
    @Test func whoeverWaitsForAShortLogIsCancelledAtOnce() async throws {
        let gate = BlockingGate()
        defer { gate.open() }
        let other = try TemporaryDatabase()
        let checkpointer = WALCheckpointer(
            limits: WALCheckpointer.Limits(pages: 10, longLog: 100), beforeEach: { gate.wait() },
            onFailure: { _ in })
        let long = try await SQLitePool(
            opening: other.path, readers: 1,
            setUp: { connection, isWriter in
                if isWriter { try connection.execute("PRAGMA journal_mode = WAL; CREATE TABLE t(a)") }
            }, onChange: { _ in }, checkpointer: checkpointer)
        try await long.write { try $0.run("INSERT INTO t VALUES (zeroblob(1000000))") }
        #expect(checkpointer.isLong)
        let waiting = Task { try await long.shortenLog() }
        try await wait(for: "somebody to wait") { checkpointer.waiting == 1 }
        #expect(checkpointer.shortening == 1)
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await wait(forEndOf: waiting) }
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await long.shortenLog()
        }
        await #expect(throws: CancellationError.self) { try await wait(forEndOf: late) }
        #expect(checkpointer.waiting == 0 && checkpointer.shortening == 0)
        gate.open()
        await long.close()
        await pool.close()
    }

    @Test(.enabled(if: Processes.areOpenFilesKnown), arguments: [0, 1, 2])
    func aFailingSetUpLeavesNothingOpen(_ failing: Int) async throws {
        struct Broken: Error {}
        let other = try TemporaryDatabase()
        let isOpen: @Sendable () throws -> Bool = {
            try Processes.openFiles().contains { $0.hasPrefix(other.path) }
        }
        let (made, wasOpen) = (Lock(0), Lock(false))
        await #expect(throws: Broken.self) {
            _ = try await SQLitePool.open(path: other.path, readers: 2) { connection, isWriter in
                if isWriter { try connection.execute("PRAGMA journal_mode = WAL; CREATE TABLE t(a)") }
                let isHere = try isOpen()
                wasOpen.withLock { $0 = isHere }
                let number = made.withLock { made in
                    defer { made += 1 }
                    return made
                }
                if number == failing { throw Broken() }
            }
        }
        #expect(wasOpen.withLock { $0 }, "it is to be seen while it is open")
        #expect(try !isOpen())
        await #expect(throws: SQLiteError.self) {
            _ = try await SQLitePool.open(path: "/nonexistent/folder/x.db", readers: 1)
        }
        await pool.close()
    }
}
