import CPowerSyncZlib
import CPowerSyncZstd

/// A format of compressed streams, named as in `Content-Encoding` (RFC 9110, 8.4.1).
package enum CompressionFormat: String, Sendable {
    /// RFC 1952.
    case gzip
    /// RFC 8878.
    case zstd
}

/// A compressed stream that is being written; one owner, not shared.
///
/// What `compress` returns can be decompressed at once by the peer: nothing is held back for the next call.
package final class Compressor {
    private enum Engine {
        case gzip(UnsafeMutablePointer<z_stream>)
        case zstd(OpaquePointer)
    }

    /// The window of zstd and its table, as powers of two.
    ///
    /// Streams live for hours, and those of the level take 1.2 MB. These take 0.3 MB, and what they make of sync lines is no
    /// longer.
    private static let (windowLog, hashLog): (Int32, Int32) = (15, 13)

    private let engine: Engine

    /// Begins a stream.
    ///
    /// - Parameter format: how to compress; the levels are those of the real service (service 1.5).
    package init(_ format: CompressionFormat) {
        switch format {
        case .gzip:
            // zlib keeps pointers into this structure, so it must not move.
            let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
            stream.initialize(to: z_stream())
            let windowBitsOfGzip: Int32 = 15 + 16
            let result = deflateInit2_(
                stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, windowBitsOfGzip, 8, Z_DEFAULT_STRATEGY,
                ZLIB_VERSION,
                Int32(MemoryLayout<z_stream>.size))
            precondition(result == Z_OK, "no memory for a gzip stream")
            engine = .gzip(stream)
        case .zstd:
            guard let context = ZSTD_createCCtx() else { preconditionFailure("no memory for a zstd stream") }
            ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 2)
            ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, Self.windowLog)
            ZSTD_CCtx_setParameter(context, ZSTD_c_hashLog, Self.hashLog)
            engine = .zstd(context)
        }
    }

    deinit {
        switch engine {
        case .gzip(let stream):
            deflateEnd(stream)
            stream.deallocate()
        case .zstd(let context): ZSTD_freeCCtx(context)
        }
    }

    /// Compresses and flushes the next bytes.
    ///
    /// - Parameter bytes: what the peer shall read next.
    /// - Returns: the next bytes of the compressed stream.
    package func compress(_ bytes: [UInt8]) -> [UInt8] {
        run(bytes, gzip: Z_SYNC_FLUSH, zstd: ZSTD_e_flush)
    }

    /// Ends the stream; call it once, last.
    ///
    /// - Returns: its last bytes.
    package func finish() -> [UInt8] {
        run([], gzip: Z_FINISH, zstd: ZSTD_e_end)
    }

    private func run(_ bytes: [UInt8], gzip: Int32, zstd: ZSTD_EndDirective) -> [UInt8] {
        bytes.withUnsafeBufferPointer { input in
            switch engine {
            case .gzip(let stream): Self.deflate(stream, input, gzip)
            case .zstd(let context): Self.compress(context, input, zstd)
            }
        }
    }

    private static let chunk = 16 << 10

    private static func deflate(
        _ stream: UnsafeMutablePointer<z_stream>, _ input: UnsafeBufferPointer<UInt8>, _ flush: Int32
    ) -> [UInt8] {
        var output: [UInt8] = []
        // zlib only reads there.
        stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
        stream.pointee.avail_in = UInt32(input.count)
        repeat {
            output += [UInt8](unsafeUninitializedCapacity: chunk) { buffer, count in
                stream.pointee.next_out = buffer.baseAddress
                stream.pointee.avail_out = UInt32(chunk)
                CPowerSyncZlib.deflate(stream, flush)
                count = chunk - Int(stream.pointee.avail_out)
            }
        } while stream.pointee.avail_out == 0
        return output
    }

    private static func compress(
        _ context: OpaquePointer, _ input: UnsafeBufferPointer<UInt8>, _ end: ZSTD_EndDirective
    ) -> [UInt8] {
        var output: [UInt8] = []
        var source = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
        var left = 1
        while left > 0 {
            output += [UInt8](unsafeUninitializedCapacity: chunk) { buffer, count in
                var target = ZSTD_outBuffer(dst: buffer.baseAddress, size: chunk, pos: 0)
                left = ZSTD_compressStream2(context, &target, &source, end)
                // The only errors here are wrong parameters, and these are constants.
                precondition(ZSTD_isError(left) == 0, "zstd refuses its parameters")
                count = target.pos
            }
        }
        return output
    }
}
