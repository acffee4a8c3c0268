/// Makes variants of a query of edition 3 (service 6.9; LANGUAGE.md 4).
package enum QueryNormalizer {
    /// Makes the variants of a query.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - calls: Gets the calls by which clients choose what they get, of all queries of the stream.
    ///   - diagnostics: Gets what is wrong: of each term once, so the same may be told more than once, as recorded.
    /// - Returns: One for each term, in the order that numbers them; none if the query cannot be used.
    package static func variants(
        of query: ResolvedQuery, _ calls: inout UnauthenticatedParameters,
        _ diagnostics: inout DiagnosticList
    ) -> [Variant] {
        var left = PlanLimits.allConditions
        return variants(of: query, &left, &calls, &diagnostics)
    }

    /// Makes the variants of one query of several.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - left: How many terms and conditions of them the configuration may have yet; below 0 once it has more.
    ///   - calls: Gets the calls by which clients choose what they get, of all queries of the stream.
    ///   - diagnostics: Gets what is wrong.
    /// - Returns: One for each term; none if the query cannot be used.
    static func variants(
        of query: ResolvedQuery, _ left: inout Int, _ calls: inout UnauthenticatedParameters,
        _ diagnostics: inout DiagnosticList
    ) -> [Variant] {
        // It was told of the query that was too much, and nothing comes of the others.
        guard left >= 0 else { return [] }
        let whole = query.site.query.content
        func refuse(_ limit: String) -> [Variant] {
            diagnostics.add(Diagnostic(.tooLarge, [limit], at: whole))
            return []
        }
        let owners = InputOwners(query)
        guard !owners.isTooLarge else { return refuse(inputLimit) }
        var nested = NestedMembership(query, owners)
        let condition = nested.condition(query.condition.withNegationsInside())
        let list = TermList(owners, primary: query.primary)
        let size = list.size(of: condition)
        if size.terms <= PlanLimits.terms, size.conditions > PlanLimits.conditions {
            return refuse("\(PlanLimits.conditions) conditions in all terms of a query")
        }
        guard let terms = list.terms(of: condition) else {
            diagnostics.add(Diagnostic(.tooManyTerms, at: whole))
            return []
        }
        left -= size.terms + size.conditions
        guard left >= 0 else {
            return refuse("\(PlanLimits.allConditions) conditions in all terms of a configuration")
        }
        guard terms.allSatisfy({ isSmall($0, owners) }) else { return refuse(inputLimit) }
        let reader = FactorReader(query, owners)
        var variants: [Variant] = []
        for term in terms {
            var factors: [Factor] = []
            for condition in term {
                if let factor = reader.factor(condition, &diagnostics) { factors.append(factor) }
            }
            var builder = StageBuilder(query, owners, factors)
            let variant = builder.variant(&diagnostics)
            let isBroken = factors.contains(where: \.isBroken)
            calls.add(builder.unauthenticated, of: variant, isBroken: isBroken)
            variants.append(variant)
        }
        // Beside other errors the real service's are told alone.
        if !diagnostics.isFatal {
            for site in nested.refused { diagnostics.add(Diagnostic(.nestedSubquery, at: site.place)) }
        }
        return variants
    }

    private static let inputLimit = "\(PlanLimits.inputs) tables and arrays that depend on each other"

    private static func isSmall(_ term: Term, _ owners: InputOwners) -> Bool {
        var inputs = Set(term.flatMap { $0.references.map(\.input) })
        inputs.formUnion(owners.elements(of: term.map(\.expression)))
        return inputs.count <= PlanLimits.inputs
    }
}
