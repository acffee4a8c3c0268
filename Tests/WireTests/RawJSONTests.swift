import PowerSyncWire
import Testing

/// Values that keep their spelling.
@Suite struct RawJSONTests {
    @Test func membersKeepTheirSpelling() throws {
        let members = try #require(
            try RawJSON(text: #" { "a" : {"x": 1.0, "y":[ ]} , "b":null } "#).members())
        #expect(members.map(\.name) == ["a", "b"])
        #expect(members.map(\.value.text) == [#"{"x": 1.0, "y":[ ]}"#, "null"])
        #expect(members[1].value.isNull)
        #expect(try members[0].value.parsed()["x"] == .number("1.0"))
    }

    @Test func elementsKeepTheirSpelling() throws {
        #expect(try RawJSON(text: #"[ "é" ,{"b": 2}]"#).elements()?.map(\.text) == ["\"é\"", #"{"b": 2}"#])
        #expect(try RawJSON(text: "[]").elements() == [])
    }

    @Test func anotherKindHasNone() throws {
        #expect(try RawJSON(text: "[1]").members() == nil)
        #expect(try RawJSON(text: "{}").elements() == nil)
    }

    @Test(arguments: ["", "{", "[1,]", "{} x", "nul"]) func whatIsNoJSONIsAnError(_ text: String) {
        #expect(throws: WireError.self) { try RawJSON(text: text).members() }
        #expect(throws: WireError.self) { try RawJSON(text: text).elements() }
    }
}
