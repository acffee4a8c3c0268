/// A small seeded generator (SplitMix64): the same rows at every run.
struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns sixteen hexadecimal digits.
    mutating func hexadecimal() -> String {
        let digits = String(next(), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Returns a random UUID (version 4).
    mutating func uuid() -> String {
        var (high, low) = (next(), next())
        high = high & ~0xF000 | 0x4000
        low = low & ~(3 << 62) | 2 << 62
        return String(unsafeUninitializedCapacity: 36) { buffer in
            for (place, nibble) in Self.places.enumerated() {
                guard nibble >= 0 else {
                    buffer[place] = UInt8(ascii: "-")
                    continue
                }
                let word = nibble < 16 ? high >> UInt64(60 - 4 * nibble) : low >> UInt64(124 - 4 * nibble)
                let digit = UInt8(truncatingIfNeeded: word & 0xF)
                buffer[place] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit
            }
            return 36
        }
    }

    /// Which of 32 digits stands where; -1 for a hyphen.
    private static let places =
        Array(0..<8) + [-1] + Array(8..<12) + [-1] + Array(12..<16) + [-1] + Array(16..<20) + [-1]
        + Array(20..<32)
}
