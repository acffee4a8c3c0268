/// A conjunction of the normal form: all of its factors must hold.
typealias Term = [Condition]

/// Brings conditions into disjunctive normal form (service 5, 6.9.1; LANGUAGE.md 4, steps 2 to 5).
struct TermList {
    private let owners: InputOwners

    /// Makes a list for conditions of one query.
    init(_ owners: InputOwners) { self.owners = owners }

    /// The terms of a condition, in the order that numbers them; nil if there are more than `PlanLimits.terms`.
    func terms(of condition: Condition) -> [Term]? {
        let condition = condition.withNegationsInside()
        guard count(condition) <= PlanLimits.terms else { return nil }
        return ordered(distributed(condition))
    }

    /// What a condition reads if it is a condition on one thing, so that its ORs may stay together.
    private func reach(_ condition: Condition) -> Reach? {
        guard !condition.comparesInputs, case .one(let reach) = owners.reading(condition.references) else {
            return nil
        }
        return reach
    }

    /// How many terms there are before any is built; one more than the limit stands for all that is above.
    private func count(_ condition: Condition) -> Int {
        let most = PlanLimits.terms + 1
        switch condition {
        case .and(let all): return all.reduce(1) { min($0 * count($1), most) }
        case .or(let all):
            return branches(all).reduce(0) { sum, branch in
                min(sum + (reach(branch) == nil ? count(branch) : 1), most)
            }
        case .not, .equal, .value: return 1
        }
    }

    /// AND over OR, in the order of the text: what stands first changes last.
    private func distributed(_ condition: Condition) -> [Term] {
        switch condition {
        case .and(let all):
            let none: [Term] = [[]]
            return all.reduce(none) { terms, next in
                let further = distributed(next)
                return terms.flatMap { term in further.map { term + $0 } }
            }
        case .or(let all):
            return branches(all).flatMap { reach($0) == nil ? distributed($0) : conjunction($0) }
        case .not, .equal, .value: return [[condition]]
        }
    }

    /// A branch on one thing as a term: its factors if it is an AND, else itself.
    private func conjunction(_ branch: Condition) -> [Term] {
        guard case .and(let all) = branch else { return [[branch]] }
        return [all.flatMap { conjunction($0).flatMap { $0 } }]
    }

    /// The branches of an OR, those of ORs in it included.
    ///
    /// Those on one and the same thing are one, at the place of the first. Constants are a thing of their own, as
    /// recorded.
    private func branches(_ all: [Condition]) -> [Condition] {
        var groups: [(reach: Reach?, all: [Condition])] = []
        for branch in flattened(all) {
            let reach = self.reach(branch)
            if reach != nil, let index = groups.firstIndex(where: { $0.reach == reach }) {
                groups[index].all.append(branch)
            } else {
                groups.append((reach, [branch]))
            }
        }
        return groups.map { $0.all.count == 1 ? $0.all[0] : .or($0.all) }
    }

    private func flattened(_ all: [Condition]) -> [Condition] {
        all.flatMap { branch in
            if case .or(let inner) = branch { flattened(inner) } else { [branch] }
        }
    }

    /// Terms in the order that numbers them, as recorded: those of several factors, those of one match, and last those
    /// on one thing, which are one term for each thing.
    private func ordered(_ terms: [Term]) -> [Term] {
        guard terms.count > 1 else { return terms }
        var several: [Term] = []
        var single: [Term] = []
        var groups: [(reach: Reach, terms: [Term])] = []
        for term in terms {
            if let reach = self.reach(.and(term)) {
                if let index = groups.firstIndex(where: { $0.reach == reach }) {
                    groups[index].terms.append(term)
                } else {
                    groups.append((reach, [term]))
                }
            } else if term.count > 1 {
                several.append(term)
            } else {
                single.append(term)
            }
        }
        return several + single + groups.map { merged($0.terms) }
    }

    private func merged(_ terms: [Term]) -> Term {
        guard terms.count > 1 else { return terms[0] }
        return [.or(terms.map { $0.count == 1 ? $0[0] : .and($0) })]
    }
}
