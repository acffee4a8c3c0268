import PowerSyncSQLite
import Testing

struct SQLiteTextTests {
    @Test(arguments: [
        ("SELECT 1;", true), ("SELECT 1; -- and more", true), ("SELECT 1", false), ("SELECT ';", false),
        ("CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1;", false),
        ("CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; END;", true), ("", false),
    ])
    func aTextIsCompleteWithTheEndOfAStatement(sql: String, isComplete: Bool) {
        #expect(SQLiteText.isComplete(sql) == isComplete)
    }
}
