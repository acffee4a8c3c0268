import PowerSyncWire

/// How a side of a comparison takes the other one in the SQLite engine; an expression has one by its CAST alone.
enum SQLiteAffinity {
    case none
    case blob
    case text
    case number

    /// That of an expression.
    init(of expression: Expression) {
        if case .cast(let type, _) = expression { self.init(castTo: type) } else { self = .none }
    }

    /// That of a CAST.
    init(castTo type: CastType) {
        switch type {
        case .text: self = .text
        case .integer, .numeric, .real: self = .number
        case .blob: self = .blob
        }
    }

    /// A side of a comparison with this affinity: a text that is a number as this, or a number as text.
    func taken(_ value: ScalarValue) -> ScalarValue {
        switch (self, value) {
        case (.number, .text(let text)): SQLiteNumber(text.text).compared ?? value
        case (.text, .integer), (.text, .real): value.sqliteText.map { ScalarValue(text: $0) } ?? .null
        default: value
        }
    }

    /// How two sides of a comparison relate; nil if one is NULL.
    ///
    /// - Throws: `EvaluationError` if they cannot be compared.
    static func order(
        _ left: (affinity: SQLiteAffinity, value: ScalarValue),
        _ right: (affinity: SQLiteAffinity, value: ScalarValue)
    ) throws(EvaluationError) -> ScalarOrder? {
        let affinity: SQLiteAffinity =
            switch (left.affinity, right.affinity) {
            case (.none, let other): other
            case (let one, .none): one
            case (.number, _), (_, .number): .number
            default: .blob
            }
        return try ScalarValue.sqliteOrder(affinity.taken(left.value), affinity.taken(right.value))
    }

    /// Whether a value is among others, which NULL is not if there are none; NULL if that depends on one that is NULL.
    ///
    /// The left side's affinity alone counts, as in `x IN (…)`.
    ///
    /// - Throws: `EvaluationError` if they cannot be compared.
    func isOneOf(_ value: ScalarValue, _ others: [ScalarValue]) throws(EvaluationError) -> ScalarValue {
        var hasNull = value.isNull && !others.isEmpty
        for other in others {
            let order = try ScalarValue.sqliteOrder(taken(value), taken(other))
            if order == .same { return ScalarValue(true) }
            if order == nil { hasNull = true }
        }
        return hasNull ? .null : ScalarValue(false)
    }
}

/// Truth of the SQLite engine, which has three values.
extension ScalarValue {
    /// 1, 0 or NULL.
    init(truth: Bool?) { self = truth.map { ScalarValue($0) } ?? .null }

    /// Whether all hold; nil if that depends on what is not known.
    static func all(_ parts: [Bool?]) -> Bool? {
        if parts.contains(false) { return false }
        return parts.contains(nil) ? nil : true
    }

    /// Whether one holds; nil if that depends on what is not known.
    static func any(_ parts: [Bool?]) -> Bool? {
        if parts.contains(true) { return true }
        return parts.contains(nil) ? nil : false
    }

    /// BETWEEN of how a value relates to its bounds.
    static func isBetween(_ low: ScalarOrder?, _ high: ScalarOrder?) -> ScalarValue {
        ScalarValue(
            truth: all([low.map(Comparison.greaterOrEqual.holds), high.map(Comparison.lessOrEqual.holds)]))
    }
}
