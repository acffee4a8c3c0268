import PowerSyncSQLite
import Testing

struct StatementWordsTests {
    @Test(
        arguments: [
            ("commit", ["COMMIT"]), (" \t\r\n\u{0C};;-- END\n/* ROLLBACK; */ Commit;", ["COMMIT"]),
            ("\u{FEFF}END", ["END"]), ("--no more", []), ("/* no more", []), ("/*/ COMMIT", []),
            ("", []), ("- - COMMIT", []), ("ROLLBACK/**/TO/* */a", ["ROLLBACK", "TO", "A"]),
            ("ROLLBACK TRANSACTION \"t\" TO a", ["ROLLBACK", "TRANSACTION"]),
            ("BEGIN; COMMIT", ["BEGIN"]), ("commit2 été", ["COMMIT2", "ÉTÉ"]),
            ("one two three four five", ["ONE", "TWO", "THREE", "FOUR"]),
        ] as [(String, [String])])
    func wordsAreThoseThatTheFirstStatementBeginsWith(sql: String, words: [String]) {
        #expect(SQLiteStatement.words(of: sql, limit: 4) == words)
        #expect(SQLiteStatement.words(of: sql, limit: 1) == Array(words.prefix(1)))
    }

    /// What the words are told of is what SQLite runs.
    @Test(arguments: [";; begin", "-- a\n/* b */\u{FEFF}BEGIN", "\u{0C}BEGIN;", " \u{0B}BEGIN"])
    func whatStandsBeforeThemSQLiteSkips(sql: String) throws {
        let connection = try SQLiteConnection(path: ":memory:")
        try connection.prepare(sql).run()
        #expect(connection.isInTransaction)
        #expect(SQLiteStatement.words(of: sql, limit: 1) == ["BEGIN"])
        connection.close()
    }
}
