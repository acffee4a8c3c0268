/// A conjunction of the normal form: all of its factors must hold.
typealias Term = [Condition]

/// Brings conditions into disjunctive normal form (service 5, 6.9.1; LANGUAGE.md 4, steps 2 to 5).
struct TermList {
    private let owners: InputOwners
    private let primary: Input

    /// Makes a list for conditions of one query.
    ///
    /// - Parameters:
    ///   - owners: What its inputs belong to.
    ///   - primary: The row that it syncs.
    init(_ owners: InputOwners, primary: Input) {
        self.owners = owners
        self.primary = primary
    }

    /// The terms of a condition, in the order that numbers them; nil if its size is over a limit.
    func terms(of condition: Condition) -> [Term]? {
        let condition = condition.withNegationsInside()
        let size = count(condition)
        guard size.terms <= PlanLimits.terms, size.conditions <= PlanLimits.conditions else { return nil }
        return ordered(distributed(condition))
    }

    /// How much a condition comes to, before any of it is built.
    func size(of condition: Condition) -> TermSize { count(condition.withNegationsInside()) }

    /// What a condition reads if it is a condition on one thing, so that its ORs may stay together.
    private func reach(_ condition: Condition) -> Reach? {
        guard !condition.comparesInputs, case .one(let reach) = owners.reading(condition.references) else {
            return nil
        }
        return reach
    }

    /// How many terms there are before any is built, and how many conditions they have.
    private func count(_ condition: Condition) -> TermSize {
        switch condition {
        case .and(let all): return all.reduce(TermSize(terms: 1)) { $0.and(count($1)) }
        case .or(let all):
            return branches(all).reduce(TermSize()) { size, branch in
                if reach(branch) == nil { return size.or(count(branch)) }
                return size.or(TermSize(terms: 1, conditions: conjunction(branch)[0].count))
            }
        case .not, .equal, .value: return TermSize(terms: 1, conditions: 1)
        }
    }

    /// AND over OR, in the order of the text: what stands first changes last.
    private func distributed(_ condition: Condition) -> [Term] {
        switch condition {
        case .and(let all):
            var terms: [Term] = [[]]
            for next in all {
                let further = distributed(next)
                if further.count == 1 {
                    // In their places: a copy for each condition would cost the square of them.
                    for index in terms.indices { terms[index] += further[0] }
                } else {
                    terms = terms.flatMap { term in further.map { term + $0 } }
                }
            }
            return terms
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
    /// recorded. Those on a row that is not synced stay apart: such a row is found once for each that holds (jobs 34
    /// and 920 of `configurations`).
    private func branches(_ all: [Condition]) -> [Condition] {
        var groups: [(reach: Reach?, all: [Condition])] = []
        for branch in flattened(all) {
            let reach = self.reach(branch)
            if let reach, isTogether(reach), let index = groups.firstIndex(where: { $0.reach == reach }) {
                groups[index].all.append(branch)
            } else {
                groups.append((reach, [branch]))
            }
        }
        return groups.map { $0.all.count == 1 ? $0.all[0] : .or($0.all) }
    }

    /// Whether branches on a thing are one.
    private func isTogether(_ reach: Reach) -> Bool {
        guard let owner = reach.owner, case .row = owner else { return true }
        return owner == primary
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

/// How many terms a condition comes to, and how many conditions all of them have together; one more than a limit stands
/// for all that is above.
struct TermSize {
    private(set) var terms = 0
    private(set) var conditions = 0

    init(terms: Int = 0, conditions: Int = 0) {
        self.terms = min(terms, PlanLimits.terms + 1)
        self.conditions = min(conditions, PlanLimits.conditions + 1)
    }

    /// Each term of one with each of the other.
    func and(_ other: TermSize) -> TermSize {
        TermSize(
            terms: terms * other.terms, conditions: conditions * other.terms + terms * other.conditions)
    }

    /// The terms of both.
    func or(_ other: TermSize) -> TermSize {
        TermSize(terms: terms + other.terms, conditions: conditions + other.conditions)
    }
}
