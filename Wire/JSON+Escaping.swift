/// Escaping within string literals (service 4.4).
extension JSON {
    /// Appends a text as it stands within a JSON string literal: control characters as JavaScript writes them, all else
    /// literal.
    ///
    /// A text may be appended part by part, wherever it is cut.
    ///
    /// - Parameters:
    ///   - utf8: The text; what is not UTF-8 in it is taken over as it is.
    ///   - bytes: Where it goes.
    package static func appendEscaped(_ utf8: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
        var place = 0
        while place < utf8.count {
            let part = UnsafeRawBufferPointer(rebasing: utf8[place..<min(place + mostAtOnce, utf8.count)])
            if isPlain(part) {
                bytes.append(contentsOf: part.bindMemory(to: UInt8.self))
                place += part.count
                continue
            }
            let start = bytes.count
            bytes.append(contentsOf: zeros.prefix(usualRoom(part.count) + min(4 * part.count, mostLong)))
            let (read, written) = bytes.withUnsafeMutableBytes { bytes in
                escape(part, into: UnsafeMutableRawBufferPointer(rebasing: bytes[start...]))
            }
            bytes.removeLast(bytes.count - start - written)
            place += read
        }
    }

    /// So many bytes are escaped into room that is made for them at once.
    private static let mostAtOnce = 512
    /// The most room that is made for escapes of six bytes, of which there are few.
    private static let mostLong = 256
    /// Copied where room is made.
    private static let zeros = [UInt8](repeating: 0, count: usualRoom(mostAtOnce) + mostLong)

    /// Twice the length, and what a word is longer than the bytes that are kept of it.
    private static func usualRoom(_ count: Int) -> Int { 2 * count + 8 }

    /// Whether nothing is escaped, as in most texts, which are copied at once.
    private static func isPlain(_ text: UnsafeRawBufferPointer) -> Bool {
        var place = 0
        while place + 8 <= text.count {
            let word = UInt64(littleEndian: text.loadUnaligned(fromByteOffset: place, as: UInt64.self))
            guard specialBytes(word) == 0 else { return false }
            place += 8
        }
        while place < text.count {
            let byte = text[place]
            guard byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") else { return false }
            place += 1
        }
        return true
    }

    /// Escapes as much as there is room for, eight bytes at a time where nothing is special.
    ///
    /// - Parameters:
    ///   - text: What to escape.
    ///   - room: Where it goes: the usual room, and some for longer escapes.
    /// - Returns: How many bytes were read and written.
    private static func escape(
        _ text: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
    ) -> (read: Int, written: Int) {
        var read = 0
        var written = 0
        while read < text.count {
            if read + 8 <= text.count {
                let word = UInt64(
                    littleEndian: text.loadUnaligned(fromByteOffset: read, as: UInt64.self))
                room.storeBytes(of: word.littleEndian, toByteOffset: written, as: UInt64.self)
                let special = specialBytes(word)
                let plain = special == 0 ? 8 : special.trailingZeroBitCount / 8
                read += plain
                written += plain
                if special == 0 { continue }
            }
            let byte = text[read]
            if let letter = shortEscape(byte) {
                room[written] = UInt8(ascii: "\\")
                room[written + 1] = letter
                written += 2
            } else if byte < 0x20 {
                let rest = text.count - read - 1
                guard written + 6 + usualRoom(rest) <= room.count else { return (read, written) }
                let digits = (byte >> 4, byte & 15)
                let sequence = (
                    UInt8(ascii: "\\"), UInt8(ascii: "u"), UInt8(ascii: "0"), UInt8(ascii: "0"),
                    hexadecimal(digits.0), hexadecimal(digits.1)
                )
                withUnsafeBytes(of: sequence) {
                    UnsafeMutableRawBufferPointer(rebasing: room[written..<written + 6]).copyMemory(from: $0)
                }
                written += 6
            } else {
                room[written] = byte
                written += 1
            }
            read += 1
        }
        return (read, written)
    }

    private static func hexadecimal(_ digit: UInt8) -> UInt8 {
        digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
    }

    /// The bytes of a word that are escaped: the lowest bit that is set is the top bit of the first of them.
    ///
    /// A borrow goes from a byte that is special to the ones above it alone, which may seem so then.
    private static func specialBytes(_ word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quotes = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
        let slashes = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
        // Below 32; and 0, which the one byte that is looked for has become.
        let controls = (word &- ones &* 0x20) & ~word
        let quoteMarks = (quotes &- ones) & ~quotes
        let slashMarks = (slashes &- ones) & ~slashes
        return (controls | quoteMarks | slashMarks) & UTF8Check.highBits
    }

    /// What follows the backslash in an escape of two bytes; nil where there is none.
    private static func shortEscape(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "\""): UInt8(ascii: "\"")
        case UInt8(ascii: "\\"): UInt8(ascii: "\\")
        case 0x08: UInt8(ascii: "b")
        case 0x09: UInt8(ascii: "t")
        case 0x0A: UInt8(ascii: "n")
        case 0x0C: UInt8(ascii: "f")
        case 0x0D: UInt8(ascii: "r")
        default: nil
        }
    }
}
