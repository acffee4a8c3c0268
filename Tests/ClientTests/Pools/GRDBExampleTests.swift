import CPowerSyncSQLite
import Foundation
import PowerSync
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// The README's pool of GRDB is this code.
///
/// It is compiled, and runs, against a stand-in for what it uses of GRDB.
@Suite(.patient())
struct GRDBExampleTests {
    @Test func exampleServesADatabase() async throws {
        let folder = try TemporaryDirectory()
        let pool = GRDB.DatabasePool(try OwnPool(path: folder.file()))
        let database = OpenedPowerSyncDatabase(
            schema: TestDatabase.schema, pool: GRDB.GRDBConnections(pool: pool),
            identifier: UUID().uuidString,
            logger: DefaultLogger(writers: []))
        let users = WatchedTexts(
            try database.watch("SELECT name FROM users ORDER BY name") { try $0.getString(index: 0) })
        try await users.wait(for: [])
        try await database.execute("INSERT INTO users (id, name) VALUES ('a', 'A')")
        try await users.wait(for: ["A"])
        // GRDB tells its observers what it writes itself.
        try await pool.writeWithoutTransaction { database in
            let lease = OwnPool.Lease(pointer: try #require(database.sqliteConnection))
            _ = try lease.execute(
                sql: "INSERT INTO users (id, name) VALUES ('b', 'B')", parameters: [])
            try database.inTransaction(.immediate) {
                try database.notifyChanges(in: .fullDatabase)
                return .commit
            }
        }
        try await users.wait(for: ["A", "B"])
        #expect(try await database.getCrudBatch()?.crud.count == 2)
        let before = pool.notices
        await #expect(throws: PowerSyncError.self) { try await database.execute("DELETE FROM missing") }
        #expect(pool.notices == before, "nothing is told where nothing has changed")
        try await database.close()
        #expect(pool.base.closings == 1)
    }

    @Test func readmeShowsThisCodeAndNothingElse() throws {
        let source = try Repository.text("Tests/ClientTests/Pools/GRDBExampleTests.swift")
        let lines = source.split(separator: "\n", omittingEmptySubsequences: false)
        let begin = try #require(lines.firstIndex { $0.hasSuffix("    // begin") })
        let end = try #require(lines.firstIndex { $0.hasSuffix("    // end") })
        let code = lines[(begin + 1)..<end].map { $0.dropFirst(4) }
        let shown = try Repository.text("README.md").components(separatedBy: "\n```").dropFirst()
            .filter { $0.hasPrefix("swift\n") && $0.contains("SQLiteConnectionPoolProtocol") }
        #expect(shown.count == 1)
        let shownLines = shown.first?.split(separator: "\n", omittingEmptySubsequences: false).dropFirst()
        #expect(shownLines.map(Array.init) == Array(code))
    }
}

/// What the example uses of GRDB, on the pool of these tests.
private enum GRDB {
    struct DatabaseError: Error {
        enum ResultCode { case SQLITE_MISUSE }  // swift-format-ignore: AlwaysUseLowerCamelCase
        let resultCode: ResultCode
    }

    enum DatabaseRegion { case fullDatabase }
    enum TransactionKind { case immediate }
    enum TransactionCompletion { case commit, rollback }

    final class Database {
        let sqliteConnection: OpaquePointer?
        private let pool: DatabasePool
        private var isNotified = false

        fileprivate init(_ lease: any SQLiteConnectionLease, _ pool: DatabasePool) {
            sqliteConnection = lease.pointer
            self.pool = pool
        }

        var totalChangesCount: Int { Int(sqlite3_total_changes(sqliteConnection)) }

        func notifyChanges(in region: DatabaseRegion) throws { isNotified = true }

        func inTransaction(_ kind: TransactionKind, _ body: () throws -> TransactionCompletion) throws {
            guard let sqliteConnection else { return }
            let lease = OwnPool.Lease(pointer: sqliteConnection)
            _ = try lease.execute(sql: "BEGIN IMMEDIATE", parameters: [])
            let isCommitted = try body() == .commit
            _ = try lease.execute(sql: isCommitted ? "COMMIT" : "ROLLBACK", parameters: [])
            if isCommitted, isNotified { pool.notify() }
        }

        func clearSchemaCache() {}
    }

    final class DatabasePool: Sendable {
        let base: OwnPool
        private let observers = Lock<[Int: @Sendable () -> Void]>([:])
        private let count = Lock(0)

        init(_ base: OwnPool) { self.base = base }

        /// How often observers were told.
        var notices: Int { count.withLock { $0 } }

        fileprivate func notify() {
            count.withLock { $0 += 1 }
            for observer in observers.withLock({ Array($0.values) }) { observer() }
        }

        fileprivate func observe(_ observer: @escaping @Sendable () -> Void) -> AnyDatabaseCancellable {
            let number = observers.withLock { observers in
                let number = (observers.keys.max() ?? 0) + 1
                observers[number] = observer
                return number
            }
            return AnyDatabaseCancellable { [weak self] in self?.observers.withLock { $0[number] = nil } }
        }

        func unsafeRead<T: Sendable>(_ value: @escaping @Sendable (Database) throws -> T) async throws -> T {
            try await base.read { try value(Database($0, self)) }
        }

        func writeWithoutTransaction<T: Sendable>(
            _ updates: @escaping @Sendable (Database) throws -> T
        ) async throws -> T { try await base.write { try updates(Database($0, self)) } }

        func barrierWriteWithoutTransaction<T: Sendable>(
            _ updates: @escaping @Sendable (Database) throws -> T
        ) async throws -> T {
            try await base.withAllConnections { writer, _ in try updates(Database(writer, self)) }
        }

        func close() throws { try base.closeConnections() }
    }

    final class AnyDatabaseCancellable: Sendable {
        private let end: @Sendable () -> Void

        fileprivate init(end: @escaping @Sendable () -> Void) { self.end = end }

        deinit { end() }

        func cancel() { end() }
    }

    struct DatabaseRegionObservation {
        init(tracking region: DatabaseRegion) {}

        func start(
            in pool: DatabasePool, onError: @escaping @Sendable (any Error) -> Void,
            onChange: @escaping @Sendable (Database?) -> Void
        ) -> AnyDatabaseCancellable { pool.observe { onChange(nil) } }
    }

    // begin
    struct GRDBConnections: SQLiteConnectionPoolProtocol {
        struct Lease: SQLiteConnectionLease { let pointer: OpaquePointer }

        let pool: DatabasePool

        var tableUpdates: AsyncStream<Set<String>> {
            AsyncStream { updates in
                let observation = DatabaseRegionObservation(tracking: .fullDatabase).start(
                    in: pool, onError: { _ in updates.finish() },
                    onChange: { _ in updates.yield(["__powersync_external_changes__"]) })
                updates.onTermination = { _ in observation.cancel() }
            }
        }

        func read<T: Sendable>(
            onConnection body: @Sendable @escaping (any SQLiteConnectionLease) throws -> T
        ) async throws -> T {
            try await pool.unsafeRead { try body(lease(of: $0)) }
        }

        func write<T: Sendable>(
            onConnection body: @Sendable @escaping (any SQLiteConnectionLease) throws -> T
        ) async throws -> T {
            try await pool.writeWithoutTransaction { db in
                let before = db.totalChangesCount
                let result = Result { try body(lease(of: db)) }
                // GRDB sees its own statements alone: these it has to be told of.
                if db.totalChangesCount != before {
                    try db.inTransaction(.immediate) {
                        try db.notifyChanges(in: .fullDatabase)
                        return .commit
                    }
                }
                return try result.get()
            }
        }

        func withAllConnections<T: Sendable>(
            onConnection body:
                @Sendable @escaping (any SQLiteConnectionLease, [any SQLiteConnectionLease]) throws -> T
        ) async throws -> T {
            try await pool.barrierWriteWithoutTransaction { db in
                defer { db.clearSchemaCache() }
                return try body(lease(of: db), [])
            }
        }

        func close() async throws { try pool.close() }

        private func lease(of db: Database) throws -> Lease {
            guard let pointer = db.sqliteConnection else { throw DatabaseError(resultCode: .SQLITE_MISUSE) }
            return Lease(pointer: pointer)
        }
    }
    // end
}
