import Foundation
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite(.patient())
struct ConnectionLeaseTests {
    /// Counted, not timed: what is done for a text grows with its length alone.
    @Test(arguments: [";", ","])
    func aTextIsReadOnceWhateverItHolds(_ mark: String) async throws {
        let test = try TestDatabase()
        let pool = try await #require(test.database as? LocalDatabase).pool()
        try await test.database.execute("CREATE TABLE plain (name TEXT)")
        let text = String(repeating: "x\(mark)", count: 10_000)
        let sql = "INSERT INTO plain VALUES ('\(text)'); DELETE FROM plain"
        let before = try await pool.write { $0.compiledBytes }
        for _ in 0..<2 { try await test.database.execute(sql) }
        #expect(try await pool.write { $0.compiledBytes } - before == sql.utf8.count)
        let names = try await test.database.getAll("SELECT name FROM plain") { try $0.getString(index: 0) }
        #expect(names == [text, text])
        try await test.database.close()
    }

    /// A logger may take its time, or use the database: no connection waits for it.
    @Test func theLogIsToldWhenTheConnectionIsFreeAgain() async throws {
        let folder = try TemporaryDirectory()
        let writer = ThreadWriter(keeping: folder)
        let database = PowerSyncDatabase(
            schema: TestDatabase.schema, dbFilename: folder.file(), logger: DefaultLogger(writers: [writer]))
        let callback = Lock<pthread_t?>(nil)
        let result = try await database.writeLock { connection in
            callback.withLock { $0 = pthread_self() }
            try connection.execute(sql: "BEGIN", parameters: [])
            try connection.execute(sql: "INSERT INTO lists (id) VALUES ('1')", parameters: [])
            return "success"
        }
        // As the documentation says: whoever asked is told nothing.
        #expect(result == "success")
        #expect(try await database.getAll("SELECT id FROM lists") { _ in 1 }.isEmpty)
        let thread = try #require(callback.withLock { $0 })
        let loggers = writer.threads(of: "left a transaction open")
        #expect(loggers.count == 1)
        #expect(loggers.allSatisfy { pthread_equal($0, thread) == 0 })
        try await database.close()
    }
}

/// Notes on which threads it is called.
private final class ThreadWriter: LogWriterProtocol {
    private let folder: TemporaryDirectory
    private let calls = Lock<[(message: String, thread: pthread_t)]>([])

    init(keeping folder: TemporaryDirectory) { self.folder = folder }

    func log(severity: LogSeverity, message: String, tag: String?) {
        calls.withLock { $0.append((message, pthread_self())) }
    }

    func threads(of text: String) -> [pthread_t] {
        calls.withLock { calls in calls.filter { $0.message.contains(text) }.map(\.thread) }
    }
}
