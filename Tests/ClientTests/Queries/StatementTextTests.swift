import Testing

@testable import PowerSync

struct StatementTextTests {
    @Test(arguments: [
        ("SELECT 1", "SELECT 1"), ("SELECT 1;", "SELECT 1;"), ("SELECT 1; \n", "SELECT 1; \n"),
        ("SELECT 1; SELECT 2", "SELECT 1;"), ("SELECT ';'; SELECT 2", "SELECT ';';"),
        ("SELECT 1 -- a; b\n; SELECT 2", "SELECT 1 -- a; b\n;"),
        (
            "CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; SELECT 2; END; SELECT 3",
            "CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; SELECT 2; END;"
        ),
        ("SELECT ';", "SELECT ';"), ("", ""),
    ])
    func firstStatementEndsWhereSQLiteSaysSo(_ sql: String, _ first: String) {
        #expect(StatementText.first(of: sql) == first)
    }
}
