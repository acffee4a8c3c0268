import Foundation
import PowerSyncSQLite
import Testing

@testable import PowerSync

/// The core on a file with readers beside the writer.
@Suite(.timeLimit(.minutes(1)))
struct CorePoolTests {
    private func withPool(_ body: (SQLitePool, String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/core-tests-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/test.db"
        let pool = try await Self.open(path)
        do { try await body(pool, path) } catch {
            await pool.close()
            throw error
        }
        await pool.close()
    }

    private static func open(_ path: String) async throws -> SQLitePool {
        let pool = try await SQLitePool.open(path: path, readers: 2) { connection, isWriter in
            if isWriter { try connection.execute("PRAGMA journal_mode = WAL") }
            try CoreExtension.install(on: connection)
        }
        try await pool.write { connection in
            try connection.transaction {
                try SchemaApplication.apply(json: #"{"tables":[\#(CoreDatabase.items)]}"#, on: connection)
            }
        }
        return pool
    }

    @Test func readersSeeTheViewAndUpdatesNameTheTablesBehindIt() async throws {
        try await withPool { pool, _ in
            var updates = pool.tableUpdates.makeAsyncIterator()
            try await pool.write { try $0.run("INSERT INTO items(id, col) VALUES ('a', 'x')") }
            let changed = await updates.next()
            #expect(changed?.isSuperset(of: ["ps_data__items", "ps_crud"]) == true)
            let rows = try await pool.read {
                try $0.query("SELECT id, col FROM items") { [$0.string(0), $0.string(1)] }
            }
            #expect(rows == [["a", "x"]])
            let error = await #expect(throws: SQLiteError.self) {
                try await pool.read { try $0.run("DELETE FROM items") }
            }
            #expect(error?.code == .readOnly)
        }
    }

    @Test func aReopenedFileGoesOnWhereItWas() async throws {
        try await withPool { pool, path in
            try await pool.write { try $0.run("INSERT INTO items(id, col) VALUES ('a', 'x')") }
            let client = try await pool.read { try CoreExtension.of($0).clientID() }
            await pool.close()
            let again = try await Self.open(path)
            #expect(try await again.read { try CoreExtension.of($0).clientID() } == client)
            try await again.write { try $0.run("UPDATE items SET col = 'y'") }
            let queue = try await again.read {
                try $0.query("SELECT tx_id, data FROM ps_crud ORDER BY id") {
                    "\($0.int64(0)) \($0.string(1))"
                }
            }
            #expect(
                queue == [
                    #"1 {"op":"PUT","id":"a","type":"items","data":{"col":"x"}}"#,
                    #"2 {"op":"PATCH","id":"a","type":"items","data":{"col":"y"}}"#,
                ])
            await again.close()
        }
    }
}
