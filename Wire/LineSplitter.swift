/// Cuts a stream of bytes into lines at LF, wherever the chunks were cut (client-api 2.3).
///
/// Only the byte 0x0A ends a line; a CR before it is dropped. U+2028 and its like stay inside their line, and a
/// character cut in two by a chunk is whole again in its line. Blank lines are skipped: they are no protocol.
package struct LineSplitter: Sendable {
    private var buffer: [UInt8] = []
    private var start = 0
    private var scanned = 0
    private let limit: Int

    /// Makes a splitter.
    ///
    /// - Parameter limit: the largest line in bytes, without its end; a longer one is an error as soon as it is seen.
    package init(limit: Int) { self.limit = limit }

    /// Takes the next bytes of the stream.
    package mutating func append(_ bytes: [UInt8]) {
        if start > 0, start == buffer.count {
            buffer.removeAll(keepingCapacity: buffer.capacity <= 1 << 20)
            scanned = 0
            start = 0
        } else if start > 1 << 16, start > buffer.count / 2 {
            buffer.removeFirst(start)
            scanned -= start
            start = 0
        }
        buffer.append(contentsOf: bytes)
    }

    /// Returns the next whole line without its end, nil until more bytes have come.
    ///
    /// - Returns: the bytes of a line that is not blank.
    /// - Throws: `WireError` with `.tooLarge` for a line over the limit, finished or not.
    package mutating func next() throws(WireError) -> [UInt8]? {
        while let end = lineEnd() {
            var line = buffer[start..<end]
            start = end + 1
            scanned = start
            if line.last == 0x0D { line.removeLast() }
            try check(line.count)
            if !line.isEmpty { return Array(line) }
        }
        scanned = buffer.count
        // A CR may be the first half of the line's end.
        try check(scanned - start - (hasPartialLine && buffer.last == 0x0D ? 1 : 0))
        return nil
    }

    /// Returns where the first LF is that has not been seen, looking at eight bytes at a time.
    private func lineEnd() -> Int? {
        buffer.withUnsafeBytes { bytes in
            let ones: UInt64 = 0x0101_0101_0101_0101
            var index = scanned
            while index + 8 <= bytes.count {
                let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                let others = UInt64(littleEndian: word) ^ (ones &* 0x0A)
                // The lowest byte that is zero here is an LF there; a borrow disturbs only bytes above it.
                let hits = (others &- ones) & ~others & UTF8Check.highBits
                if hits != 0 { return index + (hits.trailingZeroBitCount >> 3) }
                index += 8
            }
            return bytes[index...].firstIndex(of: 0x0A)
        }
    }

    /// How many bytes are waiting; once `next` has returned nil, those of an unfinished line.
    package var partialCount: Int { buffer.count - start }

    /// Whether bytes of an unfinished line are waiting.
    package var hasPartialLine: Bool { partialCount > 0 }

    private func check(_ count: Int) throws(WireError) {
        if count > limit { throw WireError(.tooLarge, "a line has more than \(limit) bytes") }
    }
}
