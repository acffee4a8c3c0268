/// Bytes that have arrived and are not used up yet.
struct InputBuffer: Sendable {
    private(set) var bytes: [UInt8] = []
    /// Where the unused bytes start.
    private(set) var start = 0
    /// Up to where no line end was found.
    private var scanned = 0

    var count: Int { bytes.count - start }

    mutating func append(_ new: UnsafeRawBufferPointer) {
        // Moving what is left is cheap against the read that brought the new bytes, if done rarely.
        if start == bytes.count {
            bytes.removeAll(keepingCapacity: true)
            (start, scanned) = (0, 0)
        } else if start > 64 << 10 {
            bytes.removeFirst(start)
            scanned = max(0, scanned - start)
            start = 0
        }
        bytes.append(contentsOf: new)
    }

    /// Gives the memory back when nothing is left.
    mutating func releaseIfEmpty() {
        guard start == bytes.count else { return }
        self = InputBuffer()
    }

    /// Uses up the next line and returns where it stands, without its CR LF; nil when its end has not arrived.
    ///
    /// The place is valid until the next `append`.
    mutating func nextLine(limit: Int, orThrow tooLong: HTTPError) throws(HTTPError) -> Range<Int>? {
        let from = max(start, scanned)
        let found = bytes.withUnsafeBufferPointer { bytes in
            bytes[from...].firstIndex(of: UInt8(ascii: "\n"))
        }
        guard let end = found else {
            scanned = bytes.count
            if count > limit { throw tooLong }
            return nil
        }
        if end + 1 - start > limit { throw tooLong }
        guard end > start, bytes[end - 1] == UInt8(ascii: "\r") else {
            throw HTTPError(.malformed, "a line ends without CR LF")
        }
        defer { start = end + 1 }
        return start..<(end - 1)
    }

    /// Uses up at most a number of bytes and adds them to others.
    mutating func take(_ most: Int, into result: inout [UInt8]) -> Int {
        let taken = min(most, count)
        result += bytes[start..<(start + taken)]
        start += taken
        return taken
    }
}
