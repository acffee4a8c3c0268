/// What a condition or a value reads, if that is one thing.
struct Reach: Hashable {
    /// The row, the request, or the array of the request that it reads; nil for constants.
    let owner: Input?
    /// The array of the row, or of constants, of which it reads elements.
    let element: Input?
}

/// Two things that a condition or a value reads.
struct Mixture {
    /// What is read first.
    let first: Input
    /// Where the other thing comes in.
    let second: Reference
}

/// What a condition or a value reads, one thing or several.
enum Reading {
    /// One, so it can be asked where that is.
    case one(Reach)
    /// Several: each place where something else than the first comes in.
    case several([Mixture])

    /// What it mixes: nothing if it reads one thing.
    var mixtures: [Mixture] {
        switch self {
        case .one: []
        case .several(let mixtures): mixtures
        }
    }
}

/// What the inputs of a query belong to (LANGUAGE.md 4, step 7).
///
/// The elements of an array of a row belong to the row, those of an array of the request are an input of their own, and
/// so are those of a constant in FROM. Those of a constant behind IN or `&&` belong to whatever reads them: `rank IN
/// '[1, 2]'` is a filter of the row, as recorded (random-17).
struct InputOwners {
    private let query: ResolvedQuery
    private var numbers: [Input: Int] = [:]
    private var owners: [Input: Input] = [.request: .request]
    private var needs: [Input: Set<Input>] = [:]
    /// Whether an array needs more inputs than a term may read.
    private(set) var isTooLarge = false
    private var twins: [Input: Input] = [:]

    /// Finds the owners of a query's inputs.
    init(_ query: ResolvedQuery) {
        self.query = query
        var arrays: [Expression: Input] = [:]
        for (number, source) in query.sources.enumerated() {
            numbers[source.input] = number
            guard case .elements(let array) = source.content else {
                owners[source.input] = source.input
                continue
            }
            var needed: Set<Input> = []
            for input in array.inputs.union(array.expression.inputs).members where !isTooLarge {
                needed.insert(input)
                needed.formUnion(needs[input] ?? [])
                // Each array of a chain needs all before it, so that they would have the square of that together.
                isTooLarge = needed.count > PlanLimits.inputs
            }
            needs[source.input] = needed
            // Where a source of IN or && stands, the array itself stands.
            let isInFrom = source.site != array.site
            owners[source.input] = owner(needs: needed, itself: source.input, isInFrom: isInFrom)
            let argument = representative(array.expression)
            twins[source.input] = arrays[argument] ?? source.input
            if arrays[argument] == nil { arrays[argument] = source.input }
        }
    }

    private func owner(needs needed: Set<Input>, itself: Input, isInFrom: Bool) -> Input? {
        let rows = needed.filter { input in
            if case .row = input { true } else { false }
        }
        return inOrder(rows).first ?? (isInFrom || needed.contains(.request) ? itself : nil)
    }

    /// The row, the request, or the array that an input belongs to; nil for elements of a constant behind IN or `&&`.
    func owner(of input: Input) -> Input? { owners[input] }

    /// The array that an input has the elements of; nil for rows and the request.
    func array(of input: Input) -> Located? {
        guard case .elements(let array) = query.source(input)?.content else { return nil }
        return array
    }

    /// Inputs in the order of the query.
    func inOrder(_ inputs: Set<Input>) -> [Input] {
        inputs.sorted { (numbers[$0] ?? -1) < (numbers[$1] ?? -1) }
    }

    /// The elements that expressions read, those whose arrays are made of further elements included, in the order of
    /// the query.
    func elements(of expressions: [Expression]) -> [Input] {
        var all: Set<Input> = []
        for expression in expressions {
            for input in expression.inputs.members {
                all.insert(input)
                all.formUnion(needs[input] ?? [])
            }
        }
        return inOrder(all.filter { needs[$0] != nil })
    }

    /// The expression with the elements of equal arrays taken for the same: what keys are told apart by.
    ///
    /// So `u IN readers AND readers && list` has one key, whose values must agree, as recorded.
    func representative(_ expression: Expression) -> Expression {
        expression.replacingElements { input, part in twins[input].map { .element($0, part) } }
    }

    /// The first of the inputs that have the elements of an array equal to this one's.
    func representative(_ input: Input) -> Input { twins[input] ?? input }

    /// Whether the elements of one of two arrays are made of those of the other.
    func areNested(_ one: Input, _ other: Input) -> Bool {
        needs[one]?.contains(other) == true || needs[other]?.contains(one) == true
    }

    /// What is read at some places, in their order.
    func reading(_ references: [Reference]) -> Reading {
        var owner: Input?
        var element: Input?
        var mixtures: [Mixture] = []
        for reference in references {
            let input = reference.input
            let next = owners[input]
            if let owner, let next, next != owner {
                mixtures.append(Mixture(first: element ?? owner, second: reference))
                continue
            }
            if next != input {
                if let former = element, former != input {
                    guard areNested(former, input) else {
                        mixtures.append(Mixture(first: former, second: reference))
                        continue
                    }
                    if needs[input]?.contains(former) == true { element = input }
                } else {
                    element = input
                }
            }
            owner = owner ?? next
        }
        return mixtures.isEmpty ? .one(Reach(owner: owner, element: element)) : .several(mixtures)
    }
}
