import PowerSyncWire

/// How two values relate in the default engine (service 6.12).
package enum ScalarOrder: Sendable, Hashable {
    /// The left one comes first.
    case before
    /// They are equal.
    case same
    /// The right one comes first.
    case behind
    /// One of them is not a number.
    case incomparable

    /// Compares without affinity: numbers before texts before blobs.
    ///
    /// - Parameters:
    ///   - left: One value.
    ///   - right: Another one.
    /// - Returns: How they relate; nil if one is NULL.
    /// - Throws: `EvaluationError` for two blobs.
    package static func compare(
        _ left: ScalarValue, _ right: ScalarValue
    ) throws(EvaluationError) -> ScalarOrder? {
        switch (left, right) {
        case (.null, _), (_, .null): return nil
        case (.integer(let left), .integer(let right)): return order(left, right)
        case (.integer(let left), .real(let right)): return order(left, right)
        case (.real(let left), .integer(let right)): return order(right, left).reversed
        case (.real(let left), .real(let right)): return order(left, right)
        case (.wide(let left), .wide(let right)): return order(left, right)
        case (.wide(let left), .integer): return left.isNegative ? .before : .behind
        case (.integer, .wide(let right)): return right.isNegative ? .behind : .before
        case (.wide(let left), .real(let right)): return order(left, right)
        case (.real(let left), .wide(let right)): return order(right, left).reversed
        case (.text(let left), .text(let right)): return order(texts: left, right)
        case (.blob, .blob): throw EvaluationError(message: "Blobs cannot be compared.")
        default: return order(rank(left), rank(right))
        }
    }

    private var reversed: ScalarOrder {
        switch self {
        case .before: .behind
        case .behind: .before
        case .same, .incomparable: self
        }
    }

    private static func rank(_ value: ScalarValue) -> Int {
        switch value {
        case .null: 0
        case .integer, .wide, .real: 1
        case .text: 2
        case .blob: 3
        }
    }

    private static func order<Value: Comparable>(_ left: Value, _ right: Value) -> ScalarOrder {
        left < right ? .before : left == right ? .same : left > right ? .behind : .incomparable
    }

    /// Exact where the integer has no double of its own.
    private static func order(_ left: Int64, _ right: Double) -> ScalarOrder {
        if right.isNaN { return .incomparable }
        if right >= 0x1p63 { return .before }
        if right < -0x1p63 { return .behind }
        let whole = right.rounded(.down)
        let coarse = order(left, Int64(whole))
        return coarse == .same && whole < right ? .before : coarse
    }

    /// Exact: a double beyond 64 bits is an integer, of which all digits are compared.
    private static func order(_ left: WideInteger, _ right: Double) -> ScalarOrder {
        if right.isNaN { return .incomparable }
        guard abs(right) >= 0x1p63, right.isFinite, let other = WideInteger(wholeNumber: right) else {
            // What is nearer to 0 than any wide integer, or farther than all of them.
            if right.isInfinite { return right > 0 ? .before : .behind }
            return left.isNegative ? .before : .behind
        }
        return order(left, other)
    }

    private static func order(texts left: ExactText, _ right: ExactText) -> ScalarOrder {
        if left == right { return .same }
        return left.text.utf16.lexicographicallyPrecedes(right.text.utf16) ? .before : .behind
    }
}
