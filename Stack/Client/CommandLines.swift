/// Cuts what a driving program writes into lines, wherever its pieces end.
///
/// Only LF ends a line; a CR before it is dropped, and lines without anything but spaces are skipped unless they are
/// wanted. What is behind a line over the limit is read as if nothing had been, so that one mistake costs one command.
package struct CommandLines: Sendable {
    /// What came of a line.
    package enum Line: Sendable, Equatable {
        /// The bytes of a line.
        case text([UInt8])
        /// A line that was over the limit, of which only the beginning is kept.
        case tooLong([UInt8])
    }

    /// How many bytes are kept of a line that is over the limit.
    private static let beginningSize = 4096

    private let limit: Int
    private let keepsBlankLines: Bool
    private var partial: [UInt8] = []
    private var isTooLong = false
    private var lines: [Line] = []
    /// How many of the lines have been taken.
    private var taken = 0

    /// Begins with nothing.
    ///
    /// - Parameters:
    ///   - limit: the largest line in bytes, without its end.
    ///   - keepsBlankLines: whether lines count in which nothing stands.
    package init(limit: Int, keepsBlankLines: Bool = false) {
        self.limit = limit
        self.keepsBlankLines = keepsBlankLines
    }

    /// Takes the next bytes.
    package mutating func append(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while let end = rest.firstIndex(of: 0x0A) {
            add(rest[..<end])
            endLine()
            rest = rest[(end + 1)...]
        }
        add(rest)
    }

    /// Takes what is left as a line: nothing more comes.
    package mutating func finish() {
        if !partial.isEmpty || isTooLong { endLine() }
    }

    /// Returns the next whole line; nil until more bytes have come.
    package mutating func next() -> Line? {
        guard taken < lines.count else {
            lines.removeAll(keepingCapacity: true)
            taken = 0
            return nil
        }
        defer { taken += 1 }
        return lines[taken]
    }

    private mutating func add(_ part: ArraySlice<UInt8>) {
        // One more than the limit, which may be the CR of the line's end.
        if !isTooLong, partial.count + part.count <= limit + 1 {
            partial += part
        } else {
            isTooLong = true
            let beginning = partial.prefix(Self.beginningSize)
            partial = Array(beginning + part.prefix(Self.beginningSize - beginning.count))
        }
    }

    private mutating func endLine() {
        if partial.last == 0x0D { partial.removeLast() }
        if isTooLong || partial.count > limit {
            lines.append(.tooLong(Array(partial.prefix(Self.beginningSize))))
        } else if keepsBlankLines || partial.contains(where: { $0 != 0x20 && $0 != 0x09 }) {
            lines.append(.text(partial))
        }
        partial = []
        isTooLong = false
    }
}
