import PowerSyncServiceEngine
import PowerSyncStack
import PowerSyncWire
import Testing

/// What a client holds, beside what it held of the real service.
@Suite struct StateComparisonTests {
    /// One operation with its checksum, which is the proper one unless another is given.
    private struct Operation {
        var checksum: Checksum
        var text: String
    }

    private static let a = put(1, "a", "old")
    private static let b = put(2, "b", "text")
    private static let sum = a.checksum + b.checksum

    private static func put(
        _ opID: Int, _ id: String, _ data: String, checksum: Checksum? = nil, isNested: Bool = false
    ) -> Operation {
        let checksum = checksum ?? OperationChecksum.put(type: "t", id: id, data: data)
        return Operation(
            checksum: checksum,
            text: #"{"op_id":"\#(opID)","op":"PUT","object_type":"t","object_id":"\#(id)","#
                + #""checksum":\#(checksum.value),"subkey":"s/\#(id)","#
                + #""data":\#(isNested ? data : JSON.quoted(data))}"#)
    }

    private static func remove(_ opID: Int, _ id: String, checksum: Checksum? = nil) -> Operation {
        let checksum = checksum ?? OperationChecksum.remove(subkey: "s/\(id)")
        return Operation(
            checksum: checksum,
            text: #"{"op_id":"\#(opID)","op":"REMOVE","object_type":"t","object_id":"\#(id)","#
                + #""checksum":\#(checksum.value),"subkey":"s/\#(id)","data":null}"#)
    }

    /// A MOVE, or a CLEAR.
    private static func bare(_ opID: Int, _ op: String = "MOVE", checksum: Checksum) -> Operation {
        Operation(
            checksum: checksum,
            text: #"{"op_id":"\#(opID)","op":"\#(op)","checksum":\#(checksum.signed)}"#)
    }

    private static func bucket(
        _ name: String, checksum: Checksum, count: Int = 2, priority: Int = 3,
        reasons: String = #"{"default":0}"#
    ) -> String {
        #"{"bucket":"\#(name)","checksum":\#(checksum.signed),"count":\#(count),"priority":\#(priority),"#
            + #""subscriptions":[\#(reasons)]}"#
    }

    /// The lines of one checkpoint with one bucket.
    private static func lines(
        name: String = "1#all|0[]", operations: [Operation] = [a, b], checksum: Checksum? = nil,
        priority: Int = 3,
        reasons: String = #"{"default":0}"#, more: [String] = [], writeCheckpoint: String? = "4",
        errors: String = "", after: String = "0", ends: Bool = true
    ) -> [String] {
        let sum = checksum ?? operations.reduce(.zero) { $0 + $1.checksum }
        let write = writeCheckpoint.map { #""write_checkpoint":"\#($0)","# } ?? ""
        let buckets = [bucket(name, checksum: sum, priority: priority, reasons: reasons)] + more
        return [
            #"{"checkpoint":{"last_op_id":"2",\#(write)"buckets":[\#(buckets.joined(separator: ","))],"streams":["#
                + #"{"name":"all","is_default":true,"errors":[\#(errors)]},"#
                + #"{"name":"other","is_default":true,"errors":[]}]}}"#,
            #"{"data":{"bucket":"\#(name)","after":"\#(after)","has_more":false,"#
                + #""data":[\#(operations.map(\.text).joined(separator: ","))],"next_after":"2"}}"#,
        ] + (ends ? [#"{"checkpoint_complete":{"last_op_id":"2"}}"#] : [])
    }

    private static func state(_ lines: [String], isRecorded: Bool) throws -> SyncStreamState {
        var state = SyncStreamState(isRecorded: isRecorded)
        state.response = RecordedAnswer(status: 200, headers: ["content-type": "application/x-ndjson"])
        for line in lines { state.apply(try JSON.parse(line)) }
        return state
    }

    private func differences(
        _ recorded: [String], _ received: [String],
        change: (inout SyncStreamState) -> Void = { _ in }
    ) throws -> [String] {
        var state = try Self.state(received, isRecorded: false)
        change(&state)
        return StateComparison(
            recorded: try Self.state(recorded, isRecorded: true), received: state,
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
            Self.put(1, "b", "text"), Self.put(2, "a", "old"),
        ])
        #expect(try differences(other) == [])
    }

    @Test func aRowThatIsMissingIsNoticed() throws {
        let lines = Self.lines(operations: [Self.bare(1, checksum: Self.a.checksum), Self.b])
        #expect(try differences(lines) == ["bucket all|0[]: row t/a is missing:\n    - old"])
    }

    @Test func aRowThatIsThereTooMuchIsNoticed() throws {
        let recorded = Self.lines(operations: [Self.a, Self.bare(2, checksum: Self.b.checksum)])
        #expect(
            try differences(recorded, Self.lines()) == [
                "bucket all|0[]: row t/b was not recorded:\n    + text"
            ])
    }

    @Test func anotherTextIsNoticed() throws {
        let lines = Self.lines(operations: [Self.put(1, "a", "new"), Self.b])
        let found = try differences(lines)
        #expect(found.first == "bucket all|0[]: row t/a differs:\n    - old\n    + new")
        #expect(found.count == 2 && found[1].hasPrefix("bucket all|0[]: checksum "))
    }

    /// Both spellings of an accented letter are one text of Swift, and two of everybody else.
    @Test func anotherSpellingOfAnAccentIsAnotherText() throws {
        let (one, two) = ("\u{E9}", "e\u{301}")
        let texts = (
            Self.lines(operations: [Self.put(1, "a", one), Self.b]),
            Self.lines(operations: [Self.put(1, "a", two), Self.b])
        )
        #expect(
            try differences(texts.0, texts.1).first
                == "bucket all|0[]: row t/a differs:\n    - \(one)\n    + \(two)")
        let ids = (
            Self.lines(operations: [Self.put(1, one, "x"), Self.b]),
            Self.lines(operations: [Self.put(1, two, "x"), Self.b])
        )
        #expect(try differences(ids.0, ids.1).filter { $0.contains(": row ") }.count == 2)
        let names = (Self.lines(name: "1#all|0[\(one)]"), Self.lines(name: "1#all|0[\(two)]"))
        #expect(try differences(names.0, names.1).count == 2)
    }

    @Test func nestedDataIsNotTheTextOfIt() throws {
        func lines(isNested: Bool) -> [String] {
            let checksum = OperationChecksum.put(type: "t", id: "a", data: "{}")
            return Self.lines(operations: [
                Self.put(1, "a", "{}", checksum: checksum, isNested: isNested), Self.b,
            ])
        }
        #expect(try differences(lines(isNested: true), lines(isNested: true)) == [])
        #expect(
            try differences(lines(isNested: false), lines(isNested: true)) == [
                "bucket all|0[]: row t/a differs:\n    - {}\n    + nested {}"
            ])
    }

    @Test func aRowThatWasRemovedOrClearedIsGone() throws {
        let (put, clear) = (Self.a.checksum, Checksum(99))
        let removed = Self.lines(operations: [Self.a, Self.remove(2, "a")])
        let moved = Self.lines(operations: [Self.bare(1, checksum: put), Self.bare(2, checksum: put)])
        #expect(try differences(moved, removed) == [])
        let cleared = Self.lines(
            operations: [Self.a, Self.bare(2, "CLEAR", checksum: clear)], checksum: clear)
        #expect(try differences(moved, cleared) == [])
    }

    @Test func aChecksumThatIsNotThatOfTheContentIsNoticed() throws {
        // The sums fit, and those of buckets with a REMOVE are not compared with the recorded ones.
        let removed = Self.lines(operations: [Self.a, Self.remove(2, "a")])
        let wrong = Checksum(5)
        let put = Self.lines(operations: [Self.put(1, "a", "old", checksum: wrong), Self.remove(2, "a")])
        #expect(
            try differences(removed, put) == [
                "1#all|0[]: the checksum of a PUT of t/a is 5, its content has \(Self.a.checksum.signed)"
            ])
        let remove = Self.lines(operations: [Self.a, Self.remove(2, "a", checksum: wrong)])
        #expect(try differences(removed, remove).count == 1)
    }

    @Test func anotherChecksumIsNoticed() throws {
        let other = "bucket all|0[]: checksum 13, recorded \(Self.sum.signed)"
        let operation = Self.put(1, "a", "old", checksum: Checksum(13) - Self.b.checksum)
        #expect(try differences(Self.lines(operations: [operation, Self.b])).first == other)
        #expect(
            try differences(Self.lines(checksum: Checksum(13))) == [
                "bucket all|0[]: its checksum is not the sum of the operations sent", other,
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
        let more = Self.lines(more: [Self.bucket("1#other|0[]", checksum: .zero, count: 0)])
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
        let twice = Self.lines(operations: [Self.a, Self.a, Self.b], checksum: Self.sum)
        #expect(try differences(twice) == ["operation 1 of 1#all|0[] behind 1"])
        // The real service does repeat operations (service 3.14 D1).
        #expect(try differences(twice, Self.lines()) == [])
    }

    @Test func theRealServiceMayNameTheStreamOfTheBucketsName() throws {
        // Service 3.14 D2: all|0[] is shared, and other is the stream that names it.
        #expect(try differences(Self.lines(reasons: #"{"default":1}"#)) == [])
        let recorded = Self.lines(reasons: #"{"default":1}"#)
        #expect(try differences(recorded, Self.lines()).count == 1)
        let both = Self.lines(reasons: #"{"default":0},{"default":1}"#)
        #expect(try differences(Self.lines(reasons: #"{"default":0},{"default":0}"#), both) == [])
    }

    /// What 3.14 D2 allows for is another name, not other reasons.
    @Test func noReasonTooManyAndNoDefaultStreamAreNoticed() throws {
        let reasons = #"{"default":0},{"sub":0}"#
        #expect(try differences(Self.lines(reasons: reasons), Self.lines(reasons: #"{"sub":0}"#)).count == 1)
        #expect(try differences(Self.lines(reasons: "")).count == 1)
        #expect(try differences(Self.lines(reasons: #"{"default":0},{"default":1}"#)).count == 1)
        func lines(_ reasons: String) -> [String] {
            Self.lines(reasons: reasons).map {
                $0.replacing(
                    #""name":"other","is_default":true"#, with: #""name":"other","is_default":false"#)
            }
        }
        #expect(try differences(lines(#"{"default":0}"#), lines(#"{"default":1}"#)).count == 1)
    }

    @Test func reasonsMayBeToldAtOnceOrWithTheNextContent() throws {
        // Service 3.14 D3.
        let diff =
            #"{"checkpoint_diff":{"last_op_id":"2","write_checkpoint":"4","removed_buckets":[],"updated_buckets":["#
            + Self.bucket("1#all|0[]", checksum: Self.sum, priority: 0, reasons: #"{"sub":0}"#) + "]}}"
        let end = #"{"checkpoint_complete":{"last_op_id":"2"}}"#
        #expect(try differences(Self.lines(), Self.lines() + [diff, end]) == [])
        #expect(try differences(Self.lines() + [diff, end], Self.lines()).count == 2)
    }

    @Test func streamsInAnotherOrderAreShown() throws {
        var lines = Self.lines()
        let (all, other) = (
            #"{"name":"all","is_default":true,"errors":[]}"#,
            #"{"name":"other","is_default":true,"errors":[]}"#
        )
        lines[0].replace("\(all),\(other)", with: "\(other),\(all)")
        lines[0].replace(#"{"default":0}"#, with: #"{"default":1}"#)
        #expect(
            try differences(lines) == [
                "streams:\n    - all (default)\n    - other (default)\n    + other (default)\n    + all (default)"
            ])
    }

    @Test(arguments: [
        (#""after":"0""#, #""after":0"#, "data of 1#all|0[] without a proper after, next_after or has_more"),
        (#""has_more":false,"#, "", "data of 1#all|0[] without a proper after, next_after or has_more"),
        (
            #""next_after":"2""#, #""next_after":null"#,
            "data of 1#all|0[] without a proper after, next_after or has_more"
        ),
        (#""next_after":"2""#, #""next_after":"3""#, "next_after 3 of 1#all|0[] where 2 was reached"),
        (#""op_id":"2""#, #""op_id":"4""#, "operation 4 of 1#all|0[] above the checkpoint"),
        (
            #"complete":{"last_op_id":"2"}"#, #"complete":{"last_op_id":"1"}"#,
            "checkpoint_complete with last_op_id \"1\" for 2"
        ),
    ])
    func whatEveryLineMustKeepIsChecked(part: String, other: String, message: String) throws {
        let lines = Self.lines().map { $0.replacing(part, with: other) }
        let found = try differences(lines)
        #expect(found.contains(message), "\(found)")
    }

    @Test func aCheckpointMustNotFallBehindTheLast() throws {
        let again =
            Self.lines() + [
                #"{"checkpoint_diff":{"last_op_id":"1","write_checkpoint":"4","removed_buckets":[],"updated_buckets":[]}}"#,
                #"{"checkpoint_complete":{"last_op_id":"1"}}"#,
            ]
        #expect(try differences(again) == ["last_op_id falls from 2 to 1"])
    }
}
