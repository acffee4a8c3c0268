/// Bytes of a line that are sent from where they are, by one stream or by many.
///
/// They count until the last of those has sent them.
package final class LinePiece: Sendable {
    /// How long pieces are, unless what is made at once is longer.
    package static let most = 64 << 10

    /// The bytes.
    package let bytes: [UInt8]
    private let account: LineAccount

    /// Holds bytes.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - account: Counts them for as long as the piece lives.
    package init(_ bytes: [UInt8], _ account: LineAccount) {
        self.bytes = bytes
        self.account = account
        account.add(bytes.count)
    }

    deinit { account.add(-bytes.count) }

    /// Cuts bytes into pieces.
    ///
    /// - Parameters:
    ///   - bytes: The bytes; short ones are not copied.
    ///   - account: Counts them.
    /// - Returns: The pieces in order; none of no bytes.
    package static func cut(_ bytes: [UInt8], _ account: LineAccount) -> [LinePiece] {
        if bytes.isEmpty { return [] }
        if bytes.count <= most { return [LinePiece(bytes, account)] }
        return stride(from: 0, to: bytes.count, by: most).map { start in
            LinePiece(Array(bytes[start..<min(start + most, bytes.count)]), account)
        }
    }
}

extension [UInt8] {
    /// The same bytes, of which no more than an eighth is room for further ones: they are kept.
    var withoutSpareRoom: [UInt8] {
        guard capacity > count + count / 8 else { return self }
        return withUnsafeBufferPointer { Array($0) }
    }
}
