import PowerSyncSQLite
import Testing

@testable import PowerSync

struct RowDiffTests {
    @Test(arguments: [
        (#"{"a":{"x":1,"y":[2.0]}}"#, #"{"a":{"y":[2.00],"x":1}}"#, "{}"),
        ("{}", #"{"b":1,"é":2,"a":3,"B":4}"#, #"{"B":4,"a":3,"b":1,"é":2}"#),
        ("{}", #"{"a":0.1234567890123456789012345}"#, #"{"a":0.1234567890123456789012345}"#),
        (#"{"a":9007199254740993}"#, #"{"a":9007199254740992}"#, #"{"a":9007199254740992}"#),
    ])
    func reportsWhatChanged(_ old: String, _ new: String, _ expected: String) throws {
        #expect(try RowDiff.diff(old, new) == expected)
    }

    @Test(arguments: [("[]", "{}"), ("{}", "1"), ("{", "{}")])
    func refusesWhatIsNoObject(_ old: String, _ new: String) throws {
        #expect(sqliteError { _ = try RowDiff.diff(old, new) }?.extendedCode == 3091)
    }

    @Test func mergesObjectsByTheirText() throws {
        #expect(try RowDiff.merge([]) == "{}")
        #expect(try RowDiff.merge(["{}", #"{"b":1}"#, "{}", #"{"a":1.50}"#]) == #"{"b":1,"a":1.50}"#)
        #expect(sqliteError { _ = try RowDiff.merge(["[1]"]) }?.message == "Expected json object")
    }

    @Test(arguments: [0.1 + 0.2, 1e20, 2, -1.5e-300, .greatestFiniteMagnitude])
    func spellsDoublesSoThatTheyReadBack(_ value: Double) throws {
        #expect(Double(RowDiff.spelling(of: value)) == value)
        let database = try CoreDatabase(version: 0)
        let stored = try database.connection.one(
            "SELECT json_extract(json_object('a', powersync_strip_subtype(?)), '$.a')", [.real(value)]
        ) { $0.double(0) }
        #expect(stored == value)
    }

    @Test func infinityReadsBackToo() throws {
        let database = try CoreDatabase(version: 0)
        for value in [Double.infinity, -.infinity] {
            let stored = try database.connection.one(
                "SELECT json_extract(json_object('a', powersync_strip_subtype(?)), '$.a')", [.real(value)]
            ) { $0.double(0) }
            #expect(stored == value)
        }
    }
}
