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
        let digits = Array(hexadecimal() + hexadecimal())
        let part = { (range: Range<Int>) in String(digits[range]) }
        return "\(part(0..<8))-\(part(8..<12))-4\(part(13..<16))-8\(part(17..<20))-\(part(20..<32))"
    }
}
