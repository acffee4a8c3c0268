import PowerSyncSQLite
import Testing

struct SQLiteFunctionTests {
    let connection: SQLiteConnection

    init() throws { connection = try SQLiteConnection(path: ":memory:") }

    @Test func passesAndReturnsEveryKindOfValue() throws {
        try connection.createFunction("same", argumentCount: 1) { $0[0] }
        for value in [
            SQLiteValue.null, .integer(7), .real(1.5), .text("a\0b"), .text(""), .blob([1]), .blob([]),
        ] {
            #expect(try connection.query("SELECT same(?)", [value]) { $0[0] } == [value])
        }
    }

    @Test func stripsSubtypesAndSpellsDoublesAnew() throws {
        try connection.createStrippingFunction("strip", flags: [], subtype: 74) { "\($0)" }
        for value in [SQLiteValue.null, .integer(7), .text("a\0b"), .text(""), .blob([1]), .blob([])] {
            #expect(try connection.query("SELECT strip(?)", [value]) { $0[0] } == [value])
        }
        #expect(
            try connection.query("SELECT json_array(strip(json_object()), strip(0.1 + 0.2))") { $0.text(0) }
                == [#"["{}",0.30000000000000004]"#])
    }

    @Test func takesAnyNumberOfArguments() throws {
        try connection.createFunction("join_all", argumentCount: -1) { call in
            .text((0..<call.count).map { call.text($0) ?? "-" }.joined(separator: ","))
        }
        #expect(try connection.query("SELECT join_all(1, NULL, 'x')") { $0.text(0) } == ["1,-,x"])
        #expect(try connection.query("SELECT join_all()") { $0.text(0) } == [""])
    }

    @Test func readsSetsAndClearsSubtypes() throws {
        try connection.createFunction("subtype", argumentCount: 1, flags: .readsSubtype) {
            .integer(Int64($0.subtype(0)))
        }
        try connection.createFunction("as_json", argumentCount: 1, flags: .setsSubtype) { call in
            call.resultSubtype = 74
            return call[0]
        }
        try connection.createForwardingFunction("plain", argumentCount: 1) { _ in .argument(0) }
        #expect(try connection.query("SELECT subtype(json_array())") { $0.int64(0) } == [74])
        #expect(try connection.query("SELECT json_array(as_json('{}'))") { $0.text(0) } == ["[{}]"])
        #expect(
            try connection.query("SELECT json_array(plain(json_object()))") { $0.text(0) } == [#"["{}"]"#])
    }

    @Test func aThrownErrorReachesSQLWithItsCode() throws {
        try connection.createFunction("fail", argumentCount: 0) { _ in
            throw SQLiteError(extendedCode: 3091, message: "not like this")
        }
        let error = #expect(throws: SQLiteError.self) { try connection.run("SELECT fail()") }
        #expect(error?.extendedCode == 3091)
        #expect(error?.message == "not like this")
    }

    @Test func directOnlyFunctionsAreRefusedInTriggers() throws {
        try connection.createFunction("direct", argumentCount: 0, flags: .directOnly) { _ in 1 }
        try connection.execute(
            "CREATE TABLE t(a); CREATE TRIGGER x AFTER INSERT ON t BEGIN SELECT direct(); END")
        #expect(throws: SQLiteError.self) { try connection.run("INSERT INTO t VALUES (1)") }
        try connection.run("SELECT direct()")
    }

    @Test func aFunctionGoesWithItsConnection() throws {
        final class Token {}
        weak var observed: Token?
        do {
            let token = Token()
            observed = token
            let other = try SQLiteConnection(path: ":memory:")
            try other.createFunction("hold", argumentCount: 0) { _ in
                withExtendedLifetime(token) { 1 }
            }
            try other.run("SELECT hold()")
        }
        #expect(observed == nil)
    }
}
