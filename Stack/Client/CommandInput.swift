import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The lines of a descriptor such as standard input, read when somebody asks for one, on a thread that may block.
///
/// Nothing is read ahead but the rest of a piece of 64 KiB, so whoever writes faster than commands are done has to wait.
package struct CommandInput: Sendable {
    private static let pieceSize = 64 << 10

    private let descriptor: Int32
    private let calls = BlockingCalls()
    private var lines: CommandLines
    private var isAtEnd = false

    /// Reads a descriptor, which stays the caller's.
    ///
    /// - Parameters:
    ///   - descriptor: what to read; it may block.
    ///   - limit: the largest line in bytes.
    ///   - keepsBlankLines: whether lines count in which nothing stands.
    package init(_ descriptor: Int32, limit: Int, keepsBlankLines: Bool = false) {
        self.descriptor = descriptor
        lines = CommandLines(limit: limit, keepsBlankLines: keepsBlankLines)
    }

    /// Returns the next line; nil at the end.
    ///
    /// - Throws: `SystemError` for a descriptor that cannot be read, `CancellationError`.
    package mutating func next() async throws -> CommandLines.Line? {
        while true {
            if let line = lines.next() { return line }
            if isAtEnd { return nil }
            let descriptor = descriptor
            let piece = try await calls.value { Self.piece(of: descriptor) }.get()
            if piece.isEmpty {
                isAtEnd = true
                lines.finish()
            } else {
                lines.append(piece)
            }
        }
    }

    /// Reads what there is, waiting for it; empty at the end.
    private static func piece(of descriptor: Int32) -> Result<[UInt8], SystemError> {
        var failure: Int32?
        let bytes = [UInt8](unsafeUninitializedCapacity: pieceSize) { buffer, count in
            while true {
                let result = read(descriptor, buffer.baseAddress, buffer.count)
                if result >= 0 { return count = result }
                switch errno {
                case EINTR: continue
                case EAGAIN:
                    // Somebody who shares the descriptor has made it non-blocking.
                    var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                    _ = poll(&request, 1, -1)
                default:
                    failure = errno
                    return
                }
            }
        }
        if let failure { return .failure(SystemError(.file, "cannot read the commands", errno: failure)) }
        return .success(bytes)
    }
}
