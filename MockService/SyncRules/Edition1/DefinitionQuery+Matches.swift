import PowerSyncWire

/// Conditions that match rows with parameters (service 6.5, 6.6).
extension DefinitionQuery {
    /// `a = b`: a match if one is of the row and the other a parameter.
    mutating func equal(
        _ left: ExpressionSyntax, _ right: ExpressionSyntax
    ) throws(QueryFailure) -> DefinitionClause? {
        let sides = (try clause(left), try clause(right))
        if case (.value(let one)?, .value(let other)?) = sides {
            if isMatched(one), isParameter(other) { return match(one, with: other, right) }
            if isMatched(other), isParameter(one) { return match(other, with: one, left) }
        }
        return try composed([sides.0, sides.1], [left, right]) { .comparison(.equal, $0[0], $0[1]) }
    }

    /// `a IN b`: a match if one is of the row and the other a parameter.
    mutating func membership(
        _ left: ExpressionSyntax, _ right: ExpressionSyntax, _ isNegated: Bool, at range: Range<Int>
    ) throws(QueryFailure) -> DefinitionClause? {
        let sides = (try clause(left), try clause(right))
        guard sides.0 != nil, sides.1 != nil else { return nil }
        if isNegated { return refuse(.legacyOperator, ["NOT IN"], at: range) }
        if case (.value(let value)?, .value(let list)?) = sides {
            if isParameter(value), isMatched(list) {
                if list.source == .row { warn(ofNullsIn: right, for: left) }
                return match(list, isArray: true, with: value, left)
            }
            if list.source == .bucket { return refuse(.parameterRightOfIn, at: range) }
            if value.source == .row, list.source == .request, kind != .selection {
                return match(value, with: list, isParameterArray: true, right)
            }
        }
        return try composed([sides.0, sides.1], [left, right]) { .contains(list: $0[1], $0[0]) }
    }

    /// Warns of an array if NULL may be asked for in it: as recorded it finds each null (service 6.6).
    private mutating func warn(ofNullsIn list: ExpressionSyntax, for parameter: ExpressionSyntax) {
        guard case .column(_, let name) = parameter.content, nullable.contains(name.text) else { return }
        tell(.nullInArray, [name.text.text], at: list.range, recorded: Recorded(.silent))
    }

    /// Whether a value may be that of a parameter: of the row; a constant may be that of a bucket.
    private func isMatched(_ value: DefinitionValue) -> Bool {
        value.source == .row || (value.source == .constant && kind == .data)
    }

    private func isParameter(_ value: DefinitionValue) -> Bool {
        value.source == (kind == .data ? .bucket : .request)
    }

    private func match(
        _ row: DefinitionValue, isArray: Bool = false, with parameter: DefinitionValue,
        isParameterArray: Bool = false, _ syntax: ExpressionSyntax
    ) -> DefinitionClause {
        let key = ExactText(spelling(syntax))
        return .match(
            ParameterMatch(
                ParameterMatch.Pair(
                    row: row.expression, isArray: isArray,
                    parameter: ParameterMatch.Parameter(key: key, isArray: isParameterArray),
                    request: parameter.expression)))
    }

    /// A condition as a match: a parameter alone must be true, which in a data query means that it is 1.
    ///
    /// - Parameters:
    ///   - clause: The condition.
    ///   - key: How messages spell it if it is a parameter.
    /// - Returns: The match.
    func match(_ clause: DefinitionClause, key: String) -> ParameterMatch {
        switch clause {
        case .match(let match): return match
        case .value(let value):
            guard value.source == .request || value.source == .bucket else {
                return ParameterMatch(filter: value.expression)
            }
            return ParameterMatch(
                ParameterMatch.Pair(
                    row: .literal(ScalarValue(true)), isArray: false,
                    parameter: ParameterMatch.Parameter(key: ExactText(key), isArray: false),
                    request: .not(.not(value.expression))))
        }
    }

    /// What joins conditions.
    enum Junction {
        /// All of them hold.
        case and
        /// One of them holds.
        case or
    }

    /// Conditions with AND or OR between them.
    ///
    /// Matches are made of pairs from left to right, as recorded by where messages point; all sides are looked at.
    mutating func chain(
        _ all: [ExpressionSyntax], _ junction: Junction
    ) throws(QueryFailure) -> DefinitionClause? {
        guard let first = all.first else { return nil }
        var left = try clause(first)
        var end = first.range.upperBound
        // What the value on the left is made of, for a chain of values is one expression.
        var parts: [Expression] = []
        // Whether the left is all of them. It is made once it is complete, for a copy at each step costs the square.
        var isOpen = false
        func closed(_ clause: DefinitionClause) -> DefinitionClause {
            guard isOpen, case .value(let value) = clause else { return clause }
            let expression: Expression = junction == .and ? .and(parts) : .or(parts)
            return .value(DefinitionValue(source: value.source, expression: expression))
        }
        for syntax in all.dropFirst() {
            let right = try clause(syntax)
            let range = first.range.lowerBound..<syntax.range.upperBound
            if let one = left, let other = right {
                if case (.value(let value), .value(let next)) = (one, other),
                    let source = Self.joined(value.source, next.source)
                {
                    if parts.isEmpty { parts = [value.expression] }
                    parts.append(next.expression)
                    if source == .constant {
                        left = .value(try folded(junction == .and ? .and(parts) : .or(parts), source, range))
                        parts = []
                    } else {
                        left = .value(DefinitionValue(source: source, expression: value.expression))
                        isOpen = true
                    }
                } else {
                    let key = parts.isEmpty ? spelling(first) : sql(first.range.lowerBound..<end)
                    let sides = (match(closed(one), key: key), match(other, key: spelling(syntax)))
                    isOpen = false
                    left = try join(sides.0, junction, sides.1, at: range)
                }
            } else {
                left = nil
            }
            end = range.upperBound
        }
        return left.map { closed($0) }
    }

    private mutating func join(
        _ left: ParameterMatch, _ junction: Junction, _ right: ParameterMatch, at range: Range<Int>
    ) throws(QueryFailure) -> DefinitionClause? {
        let counts = (left.alternatives.count, right.alternatives.count)
        switch junction {
        case .and:
            if left.readsRowArray, right.readsRowArray { return refuse(.twoInExpressions, at: range) }
            if left.readsRequestArray, right.readsRequestArray { return refuse(.twoArrayInputs, at: range) }
            try check(counts.0 * counts.1, left.size * counts.1 + right.size * counts.0)
            return .match(left.and(right))
        case .or:
            guard Set(left.parameters) == Set(right.parameters) else {
                return refuse(.orDiffers, [left.parameterList, right.parameterList], at: range)
            }
            try check(counts.0 + counts.1, left.size + right.size)
            return .match(left.or(right))
        }
    }

    /// Refuses a condition that comes to too many alternatives, before they are made.
    private func check(_ count: Int, _ conditions: Int) throws(QueryFailure) {
        if count > PlanLimits.terms {
            throw failure(.tooLarge, ["\(PlanLimits.terms) alternatives"], recorded: Recorded(.silent))
        }
        if conditions > PlanLimits.conditions {
            let limit = "\(PlanLimits.conditions) conditions in all alternatives"
            throw failure(.tooLarge, [limit], recorded: Recorded(.silent))
        }
    }

    private func spelling(_ syntax: ExpressionSyntax) -> String {
        ParameterSpelling(text: text).spelling(syntax)
    }

    /// What two values depend on together if they are one value; nil if they are a match.
    private static func joined(
        _ one: DefinitionValue.Source, _ other: DefinitionValue.Source
    ) -> DefinitionValue.Source? {
        switch (one, other) {
        case (.bucket, _), (_, .bucket), (.row, .request), (.request, .row): nil
        case (.constant, _): other
        default: one
        }
    }
}
