/// What a gzip member says of the bytes that it holds (RFC 1952, 2.3.1): their checksum and their number.
package struct PlainSum: Sendable, Hashable {
    /// The CRC-32 (RFC 1952, 8).
    package let checksum: UInt32
    /// How many bytes.
    package let count: Int

    /// That of no bytes.
    package static let none = PlainSum(checksum: 0, count: 0)

    init(checksum: UInt32, count: Int) {
        self.checksum = checksum
        self.count = count
    }

    /// That of bytes and others which follow them.
    package static func + (first: PlainSum, second: PlainSum) -> PlainSum {
        PlainSum(
            checksum: DeflateBlock.combined(first.checksum, second.checksum, second.count),
            count: first.count + second.count)
    }
}

extension DeflateBlock {
    /// What a member has to know of the block.
    package var sum: PlainSum { PlainSum(checksum: checksum, count: plainCount) }
}
