import PowerSyncWire
import Testing

/// A member of an object of which the rest is lost.
struct JSONLeadingMemberTests {
    @Test(
        arguments: [
            (#"{"id":1,"#, "1"), (#"{"id":1}"#, "1"), (#" { "id" : "a" , nonsense"#, #""a""#),
            (#"{"a":{"id":2},"b":[{"id":3}],"id":{"c":[4]},"#, #"{"c":[4]}"#), (#"{"id":5,"id":6}"#, "5"),
            (#"{"id":null,"#, "null"), (#"{"id":1.50 ,"#, "1.50"), (#"{"\u0069d":7,"#, "7"),
        ])
    func isReadAsFarAsItGoes(text: String, member: String) {
        #expect(JSON.leadingMember("id", of: Array(text.utf8))?.text == member)
    }

    @Test(arguments: [
        "", " ", "{", "[", "7", #"[{"id":1},"#, #"{"id""#, #"{"id":"#, #"{"id":12"#, #"{"id":"a"#,
        #"{"id":[1,"#, #"{"a":1}"#, #"{"a":1,"b"#, #"{"a":nonsense,"id":1}"#, #"{"a" "id":1}"#,
    ])
    func isNoneWhereTheTextEndsOrBreaksBefore(text: String) {
        #expect(JSON.leadingMember("id", of: Array(text.utf8)) == nil)
    }

    @Test func whatIsNotUTF8IsNone() {
        #expect(JSON.leadingMember("id", of: Array(#"{"id":""#.utf8) + [0xFF] + Array(#"","#.utf8)) == nil)
        #expect(JSON.leadingMember("id", of: Array(#"{"id":1,"a":""#.utf8) + [0xFF]) == .number("1"))
    }

    @Test func limitsHold() {
        let deep = #"{"a":[[[1]]],"id":1}"#
        #expect(JSON.leadingMember("id", of: Array(deep.utf8), limits: JSONLimits(depth: 4)) == .number("1"))
        #expect(JSON.leadingMember("id", of: Array(deep.utf8), limits: JSONLimits(depth: 3)) == nil)
        let many = #"{"id":[1,2,3],"#
        #expect(JSON.leadingMember("id", of: Array(many.utf8), limits: JSONLimits(values: 3)) == nil)
    }
}
