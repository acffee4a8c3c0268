import PowerSyncWire
import Testing

@Suite struct SyncLineTests {
    private func parse(_ text: String) throws(WireError) -> SyncLine {
        try SyncLine(parsing: Array(text.utf8))
    }

    @Test func writesEveryRecordedLineOfTheRealServiceAsItWasSent() throws {
        var count = 0
        for (file, entry) in try RecordedLines.entries(of: "service/curated") where entry["bson"] == nil {
            guard let line = entry["line"], !line.text.contains("\"$long\"") else { continue }
            let text = line.text
            // A service that is told not to send raw data nests it; such lines have a test of their own.
            if text.contains("\"data\":{\"id\"") || text.contains(",\"data\":null},") { continue }
            let parsed = try parse(text)
            guard case .unknown = parsed else {
                count += 1
                try expectSame(parsed, text)
                continue
            }
            Issue.record("unknown line in \(file)")
        }
        #expect(count > 500)
    }

    /// The last op ids of complete lines are not read, as in the official core, so they are put in by hand.
    private func expectSame(_ line: SyncLine, _ text: String) throws {
        let json = try JSON.parse(text)
        switch line {
        case .checkpointComplete:
            let id = try #require(
                json["checkpoint_complete"]?["last_op_id"]?.stringValue.flatMap { Int64($0) })
            #expect(
                String(decoding: SyncLine.checkpointComplete(lastOpID: id).encoded(), as: UTF8.self) == text)
        case .partialCheckpointComplete(_, let priority):
            let payload = json["partial_checkpoint_complete"]
            let id = try #require(payload?["last_op_id"]?.stringValue.flatMap { Int64($0) })
            let line = SyncLine.partialCheckpointComplete(lastOpID: id, priority: priority)
            #expect(String(decoding: line.encoded(), as: UTF8.self) == text)
        default: #expect(String(decoding: line.encoded(), as: UTF8.self) == text)
        }
    }

    @Test func nestsDataVerbatimForClientsThatWantNoText() {
        let line = SyncLine.data(
            DataLine(
                bucket: "b", after: 0, nextAfter: 2, hasMore: false,
                operations: [
                    Operation(
                        id: 1, kind: .put, objectType: "t", objectID: "1", subkey: "s", checksum: Checksum(7),
                        data: "{\"id\":\"1\",\"n\":9223372036854775807,\"r\":1.0}"),
                    Operation(
                        id: 2, kind: .remove, objectType: "t", objectID: "1", subkey: "s",
                        checksum: Checksum(8)),
                ]))
        let expected =
            "{\"data\":{\"bucket\":\"b\",\"after\":\"0\",\"has_more\":false,\"data\":[{\"op_id\":\"1\",\"op\":\"PUT\","
            + "\"object_type\":\"t\",\"object_id\":\"1\",\"checksum\":7,\"subkey\":\"s\","
            + "\"data\":{\"id\":\"1\",\"n\":9223372036854775807,\"r\":1.0}},{\"op_id\":\"2\",\"op\":\"REMOVE\","
            + "\"object_type\":\"t\",\"object_id\":\"1\",\"checksum\":8,\"subkey\":\"s\",\"data\":null}],\"next_after\":\"2\"}}"
        #expect(String(decoding: line.encoded(rawData: false), as: UTF8.self) == expected)
    }

    @Test func readsKeepalivesAndUnknownLines() throws {
        #expect(try parse("{\"token_expires_in\":123}") == .tokenExpiresIn(123))
        #expect(try parse("{\"foo\":{}}") == .unknown(key: "foo"))
        #expect(try parse(" {\"foo\":[1,{\"a\":2}]} ") == .unknown(key: "foo"))
        #expect(try parse("{\"token_expires_in\":1,\"foo\":[]}") == .tokenExpiresIn(1))
        #expect(try parse("{\"foo\":[],\"token_expires_in\":1}") == .tokenExpiresIn(1))
    }

    @Test func defaultsWhatMayBeAbsentAndIgnoresWhatItDoesNotKnow() throws {
        let line = try parse(
            "{\"checkpoint\":{\"last_op_id\":\"5\",\"write_checkpoint\":null,\"extra\":[1],"
                + "\"buckets\":[{\"bucket\":\"a\\\"\",\"checksum\":-1,\"last_op_id\":\"3\"}]}}")
        let bucket = BucketChecksum(bucket: "a\"", checksum: Checksum(0xFFFF_FFFF))
        #expect(line == .checkpoint(Checkpoint(lastOpID: 5, buckets: [bucket])))
        let data = try parse(
            "{\"data\":{\"bucket\":\"b\",\"after\":null,\"next_after\":null,\"data\":[{\"op_id\":\"1\",\"op\":\"PUT\","
                + "\"checksum\":3573495687.0,\"subkey\":null,\"object_type\":\"t\",\"object_id\":\"i\",\"data\":\"{}\"}]}}"
        )
        let operation = Operation(
            id: 1, kind: .put, objectType: "t", objectID: "i", checksum: Checksum(3_573_495_687), data: "{}")
        #expect(data == .data(DataLine(bucket: "b", operations: [operation])))
    }

    @Test(arguments: [
        "invalid sync line", "[]", "{}", "1", "{\"foo\":{},\"bar\":{}}", "{\"foo\":}",
        "{\"token_expires_in\":\"1\"}",
        "{\"token_expires_in\":1.5}", "{\"token_expires_in\":2147483648}", "{\"checkpoint\":{}}",
        "{\"checkpoint\":null}",
        "{\"checkpoint\":{\"last_op_id\":1,\"buckets\":[]}}",
        "{\"checkpoint\":{\"last_op_id\":\"x\",\"buckets\":[]}}",
        "{\"checkpoint\":{\"last_op_id\":\"9223372036854775808\",\"buckets\":[]}}",
        "{\"checkpoint\":{\"last_op_id\":\"1\",\"buckets\":[{\"bucket\":\"a\"}]}}",
        "{\"checkpoint\":{\"last_op_id\":\"1\",\"buckets\":[{\"bucket\":\"a\",\"checksum\":4294967296}]}}",
        "{\"checkpoint\":{\"last_op_id\":\"1\",\"buckets\":[{\"bucket\":\"a\",\"checksum\":0.5}]}}",
        "{\"checkpoint\":{\"last_op_id\":\"1\",\"buckets\":[{\"bucket\":\"a\",\"checksum\":0,\"priority\":-1}]}}",
        "{\"checkpoint\":{\"last_op_id\":\"1\",\"buckets\":[{\"bucket\":\"a\",\"checksum\":0,\"priority\":2147483647}]}}",
        "{\"checkpoint\":{\"last_op_id\":\"1\",\"buckets\":[{\"bucket\":\"a\",\"checksum\":0,\"subscriptions\":[{\"x\":1}]}]}}",
        "{\"checkpoint\":{\"last_op_id\":\"1\",\"buckets\":[],\"streams\":[{\"name\":\"a\",\"is_default\":true}]}}",
        "{\"checkpoint_diff\":{\"last_op_id\":\"1\",\"updated_buckets\":[]}}",
        "{\"data\":{\"bucket\":\"b\"}}", "{\"data\":{\"data\":[]}}",
        "{\"data\":{\"bucket\":\"b\",\"data\":[{\"op_id\":\"1\",\"op\":\"UPSERT\",\"checksum\":1}]}}",
        "{\"data\":{\"bucket\":\"b\",\"data\":[{\"op_id\":\"1\",\"op\":\"PUT\"}]}}",
        "{\"data\":{\"bucket\":\"b\",\"data\":[{\"op\":\"PUT\",\"checksum\":1}]}}",
        "{\"data\":{\"bucket\":\"b\",\"data\":[{\"op_id\":\"1\",\"op\":\"PUT\",\"checksum\":1,\"data\":{}}]}}",
        "{\"partial_checkpoint_complete\":{}}", "{\"checkpoint_complete\":1}",
    ])
    func refusesALineThatBreaksTheProtocol(text: String) {
        #expect(throws: WireError.self) { try parse(text) }
    }

    @Test func sumsModulo32Bits() {
        #expect(Checksum(0xFFFF_FFFF) + Checksum(1) == .zero)
        #expect(Checksum.zero - Checksum(1) == Checksum(0xFFFF_FFFF))
        #expect(Checksum(0x8FFF_FFFF) + Checksum(0x8000_0000) == Checksum(0x0FFF_FFFF))
        #expect(Checksum(signed: -721_471_609).value == 3_573_495_687)
        #expect(Checksum(0x4D2).description == "0x000004d2")
    }
}
