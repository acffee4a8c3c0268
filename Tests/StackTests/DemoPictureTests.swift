import Testing

@testable import PowerSyncStack

/// The picture of the demo is one, for whoever reads it by the book.
struct DemoPictureTests {
    private struct Chunk {
        let type: String
        let content: ArraySlice<UInt8>
        let checksum: UInt32
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        bytes.reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Cuts a PNG into its chunks.
    private static func chunks(_ png: [UInt8]) throws -> [Chunk] {
        var rest = png[8...]
        var chunks: [Chunk] = []
        while !rest.isEmpty {
            let length = Int(number(rest.prefix(4)))
            try #require(rest.count >= length + 12)
            let start = rest.startIndex + 4
            let content = rest[(start + 4)..<(start + 4 + length)]
            chunks.append(
                Chunk(
                    type: String(decoding: rest[start..<(start + 4)], as: UTF8.self), content: content,
                    checksum: number(rest[content.endIndex..<(content.endIndex + 4)])))
            rest = rest[(content.endIndex + 4)...]
        }
        return chunks
    }

    @Test func itIsOfThreeChunksThatSayWhatTheyAre() throws {
        let png = DemoPicture.png()
        #expect(png.prefix(8) == [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
        let chunks = try Self.chunks(png)
        #expect(chunks.map(\.type) == ["IHDR", "IDAT", "IEND"])
        #expect(Array(chunks[0].content) == [0, 0, 0, 64, 0, 0, 0, 64, 8, 2, 0, 0, 0])
        // Those that stand in every PNG of this size and at the end of every PNG.
        #expect(chunks[0].checksum == 0x25_0B_E6_89)
        #expect(chunks[2].checksum == 0xAE_42_60_82)
    }

    @Test func itsPixelsAreOneStoredBlock() throws {
        let content = try #require(try Self.chunks(DemoPicture.png()).first { $0.type == "IDAT" }).content
        let bytes = Array(content)
        let size = 64 * (1 + 3 * 64)
        #expect(bytes.count == 2 + 5 + size + 4)
        // A head of zlib is a multiple of 31 (RFC 1950, 2.2).
        #expect((Int(bytes[0]) << 8 | Int(bytes[1])) % 31 == 0 && bytes[0] & 0x0F == 8)
        #expect(bytes[2] == 1)
        #expect(Int(bytes[3]) | Int(bytes[4]) << 8 == size)
        #expect(bytes[5] == ~bytes[3] && bytes[6] == ~bytes[4])
        var sums = (low: 1, high: 0)
        for byte in bytes[7..<(7 + size)] {
            sums.low += Int(byte)
            sums.high += sums.low
        }
        #expect(Self.number(content.suffix(4)) == UInt32((sums.high % 65521) << 16 | (sums.low % 65521)))
    }
}
