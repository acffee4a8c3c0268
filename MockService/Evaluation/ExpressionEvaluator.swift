import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncWire

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
            let sides = (try value(of: left), try value(of: right))
            let order = try ScalarOrder.compare(ScalarValue(sides.0), ScalarValue(sides.1))
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
