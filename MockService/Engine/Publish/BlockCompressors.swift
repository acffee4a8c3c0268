import PowerSyncCompression
import PowerSyncSystem

/// Compresses parts of gzip streams for all who send some, one after another or several at a time.
package final class BlockCompressors: Sendable {
    /// As many as threads that make lines.
    private static let mostIdle = 2

    private let idle = Lock<[BlockCompressor]>([])

    /// Makes none before it is needed.
    package init() {}

    /// Compresses a part into a block that stands alone; of nothing it is one of no bytes.
    package func compress(_ plain: [UInt8]) -> DeflateBlock {
        let compressor = idle.withLock { $0.popLast() } ?? BlockCompressor()
        defer { idle.withLock { if $0.count < Self.mostIdle { $0.append(compressor) } } }
        return compressor.compress(plain)
    }
}
