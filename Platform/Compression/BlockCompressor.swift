import CPowerSyncZlib

/// Compresses parts into blocks that stand alone; one owner, not shared.
///
/// It has the window of one gzip stream, 256 KB, for as many streams as its blocks are sent in. A part does not refer to the
/// one before, which is the price: lines that are much alike become shorter in a stream of their own (``Compressor``).
package final class BlockCompressor {
    private static let chunk = 64 << 10

    // zlib keeps pointers into this structure, so it must not move.
    private let stream: UnsafeMutablePointer<z_stream>
    private let output = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: BlockCompressor.chunk)

    /// Makes one; its level is that of ``Compressor``.
    package init() {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let windowBitsOfRawDeflate: Int32 = -15
        let result = deflateInit2_(
            stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, windowBitsOfRawDeflate, 8, Z_DEFAULT_STRATEGY,
            ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        precondition(result == Z_OK, "no memory for a deflate stream")
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
        output.deallocate()
    }

    /// Compresses a part; where it would become longer than that it is stored.
    ///
    /// - Parameter plain: What the block shall hold, less than 4 GiB.
    /// - Returns: The block, which ends as ``DeflateBlock/flush``; one of no bytes for a part of nothing.
    package func compress(_ plain: [UInt8]) -> DeflateBlock {
        guard !plain.isEmpty else { return .stored([]) }
        let bytes = deflated(plain)
        let stored = DeflateBlock.storedCount(of: plain.count) + DeflateBlock.flush.bytes.count
        guard bytes.count < stored else { return .stored(plain) + .flush }
        return DeflateBlock(
            bytes: bytes, checksum: DeflateBlock.checksum(of: plain), plainCount: plain.count)
    }

    private func deflated(_ plain: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        plain.withUnsafeBufferPointer { input in
            // zlib only reads there.
            stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
            stream.pointee.avail_in = UInt32(input.count)
            repeat {
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = UInt32(output.count)
                // A full flush ends at a byte and forgets all that was before.
                let status = deflate(stream, Z_FULL_FLUSH)
                // There is nothing left to do where the last byte has just found room.
                precondition(status == Z_OK || status == Z_BUF_ERROR, "a deflate stream failed")
                result += output[..<(output.count - Int(stream.pointee.avail_out))]
            } while stream.pointee.avail_out == 0
        }
        // Blocks are kept, and room for more is not.
        guard result.capacity > result.count + result.count / 8 else { return result }
        return result.withUnsafeBufferPointer { Array($0) }
    }
}

@available(*, unavailable)
extension BlockCompressor: Sendable {}
