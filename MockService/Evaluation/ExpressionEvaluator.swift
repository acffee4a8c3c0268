import PowerSyncSQLite
import PowerSyncWire

/// An expression that has no value for this row or request; the row or subscription is left out.
package struct EvaluationError: Error, Sendable, Equatable {
    /// What cannot be computed; holds no values.
    package let message: String
}

/// Computes expressions as the default engine of the real service does (service 6.12).
package struct ExpressionEvaluator {
    /// Gives the value of a column; NULL if the row has none of that name.
    let column: (String) -> SQLiteValue
    /// Gives a value of the request.
    let parameter: (RequestParameter) -> SQLiteValue

    /// Evaluates with a request.
    package static func request(_ request: RequestValues) -> ExpressionEvaluator {
        ExpressionEvaluator(column: { _ in .null }, parameter: { request[$0] })
    }

    /// The value of an expression.
    package func value(of expression: Expression) throws(EvaluationError) -> SQLiteValue {
        switch expression {
        case .literal(let value): return value
        case .column(let name): return column(name.text)
        case .parameter(let parameter): return self.parameter(parameter)
        case .comparison(let comparison, let left, let right):
            let order = try SQLiteOrder.compare(try value(of: left), try value(of: right))
            return order.map { Self.bool(comparison.holds($0)) } ?? .null
        case .and(let left, let right): return Self.bool(try holds(left) ? try holds(right) : false)
        case .or(let left, let right): return Self.bool(try holds(left) ? true : try holds(right))
        case .not(let inner): return Self.bool(!(try holds(inner)))
        case .isNull(let inner): return Self.bool(try value(of: inner).isNull)
        }
    }

    /// Whether the value of an expression counts as true.
    package func holds(_ expression: Expression) throws(EvaluationError) -> Bool {
        switch try value(of: expression) {
        case .null, .blob: false
        case .integer(let integer): integer != 0
        case .real(let real): real != 0
        case .text(let text): (Self.leadingInteger(text) ?? 0) != 0
        }
    }

    private static func bool(_ value: Bool) -> SQLiteValue { .integer(value ? 1 : 0) }

    private static func leadingInteger(_ text: String) -> Int? {
        let trimmed = text.drop { $0 == " " || $0 == "\t" || $0 == "\n" }
        let sign = trimmed.first == "-" || trimmed.first == "+" ? String(trimmed.prefix(1)) : ""
        let digits = trimmed.dropFirst(sign.count).prefix { $0.isASCII && $0.isNumber }
        // More digits than fit are not zero unless all are.
        return Int(sign + digits) ?? (digits.contains { $0 != "0" } ? 1 : nil)
    }
}

extension Comparison {
    /// Whether it holds for values in this order.
    func holds(_ order: SQLiteOrder) -> Bool {
        switch self {
        case .equal: order == .same
        case .less: order == .before
        case .lessOrEqual: order != .behind && order != .incomparable
        case .greater: order == .behind
        case .greaterOrEqual: order != .before && order != .incomparable
        }
    }
}

/// How two values relate.
enum SQLiteOrder {
    case before, same, behind
    /// One of them is not a number.
    case incomparable

    /// Compares without affinity: numbers before texts before blobs; nil if one is NULL.
    static func compare(_ left: SQLiteValue, _ right: SQLiteValue) throws(EvaluationError) -> SQLiteOrder? {
        switch (left, right) {
        case (.null, _), (_, .null): return nil
        case (.integer(let left), .integer(let right)): return order(left, right)
        case (.integer(let left), .real(let right)): return order(left, right)
        case (.real(let left), .integer(let right)): return order(right, left).reversed
        case (.real(let left), .real(let right)): return order(left, right)
        case (.text(let left), .text(let right)): return order(texts: left, right)
        case (.blob, .blob): throw EvaluationError(message: "Blobs cannot be compared.")
        default: return order(rank(left), rank(right))
        }
    }

    private var reversed: SQLiteOrder {
        switch self {
        case .before: .behind
        case .behind: .before
        default: self
        }
    }

    private static func rank(_ value: SQLiteValue) -> Int {
        switch value {
        case .null: 0
        case .integer, .real: 1
        case .text: 2
        case .blob: 3
        }
    }

    private static func order<Value: Comparable>(_ left: Value, _ right: Value) -> SQLiteOrder {
        left < right ? .before : left == right ? .same : left > right ? .behind : .incomparable
    }

    /// Exact where the integer has no double of its own.
    private static func order(_ left: Int64, _ right: Double) -> SQLiteOrder {
        if right.isNaN { return .incomparable }
        if right >= 0x1p63 { return .before }
        if right < -0x1p63 { return .behind }
        let whole = right.rounded(.down)
        let coarse = order(left, Int64(whole))
        return coarse == .same && whole < right ? .before : coarse
    }

    private static func order(texts left: String, _ right: String) -> SQLiteOrder {
        if left.utf8.elementsEqual(right.utf8) { return .same }
        return left.utf16.lexicographicallyPrecedes(right.utf16) ? .before : .behind
    }
}
