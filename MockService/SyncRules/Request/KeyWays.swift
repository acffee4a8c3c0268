/// The ways in which the values of one key agree: each value is a way of its own, as recorded (LANGUAGE.md 6).
///
/// `x = a AND x = b` is met once for each thing that `a` comes of and once for each that `b` comes of, not once for
/// each pair of them: two rows with the value and a claim with it are three ways.
struct KeyWays: Sendable, Hashable {
    /// For each value the stages that serve it alone.
    let own: [Set<Int>]

    /// The stages that do not tell one way by a value from another: those that serve the other values alone.
    func hidden(for value: Int) -> Set<Int> {
        var hidden: Set<Int> = []
        for other in own.indices where other != value { hidden.formUnion(own[other]) }
        return hidden
    }

    /// The ways of the keys of a querier that have several values.
    ///
    /// - Parameters:
    ///   - stages: Its stages.
    ///   - names: The values of its buckets' names.
    /// - Returns: Those of each stage's keys, and those of the names.
    static func all(
        of stages: [Stage], _ names: [[Expression]]
    ) -> (stages: [[KeyWays]], names: [KeyWays]) {
        let keys = names + stages.flatMap { Self.keys(of: $0) }
        let hasSeveral = keys.contains { $0.count > 1 }
        guard hasSeveral else { return (stages.map { _ in [] }, []) }
        let readers = KeyReaders(stages, names)
        let ofStages = stages.indices.map { stage in
            ways(Self.keys(of: stages[stage]), of: stage, readers)
        }
        return (ofStages, ways(names, of: nil, readers))
    }

    private static func ways(_ keys: [[Expression]], of stage: Int?, _ readers: KeyReaders) -> [KeyWays] {
        keys.indices.filter { keys[$0].count > 1 }.map { key in
            KeyWays(
                own: keys[key].indices.map { value in
                    readers.own(KeyReaders.Place(stage: stage, key: key, value: value))
                })
        }
    }

    fileprivate static func keys(of stage: Stage) -> [[Expression]] {
        if case .lookup(_, let keys, _) = stage { keys } else { [] }
    }
}

/// What reads the stages of a querier.
private struct KeyReaders {
    /// A value of a key.
    struct Place: Hashable {
        /// The stage whose key it is; nil for the names of buckets.
        let stage: Int?
        /// The number of the key.
        let key: Int
        /// The number of the value.
        let value: Int
    }

    /// A value, a filter or an array.
    private struct Reader {
        /// The stage that it is a part of; nil for the names of buckets.
        let stage: Int?
        /// The value of a key that it is; nil for filters and arrays.
        let place: Place?
        /// The stages that it reads.
        let reads: Set<Int>
    }

    private var readers: [Reader] = []

    init(_ stages: [Stage], _ names: [[Expression]]) {
        for (number, stage) in stages.enumerated() {
            add(KeyWays.keys(of: stage), of: number)
            switch stage {
            case .elements(let array, let filters): add([array] + filters, of: number)
            case .lookup(_, _, let filters): add(filters, of: number)
            }
        }
        add(names, of: nil)
    }

    private mutating func add(_ keys: [[Expression]], of stage: Int?) {
        for (key, values) in keys.enumerated() {
            for (value, expression) in values.enumerated() {
                let place = Place(stage: stage, key: key, value: value)
                readers.append(Reader(stage: stage, place: place, reads: Self.stages(expression)))
            }
        }
    }

    private mutating func add(_ expressions: [Expression], of stage: Int) {
        for expression in expressions {
            readers.append(Reader(stage: stage, place: nil, reads: Self.stages(expression)))
        }
    }

    private static func stages(_ expression: Expression) -> Set<Int> {
        var stages: Set<Int> = []
        for input in expression.inputs.members {
            switch input {
            case .row(let stage), .element(let stage): stages.insert(stage)
            case .request: break
            }
        }
        return stages
    }

    /// The stages that serve a value and nothing else: what reads them is the value, or a part of one of them.
    func own(_ place: Place) -> Set<Int> {
        var own: Set<Int> = []
        var next = readers.first { $0.place == place }?.reads ?? []
        while !next.isEmpty {
            own.formUnion(next)
            let reached = readers.filter { Self.isPart($0, of: own) }
            next = reached.reduce(into: Set<Int>()) { $0.formUnion($1.reads) }.subtracting(own)
        }
        while true {
            let others = readers.filter { $0.place != place && !Self.isPart($0, of: own) }
            let shared = others.reduce(into: Set<Int>()) { $0.formUnion($1.reads) }.intersection(own)
            if shared.isEmpty { return own }
            own.subtract(shared)
        }
    }

    private static func isPart(_ reader: Reader, of stages: Set<Int>) -> Bool {
        reader.stage.map { stages.contains($0) } ?? false
    }
}
