/// Collects texts in a buffer that is known to be large enough.
///
/// A text is never longer than its spelling in a line, so a buffer of the line's size holds all its texts.
struct TextWriter {
    private let buffer: UnsafeMutableBufferPointer<UInt8>
    /// The bytes that have been written.
    private(set) var count = 0

    /// Writes from the beginning of a buffer.
    init(_ buffer: UnsafeMutableBufferPointer<UInt8>) { self.buffer = buffer }

    /// Adds a byte.
    mutating func append(_ byte: UInt8) {
        buffer[count] = byte
        count += 1
    }

    /// Adds bytes.
    mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        _ = UnsafeMutableBufferPointer(rebasing: buffer[count...]).initialize(fromContentsOf: bytes)
        count += bytes.count
    }

    /// Writes eight bytes, the first of them lowest, and keeps some of them.
    mutating func append(_ word: UInt64, keeping kept: Int) {
        UnsafeMutableRawBufferPointer(buffer)
            .storeBytes(of: word.littleEndian, toByteOffset: count, as: UInt64.self)
        count += kept
    }

    /// The bytes written since a position.
    func written(from start: Int) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(rebasing: buffer[start..<count])
    }
}
