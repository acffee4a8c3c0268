import PowerSyncCompression
import PowerSyncTestSupport
import Testing

@Suite struct CompressionTests {
    private static let lines = (0..<200).map { number in
        Array("{\"token_expires_in\":\(number)}\n".utf8)
    }

    @Test(arguments: [CompressionFormat.gzip, .zstd])
    func everyLineCanBeReadAsSoonAsItIsWritten(format: CompressionFormat) throws {
        let compressor = Compressor(format)
        let decompressor = Decompressor(format, limit: 1 << 20)
        for line in Self.lines {
            #expect(try decompressor.decompress(compressor.compress(line)) == line)
        }
        #expect(try decompressor.decompress(compressor.finish()).isEmpty)
    }

    @Test(arguments: [CompressionFormat.gzip, .zstd])
    func contextIsKeptFromLineToLine(format: CompressionFormat) {
        let compressor = Compressor(format)
        let sizes = Self.lines.map { compressor.compress($0).count }
        #expect(sizes.dropFirst(5).allSatisfy { $0 < Self.lines[0].count })
    }

    @Test(arguments: [CompressionFormat.gzip, .zstd])
    func largeInputComesThroughWhereverItIsCut(format: CompressionFormat) throws {
        var random = SeededRandom(seed: 7)
        let bytes = (0..<500_000).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        let compressor = Compressor(format)
        let compressed = compressor.compress(bytes) + compressor.finish()
        let decompressor = Decompressor(format, limit: bytes.count)
        var result: [UInt8] = []
        for start in stride(from: 0, to: compressed.count, by: 997) {
            result += try decompressor.decompress(
                Array(compressed[start..<min(start + 997, compressed.count)]))
        }
        #expect(result == bytes)
    }

    @Test func beginsLikeTheRealServicesStream() {
        #expect(Array(Compressor(.gzip).compress([0x7B]).prefix(10)) == [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3])
    }

    /// A thousand streams have a context each, which is as large as the window.
    @Test func aStreamOfZstdHasAWindowOf32Kibibytes() {
        let start = Compressor(.zstd).compress([0x7B])
        // The number of zstd; no checksum, no dictionary, no length; the window's exponent over ten (RFC 8878, 3.1.1).
        #expect(Array(start.prefix(6)) == [0x28, 0xB5, 0x2F, 0xFD, 0, 5 << 3])
    }

    @Test(arguments: [CompressionFormat.gzip, .zstd])
    func refusesABombAndWhatIsNotCompressed(format: CompressionFormat) {
        let compressor = Compressor(format)
        let bomb = compressor.compress([UInt8](repeating: 0, count: 10 << 20)) + compressor.finish()
        #expect(throws: DecompressionError.tooLarge(limit: 1 << 20)) {
            try Decompressor(format, limit: 1 << 20).decompress(bomb)
        }
        #expect(throws: DecompressionError.malformed) {
            try Decompressor(format, limit: 1 << 20).decompress(Array("not compressed at all".utf8))
        }
    }
}
