/// The row JSON that the service sends, made fit for SQLite.
package enum RowJSON {
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

    /// `NaN` and `Infinity` hold a letter that valid JSON has only within strings.
    private static func mayHoldBareWord(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        bytes.contains(UInt8(ascii: "N")) || bytes.contains(UInt8(ascii: "I"))
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
