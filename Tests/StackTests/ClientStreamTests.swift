import PowerSyncWire
import Testing

@testable import PowerSyncStack

struct ClientStreamTests {
    @Test func streamsThatAreOnlySpelledAlikeAreTwo() throws {
        let streams = try [
            #"{"name":"\u00e9"}"#, #"{"name":"e\u0301"}"#, #"{"name":"s","parameters":{"n":"\u00e9"}}"#,
            #"{"name":"s","parameters":{"n":"e\u0301"}}"#,
        ].map { try ClientStream(JSONFields(JSON.parse($0), known: ["name", "parameters"])) }
        #expect(Set(streams).count == 4)
        #expect(Set(streams + streams).count == 4)
    }
}
