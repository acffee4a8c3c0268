import CPowerSyncZlib

/// A part of a compressed stream that stands alone: whole blocks of raw deflate (RFC 1951) that refer to nothing before them
/// and end at a byte, none of which is the last of the stream.
///
/// Blocks in any order are one stream, so a block is made once and sent in as many streams as want it (``GzipMember``).
package struct DeflateBlock: Sendable, Equatable {
    /// The compressed bytes; none for a part of nothing.
    package let bytes: [UInt8]
    /// The CRC-32 of what they hold (RFC 1952, 8).
    package let checksum: UInt32
    /// How many bytes they hold.
    package let plainCount: Int

    /// A block of nothing, with which every chunk of the real service's streams ends (service 1.5).
    package static let flush = DeflateBlock(bytes: [0, 0, 0, 0xFF, 0xFF], checksum: 0, plainCount: 0)

    /// The most bytes that one stored block holds (RFC 1951, 3.2.4).
    private static let mostStored = 0xFFFF

    init(bytes: [UInt8], checksum: UInt32, plainCount: Int) {
        self.bytes = bytes
        self.checksum = checksum
        self.plainCount = plainCount
    }

    /// Stores bytes as they are, with five for each 65,535 of them: for what is short, which would not become shorter.
    ///
    /// It takes no ``BlockCompressor`` and no more time than a copy. It does not end as ``flush``.
    package static func stored(_ plain: [UInt8]) -> DeflateBlock {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(storedCount(of: plain.count))
        for start in stride(from: 0, to: plain.count, by: mostStored) {
            let piece = plain[start..<min(start + mostStored, plain.count)]
            let count = UInt16(piece.count)
            // Not the last block, and stored; then the length and its complement, behind the end of the byte.
            bytes.append(0)
            for number in [count, ~count] { withUnsafeBytes(of: number.littleEndian) { bytes += $0 } }
            bytes += piece
        }
        return DeflateBlock(bytes: bytes, checksum: checksum(of: plain), plainCount: plain.count)
    }

    /// How many bytes as many have that are stored.
    static func storedCount(of count: Int) -> Int { count + 5 * ((count + mostStored - 1) / mostStored) }

    /// Joins two blocks into one that holds what both do, in that order.
    package static func + (first: DeflateBlock, second: DeflateBlock) -> DeflateBlock {
        DeflateBlock(
            bytes: first.bytes + second.bytes,
            checksum: combined(first.checksum, second.checksum, second.plainCount),
            plainCount: first.plainCount + second.plainCount)
    }

    /// The CRC-32 of bytes.
    static func checksum(of bytes: [UInt8]) -> UInt32 {
        bytes.withUnsafeBytes { powersync_crc32($0.baseAddress, $0.count) }
    }

    /// The CRC-32 of bytes that follow others, from that of each and the number of those that follow.
    static func combined(_ first: UInt32, _ second: UInt32, _ count: Int) -> UInt32 {
        powersync_crc32_combine(first, second, Int64(count))
    }
}
