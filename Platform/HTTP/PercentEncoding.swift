/// Percent-encoding of paths and queries (RFC 3986 2.1).
package enum PercentEncoding {
    /// Decodes text; nil when an escape is broken or the bytes are not UTF-8.
    package static func decode(_ text: some StringProtocol) -> String? {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
        guard let bytes = bytes(of: text.utf8, isForm: false, isStrict: true) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Decodes "name=value" pairs separated by "&", where "+" is a space.
    ///
    /// Broken escapes stay as they are and broken UTF-8 is replaced, as the WHATWG URL standard 5.1 has it.
    package static func decodeForm(_ text: some StringProtocol) -> [(name: String, value: String)] {
        text.utf8.split(separator: UInt8(ascii: "&")).map { pair in
            let mark = pair.firstIndex(of: UInt8(ascii: "="))
            let value = mark.map { pair[pair.index(after: $0)...] }
            return (decodeLenient(pair[..<(mark ?? pair.endIndex)]), value.map(decodeLenient) ?? "")
        }
    }

    /// Encodes everything but the unreserved characters, so that the result fits into any part of a URL.
    package static func encode(_ text: some StringProtocol) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var result: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                result.append(byte)
            default:
                result += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func decodeLenient<S: Sequence<UInt8>>(_ text: S) -> String {
        String(decoding: bytes(of: text, isForm: true, isStrict: false) ?? [], as: UTF8.self)
    }

    private static func bytes(of text: some Sequence<UInt8>, isForm: Bool, isStrict: Bool) -> [UInt8]? {
        let text = Array(text)
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var index = 0
        while index < text.count {
            let byte = text[index]
            index += 1
            if byte == UInt8(ascii: "+"), isForm {
                result.append(UInt8(ascii: " "))
            } else if byte != UInt8(ascii: "%") {
                result.append(byte)
            } else if index + 1 < text.count, let high = hexValue(text[index]),
                let low = hexValue(text[index + 1])
            {
                result.append(high << 4 | low)
                index += 2
            } else if isStrict {
                return nil
            } else {
                result.append(byte)
            }
        }
        return result
    }
}

/// Returns the value of a hexadecimal digit.
func hexValue(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
}
