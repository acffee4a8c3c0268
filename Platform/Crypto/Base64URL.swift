/// Base64 in the alphabet of URLs, without padding (RFC 4648 5, RFC 7515 2).
package enum Base64URL {
    /// Returns the text of the bytes.
    package static func encode(_ bytes: [UInt8]) -> String {
        Base64.encode(bytes, alphabet: Base64.urlAlphabet, padded: false)
    }

    /// Returns the bytes of a text, or nil where it is not exactly what `encode` makes.
    ///
    /// Padding, other alphabets, white space and stray bits at the end are refused, so that no two texts of a
    /// token mean the same.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        Base64.decode(text.utf8, strict: true)
    }
}

/// Base64 with padding (RFC 4648 4).
package enum Base64 {
    static let standardAlphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    static let urlAlphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// Returns the padded text of the bytes.
    package static func encode(_ bytes: [UInt8]) -> String {
        encode(bytes, alphabet: standardAlphabet, padded: true)
    }

    /// Returns the bytes of a text, or nil where it holds anything else.
    ///
    /// For values that people write into settings: both alphabets, with or without padding, white space ignored.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        decode(text.utf8, strict: false)
    }

    /// Returns the bytes of a text, or nil where it is not exactly what `encode` makes.
    ///
    /// For values of users, which must not become other bytes by a mistake in them.
    package static func decodeExactly(_ text: some StringProtocol) -> [UInt8]? {
        guard text.utf8.count.isMultiple(of: 4), let bytes = decode(text),
            encode(bytes).utf8.elementsEqual(text.utf8)
        else { return nil }
        return bytes
    }

    static func encode(_ bytes: [UInt8], alphabet: [UInt8], padded: Bool) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        var index = 0
        while index < bytes.count {
            let part = min(3, bytes.count - index)
            var bits = UInt32(bytes[index]) << 16
            if part > 1 { bits |= UInt32(bytes[index + 1]) << 8 }
            if part > 2 { bits |= UInt32(bytes[index + 2]) }
            for digit in 0...part { text.append(alphabet[Int(bits >> (18 - 6 * UInt32(digit))) & 63]) }
            if padded { for _ in part..<3 { text.append(UInt8(ascii: "=")) } }
            index += 3
        }
        return String(decoding: text, as: UTF8.self)
    }

    static func decode(_ text: some Sequence<UInt8>, strict: Bool) -> [UInt8]? {
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var count: UInt32 = 0
        var padding = 0
        for character in text {
            if !strict {
                if character == 0x20 || (0x09...0x0D).contains(character) { continue }
                if character == UInt8(ascii: "=") {
                    padding += 1
                    continue
                }
                if padding > 0 { return nil }
            }
            guard let digit = digit(character, strict: strict) else { return nil }
            bits = bits << 6 | digit
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> count))
                bits &= 1 << count - 1
            }
        }
        // One digit alone carries no byte; what is left of the last digit must be zero in the strict form.
        if count == 6 || padding > 2 || (strict && bits != 0) { return nil }
        return bytes
    }

    private static func digit(_ character: UInt8, strict: Bool) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        case UInt8(ascii: "+"): strict ? nil : 62
        case UInt8(ascii: "/"): strict ? nil : 63
        default: nil
        }
    }
}

/// Bytes as pairs of lower-case hexadecimal digits.
package enum Hexadecimal {
    /// Returns the text of the bytes.
    package static func encode(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * 2)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
