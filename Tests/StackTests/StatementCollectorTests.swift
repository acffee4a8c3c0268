import PowerSyncStack
import PowerSyncTestSupport
import Testing

struct StatementCollectorTests {
    private typealias Statement = StatementCollector.Statement

    /// What comes of lines, and of their end.
    private static func statements(_ lines: String...) -> [Statement] {
        var collector = StatementCollector()
        var found: [Statement] = []
        for (index, line) in lines.enumerated() { found += collector.append(line, number: index + 1) }
        if let rest = collector.finish() { found.append(rest) }
        #expect(!collector.isOpen)
        return found
    }

    @Test func aLineMayHaveSeveralStatements() {
        #expect(
            Self.statements("SELECT 1; SELECT 2;SELECT 3", ";") == [
                Statement(sql: "SELECT 1;", line: 1), Statement(sql: "SELECT 2;", line: 1),
                Statement(sql: "SELECT 3\n;", line: 1),
            ])
    }

    @Test func aStatementGoesOnUntilItsSemicolon() {
        #expect(
            Self.statements("", "  SELECT", "", "  1", "  ; SELECT", "2;") == [
                Statement(sql: "SELECT\n\n  1\n  ;", line: 2), Statement(sql: "SELECT\n2;", line: 5),
            ])
    }

    @Test(arguments: [
        "SELECT ';';", "SELECT 'it''s;';", "SELECT \";\" AS \"a;b\";", "SELECT `;`;", "SELECT [;];",
        "SELECT 1 -- ; and more\n, 2;", "SELECT 1 /* ; \n ; */ , 2;", "SELECT '--', 1;", "SELECT '/*', 1;",
        "SELECT 'a\n\nb;\n';",
        "CREATE TRIGGER t AFTER INSERT ON a BEGIN\nDELETE FROM b;\nSELECT 1;\nEND;",
        "explain create/* ; */temporary\ntrigger t BEGIN\nSELECT ';' ; ; SELECT \"END\" ;\nEnd -- it\n;",
        "CREATE TRIGGER ends AFTER INSERT ON a BEGIN SELECT 1; END AS x;\nEND;",
    ])
    func aSemicolonWithinSomethingEndsNothing(sql: String) throws {
        var collector = StatementCollector()
        let lines = sql.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.dropLast().enumerated() {
            #expect(collector.append(String(line), number: index + 1).isEmpty)
            #expect(collector.isOpen)
        }
        let last = try #require(lines.last)
        #expect(
            collector.append(String(last), number: lines.count) == [Statement(sql: sql, line: 1)])
        #expect(!collector.isOpen)
    }

    @Test func blanksCommentsAndSemicolonsAreNoStatements() {
        #expect(Self.statements("", "  ;; -- x;", "/* a;", "b; */ ;", "\t").isEmpty)
    }

    @Test func aCommentThatHasNotEndedIsOpen() {
        var collector = StatementCollector()
        #expect(collector.append("/* a", number: 1).isEmpty)
        #expect(collector.isOpen)
        #expect(
            collector.append("b */ SELECT 1;", number: 2) == [Statement(sql: "SELECT 1;", line: 2)])
        #expect(collector.append("-- one", number: 3).isEmpty)
        #expect(!collector.isOpen)
    }

    @Test func whatIsForgottenLeavesNothing() {
        var collector = StatementCollector()
        #expect(collector.append("SELECT 'half", number: 1).isEmpty)
        collector.reset()
        #expect(!collector.isOpen && collector.finish() == nil)
        #expect(collector.append("SELECT 1;", number: 2) == [Statement(sql: "SELECT 1;", line: 2)])
    }

    @Test(arguments: ["SELECT trigger, 'CREATE' FROM t;", "CREATE TABLE trigger_end (a);", "END;"])
    func aWordOfATriggerMakesNone(sql: String) {
        #expect(Self.statements(sql) == [Statement(sql: sql, line: 1)])
    }

    @Test func aTriggerOfManyStatementsTakesNoSquare() {
        expectNoSquare(of: 20_000) { count in
            var collector = StatementCollector()
            var found = collector.append("CREATE TRIGGER t AFTER INSERT ON a BEGIN", number: 1)
            for number in 0..<count { found += collector.append("SELECT 1;", number: number + 2) }
            precondition(found.isEmpty && collector.isOpen, "it is one statement, which has not ended")
        }
    }

    // MARK: What cannot be used

    private static let tooLong = "the statement is longer than a statement may be"

    @Test func aStatementThatIsTooLongFailsAtItsEnd() {
        var collector = StatementCollector(limit: 20)
        #expect(collector.append("SELECT 1;", number: 1).count == 1)
        #expect(collector.append("SELECT 1,", number: 2).isEmpty)
        #expect(collector.append("2, 3, 4, 5, 6", number: 3).isEmpty)
        #expect(collector.isOpen)
        #expect(
            collector.append("; SELECT 1;", number: 4) == [
                Statement(sql: "", line: 2, failure: Self.tooLong), Statement(sql: "SELECT 1;", line: 4),
            ])
        #expect(!collector.isOpen)
    }

    /// What stands in a text of it looks like a statement, and is none.
    @Test func whatStandsInAStatementThatIsTooLongDoesNotRun() {
        var collector = StatementCollector(limit: 20)
        let long = String(repeating: "x", count: 30)
        let lines = ["INSERT INTO t VALUES ('", long, "DELETE FROM items;", "');"]
        var found: [Statement] = []
        for (index, line) in lines.enumerated() { found += collector.append(line, number: index + 1) }
        #expect(found == [Statement(sql: "", line: 1, failure: Self.tooLong)])
        #expect(collector.append("SELECT 1;", number: 5) == [Statement(sql: "SELECT 1;", line: 5)])
    }

    @Test func aLineThatCannotBeUsedFailsTheStatementsThatHaveAPartOnIt() {
        var collector = StatementCollector()
        #expect(collector.append("SELECT 1, 'a", number: 1).isEmpty)
        #expect(
            collector.append("b'; SELECT 2; SELECT '", number: 2, unusable: "no text") == [
                Statement(sql: "", line: 1, failure: "no text"),
                Statement(sql: "", line: 2, failure: "no text"),
            ])
        #expect(collector.append("DELETE FROM items;", number: 3).isEmpty)
        #expect(
            collector.append("'; SELECT 3;", number: 4) == [
                Statement(sql: "", line: 2, failure: "no text"), Statement(sql: "SELECT 3;", line: 4),
            ])
        // The input may end before the statement does.
        #expect(collector.append("SELECT", number: 5, unusable: "no text").isEmpty)
        #expect(collector.finish() == Statement(sql: "", line: 5, failure: "no text"))
    }

    @Test(arguments: ["", "  -- a", "/* a"])
    func aLineThatCannotBeUsedIsToldWhereNoStatementHasAPartOnIt(line: String) {
        var collector = StatementCollector()
        #expect(
            collector.append(line, number: 7, unusable: "no text") == [
                Statement(sql: "", line: 7, failure: "no text")
            ])
        #expect(
            collector.append("*/ SELECT 1;", number: 8).map(\.failure) == [nil], "only the line fails")
    }

    /// For SQLite it is the end, whatever follows.
    @Test func aNULFailsTheStatement() {
        var collector = StatementCollector()
        #expect(collector.append("DELETE FROM items \0", number: 1).isEmpty)
        let failure = "what stands on line 1 has a NUL, behind which SQLite reads nothing"
        #expect(
            collector.append("WHERE id = 1; SELECT 1;", number: 2) == [
                Statement(sql: "", line: 1, failure: failure), Statement(sql: "SELECT 1;", line: 2),
            ])
    }

    @Test func theFirstWordIsFoundBehindComments() {
        let statements = Self.statements(
            "/* a */ select 1; -- b", "With x AS (VALUES (1)) SELECT * FROM x;")
        #expect(statements.map(\.firstWord) == ["SELECT", "WITH"])
    }
}

extension StatementCollector {
    /// Takes the next line as a text.
    fileprivate mutating func append(_ line: String, number: Int, unusable: String? = nil) -> [Statement] {
        append(Array(line.utf8), number: number, unusable: unusable)
    }
}
