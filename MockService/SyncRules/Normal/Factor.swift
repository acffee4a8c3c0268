import PowerSyncWire

/// An equality of two values, each of one thing, that are of different things: a row is found by it.
struct Match {
    /// What stands on one side.
    struct Side {
        /// What it reads: a row, the request, or an array of the request.
        let owner: Input
        /// The value.
        let value: Located
    }

    /// Both sides, in the order of the text.
    let sides: [Side]
    /// Where it stands.
    let site: Site

    /// The side that reads something; nil if neither does.
    func side(of owner: Input) -> Side? { sides.first { $0.owner == owner } }

    /// The side that does not read something.
    func side(besides owner: Input) -> Side? { sides.first { $0.owner != owner } }
}

/// What a factor of a term asks of whom (LANGUAGE.md 4, step 6).
enum Factor {
    /// Something of a row, or of the elements of an array of the request.
    case filter(of: Input, Condition)
    /// Something of the request; constants, too: they hold for all rows or for none, and the request is asked once.
    case gate(Condition)
    /// That two things have the same value.
    case match(Match)
    /// Something of two things, which is told already; the first that is not the request is the one it counts for.
    case broken(of: Input)

    /// Whether it is wrong.
    var isBroken: Bool {
        if case .broken = self { true } else { false }
    }
}

/// Finds out what factors are, and tells what is none (service 6.9.2, 6.11).
struct FactorReader {
    private let query: ResolvedQuery
    private let owners: InputOwners

    /// Makes a reader for the factors of one query.
    init(_ query: ResolvedQuery, _ owners: InputOwners) {
        self.query = query
        self.owners = owners
    }

    /// Finds out what a factor is.
    ///
    /// - Parameters:
    ///   - condition: The factor.
    ///   - diagnostics: Gets what is wrong with it.
    /// - Returns: What it is; nil if it is nothing of one thing.
    func factor(_ condition: Condition, _ diagnostics: inout DiagnosticList) -> Factor? {
        let readings: [Reading]
        if case .equal(let left, let right, let site) = condition {
            // Each side is judged by itself, as recorded (validation-messages, 16).
            let (ofLeft, ofRight) = (owners.reading(left.references), owners.reading(right.references))
            if case .one(let leftReach) = ofLeft, case .one(let rightReach) = ofRight {
                return equality(condition, (left, leftReach), (right, rightReach), at: site, &diagnostics)
            }
            readings = [ofLeft, ofRight]
        } else {
            let reading = owners.reading(condition.references)
            if case .one(let reach) = reading { return filter(of: reach.owner, condition) }
            readings = [reading]
        }
        let mixtures = readings.flatMap(\.mixtures)
        for mixture in mixtures { tell(mixture, &diagnostics) }
        let inputs = mixtures.prefix(1).flatMap { [$0.first, $0.second.input] }
        let holder = inputs.compactMap { owners.owner(of: $0) }.first { $0 != .request }
        return holder.map { Factor.broken(of: $0) }
    }

    private func equality(
        _ condition: Condition, _ left: (value: Located, reach: Reach),
        _ right: (value: Located, reach: Reach), at site: Site, _ diagnostics: inout DiagnosticList
    ) -> Factor? {
        guard let leftOwner = left.reach.owner, let rightOwner = right.reach.owner else {
            return filter(of: left.reach.owner ?? right.reach.owner, condition)
        }
        guard leftOwner == rightOwner else {
            let sides = [
                Match.Side(owner: leftOwner, value: left.value),
                Match.Side(owner: rightOwner, value: right.value),
            ]
            return .match(Match(sides: sides, site: site))
        }
        if let one = left.reach.element, let other = right.reach.element, one != other,
            !owners.areNested(one, other)
        {
            diagnostics.add(site.diagnostic(.unassociatedFilter, in: query.site.query))
            return nil
        }
        return filter(of: leftOwner, condition)
    }

    private func filter(of owner: Input?, _ condition: Condition) -> Factor {
        if let owner, owner != .request { .filter(of: owner, condition) } else { .gate(condition) }
    }

    private func tell(_ mixture: Mixture, _ diagnostics: inout DiagnosticList) {
        // What mixes thousands of things does so in each term, and nothing of that is kept.
        guard !diagnostics.isFull else { return }
        let (first, second) = (mixture.first, mixture.second)
        let name: DiagnosticName
        var arguments: [String] = []
        if second.input == .request {
            name = .mixesRowRequest
        } else if first == .request {
            name = .mixesRequestRow
        } else {
            name = .mixesRowRow
            arguments = [query.source(first)?.name.text ?? ""]
        }
        var hint: String?
        if name == .mixesRowRow, case .row = second.input, query.source(second.input)?.isNested == true {
            hint = Hint.negatedSubquery
        }
        diagnostics.add(second.site.diagnostic(name, arguments, in: query.site.query).hinting(hint))
    }
}
