import Testing

@testable import PowerSync

/// Vectors of client-core 9.1: what `powersync_diff` makes of two rows.
struct DiffVectorTests {
    private let database: CoreDatabase

    init() throws { database = try CoreDatabase(version: 0) }

    private func diff(_ old: String, _ new: String) throws -> String {
        try database.column("SELECT powersync_diff(\(SQLText.literal(old)), \(SQLText.literal(new)))")[0]
    }

    @Test("1: two empty rows do not differ")
    func emptyRows() throws { #expect(try diff("{}", "{}") == "{}") }

    @Test("2: everything of a new row is a change")
    func aNewRow() throws { #expect(try diff("{}", #"{"test":1}"#) == #"{"test":1}"#) }

    @Test("3: an equal value is no change")
    func anEqualValue() throws { #expect(try diff(#"{"test":1}"#, #"{"test":1}"#) == "{}") }

    @Test("4: a value that went, or became null, is null", arguments: ["{}", #"{"test":null}"#])
    func aValueThatWent(_ new: String) throws {
        #expect(try diff(#"{"test":1}"#, new) == #"{"test":null}"#)
    }

    @Test("5: every value that went is null")
    func allValuesWent() throws {
        #expect(try diff(#"{"a":1,"b":"test"}"#, "{}") == #"{"a":null,"b":null}"#)
    }

    @Test("6: one value went, another one came")
    func oneForAnother() throws {
        #expect(try diff(#"{"a":1}"#, #"{"b":"test"}"#) == #"{"a":null,"b":"test"}"#)
    }

    @Test("7: a value that came beside an equal one")
    func anAddedValue() throws {
        #expect(try diff(#"{"a":1}"#, #"{"a":1,"b":"test"}"#) == #"{"b":"test"}"#)
    }

    @Test("8: null is the same as nothing")
    func nullIsNothing() throws {
        #expect(try diff(#"{"a":null}"#, "{}") == "{}")
        #expect(try diff("{}", #"{"a":null}"#) == "{}")
    }

    @Test("9: one value became null, another one changed")
    func nullBesideAChange() throws {
        #expect(try diff(#"{"a":0,"b":1}"#, #"{"a":null,"b":2}"#) == #"{"a":null,"b":2}"#)
    }

    @Test("10: a number is not its text")
    func aNumberIsNotItsText() throws { #expect(try diff(#"{"a":1}"#, #"{"a":"1"}"#) == #"{"a":"1"}"#) }

    @Test("11: an integer is not the double of its value")
    func anIntegerIsNotADouble() throws { #expect(try diff(#"{"a":1}"#, #"{"a":1.0}"#) == #"{"a":1.0}"#) }

    @Test("12: the spelling of a double does not matter")
    func spellingOfADouble() throws { #expect(try diff(#"{"a":1.00}"#, #"{"a":1.0}"#) == "{}") }

    @Test("13: an array in place of a number")
    func anArray() throws { #expect(try diff(#"{"a":1}"#, #"{"a":[1,2,3]}"#) == #"{"a":[1,2,3]}"#) }
}
