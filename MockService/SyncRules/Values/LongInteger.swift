import PowerSyncWire

/// An integer of any size to compute with: limbs of nine decimal digits, the lowest one first.
struct LongInteger {
    /// How many digits an integer may have, its sign included: products cost the square of them.
    static let digitLimit = 10_000

    /// What is thrown for an integer of more digits.
    static var tooLarge: EvaluationError {
        EvaluationError(message: "An integer has more than \(digitLimit) digits.")
    }

    private static let base: UInt64 = 1_000_000_000

    private let isNegative: Bool
    /// No limb for 0; the highest one is not 0.
    private let limbs: [UInt64]

    private init(isNegative: Bool, limbs: [UInt64]) {
        var limbs = limbs
        while limbs.last == 0 { limbs.removeLast() }
        self.isNegative = isNegative && !limbs.isEmpty
        self.limbs = limbs
    }

    /// Takes an integer of SQL over; nil for any other value.
    init?(_ value: ScalarValue) {
        switch value {
        case .integer(let integer):
            var limbs: [UInt64] = []
            var rest = integer.magnitude
            while rest > 0 {
                limbs.append(rest % Self.base)
                rest /= Self.base
            }
            self.init(isNegative: integer < 0, limbs: limbs)
        case .wide(let integer):
            let digits = Array(integer.digits.text.utf8.drop { $0 == UInt8(ascii: "-") })
            var limbs: [UInt64] = []
            var end = digits.count
            while end > 0 {
                let start = max(0, end - 9)
                limbs.append(digits[start..<end].reduce(0) { $0 * 10 + UInt64($1 - UInt8(ascii: "0")) })
                end = start
            }
            self.init(isNegative: integer.isNegative, limbs: limbs)
        case .null, .real, .text, .blob: return nil
        }
    }

    /// The integer as a value of SQL.
    ///
    /// - Throws: `EvaluationError` if it has too many digits.
    var scalar: ScalarValue {
        get throws(EvaluationError) {
            guard limbs.count * 9 <= Self.digitLimit + 8 else { throw Self.tooLarge }
            var text = isNegative ? "-" : ""
            for (index, limb) in limbs.reversed().enumerated() {
                let digits = String(limb)
                if index > 0 { text += String(repeating: "0", count: 9 - digits.utf8.count) }
                text += digits
            }
            guard text.utf8.count <= Self.digitLimit else { throw Self.tooLarge }
            // 0 has no limb.
            return ScalarValue(digits: text) ?? .integer(0)
        }
    }

    /// The same integer with the other sign.
    static prefix func - (value: LongInteger) -> LongInteger {
        LongInteger(isNegative: !value.isNegative, limbs: value.limbs)
    }

    /// The sum.
    static func + (left: LongInteger, right: LongInteger) -> LongInteger {
        if left.isNegative == right.isNegative {
            return LongInteger(isNegative: left.isNegative, limbs: sum(left.limbs, right.limbs))
        }
        // The larger magnitude has the sign.
        return isBelow(left.limbs, right.limbs)
            ? LongInteger(isNegative: right.isNegative, limbs: difference(right.limbs, left.limbs))
            : LongInteger(isNegative: left.isNegative, limbs: difference(left.limbs, right.limbs))
    }

    /// The difference.
    static func - (left: LongInteger, right: LongInteger) -> LongInteger { left + -right }

    /// The product.
    static func * (left: LongInteger, right: LongInteger) -> LongInteger {
        var limbs = [UInt64](repeating: 0, count: left.limbs.count + right.limbs.count)
        for (low, one) in left.limbs.enumerated() {
            var carry: UInt64 = 0
            for (high, other) in right.limbs.enumerated() {
                let value = limbs[low + high] + one * other + carry
                limbs[low + high] = value % base
                carry = value / base
            }
            limbs[low + right.limbs.count] += carry
        }
        return LongInteger(isNegative: left.isNegative != right.isNegative, limbs: limbs)
    }

    /// Whether a product is sure to have too many digits; it costs the product of both lengths.
    func isTooLarge(times other: LongInteger) -> Bool {
        9 * (limbs.count + other.limbs.count - 2) >= Self.digitLimit
    }

    /// The quotient without what is behind its point; nil if the divisor is 0.
    func divided(by divisor: LongInteger) -> LongInteger? {
        guard let highest = divisor.limbs.last else { return nil }
        if Self.isBelow(limbs, divisor.limbs) { return LongInteger(isNegative: false, limbs: []) }
        let quotient =
            divisor.limbs.count == 1
            ? Self.quotient(limbs, by: highest)
            : Self.quotient(limbs, by: divisor.limbs, highest: highest)
        return LongInteger(isNegative: isNegative != divisor.isNegative, limbs: quotient)
    }
}

/// Arithmetic of magnitudes.
extension LongInteger {
    private static func isBelow(_ left: [UInt64], _ right: [UInt64]) -> Bool {
        left.count == right.count
            ? left.reversed().lexicographicallyPrecedes(right.reversed()) : left.count < right.count
    }

    private static func sum(_ left: [UInt64], _ right: [UInt64]) -> [UInt64] {
        var limbs: [UInt64] = []
        var carry: UInt64 = 0
        for index in 0..<max(left.count, right.count) {
            let one = index < left.count ? left[index] : 0
            let other = index < right.count ? right[index] : 0
            let value = one + other + carry
            limbs.append(value % base)
            carry = value / base
        }
        return limbs + [carry]
    }

    /// The left one is not below the right one.
    private static func difference(_ left: [UInt64], _ right: [UInt64]) -> [UInt64] {
        var limbs = left
        var borrow: UInt64 = 0
        for index in limbs.indices {
            let taken = (index < right.count ? right[index] : 0) + borrow
            borrow = limbs[index] < taken ? 1 : 0
            limbs[index] = limbs[index] + borrow * base - taken
        }
        return limbs
    }

    private static func product(_ left: [UInt64], _ factor: UInt64) -> [UInt64] {
        var limbs: [UInt64] = []
        var carry: UInt64 = 0
        for limb in left {
            let value = limb * factor + carry
            limbs.append(value % base)
            carry = value / base
        }
        return limbs + [carry]
    }

    private static func quotient(_ left: [UInt64], by divisor: UInt64) -> [UInt64] {
        var limbs = left
        var rest: UInt64 = 0
        for index in limbs.indices.reversed() {
            let value = rest * base + limbs[index]
            limbs[index] = value / divisor
            rest = value % divisor
        }
        return limbs
    }

    /// Long division (Knuth, The Art of Computer Programming 4.3.1, algorithm D) by two limbs or more.
    private static func quotient(_ left: [UInt64], by right: [UInt64], highest: UInt64) -> [UInt64] {
        let scale = base / (highest + 1)
        var rest = product(left, scale)
        let divisor = Array(product(right, scale).prefix(right.count))
        let count = divisor.count
        let (top, second) = (divisor[count - 1], divisor[count - 2])
        var limbs = [UInt64](repeating: 0, count: left.count - count + 1)
        for index in limbs.indices.reversed() {
            let head = rest[index + count] * base + rest[index + count - 1]
            var (guess, remainder) = (head / top, head % top)
            while guess >= base || guess * second > remainder * base + rest[index + count - 2] {
                guess -= 1
                remainder += top
                if remainder >= base { break }
            }
            if subtract(guess, of: divisor, from: &rest, at: index) {
                guess -= 1
                add(divisor, to: &rest, at: index)
            }
            limbs[index] = guess
        }
        return limbs
    }

    /// Takes a multiple of the divisor away; returns whether that was one too many.
    private static func subtract(
        _ factor: UInt64, of divisor: [UInt64], from rest: inout [UInt64], at start: Int
    ) -> Bool {
        var (carry, borrow): (UInt64, UInt64) = (0, 0)
        for index in 0...divisor.count {
            let value = (index < divisor.count ? factor * divisor[index] : 0) + carry
            carry = value / base
            let taken = value % base + borrow
            borrow = rest[start + index] < taken ? 1 : 0
            rest[start + index] = rest[start + index] + borrow * base - taken
        }
        return borrow == 1
    }

    private static func add(_ divisor: [UInt64], to rest: inout [UInt64], at start: Int) {
        var carry: UInt64 = 0
        for index in divisor.indices {
            let value = rest[start + index] + divisor[index] + carry
            rest[start + index] = value % base
            carry = value / base
        }
        rest[start + divisor.count] = (rest[start + divisor.count] + carry) % base
    }
}
