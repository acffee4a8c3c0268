#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The row JSON that the service sends, made fit for SQLite.
package enum RowJSONRepair {
    /// Returns the row with `null` for a bare NaN and `±9e999` for an infinity (client-core 1.7).
    ///
    /// The real service writes both for Postgres floats. SQLite before 3.42 answers `malformed JSON` to every read of
    /// such a row. Strings are left alone, and a row without these words is returned as it is, byte for byte.
    package static func repaired(_ text: String) -> String {
        var text = text
        return text.withUTF8 { bytes -> String? in
            guard mayHoldBareWord(bytes) else { return nil }
            var result: [UInt8] = []
            result.reserveCapacity(bytes.count)
            var isInString = false
            var index = 0
            var hasChanged = false
            while index < bytes.count {
                let byte = bytes[index]
                if isInString {
                    if byte == UInt8(ascii: "\\"), index + 1 < bytes.count {
                        result.append(byte)
                        index += 1
                    } else if byte == UInt8(ascii: "\"") {
                        isInString = false
                    }
                } else if byte == UInt8(ascii: "\"") {
                    isInString = true
                } else if let (word, replacement) = bareWord(at: index, in: bytes) {
                    result.append(contentsOf: replacement.utf8)
                    index += word
                    hasChanged = true
                    continue
                }
                result.append(bytes[index])
                index += 1
            }
            return hasChanged ? String(decoding: result, as: UTF8.self) : nil
        } ?? text
    }

    /// Whether a text holds the letters of such a word at all, be it within a string; cheap.
    static func mayHoldBareWord(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        holds("NaN", bytes) || holds("Infinity", bytes)
    }

    private static func holds(_ word: StaticString, _ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var rest = bytes[...]
        while rest.count >= word.utf8CodeUnitCount {
            let text = UnsafeBufferPointer(rebasing: rest)
            guard let start = text.baseAddress,
                let found = memchr(start, Int32(word.utf8Start[0]), text.count)
            else { return false }
            let offset = start.distance(to: found.assumingMemoryBound(to: UInt8.self))
            if text.count - offset >= word.utf8CodeUnitCount,
                memcmp(found, word.utf8Start, word.utf8CodeUnitCount) == 0
            {
                return true
            }
            rest = rest.dropFirst(offset + 1)
        }
        return false
    }

    /// The length of the bare word at that place, and what stands for it; a minus before an infinity stays.
    private static func bareWord(
        at index: Int, in bytes: UnsafeBufferPointer<UInt8>
    ) -> (length: Int, replacement: String)? {
        let rest = bytes[index...]
        if rest.starts(with: "NaN".utf8) { return (3, "null") }
        if rest.starts(with: "-NaN".utf8) { return (4, "null") }
        if rest.starts(with: "Infinity".utf8) { return (8, "9e999") }
        return nil
    }
}
