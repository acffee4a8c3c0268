/// What a query of edition 2 asks of its rows and of the request, as it is written (service 6.7).
indirect enum AlphaCondition: Sendable {
    /// A value is true that the row alone decides, or the request alone.
    case value(DefinitionValue, Range<Int>)
    /// A value of the row is one of the request.
    case match(ParameterMatch.Pair, Range<Int>)
    /// A value is one of those that a sub-select has.
    case selection(AlphaSubquery)
    /// Both hold.
    case and(AlphaCondition, AlphaCondition, Range<Int>)
    /// One of both holds.
    case or(AlphaCondition, AlphaCondition, Range<Int>)
    /// The inner one does not hold.
    case not(AlphaCondition, Range<Int>)
    /// What is wrong, which is told.
    case invalid(Range<Int>)

    /// Where it stands, in bytes of the SQL.
    var range: Range<Int> {
        switch self {
        case .value(_, let range), .match(_, let range), .and(_, _, let range), .or(_, _, let range),
            .not(_, let range), .invalid(let range):
            range
        case .selection(let subquery): subquery.range
        }
    }

    // Conditions on one thing are one value: all of it is computed, so an error shows whatever else is false (as recorded).

    /// Both hold.
    static func both(_ one: AlphaCondition, _ other: AlphaCondition, at range: Range<Int>) -> AlphaCondition {
        joined(one, other, at: range) { .and($0) } ?? .and(one, other, range)
    }

    /// One of both holds: a condition on one thing, or two ways into buckets.
    static func either(_ one: AlphaCondition, _ other: AlphaCondition, at range: Range<Int>) -> AlphaCondition {
        joined(one, other, at: range) { .or($0) } ?? .or(one, other, range)
    }

    /// The condition does not hold.
    static func negated(_ inner: AlphaCondition, at range: Range<Int>) -> AlphaCondition {
        switch inner {
        case .value(let value, _):
            .value(DefinitionValue(source: value.source, expression: .not(value.expression)), range)
        case .invalid: .invalid(range)
        default: .not(inner, range)
        }
    }

    private static func joined(
        _ one: AlphaCondition, _ other: AlphaCondition, at range: Range<Int>,
        _ make: ([Expression]) -> Expression
    ) -> AlphaCondition? {
        switch (one, other) {
        case (.value(let left, _), .value(let right, _)):
            let sources = Set([left.source, right.source]).subtracting([.constant])
            guard sources.count < 2 else { return nil }
            let source = sources.first ?? .constant
            let expression = make([left.expression, right.expression])
            return .value(DefinitionValue(source: source, expression: expression), range)
        case (.value, .invalid), (.invalid, .value), (.invalid, .invalid): return .invalid(range)
        default: return nil
        }
    }
}

/// Normal form: an OR of terms, each of which is a way into buckets of its own (LANGUAGE.md 8).
extension AlphaCondition {
    /// The condition with NOT at values alone.
    ///
    /// - Parameter refused: Gets where matches and sub-selects stand that may not have a NOT.
    /// - Returns: The condition; what is refused is invalid in it.
    func withNegationsInside(_ refused: inout [Range<Int>]) -> AlphaCondition {
        positive(isNegated: false, at: range, &refused)
    }

    private func positive(
        isNegated: Bool, at place: Range<Int>, _ refused: inout [Range<Int>]
    ) -> AlphaCondition {
        switch self {
        case .not(let inner, let range):
            return inner.positive(isNegated: !isNegated, at: range, &refused)
        case .and(let left, let right, let range), .or(let left, let right, let range):
            let one = left.positive(isNegated: isNegated, at: left.range, &refused)
            let other = right.positive(isNegated: isNegated, at: right.range, &refused)
            return isOr != isNegated
                ? .either(one, other, at: range) : .both(one, other, at: range)
        case .value, .invalid: return isNegated ? .negated(self, at: place) : self
        case .match, .selection:
            guard isNegated else { return self }
            refused.append(place)
            return .invalid(place)
        }
    }

    private var isOr: Bool {
        if case .or = self { true } else { false }
    }

    /// How many terms it has, counted before any is made; one more than the limit stands for all that is above.
    var termCount: Int {
        let most = PlanLimits.terms + 1
        return switch self {
        case .and(let left, let right, _): min(left.termCount * right.termCount, most)
        case .or(let left, let right, _): min(left.termCount + right.termCount, most)
        case .value, .match, .selection, .not, .invalid: 1
        }
    }

    /// Its terms in the order that numbers them: what stands first changes last.
    var terms: [[AlphaCondition]] {
        switch self {
        case .and(let left, let right, _):
            let others = right.terms
            return left.terms.flatMap { term in others.map { term + $0 } }
        case .or(let left, let right, _): return left.terms + right.terms
        case .value, .match, .selection, .not, .invalid: return [[self]]
        }
    }
}
