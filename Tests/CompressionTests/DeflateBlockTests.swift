import PowerSyncCompression
import PowerSyncTestSupport
import Testing

/// Blocks that are made once, and the streams that they are sent in.
@Suite struct DeflateBlockTests {
    private static let line = Array("{\"token_expires_in\":3600}\n".utf8)
    private static let frame = Array(
        (0..<500).map { "{\"op_id\":\"\($0)\",\"op\":\"PUT\",\"data\":\"{}\"}" }.joined(separator: ",").utf8)

    /// A stream of the blocks, and its end.
    private func member(_ blocks: [DeflateBlock]) -> [UInt8] {
        var member = GzipMember()
        var bytes = GzipMember.header
        for block in blocks {
            member.append(block)
            bytes += block.bytes
        }
        return bytes + member.trailer
    }

    private func decompressed(_ bytes: [UInt8]) throws -> [UInt8] {
        let decompressor = Decompressor(.gzip)
        let plain = try decompressor.decompress(bytes)
        try decompressor.finish()
        return plain
    }

    @Test func aBlockIsReadAsSoonAsItIsThere() throws {
        let compressor = BlockCompressor()
        let decompressor = Decompressor(.gzip)
        var member = GzipMember()
        #expect(try decompressor.decompress(GzipMember.header).isEmpty)
        for plain in [Self.line, Self.frame, Self.line, [], Self.frame] {
            let block = compressor.compress(plain)
            #expect(try decompressor.decompress(block.bytes) == plain)
            member.append(block)
        }
        #expect(try decompressor.decompress(member.trailer).isEmpty)
        try decompressor.finish()
    }

    /// One that referred to what was compressed before it would be malformed where that is missing.
    @Test func blocksStandAloneAndInAnyOrder() throws {
        let compressor = BlockCompressor()
        let parts = (0..<20).map { Self.frame + Array("\($0)".utf8) }
        let blocks = parts.map { compressor.compress($0) }
        #expect(blocks.allSatisfy { $0.bytes.count < Self.frame.count / 2 })
        for (part, block) in zip(parts, blocks) { #expect(try decompressed(member([block])) == part) }
        #expect(try decompressed(member(blocks.reversed())) == parts.reversed().flatMap { $0 })
        #expect(try decompressed(member([blocks[3], blocks[3]])) == parts[3] + parts[3])
    }

    @Test func aBlockIsSharedByStreamsThatBeginDifferently() throws {
        let frame = BlockCompressor().compress(Self.frame)
        for bucket in ["a", String(repeating: "b", count: 100)] {
            let prefix = Array("{\"data\":{\"bucket\":\"\(bucket)\",\"data\":[".utf8)
            let suffix = Array("]}}\n".utf8)
            let stream = member([.stored(prefix), frame, .stored(suffix), .flush])
            #expect(try decompressed(stream) == prefix + Self.frame + suffix)
        }
    }

    @Test func aStreamOfNothingIsOne() throws {
        #expect(try decompressed(member([])).isEmpty)
        let nothing = BlockCompressor().compress([])
        #expect(nothing.bytes.isEmpty && nothing.plainCount == 0 && nothing.checksum == 0)
        #expect(try decompressed(member([nothing, nothing])).isEmpty)
    }

    /// As every chunk of the real service (service 1.5).
    @Test func whatIsCompressedEndsWithTheMarkOfAFlush() throws {
        var random = SeededRandom(seed: 1)
        let noise = (0..<100_000).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        let compressor = BlockCompressor()
        for plain in [Self.line, Self.frame, noise, [1]] {
            #expect(Array(compressor.compress(plain).bytes.suffix(4)) == [0, 0, 0xFF, 0xFF])
        }
        #expect(try decompressed(member([.flush, .flush])).isEmpty)
    }

    @Test func whatIsStoredLiesThereAsItIs() {
        let block = DeflateBlock.stored(Self.line)
        #expect(block.bytes == [0, UInt8(Self.line.count), 0, ~UInt8(Self.line.count), 0xFF] + Self.line)
    }

    @Test(arguments: [0, 1, 64, 65_535, 65_536, 131_070, 131_071, 500_000])
    func whatCannotBeCompressedGrowsByFiveBytesForEachStoredBlock(count: Int) throws {
        var random = SeededRandom(seed: count)
        let plain = (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        let most = count + 5 * ((count + 65_534) / 65_535)
        let (stored, compressed) = (DeflateBlock.stored(plain), BlockCompressor().compress(plain))
        #expect(stored.bytes.count == most)
        #expect(compressed.bytes.count <= most + 5)
        for block in [stored, compressed] {
            #expect(block.plainCount == count)
            #expect(try decompressed(member([block])) == plain)
        }
    }

    @Test func blocksAreJoined() throws {
        let compressor = BlockCompressor()
        let (line, frame) = (compressor.compress(Self.line), compressor.compress(Self.frame))
        let joined = line + frame + line
        let plain = Self.line + Self.frame + Self.line
        #expect(joined.plainCount == plain.count)
        #expect(joined.checksum == DeflateBlock.stored(plain).checksum)
        #expect(try decompressed(member([joined, joined])) == plain + plain)
    }

    @Test func blocksAreNotedOneByOneOrAllTogether() {
        let compressor = BlockCompressor()
        let blocks = [Self.line, Self.frame, [], Self.line].map { compressor.compress($0) }
        var (each, all) = (GzipMember(), GzipMember())
        for block in blocks { each.append(block) }
        all.append(blocks.reduce(PlainSum.none) { $0 + $1.sum })
        #expect(each.trailer == all.trailer)
        #expect(each.trailer != GzipMember().trailer)
    }

    /// The check value that goes with the polynomial of ITU-T V.42.
    @Test func checksumsAreThoseOfGzip() {
        #expect(DeflateBlock.stored(Array("123456789".utf8)).checksum == 0xCBF4_3926)
        let first = DeflateBlock.stored(Array("1234".utf8))
        let second = DeflateBlock.stored(Array("56789".utf8))
        let joined = first + second
        #expect(joined.checksum == 0xCBF4_3926)
    }

    @Test func aStreamWithABlockThatWasNotNotedIsMalformed() {
        let block = BlockCompressor().compress(Self.frame)
        var member = GzipMember()
        member.append(block)
        let stream = GzipMember.header + block.bytes + block.bytes + member.trailer
        #expect(throws: DecompressionError.malformed) { try decompressed(stream) }
    }

    @Test(.namesSeed) func randomPartsAreReadWhateverTheyAre() async throws {
        let compressor = BlockCompressor()
        try await forEachSeed(30) { random in
            var (blocks, plain) = ([DeflateBlock](), [UInt8]())
            for _ in 0..<random.below(10) {
                let alphabet = 1 + random.below(256)
                let most = random.pick([10, 200, 30_000])
                let count = random.below(most)
                let part = (0..<count).map { _ in UInt8(random.below(alphabet)) }
                let block = random.once(in: 4) ? DeflateBlock.stored(part) : compressor.compress(part)
                blocks.append(block)
                plain += part
                try #require(block.bytes.count <= part.count + 5 * (part.count / 65_535 + 2))
            }
            try #require(try decompressed(member(blocks)) == plain)
        }
    }
}
