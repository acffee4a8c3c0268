/// A comparison of two values (service 6.12).
package enum Comparison: String, Sendable, CaseIterable {
    /// Same value.
    case equal = "="
    /// Other value; edition 3 has NOT of `=` in its place, which differs for NULL.
    case notEqual = "!="
    /// Left before right.
    case less = "<"
    /// Left before right, or same.
    case lessOrEqual = "<="
    /// Left behind right.
    case greater = ">"
    /// Left behind right, or same.
    case greaterOrEqual = ">="

    /// Whether it holds for values in this order.
    package func holds(_ order: ScalarOrder) -> Bool {
        switch self {
        case .equal: order == .same
        case .notEqual: order != .same
        case .less: order == .before
        case .lessOrEqual: order != .behind && order != .incomparable
        case .greater: order == .behind
        case .greaterOrEqual: order != .before && order != .incomparable
        }
    }
}
