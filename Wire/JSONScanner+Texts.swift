/// Strings of JSON, checked and unescaped eight bytes at a time.
extension JSONScanner {
    /// Reads a string; without escapes it stays where it is.
    mutating func scannedText() throws(WireError) -> ScannedText {
        skipSpace()
        try pass("\"")
        let start = position
        var seen: UInt64 = 0
        passPlain(&seen) { (_, _) in }
        guard current == UInt8(ascii: "\"") else { return try escapedText(from: start) }
        let text = UnsafeBufferPointer(rebasing: bytes[start..<position])
        position += 1
        guard seen & UTF8Check.highBits == 0 || UTF8Check.isValid(text) else { throw notUTF8() }
        return ScannedText(text)
    }

    /// Reads a string and copies it, unescaped, behind what the writer holds.
    ///
    /// The buffer of the writer has room for as many bytes as are left to read.
    mutating func text(into writer: inout TextWriter) throws(WireError) -> OperationList.Text {
        skipSpace()
        try pass("\"")
        let start = writer.count
        var seen: UInt64 = 0
        while true {
            passPlain(&seen) { (word, count) in writer.append(word, keeping: count) }
            guard let byte = current else { throw malformed("the end of a text") }
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                guard seen & UTF8Check.highBits == 0 || UTF8Check.isValid(writer.written(from: start)) else {
                    throw notUTF8()
                }
                return OperationList.Text(offset: start, count: writer.count - start)
            case UInt8(ascii: "\\"):
                position += 1
                try unescape(into: &writer)
            case 0..<0x20: throw malformed("no control character in a text")
            default:
                // One of the last seven bytes of the line.
                seen |= UInt64(byte)
                writer.append(byte)
                position += 1
            }
        }
    }

    /// Passes bytes that stand for themselves, in words, up to one that does not or the last seven of the buffer.
    ///
    /// - Parameters:
    ///   - seen: takes in all passed bytes, so that it tells whether they are ASCII.
    ///   - word: is given eight bytes and how many of them are passed.
    @inline(__always)
    private mutating func passPlain(_ seen: inout UInt64, _ word: (UInt64, Int) -> Void) {
        let raw = UnsafeRawBufferPointer(bytes)
        // Local copies stay in registers.
        var index = position
        var passed = seen
        while index + 8 <= raw.count {
            let loaded = UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            let special = Self.specialBytes(loaded)
            if special == 0 {
                word(loaded, 8)
                passed |= loaded
                index += 8
                continue
            }
            let count = special.trailingZeroBitCount >> 3
            word(loaded, count)
            passed |= loaded & ((1 << (UInt64(count) << 3)) - 1)
            index += count
            break
        }
        position = index
        seen = passed
    }

    /// Returns a word whose lowest set bit is the highest bit of the first quote, backslash or control character.
    ///
    /// A byte is below n if subtracting n from it borrows and its highest bit is clear; a borrow disturbs only bytes
    /// above the first hit.
    @inline(__always)
    private static func specialBytes(_ word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quote = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
        let backslash = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
        let hits =
            ((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash)
            | ((word &- ones &* 0x20) & ~word)
        return hits & UTF8Check.highBits
    }

    private func notUTF8() -> WireError {
        WireError(.malformedJSON, "a text ending at byte \(position) is not UTF-8")
    }

    /// The rare way, for a text on its own that has escapes or stands among the last bytes.
    private mutating func escapedText(from start: Int) throws(WireError) -> ScannedText {
        position = start - 1
        var end = start
        while end < bytes.count, bytes[end] != UInt8(ascii: "\"") {
            end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1
        }
        // Eight bytes are written at once, of which less may count.
        let room = min(end, bytes.count) - start + 8
        var failure: WireError?
        let text = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
            var writer = TextWriter(buffer)
            do throws(WireError) { _ = try self.text(into: &writer) } catch { failure = error }
            count = writer.count
        }
        if let failure { throw failure }
        return ScannedText(unescaped: String(decoding: text, as: UTF8.self))
    }

    private mutating func unescape(into writer: inout TextWriter) throws(WireError) {
        guard let byte = current else { throw malformed("an escape") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): writer.append(byte)
        case UInt8(ascii: "b"): writer.append(0x08)
        case UInt8(ascii: "f"): writer.append(0x0C)
        case UInt8(ascii: "n"): writer.append(0x0A)
        case UInt8(ascii: "r"): writer.append(0x0D)
        case UInt8(ascii: "t"): writer.append(0x09)
        case UInt8(ascii: "u"):
            let unit = try hexadecimal()
            guard (0xD800..<0xE000).contains(unit) else { return append(unit, to: &writer) }
            if unit < 0xDC00, let low = try secondHalf() {
                append(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00), to: &writer)
            } else if limits.replacesHalfCharacters {
                append(0xFFFD, to: &writer)
            } else {
                throw malformed(unit < 0xDC00 ? "the second half of a surrogate pair" : "no lone surrogate")
            }
        default: throw malformed("an escape")
        }
    }

    /// Passes the second half of a surrogate pair if it is next; nil, passing nothing, for anything else.
    private mutating func secondHalf() throws(WireError) -> UInt32? {
        let start = position
        guard start + 1 < bytes.count, bytes[start] == UInt8(ascii: "\\"),
            bytes[start + 1] == UInt8(ascii: "u")
        else { return nil }
        position += 2
        let unit = try hexadecimal()
        if (0xDC00..<0xE000).contains(unit) { return unit }
        position = start
        return nil
    }

    private func append(_ scalar: UInt32, to writer: inout TextWriter) {
        // Every caller has excluded surrogates and values above 0x10FFFF.
        guard let scalar = Unicode.Scalar(scalar), let encoded = UTF8.encode(scalar) else { return }
        for byte in encoded { writer.append(byte) }
    }

    private mutating func hexadecimal() throws(WireError) -> UInt32 {
        guard position + 4 <= bytes.count else { throw malformed("four hexadecimal digits") }
        var value: UInt32 = 0
        for byte in bytes[position..<position + 4] {
            let digit: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - UInt8(ascii: "A") + 10
            default: throw malformed("four hexadecimal digits")
            }
            value = value << 4 | UInt32(digit)
        }
        position += 4
        return value
    }
}
