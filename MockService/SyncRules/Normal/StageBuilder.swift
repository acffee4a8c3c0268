import PowerSyncWire

/// Makes a variant of a term: from the row to sync outwards, each match is a key and a value (service 6.9.3 to 6.9.5;
/// LANGUAGE.md 4, steps 8 to 10).
///
/// A row that has a value is a lookup: it is found by its own matches, and these rows by theirs. A row takes all of its
/// matches before the first of them is followed, so none leads back to it.
struct StageBuilder {
    private let query: ResolvedQuery
    private let owners: InputOwners
    private var filters: [(owner: Input, condition: Condition)] = []
    private var gates: [Condition] = []
    private var matches: [Match] = []
    private var isUsed: [Bool] = []
    private var scopes: [Input: RowScope] = [:]
    /// The arrays, by their representatives, of which one element is asked several things.
    private var apart: Set<Input> = []

    private var drafts: [Draft] = []
    private var numbers: [Input: Int] = [:]
    /// What broken factors count for.
    private var broken: [Input] = []
    /// What the request brings for the keys of the row to sync.
    private var reads: [RequestRead] = []
    /// Whether a broken factor counts for something that no key leads to.
    private var isBroken = false

    /// A step that is being made.
    private struct Draft {
        /// What it reads.
        enum Content {
            /// An array of the request.
            case array(Expression)
            /// A row, found by these keys.
            case row(Input, [Key])
        }

        let content: Content
        var filters: [Expression] = []
        var outputs: [Expression] = []
    }

    /// A key: what it is of a row, and the values that it must have.
    private struct Key {
        let value: Expression
        var sides: [Match.Side]
        var values: [Expression] = []
    }

    /// Makes a builder for a term.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - owners: What its inputs belong to.
    ///   - factors: The factors of the term.
    init(_ query: ResolvedQuery, _ owners: InputOwners, _ factors: [Factor]) {
        self.query = query
        self.owners = owners
        for factor in factors {
            switch factor {
            case .filter(let owner, let condition): filters.append((owner, condition))
            case .gate(let condition): gates.append(condition)
            case .match(let match): matches.append(match)
            case .broken(let owner): broken.append(owner)
            }
        }
        isUsed = Array(repeating: false, count: matches.count)
        makeScopes()
        findApart()
    }

    private mutating func findApart() {
        let asked: [[Expression]] =
            filters.map { [$0.condition.expression] } + matches.map { $0.sides.map(\.value.expression) }
        var counts: [Input: Int] = [:]
        for element in asked.flatMap({ owners.elements(of: $0) }) { counts[element, default: 0] += 1 }
        for (element, count) in counts where count > 1 { apart.insert(owners.representative(element)) }
    }

    /// What a key is told from others by.
    ///
    /// Elements of equal arrays are one key, unless something else is asked of one of them: that would be asked of another
    /// element than the one that is the key.
    private func identity(_ expression: Expression) -> Expression {
        let isApart = owners.elements(of: [expression]).contains { apart.contains(owners.representative($0)) }
        return isApart ? expression : owners.representative(expression)
    }

    private mutating func makeScopes() {
        var asked: [Input: [Expression]] = [query.primary: []]
        for (owner, condition) in filters { asked[owner, default: []].append(condition.expression) }
        for side in matches.flatMap(\.sides) { asked[side.owner, default: []].append(side.value.expression) }
        for (owner, expressions) in asked {
            guard case .row = owner else { continue }
            scopes[owner] = RowScope(row: owner, expressions: expressions, owners: owners)
        }
    }

    /// Makes the variant, once.
    ///
    /// - Parameter diagnostics: Gets what cannot be brought together.
    /// - Returns: The variant.
    mutating func variant(_ diagnostics: inout DiagnosticList) -> Variant {
        let keys = self.keys(of: query.primary, &diagnostics)
        isBroken = broken.contains { $0 != query.primary && numbers[$0] == nil }
        makeGates(&diagnostics)
        for (index, match) in matches.enumerated() where !isUsed[index] {
            diagnostics.add(match.site.diagnostic(.unassociatedFilter, in: query.site.query))
        }
        let asked = requestGates(&diagnostics)
        let request = RequestSide(
            gates: asked, steps: drafts.map { step($0) }, keys: keys.map(\.values))
        return Variant(processor: processor(keys: keys.map(\.value)), request: request)
    }

    /// The call that lets clients choose what they get, if no value of the token has a say in it (service 6.11).
    ///
    /// Gates, and rows that must be there, do not count beside keys, as recorded; without keys gates do, and without
    /// these arrays. It is the first in the order of keys.
    var unauthenticated: Site? {
        guard !isBroken else { return nil }
        if !reads.isEmpty { return reads.contains { $0.isAuthenticated } ? nil : reads[0].site }
        let asked = gates.map { RequestRead.reads(in: $0.expression, at: $0.references) }
        return unauthenticated(asked.contains { !$0.isEmpty } ? asked : readsOfArrays)
    }

    /// The first call of several gates that clients choose the value of, unless one gate has calls of the token alone.
    private func unauthenticated(_ gates: [[RequestRead]]) -> Site? {
        guard !gates.contains(where: { !$0.isEmpty && $0.allSatisfy(\.isAuthenticated) }) else { return nil }
        return gates.flatMap { $0 }.first { !$0.isAuthenticated }?.site
    }

    /// The arrays of the request that must have an element.
    private var readsOfArrays: [[RequestRead]] {
        filters.compactMap { owners.array(of: $0.owner) }
            .map { RequestRead.reads(in: $0.expression, at: $0.references) }
    }

    // MARK: - Keys and values

    /// The keys of a row, in the order of `KeyOrder`; what they lead to is made.
    private mutating func keys(of row: Input, _ diagnostics: inout DiagnosticList) -> [Key] {
        var found: [(identity: Expression, key: Key)] = []
        for (index, match) in matches.enumerated() where !isUsed[index] {
            guard let side = match.side(of: row), let other = match.side(besides: row) else { continue }
            isUsed[index] = true
            let identity = local(self.identity(side.value.expression), of: row)
            if let known = found.firstIndex(where: { $0.identity == identity }) {
                found[known].key.sides.append(other)
            } else {
                found.append((identity, Key(value: local(side.value.expression, of: row), sides: [other])))
            }
        }
        var keys = KeyOrder.sorted(found) { $0.identity }.map { $0.key }
        for index in keys.indices {
            for side in keys[index].sides {
                let value = self.value(of: side, &diagnostics)
                if !keys[index].values.contains(value) { keys[index].values.append(value) }
            }
        }
        return keys
    }

    /// A side of a match as a value over the request and the tuple.
    private mutating func value(of side: Match.Side, _ diagnostics: inout DiagnosticList) -> Expression {
        guard case .row = side.owner else {
            note(side.value)
            return requested(side.value.expression, &diagnostics)
        }
        let number = stage(ofRow: side.owner, &diagnostics)
        let output = local(side.value.expression, of: side.owner)
        let position = drafts[number].outputs.firstIndex(of: output) ?? drafts[number].outputs.count
        if position == drafts[number].outputs.count { drafts[number].outputs.append(output) }
        return .column(.row(number), ExactText("\(position)"))
    }

    private mutating func note(_ value: Located) {
        reads += RequestRead.reads(in: value.expression, at: value.references)
        for element in owners.elements(of: [value.expression]) {
            guard let array = owners.array(of: element) else { continue }
            reads += RequestRead.reads(in: array.expression, at: array.references)
        }
    }

    private func local(_ expression: Expression, of row: Input) -> Expression {
        scopes[row]?.local(expression) ?? expression
    }

    /// An expression over the request and arrays of it or of constants, as one over the tuple.
    private mutating func requested(
        _ expression: Expression, _ diagnostics: inout DiagnosticList
    ) -> Expression {
        var elements: [Input: Int] = [:]
        for input in owners.inOrder(expression.inputs.members) where owners.array(of: input) != nil {
            elements[input] = stage(ofArray: input, &diagnostics)
        }
        return expression.replacingElements { input, part in
            elements[input].map { .element(.element($0), part) }
        }
    }

    // MARK: - Stages

    private mutating func stage(ofRow row: Input, _ diagnostics: inout DiagnosticList) -> Int {
        if let number = numbers[row] { return number }
        let keys = self.keys(of: row, &diagnostics)
        numbers[row] = drafts.count
        drafts.append(Draft(content: .row(row, keys), filters: localFilters(of: row)))
        return drafts.count - 1
    }

    /// The step of an array of the request or of constants.
    ///
    /// Such an array has no keys: nothing that is matched to it may be left.
    private mutating func stage(ofArray array: Input, _ diagnostics: inout DiagnosticList) -> Int {
        if let number = numbers[array] { return number }
        if let source = query.source(array), takeMatches(of: array) {
            diagnostics.add(source.site.diagnostic(.requestTablePartitioned, in: query.site.query))
        }
        let argument = requested(owners.array(of: array)?.expression ?? .literal(.null), &diagnostics)
        let asked = filters.filter { $0.owner == array }.map { $0.condition.expression }
        for input in owners.inOrder(Set(asked.flatMap { $0.inputs.members }).subtracting([array]))
        where owners.array(of: input) != nil {
            _ = stage(ofArray: input, &diagnostics)
        }
        let number = drafts.count
        numbers[array] = number
        drafts.append(Draft(content: .array(argument)))
        for expression in asked { drafts[number].filters.append(requested(expression, &diagnostics)) }
        return number
    }

    /// Takes what is left of matches to an array; whether there were any.
    private mutating func takeMatches(of array: Input) -> Bool {
        var isAny = false
        for (index, match) in matches.enumerated() where !isUsed[index] && match.side(of: array) != nil {
            isUsed[index] = true
            isAny = true
        }
        return isAny
    }

    private func localFilters(of row: Input) -> [Expression] {
        filters.filter { $0.owner == row }.map { local($0.condition.expression, of: row) }
    }

    // MARK: - Gates

    /// Rows and arrays that no value needs, but the term names: one must be found (service 6.9.4).
    private mutating func makeGates(_ diagnostics: inout DiagnosticList) {
        let former = reads
        for (owner, _) in filters where owner != query.primary { makeGate(owner, &diagnostics) }
        for (index, match) in matches.enumerated() where !isUsed[index] {
            guard match.side(of: .request) != nil, let side = match.side(besides: .request) else { continue }
            makeGate(side.owner, &diagnostics)
        }
        reads = former
    }

    private mutating func makeGate(_ owner: Input, _ diagnostics: inout DiagnosticList) {
        guard numbers[owner] == nil else { return }
        if case .row = owner {
            _ = stage(ofRow: owner, &diagnostics)
        } else {
            _ = stage(ofArray: owner, &diagnostics)
        }
    }

    /// What is asked of the request alone.
    ///
    /// What reads elements of constants is asked of these, in the last of their steps.
    private mutating func requestGates(_ diagnostics: inout DiagnosticList) -> [Expression] {
        var asked: [Expression] = []
        for gate in gates {
            let expression = requested(gate.expression, &diagnostics)
            let last = owners.elements(of: [gate.expression]).compactMap { numbers[$0] }.max()
            if let last {
                drafts[last].filters.append(expression)
            } else if !asked.contains(expression) {
                asked.append(expression)
            }
        }
        return asked
    }

    // MARK: - What comes of it

    private func step(_ draft: Draft) -> RequestSide.Step {
        switch draft.content {
        case .array(let argument): return .elements(argument, filters: draft.filters)
        case .row(let row, let keys):
            let definition = LookupDefinition(
                name: ExactText(""), table: table(of: row), expansions: scopes[row]?.expansions ?? [],
                filters: draft.filters, keys: keys.map(\.value), outputs: draft.outputs)
            return .lookup(definition, keys: keys.map(\.values))
        }
    }

    private func processor(keys: [Expression]) -> RowProcessor {
        let outputs = query.outputs.map { output -> RowProcessor.Output in
            switch output {
            case .allColumns: output
            case .column(let value, let name): .column(local(value, of: query.primary), name: name)
            }
        }
        return RowProcessor(
            table: table(of: query.primary), type: query.type,
            expansions: scopes[query.primary]?.expansions ?? [], filters: localFilters(of: query.primary),
            keys: keys, outputs: outputs, form: .edition(3))
    }

    private func table(of row: Input) -> TablePattern {
        guard case .table(let pattern) = query.source(row)?.content else {
            preconditionFailure("A row is of no table.")
        }
        return pattern
    }
}
