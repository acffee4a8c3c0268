import PowerSyncStack
import Testing

struct StatementCollectorTests {
    private typealias Statement = StatementCollector.Statement

    /// What comes of lines, and of their end.
    private static func statements(_ lines: String...) throws -> [Statement] {
        var collector = StatementCollector()
        var found: [Statement] = []
        for (index, line) in lines.enumerated() { found += try collector.append(line, number: index + 1) }
        if let rest = collector.finish() { found.append(rest) }
        #expect(!collector.isOpen)
        return found
    }

    @Test func aLineMayHaveSeveralStatements() throws {
        #expect(
            try Self.statements("SELECT 1; SELECT 2;SELECT 3", ";") == [
                Statement(sql: "SELECT 1;", line: 1), Statement(sql: "SELECT 2;", line: 1),
                Statement(sql: "SELECT 3\n;", line: 1),
            ])
    }

    @Test func aStatementGoesOnUntilItsSemicolon() throws {
        #expect(
            try Self.statements("", "  SELECT", "", "  1", "  ; SELECT", "2;") == [
                Statement(sql: "SELECT\n\n  1\n  ;", line: 2), Statement(sql: "SELECT\n2;", line: 5),
            ])
    }

    @Test(arguments: [
        "SELECT ';';", "SELECT 'it''s;';", "SELECT \";\" AS \"a;b\";", "SELECT `;`;", "SELECT [;];",
        "SELECT 1 -- ; and more\n, 2;", "SELECT 1 /* ; \n ; */ , 2;", "SELECT '--', 1;", "SELECT '/*', 1;",
        "SELECT 'a\n\nb;\n';",
        "CREATE TRIGGER t AFTER INSERT ON a BEGIN\nDELETE FROM b;\nSELECT 1;\nEND;",
    ])
    func aSemicolonWithinSomethingEndsNothing(sql: String) throws {
        var collector = StatementCollector()
        let lines = sql.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.dropLast().enumerated() {
            #expect(try collector.append(String(line), number: index + 1).isEmpty)
            #expect(collector.isOpen)
        }
        let last = try #require(lines.last)
        #expect(
            try collector.append(String(last), number: lines.count) == [Statement(sql: sql, line: 1)])
        #expect(!collector.isOpen)
    }

    @Test func blanksCommentsAndSemicolonsAreNoStatements() throws {
        #expect(try Self.statements("", "  ;; -- x;", "/* a;", "b; */ ;", "\t").isEmpty)
    }

    @Test func aCommentThatHasNotEndedIsOpen() throws {
        var collector = StatementCollector()
        #expect(try collector.append("/* a", number: 1).isEmpty)
        #expect(collector.isOpen)
        #expect(
            try collector.append("b */ SELECT 1;", number: 2) == [Statement(sql: "SELECT 1;", line: 2)])
        #expect(try collector.append("-- one", number: 3).isEmpty)
        #expect(!collector.isOpen)
    }

    @Test func whatIsForgottenLeavesNothing() throws {
        var collector = StatementCollector()
        #expect(try collector.append("SELECT 'half", number: 1).isEmpty)
        collector.reset()
        #expect(!collector.isOpen && collector.finish() == nil)
        #expect(try collector.append("SELECT 1;", number: 2) == [Statement(sql: "SELECT 1;", line: 2)])
    }

    @Test func aStatementThatIsTooLongLeavesNothing() throws {
        var collector = StatementCollector(limit: 20)
        #expect(try collector.append("SELECT 1;", number: 1).count == 1)
        #expect(try collector.append("SELECT 1,", number: 2).isEmpty)
        #expect(throws: ClientError.self) { try collector.append("2, 3, 4, 5, 6", number: 3) }
        #expect(!collector.isOpen)
        #expect(try collector.append("SELECT 1;", number: 4) == [Statement(sql: "SELECT 1;", line: 4)])
    }

    @Test func theFirstWordIsFoundBehindComments() throws {
        let statements = try Self.statements(
            "/* a */ select 1; -- b", "With x AS (VALUES (1)) SELECT * FROM x;")
        #expect(statements.map(\.firstWord) == ["SELECT", "WITH"])
    }
}
