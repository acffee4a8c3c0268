import PowerSyncCompression
import PowerSyncWire

extension LinePacking {
    /// By zstd, in milliseconds for a megabyte.
    static let zstd = LinePacking(
        pack: { bytes in
            let compressor = Compressor(.zstd)
            return compressor.compress(bytes) + compressor.finish()
        },
        unpack: { packed in
            do {
                return try Decompressor(.zstd).decompress(packed)
            } catch {
                preconditionFailure("what was packed a moment ago is \(error)")
            }
        })
}
