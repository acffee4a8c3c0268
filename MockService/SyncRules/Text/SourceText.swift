/// The text of a configuration, with the places that messages name.
package struct SourceText: Sendable, Hashable {
    /// Its UTF-8.
    package let bytes: [UInt8]
    /// Where each line begins.
    private let lineStarts: [Int]
    /// How many UTF-16 units stand before each line.
    private let unitsBefore: [Int]

    /// Takes a text.
    package init(_ text: String) {
        bytes = Array(text.utf8)
        var starts = [0]
        for index in bytes.indices where bytes[index] == UInt8(ascii: "\n") { starts.append(index + 1) }
        // A carriage return alone ends a line, too.
        for index in bytes.indices.dropLast()
        where bytes[index] == UInt8(ascii: "\r") && bytes[index + 1] != UInt8(ascii: "\n") {
            starts.append(index + 1)
        }
        lineStarts = starts.sorted()
        var units = [0]
        for (start, end) in zip(lineStarts, lineStarts.dropFirst()) {
            units.append(units[units.count - 1] + Self.units(bytes[start..<end]))
        }
        unitsBefore = units
    }

    /// Line and column of a byte, both from 1; a column counts characters, the bytes of one are one place.
    package func place(_ byte: Int) -> (line: Int, column: Int) {
        let byte = min(max(byte, 0), bytes.count)
        let line = line(of: byte)
        let before = bytes[lineStarts[line]..<byte].count { !Self.isContinuation($0) }
        let isInside = byte < bytes.count && Self.isContinuation(bytes[byte])
        return (line + 1, before + (isInside ? 0 : 1))
    }

    /// How many UTF-16 units stand before a byte.
    package func utf16(_ byte: Int) -> Int {
        let byte = min(max(byte, 0), bytes.count)
        let line = line(of: byte)
        return unitsBefore[line] + Self.units(bytes[lineStarts[line]..<byte])
    }

    /// The line that a byte stands in, with its line end.
    package func line(around byte: Int) -> TextRange {
        let line = line(of: min(max(byte, 0), bytes.count))
        let end = line + 1 < lineStarts.count ? lineStarts[line + 1] : bytes.count
        return TextRange(start: lineStarts[line], end: end)
    }

    /// How many UTF-16 units a part of the text has; the rest of a character that is cut has none.
    private static func units(_ part: ArraySlice<UInt8>) -> Int {
        part.reduce(0) { count, byte in
            // What needs four bytes needs two units.
            count + (isContinuation(byte) ? 0 : byte >= 0xF0 ? 2 : 1)
        }
    }

    /// The line that a byte stands in, from 0.
    private func line(of byte: Int) -> Int {
        var (low, high) = (0, lineStarts.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if lineStarts[middle] <= byte { low = middle } else { high = middle }
        }
        return low
    }

    private static func isContinuation(_ byte: UInt8) -> Bool { byte & 0xC0 == 0x80 }
}
