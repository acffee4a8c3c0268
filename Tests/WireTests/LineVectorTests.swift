import PowerSyncWire
import Testing

/// The cases of client-core 9.7 and their neighbours that lines alone decide, each under its number there.
@Suite struct LineVectorTests {
    private typealias Member = (name: String, value: LineNode)

    private func text(_ text: String) throws(WireError) -> SyncLine {
        try SyncLine(parsing: Array(text.utf8))
    }

    /// Reads a tree in both formats and returns what both say.
    private func both(_ members: Member...) throws -> SyncLine {
        let tree = LineNode.object(members)
        let line = try SyncLine(parsing: tree.bytes(.json))
        #expect(try SyncLine(parsingBSON: tree.bytes(.bson)) == line)
        return line
    }

    @Test("65: a line that is no JSON is a typed error") func aLineThatIsNoJSON() {
        #expect(throws: WireError(.malformedJSON, "expected \"{\" at byte 0")) {
            try text("invalid sync line")
        }
        #expect(throws: WireError.self) { try text("") }
        #expect(throws: WireError.self) { try SyncLine(parsingBSON: Array("invalid sync line".utf8)) }
        #expect(throws: WireError.self) { try SyncLine(parsingBSON: []) }
    }

    @Test("66: a diff is read by itself; that it comes first is for the iteration to refuse")
    func aDiffWithoutACheckpoint() throws {
        let line = try both(
            (
                "checkpoint_diff",
                .object([
                    ("last_op_id", .text("1")), ("updated_buckets", .array([])),
                    ("removed_buckets", .array([])),
                ])
            ))
        #expect(line == .checkpointDiff(CheckpointDiff(lastOpID: 1, updatedBuckets: [], removedBuckets: [])))
    }

    @Test("67: keepalives, unknown lines and a second key") func keepalivesAndUnknownLines() throws {
        #expect(try text("{\"token_expires_in\":123}") == .tokenExpiresIn(123))
        #expect(try both(("token_expires_in", .integer(60))) == .tokenExpiresIn(60))
        #expect(try both(("foo", .object([]))) == .unknown(key: "foo"))
        #expect(try both(("foo", .integer(123))) == .unknown(key: "foo"))
        #expect(throws: WireError.self) { try text("{\"foo\":{},\"bar\":{}}") }
    }

    @Test("68: what a checkpoint may leave out, and what is ignored in it")
    func aCheckpointWithoutOptionalFields()
        throws
    {
        let bucket = LineNode.object([
            ("bucket", .text("a")), ("checksum", .integer(10)), ("last_op_id", .text("9")),
            ("count", .integer(1)),
        ])
        let expected = SyncLine.checkpoint(
            Checkpoint(lastOpID: 1, buckets: [BucketChecksum(bucket: "a", checksum: Checksum(10), count: 1)]))
        let fields: [Member] = [("last_op_id", .text("1")), ("buckets", .array([bucket]))]
        #expect(try both(("checkpoint", .object(fields))) == expected)
        #expect(try both(("checkpoint", .object(fields + [("write_checkpoint", .null)]))) == expected)
        let diff = try both(
            (
                "checkpoint_diff",
                .object([
                    ("last_op_id", .text("1")), ("buckets", .array([.integer(1)])),
                    ("updated_buckets", .array([bucket])), ("removed_buckets", .array([])),
                ])
            ))
        guard case .checkpointDiff(let diff) = diff else {
            Issue.record("another line")
            return
        }
        #expect(diff.updatedBuckets.map(\.priority) == [nil])
    }

    @Test("69: a removed bucket whose name needs an escape") func aRemovedBucketWhoseNameIsEscaped() throws {
        let line = try both(
            (
                "checkpoint_diff",
                .object([
                    ("last_op_id", .text("10")), ("updated_buckets", .array([])),
                    ("removed_buckets", .array([.text("foo\"")])),
                ])
            ))
        #expect(
            line
                == .checkpointDiff(
                    CheckpointDiff(lastOpID: 10, updatedBuckets: [], removedBuckets: ["foo\""])))
    }

    @Test("70: of complete lines only the priority is read") func completeLines() throws {
        let id: Member = ("last_op_id", .text("10"))
        #expect(
            try both(("checkpoint_complete", .object([id]))) == .checkpointComplete(lastOpID: nil))
        #expect(
            try both(("partial_checkpoint_complete", .object([id, ("priority", .integer(1))])))
                == .partialCheckpointComplete(lastOpID: nil, priority: 1))
    }

    @Test("71: null for a subkey and for the ends of a data line") func aDataLineWithNulls() throws {
        let line = try both(
            (
                "data",
                .object([
                    ("bucket", .text("b")), ("after", .null), ("next_after", .null),
                    ("has_more", .bool(false)),
                    (
                        "data",
                        .array([
                            .object([
                                ("op_id", .text("1")), ("op", .text("PUT")), ("object_type", .text("t")),
                                ("object_id", .text("i")), ("checksum", .integer(0)), ("subkey", .null),
                                ("data", .text("{}")),
                            ])
                        ])
                    ),
                ])
            ))
        let operation = Operation(
            id: 1, kind: .put, objectType: "t", objectID: "i", checksum: .zero, data: "{}")
        #expect(line == .data(DataLine(bucket: "b", operations: [operation])))
    }

    @Test(
        "72: checksums in every spelling",
        arguments: [
            ("0", 0), ("-1", 4_294_967_295), ("-1.0", 4_294_967_295), ("3573495687", 3_573_495_687),
            ("3573495687.0", 3_573_495_687), ("-721471609.0", 3_573_495_687),
        ])
    func checksums(spelled: String, meant: UInt32) throws {
        let json =
            "{\"data\":{\"bucket\":\"b\",\"data\":[{\"op_id\":\"1\",\"op\":\"MOVE\",\"checksum\":\(spelled)}]}}"
        let expected = SyncLine.data(
            DataLine(bucket: "b", operations: [Operation(id: 1, kind: .move, checksum: Checksum(meant))]))
        #expect(try text(json) == expected)
        let value: LineNode = Int64(spelled).map { .integer($0) } ?? .decimal(Double(spelled) ?? 0.5)
        let operation = LineNode.object([("op_id", .text("1")), ("op", .text("MOVE")), ("checksum", value)])
        #expect(
            try both(("data", .object([("bucket", .text("b")), ("data", .array([operation]))]))) == expected)
    }

    @Test("73: sums wrap at 32 bits and are shown in eight digits") func checksumArithmetic() {
        #expect(Checksum(0xFFFF_FFFF) + Checksum(1) == .zero)
        #expect(Checksum.zero - Checksum(1) == Checksum(0xFFFF_FFFF))
        let sum = Checksum(0x8FFF_FFFF) + Checksum(0x8000_0000)
        #expect(sum == Checksum(0x0FFF_FFFF))
        #expect(sum - Checksum(0x8000_0001) == Checksum(0x8FFF_FFFE))
        #expect("\(Checksum(0x4D2))" == "0x000004d2")
        #expect("\(Checksum(0xABCD_EF01))" == "0xabcdef01")
    }

    @Test("74: a BSON data line whose checksum is a double") func aChecksumAsADouble() throws {
        let operation = LineNode.object([
            ("op_id", .text("1")), ("op", .text("PUT")), ("object_type", .text("t")),
            ("object_id", .text("i")),
            ("checksum", .decimal(3_573_495_687)), ("data", .text("{}")),
        ])
        let tree = LineNode.object([
            ("data", .object([("bucket", .text("elsewhere")), ("data", .array([operation]))]))
        ])
        guard case .data(let data) = try SyncLine(parsingBSON: tree.bytes(.bson)) else {
            Issue.record("another line")
            return
        }
        #expect(data.operations.map(\.checksum) == [Checksum(3_573_495_687)])
    }

    @Test(
        "75: documents that are broken",
        arguments: [
            // A type of 99; a length beyond the input; a text of length −1; a name without its end; a document
            // without its end; a length of 4.
            [0x0B, 0, 0, 0, 99, 0x61, 0, 0, 0, 0, 0], [0x0C, 0, 0, 0, 10, 0x61, 0, 0],
            [0x0C, 0, 0, 0, 2, 0x61, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0], [0x08, 0, 0, 0, 10, 0x61, 0x62, 0x63],
            [0x07, 0, 0, 0, 10, 0x61, 0], [0x04, 0, 0, 0],
        ] as [[UInt8]])
    func brokenDocuments(document: [UInt8]) {
        #expect(throws: WireError.self) { try SyncLine(parsingBSON: document) }
    }

    @Test("75: values that are unusual but right") func unusualValues() throws {
        let values: [LineNode] = [
            .text(""), .text("😀"), .integer(.min), .integer(.max), .decimal(.infinity), .decimal(-.infinity),
            .decimal(.nan), .binary(8, [0x7F]),
        ]
        let line = LineNode.object([("foo", .array(values))])
        #expect(try SyncLine(parsingBSON: line.bytes(.bson)) == .unknown(key: "foo"))
        let stream = LineFixture.checkpoint.tree.replacing(
            "checkpoint.streams.0.is_default", with: .binary(8, [0x7F]))
        guard case .checkpoint(let checkpoint) = try SyncLine(parsingBSON: stream.bytes(.bson)) else {
            Issue.record("another line")
            return
        }
        #expect(checkpoint.streams.map(\.isDefault) == [true])
    }

    @Test("89: the length of a line in its own encoding, which the download size counts")
    func lengthsInBothEncodings() throws {
        let operation = LineNode.object([
            ("op_id", .text("1")), ("op", .text("PUT")), ("checksum", .integer(5)),
            ("data", .text("{\"é\":1}")),
        ])
        let first = LineNode.object([
            ("data", .object([("bucket", .text("b")), ("data", .array([operation]))]))
        ])
        let second = LineNode.object([("token_expires_in", .integer(60))])
        // Counted by hand; é is two bytes.
        let json =
            "{\"data\":{\"bucket\":\"b\",\"data\":[{\"op_id\":\"1\",\"op\":\"PUT\",\"checksum\":5,\"data\":\"{\\\"é\\\":1}\"}]}}"
        #expect(String(decoding: first.bytes(.json), as: UTF8.self) == json)
        var lines = LineSplitter(limit: 1 << 10)
        lines.append(first.bytes(.json) + [0x0D, 0x0A] + second.bytes(.json) + [0x0A])
        var documents = DocumentSplitter(limit: 1 << 10)
        documents.append(first.bytes(.bson) + second.bytes(.bson))
        #expect([try lines.next()?.count, try lines.next()?.count] == [90, 23])
        #expect([try documents.next()?.count, try documents.next()?.count] == [107, 27])
    }
}
