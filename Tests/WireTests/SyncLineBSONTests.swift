import PowerSyncWire
import Testing

@Suite struct SyncLineBSONTests {
    /// Bytes of a document around members that are written by hand.
    private func document(_ members: [UInt8]) -> [UInt8] { Self.document(members) }

    static func document(_ members: [UInt8]) -> [UInt8] {
        withUnsafeBytes(of: Int32(members.count + 5).littleEndian) { Array($0) } + members + [0]
    }

    static func member(_ type: UInt8, _ name: String, _ value: [UInt8]) -> [UInt8] {
        [type] + Array(name.utf8) + [0] + value
    }

    @Test func readsEveryRecordedLineAlikeInBothFormats() throws {
        var count = 0
        for folder in ["service/curated", "client", "core/curated"] {
            for (_, entry) in try RecordedLines.entries(of: folder) {
                guard let text = entry["line"]?.utf8, let line = try? SyncLine(parsing: text) else {
                    continue
                }
                count += 1
                #expect(try SyncLine(parsingBSON: line.encodedBSON()) == line)
                #expect(try SyncLine(parsingBSON: line.encodedBSON(wideIntegers: true)) == line)
            }
        }
        #expect(count > 500)
    }

    @Test func takesTheFirstKnownKeyAndPassesWhatIsBehindIt() throws {
        let twenty = Self.member(16, "token_expires_in", [20, 0, 0, 0])
        let wrong = Self.member(2, "token_expires_in", [2, 0, 0, 0, 0x78, 0])
        let unknown = Self.member(10, "foo", [])
        for members in [
            twenty, twenty + wrong, twenty + twenty, twenty + unknown, unknown + unknown + twenty,
        ] {
            #expect(try SyncLine(parsingBSON: document(members)) == .tokenExpiresIn(20))
        }
        #expect(
            try SyncLine(parsingBSON: document(unknown + Self.member(10, "bar", []))) == .unknown(key: "foo"))
        #expect(throws: WireError.self) { try SyncLine(parsingBSON: document(wrong)) }
        #expect(throws: WireError.self) { try SyncLine(parsingBSON: document([])) }
    }

    @Test func readsWholeNumbersOfEveryType() throws {
        let zeros = [UInt8](repeating: 0, count: 4)
        let values: [(type: UInt8, bytes: [UInt8])] = [
            (16, [7] + zeros.dropLast()), (18, [7] + zeros + zeros.dropLast()),
            (1, withUnsafeBytes(of: (7.0).bitPattern.littleEndian) { Array($0) }),
        ]
        for checksum in values {
            for count in values {
                let bucket = document(
                    Self.member(2, "bucket", [2, 0, 0, 0, 0x62, 0])
                        + Self.member(checksum.type, "checksum", checksum.bytes)
                        + Self.member(count.type, "count", count.bytes))
                let checkpoint = document(
                    Self.member(2, "last_op_id", [2, 0, 0, 0, 0x35, 0])
                        + Self.member(10, "write_checkpoint", [])
                        + Self.member(4, "buckets", document(Self.member(3, "9", bucket))))
                let line = try SyncLine(parsingBSON: document(Self.member(3, "checkpoint", checkpoint)))
                let expected = BucketChecksum(bucket: "b", checksum: Checksum(7), count: 7)
                #expect(line == .checkpoint(Checkpoint(lastOpID: 5, buckets: [expected])))
            }
        }
    }

    @Test(arguments: [0, -1, Int64(Int32.max) + 1, 1 << 53, 1 << 53 + 1, .max, .min])
    func writesEveryCountSoThatItIsReadAgain(count: Int64) throws {
        let line = SyncLine.checkpointDiff(
            CheckpointDiff(
                lastOpID: 1,
                updatedBuckets: [BucketChecksum(bucket: "b", checksum: Checksum(signed: -1), count: count)],
                removedBuckets: []))
        #expect(try SyncLine(parsingBSON: line.encodedBSON()) == line)
        #expect(try SyncLine(parsingBSON: line.encodedBSON(wideIntegers: true)) == line)
    }

    @Test func writesLinesAsTheServiceDoes() {
        // The samples of service 1.6.
        #expect(
            SyncLine.tokenExpiresIn(20).encodedBSON()
                == hexadecimal(
                    "1b00000010746f6b656e5f657870697265735f696e001400000000"))
        #expect(
            SyncLine.checkpointComplete(lastOpID: 2).encodedBSON()
                == hexadecimal(
                    "3100000003636865636b706f696e745f636f6d706c6574650017000000026c6173745f6f705f6964000200000032000000"
                ))
    }

    private func hexadecimal(_ text: String) -> [UInt8] {
        let digits = text.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
