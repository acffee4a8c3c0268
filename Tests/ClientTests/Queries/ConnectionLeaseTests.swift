import PowerSyncSQLite
import PowerSyncTestSupport
import Testing

@testable import PowerSync

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
}
