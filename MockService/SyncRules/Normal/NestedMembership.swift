/// Asks of arrays as a whole where NOT, or an expression around it, stands between an IN and the query (service 6.8).
///
/// `x IN list` is “there is an element that is x”. Of what stands around it NOT, CASE and all that computes a value would
/// make “there is an element that is not x”, which nearly every list has: `NOT (state IN '["deleted", "archived"]')`
/// would let everything through. So NOT of an IN asks whether the list contains the value, as `x NOT IN list` does, and
/// an expression must hold for an element and for the list. That is ours: the contract is silent and nothing is
/// recorded but expressions that never hold; fewer rows are the safe side. Of rows of a sub-select there is no such
/// question, so it is refused.
struct NestedMembership {
    private let owners: InputOwners
    /// The query, from SELECT to its end.
    private let whole: Site
    /// The rows and elements of which it is not enough that one is found.
    private let nested: Set<Input>
    /// The arrays behind a nested IN, by the inputs that have their elements.
    private let lists: [Input: Located]
    /// Where something stands that cannot be asked.
    private(set) var refused: [Site] = []

    /// Looks for what is nested in a query.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - owners: What its inputs belong to.
    init(_ query: ResolvedQuery, _ owners: InputOwners) {
        self.owners = owners
        whole = query.site
        var nested: Set<Input> = []
        var lists: [Input: Located] = [:]
        for source in query.sources where source.isNested {
            nested.insert(source.input)
            // Where a source of IN stands, the array itself stands.
            if case .elements(let array) = source.content, source.site == array.site {
                lists[source.input] = array
            }
        }
        self.nested = nested
        self.lists = lists
    }

    /// Rewrites a condition.
    ///
    /// - Parameter condition: One with NOT in front of comparisons and values alone.
    /// - Returns: One that holds at most where the condition, read as SQL, does.
    mutating func condition(_ condition: Condition) -> Condition {
        guard !nested.isEmpty else { return condition }
        switch condition {
        case .and(let all): return .and(conditions(all))
        case .or(let all): return .or(conditions(all))
        case .equal, .value, .not: break
        }
        if Set(condition.references.map(\.input)).isDisjoint(with: nested) { return condition }
        if case .equal(let left, let right, let site) = condition, isMatch(left, right) {
            guard let one = asked(left), let other = asked(right) else { return refuse(condition) }
            return .equal(one, other, site)
        }
        // What mixes things is told as that.
        guard case .one(let reach) = owners.reading(condition.references) else { return condition }
        let value = Located(condition.expression, at: site(of: condition), references: condition.references)
        guard let ofLists = asked(value) else { return refuse(condition) }
        if case .not(.equal(_, let list, _)) = condition, isListElement(list.expression) {
            return .value(ofLists)
        }
        // An array of the request is asked where its elements are found, and all of it at the gate.
        if case .element? = reach.owner { return .and([condition, .value(ofLists)]) }
        // In one expression, of which the second part is not computed, and so has no error, unless the first one holds.
        let both = Expression.choice(
            base: nil, [Expression.Branch(when: value.expression, then: ofLists.expression)], otherwise: nil)
        return .value(Located(both, at: value.site, references: value.references + ofLists.references))
    }

    private mutating func conditions(_ all: [Condition]) -> [Condition] {
        var conditions: [Condition] = []
        for inner in all { conditions.append(condition(inner)) }
        return conditions
    }

    private mutating func refuse(_ condition: Condition) -> Condition {
        refused.append(site(of: condition))
        return condition
    }

    private func site(of condition: Condition) -> Site {
        switch condition {
        case .equal(_, _, let site): site
        case .value(let value): value.site
        case .not(let inner): site(of: inner)
        case .and, .or: whole
        }
    }

    /// Whether two sides of an equality are of different things.
    private func isMatch(_ left: Located, _ right: Located) -> Bool {
        guard case .one(let one) = owners.reading(left.references), let first = one.owner,
            case .one(let other) = owners.reading(right.references), let second = other.owner
        else { return false }
        return first != second
    }

    /// The value with its INs asked of all of their arrays; nil if something nested is left in it.
    private func asked(_ value: Located) -> Located? {
        let expression = asked(value.expression)
        guard expression.inputs.members.isDisjoint(with: nested) else { return nil }
        return Located(expression, at: value.site, references: asked(value.references))
    }

    private func asked(_ expression: Expression) -> Expression {
        expression.replacing { part in
            guard case .comparison(.equal, let value, .element(let input, .value)) = part,
                let list = lists[input]
            else { return nil }
            return .contains(list: asked(list.expression), asked(value))
        }
    }

    /// Where a value reads inputs, in the place of elements what their arrays read.
    private func asked(_ references: [Reference]) -> [Reference] {
        references.flatMap { reference in
            lists[reference.input].map { asked($0.references) } ?? [reference]
        }
    }

    private func isListElement(_ expression: Expression) -> Bool {
        if case .element(let input, .value) = expression { lists[input] != nil } else { false }
    }
}
