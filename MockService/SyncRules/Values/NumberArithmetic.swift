/// Arithmetic of the default engine (service 6.12).
enum NumberArithmetic {
    /// The result of an operator on two values, each taken for the number that it begins with.
    ///
    /// - Returns: An integer, without an end, of two integers; a double if one is a double; NULL if one is NULL, and for a
    ///   divisor of 0.
    /// - Throws: `EvaluationError` for an operator that the default engine lacks, and for too many digits.
    static func value(
        _ arithmetic: Arithmetic, _ left: ScalarValue, _ right: ScalarValue
    ) throws(EvaluationError) -> ScalarValue {
        switch arithmetic {
        case .add, .subtract, .multiply, .divide: break
        case .remainder, .bitAnd, .bitOr, .shiftLeft, .shiftRight:
            throw EvaluationError(message: "Operator not supported: \(arithmetic.rawValue)")
        }
        let (left, right) = (try left.cast(to: .numeric), try right.cast(to: .numeric))
        if left.isNull || right.isNull { return .null }
        if case .integer(let left) = left, case .integer(let right) = right,
            let result = value(arithmetic, left, right)
        {
            return result
        }
        guard let one = LongInteger(left), let other = LongInteger(right) else {
            return value(arithmetic, left.double, right.double)
        }
        switch arithmetic {
        case .add: return try (one + other).scalar
        case .subtract: return try (one - other).scalar
        case .multiply:
            if one.isTooLarge(times: other) { throw LongInteger.tooLarge }
            return try (one * other).scalar
        default: return try one.divided(by: other)?.scalar ?? .null
        }
    }

    /// The result within 64 bits; nil if it is beyond.
    private static func value(_ arithmetic: Arithmetic, _ left: Int64, _ right: Int64) -> ScalarValue? {
        let (result, isBeyond) =
            switch arithmetic {
            case .add: left.addingReportingOverflow(right)
            case .subtract: left.subtractingReportingOverflow(right)
            case .multiply: left.multipliedReportingOverflow(by: right)
            // A divisor of 0 is left to those who know what it comes to.
            default: left.dividedReportingOverflow(by: right)
            }
        return isBeyond ? nil : .integer(result)
    }

    private static func value(_ arithmetic: Arithmetic, _ left: Double, _ right: Double) -> ScalarValue {
        switch arithmetic {
        case .add: .real(left + right)
        case .subtract: .real(left - right)
        case .multiply: .real(left * right)
        default: right == 0 ? .null : .real(left / right)
        }
    }
}

extension ScalarValue {
    /// The nearest double of a number; 0 for what is none.
    fileprivate var double: Double {
        switch self {
        case .integer(let integer): Double(integer)
        case .wide(let integer): integer.real
        case .real(let real): real
        case .null, .text, .blob: 0
        }
    }
}
