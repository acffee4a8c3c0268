/// Random numbers that a seed repeats (SplitMix64).
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    /// Neighbouring seeds share nothing: the state is far from the next seed's.
    init(seed: Int) {
        state = UInt64(bitPattern: Int64(seed))
        state = next() ^ 0xD1B5_4A32_D192_ED03
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to `bound` - 1.
    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    /// Returns true once in so many times.
    mutating func once(in count: Int) -> Bool { below(count) == 0 }

    /// Returns one of the elements.
    mutating func pick<T>(_ elements: [T]) -> T { elements[below(elements.count)] }

    /// Returns one of the elements as often as its weight says.
    mutating func pick<T>(weighted elements: [(Int, T)]) -> T {
        var left = below(elements.reduce(0) { $0 + $1.0 })
        for (weight, element) in elements {
            if left < weight { return element }
            left -= weight
        }
        return elements[elements.count - 1].1
    }
}
