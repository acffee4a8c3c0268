/// `x IN (SELECT …)` and `array && (SELECT …)` of a query of edition 2: one level, of one table (service 6.7).
struct AlphaSubquery: Sendable {
    /// What must be among the values of the sub-select; of the row, or of the request.
    let operand: DefinitionValue
    /// Whether it is an array, of which one element must be among them.
    let isArray: Bool
    /// Where the condition stands, in bytes of the SQL.
    let range: Range<Int>
    /// The tables that the sub-select reads.
    let table: TablePattern
    /// Its column.
    let column: Expression
    /// What it asks of its rows.
    private(set) var rows = ParameterMatch.Conjunction()
    /// What it asks of the request.
    private(set) var gates: [Expression] = []
    /// Whether it has a condition that none may have, which is told.
    private(set) var isRefused = false

    /// Makes one that asks nothing yet.
    init(
        operand: DefinitionValue, isArray: Bool, at range: Range<Int>, table: TablePattern, column: Expression
    ) {
        self.operand = operand
        self.isArray = isArray
        self.range = range
        self.table = table
        self.column = column
    }

    /// Whether nothing of the request leads to its rows.
    var isIndependent: Bool { operand.source == .row && rows.pairs.isEmpty && !isRefused }

    /// Takes a condition of its WHERE up.
    ///
    /// - Parameters:
    ///   - condition: The condition.
    ///   - query: Where it is told that it is none for a sub-select.
    mutating func take(_ condition: AlphaCondition, _ query: inout DefinitionQuery) {
        switch condition {
        case .and(let parts, _): for part in parts { take(part, &query) }
        case .value(let value, _):
            if value.source == .request {
                gates.append(value.expression)
            } else {
                rows.filters.append(value.expression)
            }
        case .match(let pair, _): rows.pairs.append(pair)
        case .or: query.tell(.subqueryOr, at: condition.range)
        case .selection, .not:
            query.tell(.subqueryCondition, at: condition.range)
            isRefused = true
        case .invalid: break
        }
    }
}
