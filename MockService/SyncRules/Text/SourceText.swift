/// The text of a configuration, with the places that messages name.
package struct SourceText: Sendable, Hashable {
    /// Its UTF-8.
    package let bytes: [UInt8]
    /// Where each line begins.
    private let lineStarts: [Int]
    /// How many characters and UTF-16 units stand before a byte.
    private struct Sample: Hashable {
        var characters = 0
        var units = 0

        mutating func add(_ byte: UInt8) {
            // The rest of a character that is cut has none; what needs four bytes needs two units.
            guard !SourceText.isContinuation(byte) else { return }
            characters += 1
            units += byte >= 0xF0 ? 2 : 1
        }
    }

    /// Bytes from one sample to the next.
    private static let distance = 256
    /// Those of each 256th byte, so that a place is found at once however long its line is.
    private let samples: [Sample]

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
        var samples: [Sample] = []
        var sample = Sample()
        for (index, byte) in bytes.enumerated() {
            if index.isMultiple(of: Self.distance) { samples.append(sample) }
            sample.add(byte)
        }
        samples.append(sample)
        self.samples = samples
    }

    /// Line and column of a byte, both from 1; a column counts characters, the bytes of one are one place.
    package func place(_ byte: Int) -> (line: Int, column: Int) {
        let byte = min(max(byte, 0), bytes.count)
        let line = line(of: byte)
        let before = sample(before: byte).characters - sample(before: lineStarts[line]).characters
        let isInside = byte < bytes.count && Self.isContinuation(bytes[byte])
        return (line + 1, before + (isInside ? 0 : 1))
    }

    /// How many UTF-16 units stand before a byte.
    package func utf16(_ byte: Int) -> Int {
        sample(before: min(max(byte, 0), bytes.count)).units
    }

    /// The line that a byte stands in, with its line end.
    package func line(around byte: Int) -> TextRange {
        let line = line(of: min(max(byte, 0), bytes.count))
        let end = line + 1 < lineStarts.count ? lineStarts[line + 1] : bytes.count
        return TextRange(start: lineStarts[line], end: end)
    }

    private func sample(before byte: Int) -> Sample {
        var sample = samples[byte / Self.distance]
        for index in byte - byte % Self.distance..<byte { sample.add(bytes[index]) }
        return sample
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
