extension Condition {
    /// The condition with NOT in front of comparisons and values alone, and at most once (service 6.9.1).
    ///
    /// NOT of a comparison stays: it holds for NULL, which the opposite comparison does not (service 6.12).
    ///
    /// - Parameter isNegated: Whether the opposite of the condition is wanted.
    /// - Returns: A condition that holds exactly if this one does, or does not.
    func withNegationsInside(_ isNegated: Bool = false) -> Condition {
        switch self {
        case .not(let inner): return inner.withNegationsInside(!isNegated)
        case .and(let all):
            let inner = all.map { $0.withNegationsInside(isNegated) }
            return isNegated ? .or(inner) : .and(inner)
        case .or(let all):
            let inner = all.map { $0.withNegationsInside(isNegated) }
            return isNegated ? .and(inner) : .or(inner)
        case .equal, .value: return isNegated ? .not(self) : self
        }
    }

    /// Whether an equality of two values that both read inputs is in it, without NOT.
    ///
    /// The real service takes such a one for a match even if both are of one row, so it never keeps it together with
    /// what else is asked of the row, as recorded.
    var comparesInputs: Bool {
        switch self {
        case .equal(let left, let right, _): !left.references.isEmpty && !right.references.isEmpty
        case .and(let all), .or(let all): all.contains { $0.comparesInputs }
        case .not, .value: false
        }
    }
}
