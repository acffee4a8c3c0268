/// A text of a line where it stands in the buffer, checked to be UTF-8.
///
/// It is compared with names and turned into numbers without becoming a `String`, and must not outlive the buffer.
struct ScannedText {
    private let bytes: UnsafeBufferPointer<UInt8>
    /// The text where it had escapes, so that its bytes in the buffer are not its own.
    private let unescaped: String?

    /// Names bytes that are the text.
    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
        unescaped = nil
    }

    /// Takes a text that had escapes.
    init(unescaped: String) {
        bytes = UnsafeBufferPointer(start: nil, count: 0)
        self.unescaped = unescaped
    }

    /// How many bytes the text has, unescaped.
    var count: Int { unescaped?.utf8.count ?? bytes.count }

    /// At least as many values and lists as a text has that spells JSON or an array of Postgres; 0 for other texts.
    var mostValues: Int {
        guard var unescaped else { return Self.mostValues(of: bytes) }
        return unescaped.withUTF8(Self.mostValues)
    }

    private static func mostValues(of bytes: UnsafeBufferPointer<UInt8>) -> Int {
        guard let first = bytes.first(where: { $0 != 0x20 && !(0x09...0x0D).contains($0) }),
            first == UInt8(ascii: "[") || first == UInt8(ascii: "{")
        else { return 0 }
        // Each begins behind one of these.
        var count = 0
        for byte in bytes {
            switch byte {
            case UInt8(ascii: ","), UInt8(ascii: "["), UInt8(ascii: "{"), UInt8(ascii: ":"): count += 1
            default: break
            }
        }
        return count
    }

    /// The text by itself.
    var string: String { unescaped ?? String(decoding: bytes, as: UTF8.self) }

    /// The signed 64-bit number that the text spells in decimal; nil if it spells none.
    var int64: Int64? {
        // Eighteen digits cannot overflow; what is signed or longer is rare.
        guard unescaped == nil, !bytes.isEmpty, bytes.count <= 18 else { return Int64(string) }
        var number: Int64 = 0
        for byte in bytes {
            let digit = byte &- UInt8(ascii: "0")
            guard digit < 10 else { return Int64(string) }
            number = number &* 10 &+ Int64(digit)
        }
        return number
    }

    /// Whether the text is that name, so that `switch` takes names as cases.
    @inline(__always)
    static func ~= (name: StaticString, text: ScannedText) -> Bool {
        guard text.unescaped == nil else { return text.unescaped == name.description }
        return text.bytes.count == name.utf8CodeUnitCount && text.hasBytes(name)
    }

    private func hasBytes(_ name: StaticString) -> Bool {
        for index in bytes.indices where bytes[index] != name.utf8Start[index] { return false }
        return true
    }
}
