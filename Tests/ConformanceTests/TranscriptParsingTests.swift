import PowerSyncConformance
import PowerSyncWire
import Testing

@Suite struct TranscriptParsingTests {
    private static func transcript(_ steps: String) -> String {
        "{\"name\":\"n\",\"client_id\":\"c\",\"steps\":[\(steps)]}"
    }

    @Test(arguments: [
        ("[]", "a transcript is a JSON object with name, client_id and steps"),
        ("{\"client_id\":\"c\",\"steps\":[]}", "\"name\" is missing"),
        ("{\"name\":\"n\",\"client_id\":1,\"steps\":[]}", "\"client_id\" is not a text"),
        ("{\"name\":\"n\",\"client_id\":\"c\"}", "\"steps\" is missing"),
        (transcript("{\"do\":\"stop\"},{}"), "step 1: \"do\" is missing"),
        (transcript("7"), "step 0: \"do\" is missing"),
        (transcript("{\"do\":\"fly\"}"), "step 0: there is no step \"fly\""),
        (transcript("{\"do\":\"line\"}"), "step 0: \"line\" is missing"),
        (transcript("{\"do\":\"clear\",\"flags\":\"x\"}"), "step 0: \"flags\" is not a whole number"),
        (
            transcript("{\"do\":\"connection\",\"event\":\"lost\"}"),
            "step 0: \"event\" is not established or end"
        ),
    ])
    func saysWhatIsWrongWithAFile(text: String, message: String) {
        #expect(throws: WireError(.invalidField, message)) { try Transcript(parsing: Array(text.utf8)) }
    }

    @Test func takesALineThatIsNestedAsDeeplyAsALineMayBe() throws {
        let depth = JSONLimits.standard.depth
        let line = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        let text = Self.transcript("{\"do\":\"line\",\"line\":\(line)}")
        #expect(try Transcript(parsing: Array(text.utf8)).steps.count == 1)
    }
}
