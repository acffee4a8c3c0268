import PowerSyncPostgres
import Testing

struct QuotingTests {
    @Test func identifiersAreAlwaysQuoted() {
        #expect(quoteIdentifier("lists") == #""lists""#)
        #expect(quoteIdentifier(#"a"b; DROP TABLE x"#) == #""a""b; DROP TABLE x""#)
        #expect(quoteIdentifier("My Schema", "user") == #""My Schema"."user""#)
    }

    @Test func literalsDoubleQuotesAndMarkBackslashes() {
        #expect(quoteLiteral("plain") == "'plain'")
        #expect(quoteLiteral("O'Neil") == "'O''Neil'")
        #expect(quoteLiteral(#"\'; DROP"#) == #" E'\\''; DROP'"#)
    }

    @Test func arraysQuoteEveryElementButNull() {
        #expect(arrayLiteral([]) == "{}")
        #expect(
            arrayLiteral(["a", nil, "NULL", "", #"q"\"#, "x,y}"]) == #"{"a",NULL,"NULL","","q\"\\","x,y}"}"#)
    }

    @Test func sessionOptionsEscapeSpacesAndBackslashes() {
        #expect(PostgresSession.options([("a", "x y"), ("b", #"\"#)]) == #"-c a=x\ y -c b=\\"#)
        #expect(PostgresSession.options().contains("-c TimeZone=UTC -c DateStyle=ISO,MDY"))
    }

    @Test func copyRowsComeApartAndAreUnescaped() {
        #expect(PostgresCopyRow.fields(of: Array("1\t\\N\t\tx\n".utf8)) == ["1", nil, "", "x"])
        #expect(PostgresCopyRow.fields(of: Array(#"a\tb\nc\\N\rd"#.utf8)) == ["a\tb\nc\\N\rd"])
        #expect(PostgresCopyRow.fields(of: []) == [""])
    }
}
