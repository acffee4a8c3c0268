import PowerSyncCompression
import Testing

/// How a compressed stream is read piece by piece.
@Suite struct DecompressorTests {
    private static let text = Array(
        (0..<40).map { "{\"data\":{\"bucket\":\"b\",\"data\":[\($0)]}}\n" }.joined().utf8)

    private func compressed(_ parts: [UInt8]..., as format: CompressionFormat) -> [UInt8] {
        let compressor = Compressor(format)
        return parts.flatMap { compressor.compress($0) } + compressor.finish()
    }

    private func decompressed(_ chunks: [[UInt8]], as format: CompressionFormat) throws -> [UInt8] {
        let decompressor = Decompressor(format)
        var result: [UInt8] = []
        for chunk in chunks {
            decompressor.append(chunk)
            while let piece = try decompressor.next() { result += piece }
        }
        try decompressor.finish()
        return result
    }

    @Test(arguments: [CompressionFormat.gzip, .zstd])
    func comesThroughWhereverItIsCut(format: CompressionFormat) throws {
        let stream = compressed(Self.text, as: format)
        for cut in 0...stream.count {
            let parts = [Array(stream[..<cut]), Array(stream[cut...])]
            #expect(try decompressed(parts, as: format) == Self.text, "cut at \(cut)")
        }
        #expect(try decompressed(stream.map { [$0] }, as: format) == Self.text)
    }

    /// What was appended and not asked for yet goes in front of what comes then.
    @Test(arguments: [CompressionFormat.gzip, .zstd])
    func keepsWhatNobodyHasAskedForYet(format: CompressionFormat) throws {
        let large = [UInt8](repeating: 7, count: 3 * Decompressor.pieceSize)
        let stream = compressed(large, Self.text, as: format)
        let decompressor = Decompressor(format)
        var result: [UInt8] = []
        for byte in stream {
            decompressor.append([byte])
            if let piece = try decompressor.next() { result += piece }
        }
        while let piece = try decompressor.next() { result += piece }
        try decompressor.finish()
        #expect(result == large + Self.text)
    }

    @Test(arguments: [CompressionFormat.gzip, .zstd])
    func aPieceHas64KiBHoweverMuchThereIs(format: CompressionFormat) throws {
        let compressor = Compressor(format)
        let block = [UInt8](repeating: 7, count: 1 << 20)
        var stream: [UInt8] = []
        for _ in 0..<32 { stream += compressor.compress(block) }
        stream += compressor.finish()
        #expect(stream.count < 64 << 10)
        let decompressor = Decompressor(format)
        decompressor.append(stream)
        var total = 0
        while let piece = try decompressor.next() {
            #expect(!piece.isEmpty && piece.count <= 64 << 10)
            total += piece.count
        }
        try decompressor.finish()
        #expect(total == 32 << 20)
    }

    @Test(arguments: [CompressionFormat.gzip, .zstd])
    func whatBreaksOffIsUnfinished(format: CompressionFormat) throws {
        let stream = compressed(Self.text, as: format)
        for count in 1..<stream.count {
            #expect(throws: DecompressionError.unfinished, "\(count) bytes") {
                try decompressed([Array(stream[..<count])], as: format)
            }
        }
        #expect(try decompressed([], as: format).isEmpty)
        let untouched = Decompressor(format)
        untouched.append(stream)
        #expect(throws: DecompressionError.unfinished) { try untouched.finish() }
    }

    @Test(arguments: [CompressionFormat.gzip, .zstd])
    func streamsOneBehindTheOtherAreOne(format: CompressionFormat) throws {
        let stream =
            compressed(Self.text, as: format) + compressed(as: format) + compressed([1, 2], as: format)
        for cut in 0...stream.count {
            let parts = [Array(stream[..<cut]), Array(stream[cut...])]
            #expect(try decompressed(parts, as: format) == Self.text + [1, 2], "cut at \(cut)")
        }
        let broken = compressed(Self.text, as: format) + compressed([1, 2], as: format).dropLast()
        #expect(throws: DecompressionError.unfinished) { try decompressed([broken], as: format) }
    }

    @Test(arguments: [CompressionFormat.gzip, .zstd])
    func whatIsNoStreamBehindOneIsMalformed(format: CompressionFormat) {
        #expect(throws: DecompressionError.malformed) {
            try decompressed([compressed(Self.text, as: format) + Array("garbage".utf8)], as: format)
        }
    }

    @Test func aChecksumThatDoesNotFitIsMalformed() {
        var stream = compressed(Self.text, as: .gzip)
        stream[stream.count - 8] ^= 1
        #expect(throws: DecompressionError.malformed) { try decompressed([stream], as: .gzip) }
    }

    @Test(arguments: [UInt8(0x50), 0x5A, 0x5F])
    func aFrameToSkipIsSkipped(mark: UInt8) throws {
        let skippable: [UInt8] = [mark, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 9, 9, 9]
        let stream = skippable + compressed(Self.text, as: .zstd) + skippable
        #expect(try decompressed(stream.map { [$0] }, as: .zstd) == Self.text)
        #expect(try decompressed([stream], as: .zstd) == Self.text)
    }

    /// libzstd may know the formats before 0.8, whose decoders look at no limit of the window: 0x88 asks version 0.7
    /// for 128 MiB.
    @Test(
        arguments: [
            [0x27, 0xB5, 0x2F, 0xFD], [0x26, 0xB5, 0x2F, 0xFD], [0x25, 0xB5, 0x2F, 0xFD],
            [0x22, 0xB5, 0x2F, 0xFD], [0xFD, 0x2F, 0xB5, 0x1E], [0x28, 0xB5, 0x2F, 0xFC],
            [0x4F, 0x2A, 0x4D, 0x18], [0x60, 0x2A, 0x4D, 0x18],
        ] as [[UInt8]])
    func aFrameOfAnotherFormatIsMalformed(mark: [UInt8]) {
        let frame = mark + [0x00, 0x88]
        let behind = compressed(Self.text, as: .zstd) + frame
        let streams: [[[UInt8]]] = [[frame], frame.map { [$0] }, [behind], behind.map { [$0] }]
        for chunks in streams {
            #expect(throws: DecompressionError.malformed) { try decompressed(chunks, as: .zstd) }
        }
    }

    /// RFC 8878, 3.1.1.1.2: an exponent above 10 and eighths of that on top.
    @Test func aWindowOf8MiBIsTheLargest() throws {
        func frame(window: UInt8) -> [UInt8] { [0x28, 0xB5, 0x2F, 0xFD, 0, window, 1, 0, 0] }
        #expect(try decompressed([frame(window: 13 << 3)], as: .zstd).isEmpty)
        for window: UInt8 in [13 << 3 | 1, 14 << 3, 21 << 3] {
            #expect(throws: DecompressionError.malformed) {
                try decompressed([frame(window: window)], as: .zstd)
            }
        }
    }

    @Test(arguments: [CompressionFormat.gzip, .zstd])
    func theLimitIsThatOfTheWholeStream(format: CompressionFormat) throws {
        let stream = compressed(Self.text, as: format)
        #expect(try Decompressor(format, limit: Self.text.count).decompress(stream) == Self.text)
        let short = Decompressor(format, limit: Self.text.count - 1)
        #expect(throws: DecompressionError.tooLarge(limit: Self.text.count - 1)) {
            for byte in stream { _ = try short.decompress([byte]) }
        }
    }
}
