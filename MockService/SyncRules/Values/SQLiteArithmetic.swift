/// Operators on numbers as SQLite has them.
enum SQLiteArithmetic {
    /// The result of an operator; NULL if a side is NULL, for a divisor of 0, and for what is not a number.
    static func value(_ arithmetic: Arithmetic, _ left: ScalarValue, _ right: ScalarValue) -> ScalarValue {
        if left.isNull || right.isNull { return .null }
        switch arithmetic {
        case .bitAnd: return .integer(left.sqliteInteger & right.sqliteInteger)
        case .bitOr: return .integer(left.sqliteInteger | right.sqliteInteger)
        // Smart shifts take any count; a negative one shifts the other way.
        case .shiftLeft: return .integer(left.sqliteInteger << right.sqliteInteger)
        case .shiftRight: return .integer(left.sqliteInteger >> right.sqliteInteger)
        case .add, .subtract, .multiply, .divide, .remainder: break
        }
        let (one, other) = (left.sqliteOperand, right.sqliteOperand)
        if case .integer(let one) = one, case .integer(let other) = other {
            if other == 0, arithmetic == .divide || arithmetic == .remainder { return .null }
            if let result = integer(arithmetic, one, other) { return .integer(result) }
        }
        guard arithmetic == .remainder else { return real(arithmetic, one, other).sqlite }
        // That of the integers, which a text with an exponent has other ones of than an operand.
        guard let rest = integer(.remainder, left.sqliteInteger, right.sqliteInteger) else { return .null }
        return .real(Double(rest))
    }

    /// The result within 64 bits; nil if it is beyond.
    private static func integer(_ arithmetic: Arithmetic, _ left: Int64, _ right: Int64) -> Int64? {
        let (result, isBeyond) =
            switch arithmetic {
            case .add: left.addingReportingOverflow(right)
            case .subtract: left.subtractingReportingOverflow(right)
            case .multiply: left.multipliedReportingOverflow(by: right)
            case .divide: left.dividedReportingOverflow(by: right)
            default: left.remainderReportingOverflow(dividingBy: right)
            }
        // Nothing is left of a division by -1.
        if arithmetic == .remainder, right == -1 { return 0 }
        return isBeyond ? nil : result
    }

    private static func real(
        _ arithmetic: Arithmetic, _ left: ScalarValue, _ right: ScalarValue
    ) -> ScalarValue {
        switch arithmetic {
        case .add: return .real(left.sqliteReal + right.sqliteReal)
        case .subtract: return .real(left.sqliteReal - right.sqliteReal)
        case .multiply: return .real(left.sqliteReal * right.sqliteReal)
        default: return right.sqliteReal == 0 ? .null : .real(left.sqliteReal / right.sqliteReal)
        }
    }
}
