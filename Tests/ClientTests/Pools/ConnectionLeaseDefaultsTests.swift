import Foundation
import PowerSync
import PowerSyncSQLite
import PowerSyncSystem
import Testing

/// What a lease can do of which only the pointer is known (client-api 1.17).
struct ConnectionLeaseDefaultsTests {
    private struct Lease: SQLiteConnectionLease { let pointer: OpaquePointer }

    private let connection: SQLiteConnection
    private var lease: Lease { Lease(pointer: connection.pointer) }

    init() throws {
        connection = try SQLiteConnection(path: ":memory:")
        try connection.execute("CREATE TABLE t (a, b)")
    }

    private func rows(_ sql: String, _ parameters: [PowerSyncDataType?] = []) throws -> [String?] {
        try lease.withIterator(sql: sql, parameters: parameters) { iterator in
            var rows: [String?] = []
            while let row = try iterator.next(callback: { [$0.getStringOptional(index: 0)] }) { rows += row }
            return rows
        }
    }

    @Test func executeRunsToTheEndAndCountsRows() throws {
        let count = try lease.execute(
            sql: "INSERT INTO t VALUES (?, ?), (?, ?)",
            parameters: [.int64(1), .string("x"), .bool(true), nil])
        #expect(count == 2)
        #expect(try lease.execute(sql: "UPDATE t SET b = 'y'", parameters: []) == 2)
        #expect(try lease.execute(sql: "INSERT INTO t (a) VALUES (7) RETURNING a", parameters: []) == 1)
        #expect(try rows("SELECT a FROM t ORDER BY a DESC") == ["7", "1", "1"])
        #expect(try rows("SELECT b FROM t WHERE a = ? ORDER BY b", [.int32(7)]) == [nil])
    }

    @Test func aStatementFailsAsItDoesInACallback() throws {
        // Too few parameters are NULL, too many an error.
        #expect(try lease.execute(sql: "INSERT INTO t VALUES (?, ?)", parameters: [.int64(1)]) == 1)
        let tooMany = #expect(throws: PowerSyncError.self) {
            try lease.execute(sql: "INSERT INTO t VALUES (?, 2)", parameters: [.int64(1), .int64(2)])
        }
        guard case .sqliteError(let code, _, _, _, _) = tooMany else {
            Issue.record("\(String(describing: tooMany))")
            return
        }
        #expect(code == 25)
        let missing = #expect(throws: PowerSyncError.self) { try rows("SELECT * FROM missing") }
        #expect(missing?.code == .invalidStatement)
        let empty = #expect(throws: PowerSyncError.self) {
            try lease.execute(sql: "-- nothing", parameters: [])
        }
        #expect(empty?.code == .invalidStatement)
        #expect(try lease.execute(sql: "DELETE FROM t; DROP TABLE t", parameters: []) == 1)
        #expect(try rows("SELECT count(*) FROM t") == ["0"], "what follows the first statement is ignored")
    }

    @Test func anIteratorStopsBehindTheLastRow() throws {
        try lease.withIterator(sql: "SELECT 1 UNION ALL SELECT 2", parameters: []) {
            iterator throws -> Void in
            #expect(try iterator.next { try $0.getInt(index: 0) } == 1)
            #expect(try iterator.next { try $0.getInt(index: 0) } == 2)
            for _ in 0..<2 { #expect(try iterator.next { try $0.getInt(index: 0) } == nil) }
        }
    }

    @Test func aFailedStatementDoesNotBeginAnew() throws {
        try connection.execute("INSERT INTO t VALUES (1, 'x'), (2, '{')")
        let sql = "SELECT json_extract(b, '$') FROM t WHERE a = 2"
        try lease.withIterator(sql: sql, parameters: []) { iterator throws -> Void in
            #expect(throws: PowerSyncError.self) { try iterator.next { _ in 1 } }
            #expect(try iterator.next { _ in 1 } == nil)
        }
    }

    @Test func whatIsLeftEarlyHoldsNothing() throws {
        struct OfTheApp: Error {}
        try connection.execute("INSERT INTO t VALUES (1, 1), (2, 2)")
        #expect(throws: OfTheApp.self) {
            try lease.withIterator(sql: "SELECT a FROM t", parameters: []) { iterator in
                _ = try iterator.next { _ in 1 }
                throw OfTheApp()
            }
        }
        #expect(throws: OfTheApp.self) {
            try lease.withIterator(sql: "SELECT a FROM t", parameters: []) { iterator in
                try iterator.next { _ in throw OfTheApp() }
            }
        }
        // SQLite refuses that while a statement runs on the table.
        try connection.execute("DROP TABLE t")
    }

    @Test func anIteratorThatIsKeptIsRefused() throws {
        let kept = Lock<[any SQLiteStatementIteratorProtocol]>([])
        try lease.withIterator(sql: "SELECT 1", parameters: []) { iterator in
            kept.withLock { $0 = [iterator] }
        }
        let iterator = try #require(kept.withLock { $0.first })
        let error = #expect(throws: PowerSyncError.self) { try iterator.next { _ in 1 } }
        #expect(error?.code == .invalidState)
    }

    @Test func itsTextIsNotShown() throws {
        try lease.withIterator(sql: "SELECT 'secret'", parameters: []) { iterator in
            var shown = ""
            dump(iterator, to: &shown)
            #expect(!shown.contains("secret"))
        }
    }
}
