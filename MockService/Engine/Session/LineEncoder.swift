import PowerSyncCompression
import PowerSyncWire

/// Turns lines and frames into the bytes of one stream (service 1.5, 1.6); one owner, not shared.
///
/// gzip has no context: each part is a block that stands alone, so that those of frames are shared, and a stream costs
/// what a plain one does. zstd has one, and what it makes is this stream's own.
package final class LineEncoder {
    /// Shorter lines are stored as they are: compressed without a context they would hardly be shorter.
    private static let shortest = 128

    /// How frames are encoded before they are part of a line.
    package struct Encoding: Sendable {
        let form: LineForm
        let compressors: BlockCompressors

        /// Makes what the line of a frame will have of it.
        ///
        /// - Throws: `StoreError` if the frame cannot be read.
        package func prepare(_ frame: Frame) throws { _ = try frame.content(form, compressors) }
    }

    /// What can be done beforehand.
    package var encoding: Encoding {
        Encoding(form: LineForm(format, isGzipped: member != nil), compressors: compressors)
    }

    private let format: LineForm.Format
    private let compressors: BlockCompressors
    private let zstd: Compressor?
    /// What is counted of a gzip stream; nil if it is none.
    private var member: GzipMember?
    /// Whether a gzip stream has begun.
    private var isBegun = false

    /// Begins a stream.
    ///
    /// - Parameters:
    ///   - format: How lines are spelled.
    ///   - compression: How they are compressed; nil for not at all.
    ///   - compressors: Make the blocks of gzip.
    package init(
        _ format: LineForm.Format, compression: CompressionFormat? = nil, _ compressors: BlockCompressors
    ) {
        self.format = format
        self.compressors = compressors
        zstd = compression == .zstd ? Compressor(.zstd) : nil
        member = compression == .gzip ? GzipMember() : nil
    }

    /// Encodes a line; the client can read all of it as soon as it has come.
    ///
    /// - Parameter line: The line.
    /// - Returns: Its bytes, which come next in the stream.
    package func encode(_ line: SyncLine) -> EncodedLine {
        var bytes = format == .bson ? line.encodedBSON() : line.encoded(rawData: format == .raw)
        if format != .bson { bytes.append(0x0A) }
        let operations = if case .data(let data) = line { data.operations.count } else { 0 }
        let account = LineAccount()
        let sent: [UInt8]
        if let zstd {
            sent = zstd.compress(bytes)
        } else if member != nil {
            let isShort = bytes.count < Self.shortest
            let block =
                isShort ? DeflateBlock.stored(bytes) + DeflateBlock.flush : compressors.compress(bytes)
            member?.append(block.sum)
            sent = header() + block.bytes
        } else {
            sent = bytes
        }
        return EncodedLine(
            LinePiece.cut(sent, account), account, plainBytes: bytes.count, operations: operations)
    }

    /// Encodes a data line.
    ///
    /// - Parameters:
    ///   - frame: Its operations.
    ///   - bucket: The bucket's name.
    ///   - after: The position behind which the line begins.
    ///   - hasMore: Whether more lines of the bucket may follow.
    /// - Returns: The line's bytes, which come next in the stream; those of the frame are shared.
    /// - Throws: `StoreError` if the frame cannot be read.
    package func encode(
        _ frame: Frame, of bucket: String, after: OperationID, hasMore: Bool
    ) throws -> EncodedLine {
        let content = try frame.content(encoding.form, compressors)
        let ends = LineEnds(
            format, bucket: bucket, after: after, nextAfter: frame.last, hasMore: hasMore,
            count: content.plainCount)
        let account = LineAccount()
        var pieces: [LinePiece] = []
        if let zstd {
            for part in [ends.prefix] + content.pieces.map(\.bytes) + [ends.suffix] {
                pieces += LinePiece.cut(zstd.compress(part), account)
            }
        } else if let sum = content.sum {
            // Made without a compressor: they are short.
            let prefix = DeflateBlock.stored(ends.prefix)
            let suffix = DeflateBlock.stored(ends.suffix)
            for sum in [prefix.sum, sum, suffix.sum] { member?.append(sum) }
            pieces = LinePiece.cut(header() + prefix.bytes, account) + content.pieces
            pieces += LinePiece.cut((suffix + DeflateBlock.flush).bytes, account)
        } else {
            pieces = LinePiece.cut(ends.prefix, account) + content.pieces
            pieces += LinePiece.cut(ends.suffix, account)
        }
        return EncodedLine(
            pieces, account, plainBytes: ends.prefix.count + content.plainCount + ends.suffix.count,
            operations: frame.count, of: frame)
    }

    /// Ends the stream; call it once, last.
    ///
    /// - Returns: What has to be sent after the last line; nil for nothing.
    package func finish() -> EncodedLine? {
        let end = zstd?.finish() ?? member.map { header() + $0.trailer } ?? []
        if end.isEmpty { return nil }
        let account = LineAccount()
        return EncodedLine(LinePiece.cut(end, account), account, plainBytes: 0)
    }

    /// What a gzip stream begins with, the first time.
    private func header() -> [UInt8] {
        defer { isBegun = true }
        return isBegun ? [] : GzipMember.header
    }
}

@available(*, unavailable)
extension LineEncoder: Sendable {}
