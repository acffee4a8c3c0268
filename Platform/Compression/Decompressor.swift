import CPowerSyncZlib
import CPowerSyncZstd

/// A stream that cannot be decompressed.
package enum DecompressionError: Error, Sendable, Equatable {
    /// The bytes are not of the format.
    case malformed
    /// More bytes would come out than the caller allows.
    case tooLarge(limit: Int)
}

/// A compressed stream that is being read; one owner, not shared.
package final class Decompressor {
    private enum Engine {
        case gzip(UnsafeMutablePointer<z_stream>)
        case zstd(OpaquePointer)
    }

    private let engine: Engine
    private let limit: Int
    private var total = 0

    /// Begins a stream.
    ///
    /// - Parameters:
    ///   - format: how it was compressed.
    ///   - limit: how many bytes may come out of the whole stream.
    package init(_ format: CompressionFormat, limit: Int) {
        self.limit = limit
        switch format {
        case .gzip:
            let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
            stream.initialize(to: z_stream())
            let result = inflateInit2_(stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
            precondition(result == Z_OK, "no memory for a gzip stream")
            engine = .gzip(stream)
        case .zstd:
            guard let context = ZSTD_createDCtx() else { preconditionFailure("no memory for a zstd stream") }
            engine = .zstd(context)
        }
    }

    deinit {
        switch engine {
        case .gzip(let stream):
            inflateEnd(stream)
            stream.deallocate()
        case .zstd(let context): ZSTD_freeDCtx(context)
        }
    }

    /// Decompresses the next bytes.
    ///
    /// - Parameter bytes: the next bytes of the compressed stream, cut anywhere.
    /// - Returns: what they hold.
    /// - Throws: `DecompressionError`.
    package func decompress(_ bytes: [UInt8]) throws(DecompressionError) -> [UInt8] {
        var bytes = bytes
        let result = bytes.withUnsafeMutableBufferPointer { input -> Result<[UInt8], DecompressionError> in
            do throws(DecompressionError) { return .success(try run(input)) } catch { return .failure(error) }
        }
        return try result.get()
    }

    private static let chunk = 64 << 10

    private func run(_ input: UnsafeMutableBufferPointer<UInt8>) throws(DecompressionError) -> [UInt8] {
        var output: [UInt8] = []
        var consumed = 0
        var isFull = true
        while consumed < input.count || isFull {
            let before = output.count
            var isWrong = false
            let rest = UnsafeMutableBufferPointer(rebasing: input[consumed...])
            output += [UInt8](unsafeUninitializedCapacity: Self.chunk) { buffer, count in
                (consumed, count, isWrong) = step(rest, consumed, into: buffer)
            }
            if isWrong { throw .malformed }
            total += output.count - before
            guard total <= limit else { throw .tooLarge(limit: limit) }
            isFull = output.count - before == Self.chunk
            // A finished stream takes no more input.
            if output.count == before, consumed < input.count { throw .malformed }
        }
        return output
    }

    private func step(
        _ input: UnsafeMutableBufferPointer<UInt8>, _ consumed: Int,
        into buffer: UnsafeMutableBufferPointer<UInt8>
    ) -> (consumed: Int, count: Int, isWrong: Bool) {
        switch engine {
        case .gzip(let stream):
            stream.pointee.next_in = input.baseAddress
            stream.pointee.avail_in = UInt32(input.count)
            stream.pointee.next_out = buffer.baseAddress
            stream.pointee.avail_out = UInt32(Self.chunk)
            let result = inflate(stream, Z_SYNC_FLUSH)
            let isWrong = result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR
            return (
                consumed + input.count - Int(stream.pointee.avail_in),
                Self.chunk - Int(stream.pointee.avail_out), isWrong
            )
        case .zstd(let context):
            var source = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
            var target = ZSTD_outBuffer(dst: buffer.baseAddress, size: Self.chunk, pos: 0)
            let result = ZSTD_decompressStream(context, &target, &source)
            return (consumed + source.pos, target.pos, ZSTD_isError(result) != 0)
        }
    }
}
