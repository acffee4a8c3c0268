import PowerSyncTestSupport

/// Texts that would be SQL if somebody wrote them into a statement, each with a mark that finds it again.
struct InjectionTexts {
    /// What each of them has in it, and nothing else has.
    static let mark = "zq7qz"

    /// What ends a text, a name or a comment, or begins one: in Postgres, elsewhere, or to whoever looks twice.
    private static let openings = [
        "'", "''", "\"", "\"\"", "`", "\\'", "\\\"", "\\", "')", "'))", "\")", "$$", "$x$", "E'\\''",
        "U&'\\0027'", "*/", "/*", "--", "#", ";", "\u{2019}", "\u{02BC}", "\u{FF07}", "\u{FF02}", "%27",
        "%2527",
        "&#39;", "\\u0027", "'\u{301}", "\"\u{301}", "\u{FEFF}'", "\r\n", "\n", "\t", "$1", "$1::text",
        ":sub",
        "?", "{", "}", "{\"", "}'", "[", "]", "(", "NULL", "\\N", "null", "true", "0", "-1", "1e999",
        "\u{202E}'", "\u{1F600}'",
    ]

    /// What would be done then.
    private static let statements = [
        "; DROP TABLE secrets; --", "; DELETE FROM secrets; --", "; UPDATE secrets SET body = 'x'; --",
        " OR '1'='1", " OR 1=1 --", "; TRUNCATE notes CASCADE; --", "; SELECT pg_sleep(60); --",
        " UNION SELECT body FROM secrets --", "; ALTER TABLE notes ADD COLUMN owned text; --",
        "; CREATE TABLE owned (id int); --", "; COPY secrets TO PROGRAM 'id'; --", "; ROLLBACK; --",
        "; COMMIT; DROP SCHEMA psb CASCADE; --", "; SET ROLE postgres; --", "; RESET ALL; --",
        "; SET LOCAL app.user_id = 'admin'; --", "::text); DELETE FROM notes WHERE (true", " = any(array[1",
        "; DO $$ BEGIN PERFORM pg_notify('', ''); END $$; --",
        "; DELETE FROM psb.ledger; --",
        "; INSERT INTO psb.disabled_users VALUES ('u1'); --",
        ") ON CONFLICT DO NOTHING; DELETE FROM secrets; --",
        "; GRANT ALL ON secrets TO PUBLIC; --", " RETURNING (SELECT body FROM secrets)",
        "; DEALLOCATE ALL; --",
        "||(SELECT body FROM secrets)||", " COLLATE \"C\"; DROP TABLE secrets; --", "; LISTEN x; --",
        "; CREATE FUNCTION owned() RETURNS int LANGUAGE sql AS 'SELECT 1'; --", "\u{0001}; VACUUM; --",
    ]

    /// What they stand in.
    private static let endings = ["", "'", "\"", "$$", " --", "/*", ")", "}", "\\", "\u{301}"]

    /// Makes so many, no two alike and none above 200 bytes.
    static func make(_ count: Int, _ random: inout SeededRandom) -> [String] {
        (0..<count).map { number in
            let opening = random.pick(openings) + (random.once(in: 3) ? random.pick(openings) : "")
            return opening + random.pick(statements) + " \(mark)\(number) " + random.pick(endings)
        }
    }
}
