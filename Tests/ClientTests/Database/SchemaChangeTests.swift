import Foundation
import PowerSyncSQLite
import PowerSyncTestSupport
import Testing

@testable import PowerSync

@Suite(.patient())
struct SchemaChangeTests {
    @Test(.behaviour(166)) func newSchemaKeepsTheRows() async throws {
        let test = try TestDatabase()
        try await test.insertUser("A")
        _ = try await test.count("users")
        try await test.database.updateSchema(
            schema: Schema(Table(name: "users", columns: [.text("name")], viewNameOverride: "people")))
        // Every reader has seen the old schema or may have: all have to know the new one.
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<8 { group.addTask { try await test.count("people") } }
            for try await count in group { #expect(count == 1) }
        }
        await #expect(throws: PowerSyncError.self) { try await test.count("users") }
    }

    /// Every reader has the query prepared, as it was before the change.
    @Test func aNewColumnIsReadAtOnce() async throws {
        let test = try TestDatabase(schema: Schema(Table(name: "users", columns: [.text("name")])))
        let database = test.database
        try await database.execute("INSERT INTO users (id, name) VALUES ('a', 'A')")
        let pool = try await #require(database as? LocalDatabase).pool()
        let sql = "SELECT * FROM users"
        let rows: @Sendable ([SQLiteConnection], any LoggerProtocol) throws -> [[String?]] = {
            readers, logger in
            try readers.flatMap { reader in
                try ConnectionLease.lend(reader) { context in
                    try context.getAll(sql: sql, parameters: []) { cursor in
                        try cursor.columnNames.keys.sorted().map { try cursor.getStringOptional(name: $0) }
                    }
                }.get(loggingTo: logger)
            }
        }
        let logger = DefaultLogger(writers: [test.log])
        let before = try await pool.all { try rows($1, logger) }
        #expect(before.count == DatabaseOpener.readerCount && before.allSatisfy { $0 == ["a", "A"] })
        try await database.updateSchema(
            schema: Schema(Table(name: "users", columns: [.text("name"), .text("email")])))
        try await database.execute("UPDATE users SET email = 'a@example.org'")
        let after = try await pool.all { try rows($1, logger) }
        #expect(
            after.count == before.count && after.allSatisfy { $0 == ["a@example.org", "a", "A"] }, "\(after)")
    }

    @Test func schemaThatBreaksARuleIsWarnedOf() async throws {
        let columns = (0..<64).map { Column.text("c\($0)") }
        let test = try TestDatabase(schema: Schema(Table(name: "wide", columns: columns)))
        #expect(try await test.count("wide") == 0)
        #expect(test.log.warnings(containing: "tooManyColumns") == 1)
    }

    @Test func rawTableWhoseRowsStayIsWarnedOf() async throws {
        let kept = RawTable(name: "kept", schema: RawTableSchema())
        let cleared = RawTable(name: "cleared", schema: RawTableSchema(), clear: "DELETE FROM cleared")
        let test = try TestDatabase(schema: Schema(cleared))
        _ = try await test.database.getPowerSyncVersion()
        #expect(test.log.warnings(containing: "raw table") == 0)
        try await test.database.updateSchema(schema: Schema(kept, cleared))
        #expect(test.log.warnings(containing: "The raw table kept has no statement to clear it") == 1)
        #expect(test.log.warnings(containing: "raw table") == 1)
    }

    @Test(.behaviour(88)) func clearingRemovesRowsAndQueueAndForgetsWhatWasSynced() async throws {
        let test = try TestDatabase()
        let database = try #require(test.database as? LocalDatabase)
        try await test.insertUser("A")
        try await database.execute("INSERT INTO drafts (id, text) VALUES ('d', 'draft')")
        let client = try await database.get("SELECT powersync_client_id()") { try $0.getString(index: 0) }
        database.group.status.update { snapshot in
            snapshot.iteration.priorities = [
                PrioritySyncState(priority: PrioritySyncState.fullSync, lastSyncedAt: 1)
            ]
            snapshot.downloadError = TestError(text: "old")
            return true
        }
        #expect(database.currentStatus.hasSynced == true)
        var results = try database.watch("SELECT name FROM users") { try $0.getString(index: 0) }
            .makeAsyncIterator()
        #expect(try await results.next() == ["A"])
        try await database.disconnectAndClear(clearLocal: false)
        #expect(try await results.next() == [])
        #expect(try await test.count("ps_crud") == 0)
        #expect(try await test.count("drafts") == 1)
        #expect(database.currentStatus.hasSynced == false)
        #expect(database.currentStatus.anyError == nil)
        try await database.disconnectAndClear()
        #expect(try await test.count("drafts") == 0)
        #expect(
            try await database.get("SELECT powersync_client_id()") { try $0.getString(index: 0) } == client)
    }
}
