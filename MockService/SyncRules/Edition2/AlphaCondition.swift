/// What a query of edition 2 asks of its rows and of the request, as it is written (service 6.7).
indirect enum AlphaCondition: Sendable {
    /// A value is true that the row alone decides, or the request alone.
    case value(DefinitionValue, Range<Int>)
    /// A value of the row is one of the request.
    case match(ParameterMatch.Pair, Range<Int>)
    /// A value is one of those that a sub-select has.
    case selection(AlphaSubquery)
    /// All hold.
    case and([AlphaCondition], Range<Int>)
    /// One holds.
    case or([AlphaCondition], Range<Int>)
    /// The inner one does not hold.
    case not(AlphaCondition, Range<Int>)
    /// What is wrong, which is told.
    case invalid(Range<Int>)

    /// Where it stands, in bytes of the SQL.
    var range: Range<Int> {
        switch self {
        case .value(_, let range), .match(_, let range), .and(_, let range), .or(_, let range),
            .not(_, let range), .invalid(let range):
            range
        case .selection(let subquery): subquery.range
        }
    }

    /// All of some conditions hold.
    static func all(_ parts: [AlphaCondition], at range: Range<Int>) -> AlphaCondition {
        chained(parts, at: range, { .and($0) }, { .and($0, range) })
    }

    /// One of some conditions holds.
    static func any(_ parts: [AlphaCondition], at range: Range<Int>) -> AlphaCondition {
        chained(parts, at: range, { .or($0) }, { .or($0, range) })
    }

    /// A condition does not hold.
    static func negated(_ inner: AlphaCondition, at range: Range<Int>) -> AlphaCondition {
        switch inner {
        case .value(let value, _):
            .value(DefinitionValue(source: value.source, expression: .not(value.expression)), range)
        case .invalid: .invalid(range)
        default: .not(inner, range)
        }
    }

    /// A chain of AND or OR: what stands first is one value, as far as it is on one thing, as recorded.
    ///
    /// All of a value is computed, so an error in it shows whatever else is false. An OR in it is one way into buckets.
    private static func chained(
        _ parts: [AlphaCondition], at range: Range<Int>, _ join: ([Expression]) -> Expression,
        _ chain: ([AlphaCondition]) -> AlphaCondition
    ) -> AlphaCondition {
        var source = DefinitionValue.Source.constant
        var expressions: [Expression] = []
        var isInvalid = false
        var count = 0
        leading: for part in parts {
            switch part {
            case .invalid: isInvalid = true
            case .value(let value, _):
                let isOther = source != .constant && value.source != .constant && value.source != source
                if isOther, !isInvalid { break leading }
                if source == .constant { source = value.source }
                expressions.append(value.expression)
            default: break leading
            }
            count += 1
        }
        var rest = Array(parts.dropFirst(count))
        if isInvalid {
            rest.insert(.invalid(range), at: 0)
        } else if expressions.count == 1 {
            rest.insert(parts[0], at: 0)
        } else if expressions.count > 1 {
            rest.insert(
                .value(DefinitionValue(source: source, expression: join(expressions)), range), at: 0)
        }
        return rest.count == 1 ? rest[0] : chain(rest)
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
        case .and(let parts, let range), .or(let parts, let range):
            var made: [AlphaCondition] = []
            for part in parts {
                made.append(part.positive(isNegated: isNegated, at: part.range, &refused))
            }
            return isOr != isNegated ? .any(made, at: range) : .all(made, at: range)
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

    /// How many terms it has, counted before any is made.
    var size: TermSize {
        switch self {
        case .and(let parts, _): parts.reduce(TermSize(terms: 1)) { $0.and($1.size) }
        case .or(let parts, _): parts.reduce(TermSize()) { $0.or($1.size) }
        case .value, .match, .selection, .not, .invalid: TermSize(terms: 1, conditions: 1)
        }
    }

    /// Its terms in the order that numbers them: what stands first changes last.
    var terms: [[AlphaCondition]] {
        switch self {
        case .and(let parts, _):
            var terms: [[AlphaCondition]] = [[]]
            for part in parts {
                let others = part.terms
                if others.count == 1 {
                    // In their places: a copy for each part would cost the square of them.
                    for index in terms.indices { terms[index] += others[0] }
                } else {
                    terms = terms.flatMap { term in others.map { term + $0 } }
                }
            }
            return terms
        case .or(let parts, _): return parts.flatMap(\.terms)
        case .value, .match, .selection, .not, .invalid: return [[self]]
        }
    }

    /// How many tables and arrays a condition of a term reads, beside the row that is synced.
    var inputCount: Int {
        switch self {
        case .match(let pair, _): (pair.isArray ? 1 : 0) + (pair.parameter.isArray ? 1 : 0)
        case .selection(let subquery):
            1 + (subquery.isArray ? 1 : 0) + subquery.rows.pairs.count { $0.isArray }
        case .value, .and, .or, .not, .invalid: 0
        }
    }
}
