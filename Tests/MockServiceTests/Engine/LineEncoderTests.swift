import PowerSyncCompression
import PowerSyncMockService
import PowerSyncServiceEngine
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Frames and lines become the bytes that clients know (service 1.5 to 1.7, 3.4).
@Suite(.namesSeed)
struct LineEncoderTests {
    private static let short = SyncLine.tokenExpiresIn(3600)
    private static let checkpoint = SyncLine.checkpoint(
        Checkpoint(
            lastOpID: 7,
            buckets: (0..<20).map {
                BucketChecksum(
                    bucket: "1#mine|0[\"u\($0)\"]", checksum: Checksum(3_000_000_000), priority: 3, count: 12)
            }))

    // MARK: As SyncLine writes them

    @Test(arguments: LineForm.Format.allCases)
    func aLineOfAFrameIsAsSyncLineWritesIt(format: LineForm.Format) async throws {
        try await forEachSeed(60) { random in
            let fixture = FrameFixture(upTo: 60, &random)
            let bucket = SampleOperation.text(&random, upTo: 20)
            let after = OperationID(random.below(1 << 40))
            let hasMore = random.once(in: 2)
            let expected = fixture.line(of: bucket, after: after, hasMore: hasMore).bytes(format)
            let line = try LineEncoder(format, BlockCompressors()).encode(
                fixture.frame, of: bucket, after: after, hasMore: hasMore)
            #expect(line.count == expected.count && line.plainBytes == expected.count)
            #expect(line.operations == fixture.operations.count)
            try #require(line.taken() == expected)
            #expect(line.taken().isEmpty, "it is sent once")
        }
    }

    /// Keys of arrays become longer at ten and at a hundred, and ids at each power of ten.
    @Test(arguments: LineForm.Format.allCases)
    func aThousandOperationsAreAsSyncLineWritesThem(format: LineForm.Format) throws {
        let operations = (0..<1000).map { (number: Int) -> SampleOperation in
            let isRemoval = number % 3 == 0
            let data = isRemoval ? "" : #"{"id":"\#(number)","text":"\n"}"#
            return SampleOperation(
                id: OperationID(number * number + 1), kind: isRemoval ? .remove : .put,
                checksum: Checksum(UInt32(number) &* 4_294_967), objectID: "\(number)", data: data)
        }
        let fixture = FrameFixture(operations)
        let line = try LineEncoder(format, BlockCompressors()).encode(
            fixture.frame, of: "b", after: 0, hasMore: true)
        #expect(line.taken() == fixture.line(of: "b", after: 0, hasMore: true).bytes(format))
    }

    /// In the midst of them a piece ends, wherever that is.
    @Test(arguments: LineForm.Format.allCases)
    func longTextsAreAsSyncLineWritesThem(format: LineForm.Format) throws {
        let texts = ["a", "\"", "\\", "\u{1}", "é€😀"].map { String(repeating: $0, count: 90_000) }
        var operations: [SampleOperation] = []
        for (index, text) in texts.enumerated() {
            for offset in 0..<3 {
                let id = OperationID(operations.count + 1)
                let cut = String(text.dropFirst(offset))
                operations.append(
                    SampleOperation(
                        id: id, checksum: Checksum(UInt32(index)), objectID: offset == 1 ? cut : "id",
                        data: offset == 1 ? "" : cut))
            }
        }
        let fixture = FrameFixture(operations)
        let line = try LineEncoder(format, BlockCompressors()).encode(
            fixture.frame, of: "b", after: 0, hasMore: false)
        #expect(line.taken() == fixture.line(of: "b", after: 0, hasMore: false).bytes(format))
    }

    @Test(
        arguments: [
            (0, "0"), (1, "1"), (0x7FFF_FFFF, "2147483647"), (0x8000_0000, "2147483648"),
            (.max, "4294967295"),
        ] as [(UInt32, String)])
    func checksumsAreUnsignedButForASum(checksum: UInt32, text: String) throws {
        let kinds: [Operation.Kind] = [.put, .remove, .move, .clear]
        let fixture = FrameFixture(
            kinds.enumerated().map { index, kind in
                SampleOperation(id: OperationID(index + 1), kind: kind, checksum: Checksum(checksum))
            })
        for format in LineForm.Format.allCases {
            let line = try LineEncoder(format, BlockCompressors()).encode(
                fixture.frame, of: "b", after: 0, hasMore: false)
            let bytes = line.taken()
            #expect(bytes == fixture.line(of: "b", after: 0, hasMore: false).bytes(format))
            guard format != .bson else { continue }
            let found = String(decoding: bytes, as: UTF8.self)
            #expect(found.count(of: "\"checksum\":\(text)") >= 3)
            #expect(found.count(of: "\"checksum\":\(Int32(bitPattern: checksum))") >= 1)
        }
    }

    @Test(arguments: LineForm.Format.allCases)
    func otherLinesAreAsSyncLineWritesThem(format: LineForm.Format) {
        let encoder = LineEncoder(format, BlockCompressors())
        let lines = [
            Self.checkpoint, Self.short, .checkpointComplete(lastOpID: 7),
            .partialCheckpointComplete(lastOpID: 7, priority: 1),
            .checkpointDiff(CheckpointDiff(lastOpID: 8, updatedBuckets: [], removedBuckets: ["\"b\""])),
            FrameFixture([SampleOperation(id: 9, checksum: Checksum(1), data: "{}")]).line(
                of: "b", after: 0, hasMore: false),
        ]
        for line in lines {
            let encoded = encoder.encode(line)
            let bytes = line.bytes(format)
            let isData = if case .data = line { true } else { false }
            #expect(encoded.count == bytes.count && encoded.plainBytes == bytes.count)
            #expect(encoded.operations == (isData ? 1 : 0))
            #expect(encoded.taken() == bytes)
        }
        #expect(encoder.finish() == nil)
    }

    @Test func anOperationWithoutANameIsAnError() throws {
        let operation = SampleOperation(id: 1, checksum: Checksum(1), outputType: 300, data: "{}")
        let encoder = LineEncoder(.raw, BlockCompressors())
        #expect(throws: StoreError.self) {
            try encoder.encode(FrameFixture([operation]).frame, of: "b", after: 0, hasMore: false)
        }
    }

    // MARK: Compressed

    /// One step of a random stream.
    private enum Step {
        case line(SyncLine)
        case frame(FrameFixture, after: OperationID)
    }

    private static func steps(_ random: inout SeededRandom) -> [Step] {
        let shared = (0..<3).map { _ in FrameFixture(upTo: 40, &random) }
        return (0..<random.below(12)).map { _ in
            switch random.below(4) {
            case 0: .line(short)
            case 1: .line(checkpoint)
            default: .frame(random.pick(shared), after: OperationID(random.below(1 << 20)))
            }
        }
    }

    /// The bytes of a step, and the ones before compression.
    private static func chunk(
        _ step: Step, _ encoder: LineEncoder, _ format: LineForm.Format
    ) throws -> (sent: [UInt8], plain: [UInt8]) {
        switch step {
        case .line(let line):
            let encoded = encoder.encode(line)
            let plain = line.bytes(format)
            #expect(encoded.plainBytes == plain.count)
            return (encoded.taken(), plain)
        case .frame(let fixture, let after):
            let encoded = try encoder.encode(fixture.frame, of: "b\"", after: after, hasMore: true)
            let plain = fixture.line(of: "b\"", after: after, hasMore: true).bytes(format)
            #expect(encoded.plainBytes == plain.count && encoded.operations == fixture.operations.count)
            return (encoded.taken(), plain)
        }
    }

    @Test(arguments: LineForm.Format.allCases, [CompressionFormat.gzip, .zstd])
    func aCompressedLineIsReadAsSoonAsItHasCome(
        format: LineForm.Format, compression: CompressionFormat
    ) async throws {
        let compressors = BlockCompressors()
        try await forEachSeed(20) { random in
            // Two streams of the same frames, one of which has lines of its own in between.
            let steps = Self.steps(&random)
            for own in [false, true] {
                let encoder = LineEncoder(format, compression: compression, compressors)
                let decompressor = Decompressor(compression)
                var isFirst = true
                for step in steps {
                    for step in own ? [Step.line(Self.short), step] : [step] {
                        let (sent, plain) = try Self.chunk(step, encoder, format)
                        if compression == .gzip {
                            #expect(sent.starts(with: GzipMember.header) == isFirst)
                            #expect(Array(sent.suffix(4)) == [0, 0, 0xFF, 0xFF])
                        }
                        isFirst = false
                        try #require(try decompressor.decompress(sent) == plain)
                    }
                }
                let end = try #require(encoder.finish())
                #expect(try decompressor.decompress(end.taken()).isEmpty)
                try decompressor.finish()
            }
        }
    }

    @Test func aGzipStreamIsOneMemberHoweverItIsCut() async throws {
        let compressors = BlockCompressors()
        try await forEachSeed(10) { random in
            let encoder = LineEncoder(.raw, compression: .gzip, compressors)
            var (stream, plain) = ([UInt8](), [UInt8]())
            for step in Self.steps(&random) {
                let chunk = try Self.chunk(step, encoder, .raw)
                stream += chunk.sent
                plain += chunk.plain
            }
            stream += try #require(encoder.finish()).taken()
            // The checksum and the length of all lines (RFC 1952, 2.3.1).
            let sum = DeflateBlock.stored(plain).sum
            var trailer: [UInt8] = []
            for number in [sum.checksum, UInt32(sum.count)] {
                withUnsafeBytes(of: number.littleEndian) { trailer += $0 }
            }
            #expect(Array(stream.suffix(8)) == trailer)
            for size in [stream.count, 1 + random.below(2000), 1 + random.below(5)] {
                let decompressor = Decompressor(.gzip)
                var read: [UInt8] = []
                for start in stride(from: 0, to: stream.count, by: size) {
                    read += try decompressor.decompress(
                        Array(stream[start..<min(start + size, stream.count)]))
                }
                try decompressor.finish()
                try #require(read == plain)
            }
        }
    }

    @Test func shortLinesOfAGzipStreamAreStoredAndLongOnesAreNot() {
        let encoder = LineEncoder(.raw, compression: .gzip, BlockCompressors())
        let plain = Self.short.bytes(.raw)
        let short = encoder.encode(Self.short).taken()
        #expect(short.count == GzipMember.header.count + 5 + plain.count + DeflateBlock.flush.bytes.count)
        #expect(short.dropFirst(GzipMember.header.count + 5).starts(with: plain))
        let long = encoder.encode(Self.checkpoint)
        #expect(long.count < long.plainBytes / 3)
    }

    @Test(arguments: [CompressionFormat.gzip, .zstd])
    func aStreamWithoutALineCanBeRead(compression: CompressionFormat) throws {
        let encoder = LineEncoder(.raw, compression: compression, BlockCompressors())
        let decompressor = Decompressor(compression)
        let end = try #require(encoder.finish())
        #expect(try decompressor.decompress(end.taken()).isEmpty)
        try decompressor.finish()
    }

    @Test func streamsOfGzipSendTheSameBlocks() throws {
        let compressors = BlockCompressors()
        let texts = (0..<200).map { "{\"id\":\"\($0)\",\"name\":\"some text\"}" }
        let fixture = FrameFixture(
            texts.enumerated().map { index, text in
                SampleOperation(id: OperationID(index + 1), checksum: Checksum(1), data: text)
            })
        let lines = try ["a", "a longer name"].map { bucket in
            try LineEncoder(.raw, compression: .gzip, compressors).encode(
                fixture.frame, of: bucket, after: 0, hasMore: false)
        }
        let pieces = lines.map { $0.next(.max) }
        // Between the ones of its own, which are short.
        #expect(pieces.allSatisfy { $0.count == 3 })
        #expect(pieces[0][1] === pieces[1][1] && pieces[0][0] !== pieces[1][0])
        #expect(pieces[0][1].bytes.count < lines[0].plainBytes / 4)
    }
}

extension String {
    /// How often a text stands in it.
    fileprivate func count(of text: String) -> Int {
        var count = 0
        var rest = self[...]
        while let range = rest.firstRange(of: text) {
            count += 1
            rest = rest[range.upperBound...]
        }
        return count
    }
}
