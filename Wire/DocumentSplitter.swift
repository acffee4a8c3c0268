/// Cuts a stream of bytes into BSON documents by the length each begins with, wherever the chunks were cut
/// (client-core 5.1).
package struct DocumentSplitter: Sendable {
    private var buffer: [UInt8] = []
    private var start = 0
    private let limit: Int

    /// Makes a splitter.
    ///
    /// - Parameter limit: the largest document in bytes; a longer one is an error as soon as its length is seen.
    package init(limit: Int) { self.limit = limit }

    /// Takes the next bytes of the stream.
    package mutating func append(_ bytes: [UInt8]) {
        if start > 0, start == buffer.count {
            buffer.removeAll(keepingCapacity: buffer.capacity <= 1 << 20)
            start = 0
        } else if start > 1 << 16, start > buffer.count / 2 {
            buffer.removeFirst(start)
            start = 0
        }
        buffer.append(contentsOf: bytes)
    }

    /// Returns the next whole document, nil until more bytes have come.
    ///
    /// - Returns: the bytes of a document with its length; nothing in them has been checked.
    /// - Throws: `WireError` with `.tooLarge` for a document over the limit, finished or not, and with
    ///   `.malformedBSON` for a length that no document has.
    package mutating func next() throws(WireError) -> [UInt8]? {
        guard buffer.count - start >= 4 else { return nil }
        var length: Int32 = 0
        for byte in buffer[start..<start + 4].reversed() { length = length << 8 | Int32(byte) }
        guard length >= 5 else { throw WireError(.malformedBSON, "a document has a length below 5") }
        guard length <= limit else { throw WireError(.tooLarge, "a document has more than \(limit) bytes") }
        let end = start + Int(length)
        guard end <= buffer.count else { return nil }
        defer { start = end }
        return Array(buffer[start..<end])
    }

    /// Whether bytes of an unfinished document are waiting.
    package var hasPartialDocument: Bool { start < buffer.count }
}
