import PowerSyncStack
import PowerSyncWire
import Testing

/// What a client holds, beside what it held of the real service.
@Suite struct StateComparisonTests {
    private static let a = put("1", "a", "old", checksum: 5)
    private static let b = put("2", "b", "text", checksum: 7)

    private static func put(_ opID: String, _ id: String, _ data: String, checksum: Int) -> String {
        #"{"op_id":"\#(opID)","op":"PUT","object_type":"t","object_id":"\#(id)","checksum":\#(checksum),"#
            + #""subkey":"s/\#(id)","data":"\#(data)"}"#
    }

    private static func bucket(
        _ name: String, checksum: Int, count: Int = 2, priority: Int = 3, reasons: String = #"{"default":0}"#
    ) -> String {
        #"{"bucket":"\#(name)","checksum":\#(checksum),"count":\#(count),"priority":\#(priority),"#
            + #""subscriptions":[\#(reasons)]}"#
    }

    /// The lines of one checkpoint with one bucket.
    private static func lines(
        name: String = "1#all|0[]", operations: [String] = [a, b], checksum: Int? = nil, priority: Int = 3,
        reasons: String = #"{"default":0}"#, more: [String] = [], writeCheckpoint: String? = "4",
        errors: String = "", after: String = "0", ends: Bool = true
    ) -> [String] {
        let sum = checksum ?? 12
        let write = writeCheckpoint.map { #""write_checkpoint":"\#($0)","# } ?? ""
        let buckets = [bucket(name, checksum: sum, priority: priority, reasons: reasons)] + more
        return [
            #"{"checkpoint":{"last_op_id":"2",\#(write)"buckets":[\#(buckets.joined(separator: ","))],"streams":["#
                + #"{"name":"all","is_default":true,"errors":[\#(errors)]},"#
                + #"{"name":"other","is_default":true,"errors":[]}]}}"#,
            #"{"data":{"bucket":"\#(name)","after":"\#(after)","has_more":false,"#
                + #""data":[\#(operations.joined(separator: ","))],"next_after":"2"}}"#,
        ] + (ends ? [#"{"checkpoint_complete":{"last_op_id":"2"}}"#] : [])
    }

    private static func state(_ lines: [String], isRecorded: Bool) throws -> SyncStreamState {
        var state = SyncStreamState(isRecorded: isRecorded)
        state.response = RecordedAnswer(status: 200, headers: ["content-type": "application/x-ndjson"])
        for line in lines { state.apply(try JSON.parse(line)) }
        return state
    }

    private func differences(
        _ recorded: [String], _ received: [String], omitting: Set<String> = [],
        change: (inout SyncStreamState) -> Void = { _ in }
    ) throws -> [String] {
        var state = try Self.state(received, isRecorded: false)
        change(&state)
        return StateComparison(
            recorded: try Self.state(recorded, isRecorded: true), received: state, omitting: omitting,
            firstNumbers: (1, 1)
        ).differences
    }

    /// Compares with the usual recording.
    private func differences(
        _ received: [String], change: (inout SyncStreamState) -> Void = { _ in }
    ) throws -> [String] {
        try differences(Self.lines(), received, change: change)
    }

    @Test func equalStatesDoNotDiffer() throws {
        #expect(try differences(Self.lines()) == [])
        // The prefix, op ids and the order of operations are a service's own.
        let other = Self.lines(operations: [
            Self.put("1", "b", "text", checksum: 7), Self.put("2", "a", "old", checksum: 5),
        ])
        #expect(try differences(other) == [])
    }

    @Test func aRowThatIsMissingIsNoticed() throws {
        let lines = Self.lines(
            operations: [#"{"op_id":"1","op":"MOVE","checksum":5}"#, Self.b])
        #expect(try differences(lines) == ["bucket all|0[]: row t/a is missing:\n    - old"])
    }

    @Test func aRowThatIsThereTooMuchIsNoticed() throws {
        let lines = Self.lines(operations: [Self.a, Self.put("2", "b", "text", checksum: 7)])
        let recorded = Self.lines(operations: [Self.a, #"{"op_id":"2","op":"MOVE","checksum":7}"#])
        #expect(try differences(recorded, lines) == ["bucket all|0[]: row t/b was not recorded:\n    + text"])
    }

    @Test func anotherTextIsNoticed() throws {
        let lines = Self.lines(operations: [Self.put("1", "a", "new", checksum: 5), Self.b])
        #expect(try differences(lines) == ["bucket all|0[]: row t/a differs:\n    - old\n    + new"])
    }

    @Test func anotherChecksumIsNoticed() throws {
        let lines = Self.lines(operations: [Self.put("1", "a", "old", checksum: 6), Self.b], checksum: 13)
        #expect(try differences(lines) == ["bucket all|0[]: checksum 13, recorded 12"])
        #expect(
            try differences(Self.lines(checksum: 13)) == [
                "bucket all|0[]: its checksum is not the sum of the operations sent",
                "bucket all|0[]: checksum 13, recorded 12",
            ])
    }

    @Test func anotherPriorityIsNoticed() throws {
        #expect(try differences(Self.lines(priority: 1)) == ["bucket all|0[]: priority 1, recorded 3"])
    }

    @Test func otherReasonsAreNoticed() throws {
        #expect(
            try differences(Self.lines(reasons: #"{"sub":0}"#)) == [
                "bucket all|0[]: reasons:\n    - default all\n    + subscription 0"
            ])
        #expect(try differences(Self.lines(reasons: #"{"default":0},{"default":0}"#)) == [])
        #expect(try differences(Self.lines(reasons: #"{"default":0},{"sub":1}"#)).count == 1)
    }

    @Test func aWriteCheckpointThatIsMissingIsNoticed() throws {
        #expect(try differences(Self.lines(writeCheckpoint: nil)) == ["write checkpoint none, recorded 4"])
        #expect(
            try differences(Self.lines(writeCheckpoint: nil), Self.lines()) == [
                "write checkpoint 4, recorded none"
            ])
    }

    @Test func aBucketTooManyOrTooFewIsNoticed() throws {
        let more = Self.lines(more: [Self.bucket("1#other|0[]", checksum: 0, count: 0)])
        #expect(try differences(more) == ["bucket other|0[] is listed, recorded not"])
        #expect(try differences(more, Self.lines()) == ["bucket other|0[] is not listed"])
    }

    @Test func aNumberThatRisesOtherwiseIsNoticed() throws {
        #expect(
            try differences(Self.lines(name: "2#all|0[]")) == [
                "bucket all|0[]: the number in front of its name has risen by 1, recorded by 0"
            ])
    }

    @Test func errorsOfStreamsAreNoticed() throws {
        let lines = Self.lines(errors: #"{"subscription":"default","message":"no"}"#)
        let error = #"all (default) {"subscription":"default","message":"no"}"#
        #expect(try differences(lines) == ["streams:\n    - all (default)\n    + \(error)"])
    }

    @Test func aCheckpointWithoutEndAndAnotherHeadAreNoticed() throws {
        #expect(try differences(Self.lines(ends: false)) == ["the last checkpoint was not completed"])
        let head = try differences(Self.lines()) { state in
            state.response = RecordedAnswer(status: 200, headers: ["content-type": "text/plain"])
        }
        #expect(head == ["header content-type: text/plain, recorded application/x-ndjson"])
    }

    @Test func aBrokenChainIsNoticed() throws {
        #expect(try differences(Self.lines(after: "1")) == ["data of 1#all|0[] after 1 where 0 was reached"])
        let twice = Self.lines(operations: [Self.a, Self.a, Self.b])
        #expect(try differences(twice) == ["operation 1 of 1#all|0[] behind 1"])
        // The real service does repeat operations (service 3.14 D1).
        #expect(try differences(twice, Self.lines()) == [])
    }

    @Test func theRealServiceMayNameTheStreamOfTheBucketsName() throws {
        // Service 3.14 D2: all|0[] is shared, and other is the stream that names it.
        #expect(try differences(Self.lines(reasons: #"{"default":1}"#)) == [])
        let recorded = Self.lines(reasons: #"{"default":1}"#)
        #expect(try differences(recorded, Self.lines()).count == 1)
    }

    @Test func reasonsMayBeToldAtOnceOrWithTheNextContent() throws {
        // Service 3.14 D3.
        let diff =
            #"{"checkpoint_diff":{"last_op_id":"2","write_checkpoint":"4","removed_buckets":[],"updated_buckets":["#
            + Self.bucket("1#all|0[]", checksum: 12, priority: 0, reasons: #"{"sub":0}"#) + "]}}"
        let end = #"{"checkpoint_complete":{"last_op_id":"2"}}"#
        #expect(try differences(Self.lines(), Self.lines() + [diff, end]) == [])
        #expect(try differences(Self.lines() + [diff, end], Self.lines()).count == 2)
    }

    @Test func whatBelongsToOmittedStreamsIsLeftOut() throws {
        let recorded = Self.lines(
            reasons: #"{"default":0},{"default":1}"#,
            more: [Self.bucket("1#other|0[]", checksum: 0, count: 0)])
        var received = Self.lines()
        received[0].replace(#",{"name":"other","is_default":true,"errors":[]}"#, with: "")
        #expect(try differences(recorded, received, omitting: ["other"]) == [])
        #expect(try differences(recorded, received).count == 3)
    }

    @Test func aBucketSharedWithAnOmittedStreamIsFoundUnderItsName() throws {
        let received = Self.lines(name: "1#other|0[]", reasons: #"{"default":1}"#)
        #expect(try differences(Self.lines(), received, omitting: ["all"]) == [])
        let others = Self.lines(
            name: "1#other|0[]", operations: [Self.put("1", "a", "new", checksum: 5), Self.b])
        #expect(
            try differences(Self.lines(), others, omitting: ["all"]) == [
                "bucket other|0[] is listed, recorded not"
            ])
    }
}
