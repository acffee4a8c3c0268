/// Which bytes of an object a request asks for (RFC 9110 14); pure.
enum BlobRange: Sendable, Hashable {
    /// All of them.
    case whole
    /// These.
    case part(Range<Int64>)
    /// None that are there.
    case unsatisfiable

    /// Reads the field `range`.
    ///
    /// What is no single range of bytes means all of them, as if the field were not there.
    ///
    /// - Parameters:
    ///   - field: its value; nil for none.
    ///   - size: the bytes of the object.
    init(_ field: String?, size: Int64) {
        self = field.flatMap { Self.read($0, size: size) } ?? .whole
    }

    private static func read(_ field: String, size: Int64) -> BlobRange? {
        let parts = field.utf8.split(separator: UInt8(ascii: "="), maxSplits: 1)
        guard parts.count == 2, String(decoding: parts[0], as: UTF8.self).lowercased() == "bytes" else {
            return nil
        }
        let ends = parts[1].split(
            separator: UInt8(ascii: "-"), maxSplits: 1, omittingEmptySubsequences: false)
        guard ends.count == 2 else { return nil }
        if ends[0].isEmpty {
            guard let count = number(ends[1]) else { return nil }
            return count == 0 || size == 0
                ? BlobRange.unsatisfiable : BlobRange.part(max(0, size - count)..<size)
        }
        guard let first = number(ends[0]) else { return nil }
        var end = size
        if !ends[1].isEmpty {
            guard let last = number(ends[1]), last >= first else { return nil }
            end = min(size, last == .max ? .max : last + 1)
        }
        return first < size ? BlobRange.part(first..<end) : BlobRange.unsatisfiable
    }

    /// The number of some digits, at most the largest; nil for other text.
    private static func number(_ digits: Substring.UTF8View.SubSequence) -> Int64? {
        guard !digits.isEmpty,
            digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return Int64(String(decoding: digits, as: UTF8.self)) ?? .max
    }
}
