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
        guard let length else { return nil }
        guard length >= 5 else { throw WireError(.malformedBSON, "a document has a length below 5") }
        guard length <= limit else { throw WireError(.tooLarge, "a document has more than \(limit) bytes") }
        let end = start + length
        guard end <= buffer.count else { return nil }
        defer { start = end }
        return Array(buffer[start..<end])
    }

    /// How many bytes are waiting; once `next` has returned nil, those of an unfinished document.
    package var partialCount: Int { buffer.count - start }

    /// How many bytes the first document that is waiting lacks; 0 if it is whole, or its length has not come.
    package var missingCount: Int { length.map { max(0, $0 - partialCount) } ?? 0 }

    /// Whether bytes of an unfinished document are waiting.
    package var hasPartialDocument: Bool { partialCount > 0 }

    /// The length that the next document says it has; nil until that has come.
    private var length: Int? {
        guard partialCount >= 4 else { return nil }
        var length: Int32 = 0
        for byte in buffer[start..<start + 4].reversed() { length = length << 8 | Int32(byte) }
        return Int(length)
    }
}
