import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncWire

/// An expression with its names looked up, without places: equal ones mean the same, so texts and names are compared by
/// their bytes.
package indirect enum Expression: Sendable, Hashable {
    /// A constant.
    case literal(SQLiteValue)
    /// A column of the row that is being replicated.
    case column(ExactText)
    /// A value of the request that is being answered.
    case parameter(RequestParameter)
    /// A comparison; NULL if a side is NULL.
    case comparison(Comparison, Expression, Expression)
    /// Both hold; NULL counts as false.
    case and(Expression, Expression)
    /// One holds.
    case or(Expression, Expression)
    /// 1 if the inner one does not hold, NULL included.
    case not(Expression)
    /// 1 if the value is NULL.
    case isNull(Expression)

    /// What an expression needs to be evaluated.
    package struct Dependencies: OptionSet, Sendable {
        /// The bits.
        package let rawValue: Int
        /// Makes a set of its bits.
        package init(rawValue: Int) { self.rawValue = rawValue }
        /// A row of the source.
        package static let row = Dependencies(rawValue: 1)
        /// A request.
        package static let request = Dependencies(rawValue: 2)
    }

    /// What the expression needs to be evaluated.
    package var dependencies: Dependencies {
        switch self {
        case .literal: []
        case .column: .row
        case .parameter: .request
        case .comparison(_, let left, let right), .and(let left, let right), .or(let left, let right):
            left.dependencies.union(right.dependencies)
        case .not(let inner), .isNull(let inner): inner.dependencies
        }
    }
}

/// A value that a request brings along (service 2.4).
package struct RequestParameter: Sendable, Hashable {
    /// Where it comes from.
    package enum Source: String, Sendable {
        /// The token's payload.
        case auth
        /// The parameters of the connection.
        case connection
        /// The parameters of the subscription.
        case subscription
    }

    /// Where it comes from.
    package let source: Source
    /// The keys that lead to it.
    package let path: [ExactText]

    /// Reads the argument of `parameter(…)`: a path if it begins with `$`, else one key (service 2.4).
    package init(_ source: Source, argument: String) {
        self.source = source
        if argument.hasPrefix("$") {
            path = argument.split(separator: ".", omittingEmptySubsequences: false).dropFirst().map {
                ExactText(String($0))
            }
        } else {
            path = [ExactText(argument)]
        }
    }

    /// The `sub` of the token.
    package static let userID = RequestParameter(.auth, argument: "sub")
}
