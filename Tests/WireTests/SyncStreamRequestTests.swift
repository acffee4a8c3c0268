import PowerSyncWire
import Testing

@Suite struct SyncStreamRequestTests {
    /// The body that the official Node SDK sent (service 1.4).
    private let recorded =
        "{\"buckets\":[],\"include_checksum\":true,\"raw_data\":true,\"binary_data\":true,"
        + "\"client_id\":\"ae95ef9c-0a3a-42ea-bcc7-ab8da9b32eb9\",\"parameters\":{},"
        + "\"streams\":{\"include_defaults\":true,\"subscriptions\":[]},\"app_metadata\":{}}"

    @Test func writesWhatTheOfficialClientSent() throws {
        #expect(try SyncStreamRequest(json: JSON.parse(recorded)).json.text == recorded)
        let full = SyncStreamRequest(
            buckets: [BucketRequest(name: "1#mine|0[\"u1\"]", after: 5)], clientID: "c",
            parameters: .object([]),
            streams: StreamSubscriptions(subscriptions: [
                StreamSubscription(
                    stream: "extra", parameters: .object([JSONMember("name", .string("x"))]),
                    overridePriority: 2),
                StreamSubscription(stream: "other"),
            ]))
        #expect(
            full.json.text
                == "{\"buckets\":[{\"name\":\"1#mine|0[\\\"u1\\\"]\",\"after\":\"5\"}],\"include_checksum\":true,"
                + "\"raw_data\":true,\"binary_data\":true,\"client_id\":\"c\",\"parameters\":{},\"streams\":{"
                + "\"include_defaults\":true,\"subscriptions\":[{\"stream\":\"extra\",\"parameters\":{\"name\":\"x\"},"
                + "\"override_priority\":2},{\"stream\":\"other\",\"parameters\":null,\"override_priority\":null}]}}"
        )
        #expect(try SyncStreamRequest(json: JSON.parse(full.json.text)) == full)
    }

    @Test(arguments: ["null", "[]", "{}", "{\"unknown\":1}"])
    func takesAnEmptyBodyForAnEmptyRequest(text: String) throws {
        let request = try SyncStreamRequest(json: JSON.parse(text))
        #expect(request.buckets.isEmpty && request.streams == nil && !request.rawData)
    }

    @Test(arguments: [
        ("{\"buckets\":1}", "/buckets: type must be array"),
        ("{\"buckets\":[{\"name\":1}]}", "/buckets/0 must have required property 'after'"),
        ("{\"raw_data\":1}", "/raw_data: type must be boolean"),
        ("{\"buckets\":[{\"name\":\"a\",\"after\":5}]}", "/buckets/0/after: type must be string"),
        ("{\"parameters\":[]}", "/parameters: type must be object"),
        (
            "{\"streams\":{\"subscriptions\":[{\"stream\":1}]}}",
            "/streams/subscriptions/0 must have required property 'override_priority'"
        ),
        (
            "{\"streams\":{\"subscriptions\":[{\"stream\":\"a\",\"parameters\":null,\"override_priority\":4}]}}",
            "/streams/subscriptions/0/override_priority: must be a number from 0 to 3"
        ),
        (
            "{\"streams\":{\"subscriptions\":[{\"stream\":\"a\",\"parameters\":null,\"override_priority\":-1}]}}",
            "/streams/subscriptions/0/override_priority: must be a number from 0 to 3"
        ),
    ])
    func saysWhatIsWrongInTheServicesWords(text: String, message: String) throws {
        let json = try JSON.parse(text)
        #expect(throws: RequestViolations(messages: [message])) { try SyncStreamRequest(json: json) }
    }

    /// Beyond all operations there is nothing to send, and what the client has is of another history (service 3.8).
    @Test(arguments: [
        ("9223372036854775807", OperationID.max), ("9223372036854775808", .max),
        ("18446744073709551616", .max), ("-9223372036854775809", .min), ("-1", -1), ("", nil), ("-", nil),
        ("--1", nil), ("1a", nil), ("1.0", nil),
    ])
    func aPositionIsADecimalNumber(text: String, position: OperationID?) throws {
        let json = try JSON.parse("{\"buckets\":[{\"name\":\"a\",\"after\":\"\(text)\"}]}")
        let request = try? SyncStreamRequest(json: json)
        #expect(request?.buckets.map(\.after) == position.map { [$0] })
    }

    /// The service names one violation, also where there are several; a message for each would make an answer of
    /// 21 MB to a body of 1 MiB.
    @Test func namesTheFirstOfManyViolations() throws {
        let zeros = String(repeating: "0,", count: 50_000) + "0"
        let message = "/buckets/0: type must be object"
        for text in ["{\"buckets\":[\(zeros)],\"streams\":1}", "{\"streams\":1,\"buckets\":[0,0]}"] {
            let json = try JSON.parse(text)
            // Not expected to be equal: the difference would be printed.
            let violations = #expect(throws: RequestViolations.self) { try SyncStreamRequest(json: json) }
            let messages = violations?.messages ?? []
            #expect(messages.count == 1 && messages.first == message)
        }
        let both = try JSON.parse("{\"buckets\":[{\"name\":1,\"after\":2}],\"raw_data\":true}")
        #expect(throws: RequestViolations(messages: ["/buckets/0/name: type must be string"])) {
            try SyncStreamRequest(json: both)
        }
    }
}
