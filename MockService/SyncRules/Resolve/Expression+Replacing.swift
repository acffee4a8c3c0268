extension Expression {
    /// The expression with some of its parts replaced.
    ///
    /// - Parameter replacement: What stands in the place of a part; nil if its own parts are to be looked at.
    /// - Returns: The expression made of what is left and what was put in.
    package func replacing(_ replacement: (Expression) -> Expression?) -> Expression {
        if let whole = replacement(self) { return whole }
        switch self {
        case .literal, .column, .element, .parameter, .request, .table: return self
        case .call(let function, let arguments):
            return .call(function, arguments.map { $0.replacing(replacement) })
        case .cast(let type, let inner): return .cast(type, inner.replacing(replacement))
        case .arithmetic(let operation, let left, let right):
            return .arithmetic(operation, left.replacing(replacement), right.replacing(replacement))
        case .concat(let left, let right):
            return .concat(left.replacing(replacement), right.replacing(replacement))
        case .member(let left, let right, let form):
            return .member(left.replacing(replacement), right.replacing(replacement), form)
        case .comparison(let comparison, let left, let right):
            return .comparison(comparison, left.replacing(replacement), right.replacing(replacement))
        case .isSame(let left, let right):
            return .isSame(left.replacing(replacement), right.replacing(replacement))
        case .isTrue(let inner, let truth): return .isTrue(inner.replacing(replacement), truth)
        case .and(let all): return .and(all.map { $0.replacing(replacement) })
        case .or(let all): return .or(all.map { $0.replacing(replacement) })
        case .not(let inner): return .not(inner.replacing(replacement))
        case .isNull(let inner): return .isNull(inner.replacing(replacement))
        case .between(let value, let low, let high):
            return .between(
                value.replacing(replacement), low.replacing(replacement), high.replacing(replacement))
        case .choice(let base, let branches, let otherwise):
            let replaced = branches.map { branch in
                Branch(
                    when: branch.condition.replacing(replacement),
                    then: branch.result.replacing(replacement))
            }
            return .choice(
                base: base?.replacing(replacement), replaced, otherwise: otherwise?.replacing(replacement))
        case .oneOf(let value, let others):
            return .oneOf(value.replacing(replacement), others.map { $0.replacing(replacement) })
        case .contains(let list, let value):
            return .contains(list: list.replacing(replacement), value.replacing(replacement))
        case .overlaps(let left, let right):
            return .overlaps(left.replacing(replacement), right.replacing(replacement))
        }
    }

    /// The expression with its elements replaced.
    ///
    /// - Parameter replacement: What stands in the place of a part of an element; nil if it stays.
    /// - Returns: The expression made of what is left and what was put in.
    func replacingElements(_ replacement: (Input, ElementPart) -> Expression?) -> Expression {
        replacing { part in
            if case .element(let input, let name) = part { replacement(input, name) } else { nil }
        }
    }
}
