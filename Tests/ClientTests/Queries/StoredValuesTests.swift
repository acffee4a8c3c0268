import PowerSync
import PowerSyncSQLite
import PowerSyncTestSupport
import Testing

@Suite(.patient())
struct StoredValuesTests {
    @Test func valuesKeepTheirStorageClassAndTheLastOfEqualNamesCounts() async throws {
        let test = try TestDatabase(name: ":memory:")
        let (names, values, beyond) = try await test.database.get(
            "SELECT 1 AS a, 2.0 AS b, 'x' AS c, x'00FF' AS d, NULL AS e, 9223372036854775807 AS a"
        ) { cursor in
            let stored = try #require(cursor as? any StoredValueCursor)
            let columns = stored.namedColumns
            return (
                columns.map(\.name), columns.map { stored.storedValue(index: $0.index) },
                stored.storedValue(index: 6)
            )
        }
        #expect(names == ["b", "c", "d", "e", "a"])
        #expect(values == [.real(2), .text("x"), .blob([0, 255]), .null, .integer(.max)])
        #expect(beyond == .null)
    }

    @Test func aStatementGivesRowsIfItHasColumnsAndElseTheNumberOfChanges() async throws {
        let test = try TestDatabase(name: ":memory:")
        let outcomes = try await test.database.writeTransaction { transaction in
            let context = try #require(transaction as? any StatementContext)
            return try [
                "CREATE TABLE plain (v)", "INSERT INTO plain VALUES (1), (2)",
                "UPDATE plain SET v = 3 WHERE v = 1 RETURNING v",
                "UPDATE plain SET v = 3 WHERE v = 1 RETURNING v", "SELECT v FROM plain ORDER BY v",
                "DELETE FROM plain", "INSERT INTO users (id, name) VALUES ('u', 'A')",
            ].map { sql in
                switch try context.outcome(
                    sql: sql, parameters: [], mapper: { try $0.getInt(index: 0) })
                {
                case .rows(let rows): "rows \(rows)"
                case .changes(let count): "changes \(count)"
                }
            }
        }
        #expect(
            outcomes.dropFirst() == [
                "changes 2", "rows [3]", "rows []", "rows [2, 3]", "changes 2", "changes 0",
            ])
        #expect(try await test.count("users") == 1)
    }
}
