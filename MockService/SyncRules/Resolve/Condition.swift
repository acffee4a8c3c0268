/// What a query asks of its rows and of the request, as it is written: names are looked up, nothing is moved yet.
///
/// Conditions of WHERE, of each ON, and of inlined common table expressions and sub-selects stand in one tree:
/// `x IN (SELECT c FROM t WHERE w)` is the AND of `x = c` and `w`, `x IN e` of a JSON array is `x = element`, `a && b`
/// is the equality of two elements, and `a != b` is NOT of `a = b`.
package indirect enum Condition: Sendable, Hashable {
    /// All hold; of none, true.
    case and([Condition])
    /// One holds.
    case or([Condition])
    /// The inner one does not hold.
    case not(Condition)
    /// Both have the same value: a match if they are of two inputs, else a filter or a gate.
    case equal(Located, Located, Site)
    /// The value is true.
    case value(Located)

    /// The expression that is true if it holds.
    package var expression: Expression {
        switch self {
        case .and(let all): all.count == 1 ? all[0].expression : .and(all.map(\.expression))
        case .or(let all): all.count == 1 ? all[0].expression : .or(all.map(\.expression))
        case .not(let inner): .not(inner.expression)
        case .equal(let left, let right, _): .comparison(.equal, left.expression, right.expression)
        case .value(let value): value.expression
        }
    }

    /// The places where it reads inputs, in the order of the text.
    package var references: [Reference] {
        switch self {
        case .and(let all), .or(let all): all.flatMap(\.references)
        case .not(let inner): inner.references
        case .equal(let left, let right, _): left.references + right.references
        case .value(let value): value.references
        }
    }

    /// What it depends on.
    package var inputs: InputSet { InputSet(Set(references.map(\.input))) }
}
