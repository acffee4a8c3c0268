import PowerSyncWire

extension Expression {
    /// Whether it is a constant.
    var isLiteral: Bool {
        if case .literal = self { true } else { false }
    }

    /// The same with others in the places of its children, as many and in the same order.
    func with(_ children: [Expression]) -> Expression {
        switch self {
        case .literal, .column, .element, .parameter, .request, .table: self
        case .call(let function, _): .call(function, children)
        case .cast(let type, _): .cast(type, children[0])
        case .arithmetic(let arithmetic, _, _): .arithmetic(arithmetic, children[0], children[1])
        case .concat: .concat(children[0], children[1])
        case .member(_, _, let form): .member(children[0], children[1], form)
        case .comparison(let comparison, _, _): .comparison(comparison, children[0], children[1])
        case .isSame: .isSame(children[0], children[1])
        case .isTrue(_, let truth): .isTrue(children[0], truth)
        case .and: .and(children)
        case .or: .or(children)
        case .not: .not(children[0])
        case .isNull: .isNull(children[0])
        case .between: .between(children[0], children[1], children[2])
        case .choice(let base, let branches, let otherwise):
            Self.chosen(children, base != nil, branches.count, otherwise != nil)
        case .oneOf: .oneOf(children[0], Array(children.dropFirst()))
        // The value stands before the list.
        case .contains: .contains(list: children[1], children[0])
        case .overlaps: .overlaps(children[0], children[1])
        }
    }

    private static func chosen(
        _ children: [Expression], _ hasBase: Bool, _ branches: Int, _ hasOtherwise: Bool
    ) -> Expression {
        let first = hasBase ? 1 : 0
        return .choice(
            base: hasBase ? children[0] : nil,
            (0..<branches).map { Branch(when: children[first + 2 * $0], then: children[first + 2 * $0 + 1]) },
            otherwise: hasOtherwise ? children[first + 2 * branches] : nil)
    }
}

extension ExpressionRun {
    /// The expression with all computed that neither a subscription nor a tuple changes.
    ///
    /// - Parameters:
    ///   - expression: The expression.
    ///   - request: The request without a subscription.
    ///   - work: What counts the work, if something does.
    /// - Returns: The expression; a part without a value stays, for it has none for each subscription.
    func folding(
        _ expression: Expression, _ request: RequestSlots, _ work: RequestWork? = nil
    ) -> Expression {
        let result = folded(expression, TupleInputs(slots: request, tuple: [], work: work))
        // Nothing is compared with all of it.
        if hasAffinity(result), case .cast(_, let inner) = result, inner.isLiteral { return inner }
        return result
    }

    private func folded(_ expression: Expression, _ inputs: TupleInputs) -> Expression {
        switch expression {
        case .literal, .column, .element, .table, .request(.subscription): return expression
        case .parameter(let parameter) where parameter.source == .subscription: return expression
        default: break
        }
        // To write all of a source and read it again for each of its members would cost its length for each.
        if case .member(.request(let source), let key, let form) = expression, source != .subscription,
            options.engine == .standard, case .literal(let name) = folded(key, inputs)
        {
            return .literal(json.member(of: inputs.slots.document(source), name, form))
        }
        let result = expression.with(expression.children.map { folded($0, inputs) })
        guard result.children.allSatisfy(isKnown) else { return result }
        // What has no value is told to each subscription.
        let known = try? value(of: result, in: inputs)
        guard let known else { return result }
        // A value that is of the type already is what its CAST gives.
        if hasAffinity(result), case .cast(let type, _) = result { return .cast(type, .literal(known)) }
        return .literal(known)
    }

    private func isKnown(_ expression: Expression) -> Bool {
        if hasAffinity(expression), case .cast(_, let inner) = expression { return inner.isLiteral }
        return expression.isLiteral
    }

    /// Whether a comparison in the SQLite engine takes the other side by what the expression is, so that its value alone
    /// does not do.
    private func hasAffinity(_ expression: Expression) -> Bool {
        if case .cast = expression { options.engine == .sqlite } else { false }
    }
}
