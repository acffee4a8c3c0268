import PowerSync
import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// What the contract says of a backend that a sync service reads (backend 9.2, cases 146 and 147).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct SyncServiceTests {
    private static let list = "aaaaaaaa-0000-4000-8000-000000000001"
    private static let row = "aaaaaaaa-0000-4000-8000-000000000002"

    /// While changes of others arrive, which must not replace what is not uploaded yet.
    @Test func aLocalWriteIsVisibleThroughout() async throws {
        try await EndToEnd.withWorld { world in
            let (a, b) = (world.a, world.b)
            let others = "INSERT INTO lists (id, owner_id, name) VALUES (gen_random_uuid(), $1, 'of others')"
            _ = try await world.query(others, [a.user])
            for device in [a, b] {
                try await device.connect()
                try await device.watch("SELECT id FROM lists", for: "the first list") { $0.count == 1 }
            }
            let seen = Lock<[[String]]>([])
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    let results = try a.database.watch(
                        sql: "SELECT name FROM lists WHERE id = ?", parameters: [Self.list],
                        mapper: { try $0.getString(index: 0) })
                    for try await names in results { seen.withLock { $0.append(names) } }
                }
                try await wait(for: "the first result") { seen.withLock { !$0.isEmpty } }
                try await a.database.execute(
                    sql: "INSERT INTO lists (id, owner_id, name) VALUES (?, ?, ?)",
                    parameters: [Self.list, a.user, "Groceries"])
                for _ in 0..<5 { _ = try await world.query(others, [a.user]) }
                try await b.watch("SELECT name FROM lists WHERE id = ?", [Self.list], for: "the row on B") {
                    $0 == ["Groceries"]
                }
                #expect(try await world.converge().count == 7)
                // What came is applied only once the write has come back with it.
                try await wait(for: "the write checkpoint to be applied") {
                    try await a.count(
                        """
                        SELECT coalesce((SELECT value FROM ps_kv WHERE key = 'target_checkpoint_request_id')
                            <= (SELECT value FROM ps_kv WHERE key = 'last_applied_checkpoint_request_id'), 0)
                        """) == 1
                }
                group.cancelAll()
            }
            let results = seen.withLock { $0 }
            #expect(results.first == [])
            let written = results.drop(while: \.isEmpty)
            #expect(!written.isEmpty && written.allSatisfy { $0 == ["Groceries"] }, "\(results)")
        }
    }

    @Test func aRejectedWriteGoesAndTheQueueIsEmpty() async throws {
        try await EndToEnd.withWorld { world in
            let a = world.a
            _ = try await world.query(
                "INSERT INTO lists (id, owner_id, name) VALUES ($1, $2, 'L')", [Self.list, a.user])
            _ = try await world.query(
                """
                INSERT INTO todos (id, list_id, owner_id, description, quantity) VALUES ($1, $2, $3, 'one', 1)
                """, [Self.row, Self.list, a.user])
            try await a.connect()
            let quantity = "SELECT CAST(quantity AS TEXT) FROM todos WHERE id = ?"
            try await a.watch(quantity, [Self.row], for: "the row") { $0 == ["1"] }
            try await a.database.execute(
                sql: "UPDATE todos SET quantity = -1 WHERE id = ?", parameters: [Self.row])
            try await wait(for: "the verdict") { a.refusals.last?.code == "CHECK_VIOLATION" }
            try await a.watch(quantity, [Self.row], for: "the row of the server") { $0 == ["1"] }
            try await wait(for: "the queue to be empty") {
                try await a.count("SELECT count(*) FROM ps_crud") == 0
            }
            let expected = try await world.rowsInPostgres(of: a.user)
            #expect(try await a.rows() == expected)
        }
    }
}
