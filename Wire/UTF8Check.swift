/// Tells whether bytes are UTF-8 (RFC 3629): no overlong form, no surrogate, nothing above U+10FFFF.
///
/// The standard library checks bytes only while it makes a `String` of them.
package enum UTF8Check {
    /// The highest bit of each of eight bytes; none is set in ASCII.
    static let highBits: UInt64 = 0x8080_8080_8080_8080

    /// Whether all bytes are well-formed UTF-8.
    package static func isValid(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let raw = UnsafeRawBufferPointer(bytes)
        var index = 0
        while index < bytes.count {
            while index + 8 <= bytes.count,
                raw.loadUnaligned(fromByteOffset: index, as: UInt64.self) & highBits == 0
            { index += 8 }
            guard index < bytes.count else { return true }
            let lead = bytes[index]
            index += 1
            guard lead >= 0x80 else { continue }
            // The range of the second byte is what excludes the forms above (RFC 3629, section 4).
            let following: (count: Int, second: ClosedRange<UInt8>)
            switch lead {
            case 0xC2...0xDF: following = (1, 0x80...0xBF)
            case 0xE0: following = (2, 0xA0...0xBF)
            case 0xED: following = (2, 0x80...0x9F)
            case 0xE1...0xEF: following = (2, 0x80...0xBF)
            case 0xF0: following = (3, 0x90...0xBF)
            case 0xF1...0xF3: following = (3, 0x80...0xBF)
            case 0xF4: following = (3, 0x80...0x8F)
            default: return false
            }
            guard index + following.count <= bytes.count, following.second.contains(bytes[index]) else {
                return false
            }
            for offset in 1..<following.count {
                guard bytes[index + offset] & 0xC0 == 0x80 else { return false }
            }
            index += following.count
        }
        return true
    }
}
