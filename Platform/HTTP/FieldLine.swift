/// One header or trailer line (RFC 9112 5).
enum FieldLine {
    /// Reads a line without its line end.
    ///
    /// - Throws: For a folded line, a name that is no token or is followed by space, and for control characters.
    static func parse(_ line: ArraySlice<UInt8>) throws(HTTPError) -> (name: String, value: String) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else {
            throw HTTPError(.malformed, "a field line has no name")
        }
        // Also refuses a line that starts with space, which would continue the one before it (5.2).
        guard line[..<colon].allSatisfy(isToken) else {
            throw HTTPError(.malformed, "a field name is no token")
        }
        let value = trimmed(line[(colon + 1)...])
        guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == UInt8(ascii: "\t") }) else {
            throw HTTPError(.malformed, "a field value holds a control character")
        }
        // Bytes above ASCII have no agreed meaning (RFC 9110 5.5): what is no UTF-8 becomes U+FFFD, and no other text.
        return (String(decoding: line[..<colon], as: UTF8.self), String(decoding: value, as: UTF8.self))
    }

    /// Leaves out the blanks around a value (RFC 9110 5.6.3).
    static func trimmed<Bytes: BidirectionalCollection<UInt8>>(_ bytes: Bytes) -> Bytes
    where Bytes.SubSequence == Bytes {
        var bytes = bytes
        while let first = bytes.first, isBlank(first) { bytes = bytes.dropFirst() }
        while let last = bytes.last, isBlank(last) { bytes = bytes.dropLast() }
        return bytes
    }

    static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    /// RFC 9110 5.6.2.
    static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
            UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"),
            UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "^"), UInt8(ascii: "`"),
            UInt8(ascii: "|"), UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
