/// A gzip member that is put together of blocks (RFC 1952): its header, the blocks, its trailer.
///
/// It has no window; what it keeps are the checksum and the length of what it holds.
package struct GzipMember: Sendable {
    /// What a member begins with: no name, no time, made on Unix, as the real service's streams do (service 1.5).
    package static let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]

    private var checksum: UInt32 = 0
    /// Modulo 2³², as it is written.
    private var plainCount: UInt32 = 0

    /// Begins a member; its header is to be sent first.
    package init() {}

    /// Notes a block whose bytes are sent next.
    package mutating func append(_ block: DeflateBlock) { append(block.sum) }

    /// Notes blocks whose bytes are sent next: what all of them hold.
    package mutating func append(_ sum: PlainSum) {
        checksum = DeflateBlock.combined(checksum, sum.checksum, sum.count)
        plainCount &+= UInt32(truncatingIfNeeded: sum.count)
    }

    /// What ends the member: a last block that holds nothing, the checksum and the length.
    package var trailer: [UInt8] {
        // The last block with the fixed code, in which seven zeros are its end (RFC 1951, 3.2.6).
        var bytes: [UInt8] = [3, 0]
        for number in [checksum, plainCount] {
            withUnsafeBytes(of: number.littleEndian) { bytes += $0 }
        }
        return bytes
    }
}
