import PowerSyncWire

/// What may be NULL in a parameter query (service 6.5).
extension Expression {
    /// What is not NULL where this holds, as far as it says so itself.
    var presentWhereTrue: [Expression] {
        switch self {
        case .and(let all): all.flatMap(\.presentWhereTrue)
        case .not(.isNull(let value)): value.presentWithIt
        case .not(.not(let inner)): inner.presentWhereTrue
        case .comparison(_, let left, let right): left.presentWithIt + right.presentWithIt
        case .contains(let list, let value): list.presentWithIt + value.presentWithIt
        default: []
        }
    }

    /// It and what it would be NULL of.
    private var presentWithIt: [Expression] {
        switch self {
        case .cast(_, let inner): [self] + inner.presentWithIt
        case .call(.upper, let all), .call(.lower, let all): [self] + all.flatMap(\.presentWithIt)
        default: [self]
        }
    }

    /// Whether it may be NULL where others are not: an `id` and the user never are.
    func mayBeNull(where present: Set<Expression>) -> Bool {
        if present.contains(self) { return false }
        switch self {
        case .literal(let value): return value.isNull
        case .column(_, let name): return name != ExactText("id")
        case .parameter, .member: return withParameters != .parameter(.userID)
        case .cast(_, let inner): return inner.mayBeNull(where: present)
        case .call(.upper, let all), .call(.lower, let all):
            return all.contains { $0.mayBeNull(where: present) }
        case .call(.ifnull, let all): return all.allSatisfy { $0.mayBeNull(where: present) }
        default: return true
        }
    }
}
