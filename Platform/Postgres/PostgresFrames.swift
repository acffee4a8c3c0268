/// Messages of a COPY or of a replication stream behind each other in one buffer, as libpq gave them.
///
/// A message of a COPY … TO STDOUT is a row with its line end, one of a replication stream what `ReplicationFrame` reads.
/// Texts are read where they lie: `PostgresCell` says where.
package struct PostgresFrames: Sendable, Equatable {
    /// When a buffer is full; one message more may lie in it, of whatever size.
    package struct Limits: Sendable, Equatable {
        /// From how many bytes on.
        package var bytes: Int
        /// From how many messages on.
        package var count: Int

        /// Makes limits, which are a megabyte and two thousand messages unless said otherwise.
        package init(bytes: Int = 1 << 20, count: Int = 2_000) {
            self.bytes = bytes
            self.count = count
        }
    }

    /// All messages, behind each other.
    package private(set) var bytes: [UInt8] = []
    /// Where each message ends in `bytes`; the next one begins there.
    package private(set) var ends: [Int] = []

    /// Makes an empty buffer.
    package init() {}

    /// The number of messages.
    package var count: Int { ends.count }

    /// Whether there is no message.
    package var isEmpty: Bool { ends.isEmpty }

    /// Where a message lies in `bytes`; the first one has the index 0.
    package subscript(index: Int) -> Range<Int> {
        (index == 0 ? 0 : ends[index - 1])..<ends[index]
    }

    /// Appends a message.
    package mutating func append(_ message: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: message)
        ends.append(bytes.count)
    }

    /// Takes everything out, so that whoever has it may change the bytes where they are.
    package mutating func take() -> (bytes: [UInt8], ends: [Int]) {
        let taken = (bytes, ends)
        self = PostgresFrames()
        return taken
    }

    /// Drops all messages and keeps the memory for the next ones.
    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
    }

    /// Whether a buffer has reached one of the limits.
    func isFull(_ limits: Limits) -> Bool { bytes.count >= limits.bytes || ends.count >= limits.count }
}
