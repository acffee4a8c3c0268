import PowerSyncWire

/// What an alternative of a match asks of rows, and the errors that the others may have, too.
///
/// The real service computes all of a query's conditions for each row, so an error shows whatever else is false, as
/// recorded.
struct RowConditions {
    /// The arrays of which elements are read.
    let expansions: [Expression]
    /// What must hold; what may fail comes first.
    let filters: [Expression]
    /// For each pair of the alternative its value.
    let values: [Expression]

    /// Takes an alternative of a match.
    ///
    /// - Parameters:
    ///   - alternative: The alternative.
    ///   - checks: What all of the condition computes for each row.
    ///   - options: What of an older edition the configuration keeps.
    init(
        _ alternative: ParameterMatch.Conjunction, _ checks: RowChecks, _ options: CompatibilityOptions
    ) {
        var expansions: [Expression] = []
        var values: [Expression] = []
        for pair in alternative.pairs {
            guard pair.isArray else {
                values.append(pair.row)
                continue
            }
            values.append(Self.element(of: pair.row, expansions.count, options))
            expansions.append(pair.row)
        }
        self.expansions = expansions
        self.values = values
        // One that stands alone fails where it is.
        let isAlone = checks.count == 1 && expansions.isEmpty
        let guards = isAlone ? [] : checks.fallible
        filters = guards + alternative.filters.filter { $0 != RowChecks.holds }
    }

    /// An element of an array; of IN `null` is NULL, whatever the options say, as recorded.
    private static func element(
        of list: Expression, _ number: Int, _ options: CompatibilityOptions
    ) -> Expression {
        let value = Expression.element(.element(number), .value)
        guard !options.fixedJSONExtract else { return value }
        // The text `null` is looked up once more, for a text it may be, too.
        let json = Expression.member(list, .element(.element(number), .key), .json)
        let isText = Expression.choice(
            base: nil, [Expression.Branch(when: .isNull(json), then: .literal(.null))], otherwise: value)
        let isNull = Expression.comparison(.equal, value, .literal(ScalarValue(text: "null")))
        return .choice(base: nil, [Expression.Branch(when: isNull, then: isText)], otherwise: value)
    }
}

/// What a condition computes for each row, whichever of its alternatives holds; made once for all of them.
struct RowChecks {
    /// Always true.
    fileprivate static let holds = Expression.literal(ScalarValue(true))

    /// How many conditions there are.
    fileprivate let count: Int
    /// One that holds if nothing fails; none if nothing can.
    fileprivate let fallible: [Expression]

    /// Takes all of a condition.
    init(_ match: ParameterMatch) {
        let computed = match.alternatives.flatMap { alternative in
            alternative.filters + alternative.pairs.map { $0.isArray ? Self.arrayCheck($0.row) : $0.row }
        }
        count = computed.count
        // What stands outside of an OR is in each alternative.
        var known: Set<Expression> = []
        let parts = computed.filter { $0.mayFail && known.insert($0).inserted }
        fallible = parts.isEmpty ? [] : [.or([Self.holds] + parts)]
    }

    /// Fails if a value is no JSON array: IN of editions 1 and 2 has elements of arrays alone.
    private static func arrayCheck(_ list: Expression) -> Expression {
        .contains(list: list, .literal(.integer(0)))
    }
}

extension Expression {
    /// Whether computing it may fail.
    fileprivate var mayFail: Bool {
        switch self {
        case .literal, .column, .element, .parameter, .request, .table: false
        case .comparison(_, .literal(let value), let other), .comparison(_, let other, .literal(let value)):
            // Two BLOBs cannot be compared.
            value.isBlob || other.mayFail
        case .and, .or, .not, .isNull, .concat, .cast(.text, _), .cast(.blob, _),
            .call(.upper, _), .call(.lower, _), .call(.length, _), .call(.hex, _), .call(.base64, _),
            .call(.typeof, _), .call(.ifnull, _), .call(.iif, _):
            children.contains(where: \.mayFail)
        default: true
        }
    }
}

extension ScalarValue {
    fileprivate var isBlob: Bool {
        if case .blob = self { true } else { false }
    }
}
