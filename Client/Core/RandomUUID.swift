/// Random ids of version 4 (RFC 9562), lower case with hyphens.
package enum RandomUUID {
    /// Returns an id from the system's secure generator.
    package static func next() -> String {
        var generator = SystemRandomNumberGenerator()
        return make(high: generator.next(), low: generator.next())
    }

    /// Returns the id with these random bits; six of them give way to version and variant.
    package static func make(high: UInt64, low: UInt64) -> String {
        let high = high & ~0xf000 | 0x4000
        let low = low & ~(0b11 << 62) | 0b10 << 62
        var text: [UInt8] = []
        text.reserveCapacity(36)
        for (index, word) in [high, low].enumerated() {
            for nibble in 0..<16 {
                let position = index * 16 + nibble
                if position == 8 || position == 12 || position == 16 || position == 20 {
                    text.append(UInt8(ascii: "-"))
                }
                let digit = UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * nibble)) & 0xf
                text.append(digit < 10 ? 0x30 + digit : 0x57 + digit)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
