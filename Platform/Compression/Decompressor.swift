import CPowerSyncZlib
import CPowerSyncZstd

/// A stream that cannot be decompressed.
package enum DecompressionError: Error, Sendable, Equatable {
    /// The bytes are not of the format, or of a zstd frame that ``Decompressor`` does not allow.
    case malformed
    /// The bytes end where the format asks for more.
    case unfinished
    /// More bytes would come out than the caller allows.
    case tooLarge(limit: Int)
}

/// A compressed stream that is being read; one owner, not shared.
///
/// Members of gzip and frames of zstd, one behind the other, are one stream (RFC 1952, 2.2; RFC 8878, 3). What the engine
/// keeps is bounded: the window of gzip has 32 KiB, that of zstd at most 8 MiB (RFC 9659, 3). Frames of the formats
/// before zstd 0.8, which libzstd may decode without that bound, are refused: RFC 8878 knows none of them.
package final class Decompressor {
    /// The most bytes that `next` returns.
    package static let pieceSize = 64 << 10
    /// The largest window of a zstd frame, as a power of two.
    private static let windowLog: Int32 = 23

    private enum Engine {
        case gzip(UnsafeMutablePointer<z_stream>)
        case zstd(OpaquePointer)
    }

    /// What one call of an engine did.
    private struct Step {
        var consumed = 0
        var produced = 0
        var isWrong = false
        /// Whether the member or frame is at its end, and all of it is out.
        var isAtEnd = false
    }

    private let engine: Engine
    private let limit: Int
    private var total = 0
    /// Where an engine puts a piece.
    private let output = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: Decompressor.pieceSize)
    /// What was appended last, and how much of it the engine has taken.
    private var input: [UInt8] = []
    private var position = 0
    /// Whether the engine may hold bytes for which the last piece had no room.
    private var isFull = false
    /// Whether a member or frame has begun and is not at its end.
    private var isInside = false

    /// Begins a stream.
    ///
    /// - Parameters:
    ///   - format: how it was compressed.
    ///   - limit: how many bytes may come out of the whole stream.
    package init(_ format: CompressionFormat, limit: Int = .max) {
        self.limit = limit
        switch format {
        case .gzip:
            // zlib keeps pointers into this structure, so it must not move.
            let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
            stream.initialize(to: z_stream())
            let result = inflateInit2_(stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
            precondition(result == Z_OK, "no memory for a gzip stream")
            engine = .gzip(stream)
        case .zstd:
            guard let context = ZSTD_createDCtx() else { preconditionFailure("no memory for a zstd stream") }
            ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, Self.windowLog)
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
        output.deallocate()
    }

    /// Decompresses the next bytes, all of them at once.
    ///
    /// - Parameter bytes: the next bytes of the compressed stream, cut anywhere.
    /// - Returns: what they hold.
    /// - Throws: `DecompressionError`.
    package func decompress(_ bytes: [UInt8]) throws(DecompressionError) -> [UInt8] {
        append(bytes)
        var result: [UInt8] = []
        while let piece = try next() { result += piece }
        return result
    }

    /// Takes the next bytes of the compressed stream, cut anywhere; nothing is decompressed yet.
    package func append(_ bytes: [UInt8]) {
        input = position == input.count ? bytes : Array(input[position...]) + bytes
        position = 0
    }

    /// Decompresses as much of what was appended as one piece has room for.
    ///
    /// - Returns: 1 to `pieceSize` bytes; nil until more is appended.
    /// - Throws: `DecompressionError`, after which nothing more comes out.
    package func next() throws(DecompressionError) -> [UInt8]? {
        while isFull || position < input.count {
            if case .zstd = engine, !isInside {
                let mark = input[position...].prefix(4)
                guard Self.mayBeginFrame(mark) else { throw .malformed }
                // It waits until it is whole, so that the library sees no other.
                if mark.count < 4 { return nil }
            }
            let step = run()
            let isStuck = step.consumed == 0 && step.produced == 0 && position < input.count
            guard !step.isWrong, !isStuck else { throw .malformed }
            position += step.consumed
            isInside = !step.isAtEnd
            isFull = isInside && step.produced == output.count
            total += step.produced
            guard total <= limit else { throw .tooLarge(limit: limit) }
            if step.produced > 0 { return Array(output[..<step.produced]) }
        }
        return nil
    }

    /// Checks, at the end of the bytes, that the stream is at its own; one without any bytes is.
    ///
    /// - Throws: `DecompressionError.unfinished`.
    package func finish() throws(DecompressionError) {
        guard !isInside, position == input.count else { throw .unfinished }
    }

    /// Whether bytes are the mark of a zstd frame, or of one to skip, or the beginning of one (RFC 8878, 3.1).
    private static func mayBeginFrame(_ bytes: ArraySlice<UInt8>) -> Bool {
        let marks: [(mark: UInt32, mask: UInt32)] = [
            (UInt32(ZSTD_MAGICNUMBER), .max),
            (UInt32(ZSTD_MAGIC_SKIPPABLE_START), UInt32(ZSTD_MAGIC_SKIPPABLE_MASK)),
        ]
        return marks.contains { mark, mask in
            bytes.enumerated().allSatisfy { index, byte in
                let shift = UInt32(8 * index)
                return byte & UInt8(truncatingIfNeeded: mask >> shift)
                    == UInt8(truncatingIfNeeded: mark >> shift)
            }
        }
    }

    private func run() -> Step {
        let position = position
        return input.withUnsafeBufferPointer { input in
            let rest = UnsafeBufferPointer(rebasing: input[position...])
            switch engine {
            case .gzip(let stream): return inflate(stream, rest)
            case .zstd(let context): return decompress(context, rest)
            }
        }
    }

    private func inflate(
        _ stream: UnsafeMutablePointer<z_stream>, _ input: UnsafeBufferPointer<UInt8>
    ) -> Step {
        // Behind a member comes another one, or nothing.
        if !isInside { inflateReset(stream) }
        let count = UInt32(clamping: input.count)
        // zlib only reads there.
        stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
        stream.pointee.avail_in = count
        stream.pointee.next_out = output.baseAddress
        stream.pointee.avail_out = UInt32(output.count)
        let result = CPowerSyncZlib.inflate(stream, Z_SYNC_FLUSH)
        return Step(
            consumed: Int(count - stream.pointee.avail_in),
            produced: output.count - Int(stream.pointee.avail_out),
            // Z_BUF_ERROR says that there was nothing to do.
            isWrong: ![Z_OK, Z_STREAM_END, Z_BUF_ERROR].contains(result), isAtEnd: result == Z_STREAM_END)
    }

    private func decompress(_ context: OpaquePointer, _ input: UnsafeBufferPointer<UInt8>) -> Step {
        var source = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
        var target = ZSTD_outBuffer(dst: output.baseAddress, size: output.count, pos: 0)
        let result = ZSTD_decompressStream(context, &target, &source)
        // 0 says that a frame is at its end; the next call begins another one.
        return Step(
            consumed: source.pos, produced: target.pos, isWrong: ZSTD_isError(result) != 0,
            isAtEnd: result == 0)
    }
}
