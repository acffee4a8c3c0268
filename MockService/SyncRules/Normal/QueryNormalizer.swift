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
        let whole = query.site.query.content
        let owners = InputOwners(query)
        var nested = NestedMembership(query, owners)
        let condition = nested.condition(query.condition.withNegationsInside())
        guard let terms = TermList(owners, primary: query.primary).terms(of: condition) else {
            diagnostics.add(Diagnostic(.tooManyTerms, at: whole))
            return []
        }
        guard terms.allSatisfy({ isSmall($0, owners) }) else {
            let limit = "\(PlanLimits.inputs) tables and arrays that depend on each other"
            diagnostics.add(Diagnostic(.tooLarge, [limit], at: whole))
            return []
        }
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

    private static func isSmall(_ term: Term, _ owners: InputOwners) -> Bool {
        var inputs = Set(term.flatMap { $0.references.map(\.input) })
        inputs.formUnion(owners.elements(of: term.map(\.expression)))
        return inputs.count <= PlanLimits.inputs
    }
}
