import PowerSyncWire

/// An expression with its names looked up, without places: equal ones mean the same (service 6.12).
///
/// No expression is nested deeper than `SyntaxLimits.resolvedDepth`, so all that walks one may recurse.
package indirect enum Expression: Sendable, Hashable {
    /// A constant.
    case literal(ScalarValue)
    /// A column of a row.
    case column(Input, ExactText)
    /// A part of an element of a `json_each`.
    case element(Input, ElementPart)
    /// One value of the request.
    case parameter(RequestParameter)
    /// All of a source of the request, as JSON text.
    case request(RequestParameter.Source)
    /// What is known of the table that a row is of.
    case table(TableFact, Input)
    /// A call of a function.
    case call(Function, [Expression])
    /// A value as another type.
    case cast(CastType, Expression)
    /// A number made of two.
    case arithmetic(Arithmetic, Expression, Expression)
    /// Both texts, `||`.
    case concat(Expression, Expression)
    /// A member of a JSON text, `->` and `->>`.
    case member(Expression, Expression, MemberForm)
    /// A comparison.
    case comparison(Comparison, Expression, Expression)
    /// `IS`: equal, or both NULL.
    case isSame(Expression, Expression)
    /// `IS TRUE`, `IS FALSE`.
    case isTrue(Expression, Bool)
    /// All hold.
    case and([Expression])
    /// One holds.
    case or([Expression])
    /// The inner one does not hold.
    case not(Expression)
    /// The value is NULL.
    case isNull(Expression)
    /// The first value is not below the second and not above the third one.
    case between(Expression, Expression, Expression)
    /// `CASE`: the result of the first branch whose condition holds, or equals the base.
    case choice(base: Expression?, [Branch], otherwise: Expression?)
    /// The first value is one of the others, of `ARRAY[…]` or `ROW(…)`.
    case oneOf(Expression, [Expression])
    /// The JSON array contains the value.
    case contains(list: Expression, Expression)
    /// Two JSON arrays have a value in common.
    case overlaps(Expression, Expression)

    /// A branch of a `CASE`.
    package struct Branch: Sendable, Hashable {
        /// What stands behind WHEN.
        package let condition: Expression
        /// What stands behind THEN.
        package let result: Expression

        /// Makes a branch of both.
        package init(when condition: Expression, then result: Expression) {
            self.condition = condition
            self.result = result
        }
    }

    /// The expressions that it is made of, in the order of the text.
    package var children: [Expression] {
        switch self {
        case .literal, .column, .element, .parameter, .request, .table: []
        case .cast(_, let inner), .isTrue(let inner, _), .not(let inner), .isNull(let inner): [inner]
        case .arithmetic(_, let left, let right), .concat(let left, let right),
            .member(let left, let right, _), .comparison(_, let left, let right),
            .isSame(let left, let right), .overlaps(let left, let right):
            [left, right]
        case .contains(let list, let value): [value, list]
        case .call(_, let all), .and(let all), .or(let all): all
        case .between(let value, let low, let high): [value, low, high]
        case .choice(let base, let branches, let otherwise):
            (base.map { [$0] } ?? []) + branches.flatMap { [$0.condition, $0.result] }
                + (otherwise.map { [$0] } ?? [])
        case .oneOf(let value, let others): [value] + others
        }
    }

    /// What it depends on.
    package var inputs: InputSet {
        var inputs: InputSet = []
        collect(into: &inputs)
        return inputs
    }

    /// How many expressions it is made of, itself included, and how many levels they have; a long text counts as more.
    var extent: (size: Int, depth: Int) {
        var (size, depth) = (1, 0)
        if case .literal(.text(let text)) = self { size += Self.weight(of: text.text) }
        for child in children {
            let inner = child.extent
            size += inner.size
            depth = max(depth, inner.depth)
        }
        return (size, depth + 1)
    }

    /// As how many expressions more a text counts, so that none is copied as often as there may be expressions.
    static func weight(of text: String) -> Int { text.utf8.count / 1_024 }

    private func collect(into inputs: inout InputSet) {
        switch self {
        case .column(let input, _), .element(let input, _), .table(_, let input): inputs.formUnion([input])
        case .parameter, .request: inputs.formUnion([.request])
        default: for child in children { child.collect(into: &inputs) }
        }
    }
}
