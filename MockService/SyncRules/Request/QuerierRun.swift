import PowerSyncWire

/// One querier for one subscription: its tuples so far, and what they need next.
struct QuerierRun: Sendable {
    /// How far it is.
    enum State: Sendable {
        /// It can go on.
        case ready
        /// It needs rows: those of its `reads`.
        case waiting
        /// It is at its end, with the names of the buckets, one for each way to them.
        case done([ExactText])
        /// It has no result.
        case failed(String)
        /// It is over a limit.
        case refused(String)
    }

    /// Index of the stream in the plan.
    let stream: Int
    /// What it is run for.
    let reason: Resolution.Reason
    /// The priority that it gives its buckets.
    let priority: Int
    /// How far it is.
    private(set) var state: State
    /// The rows that it needs, each once, in the order of its tuples.
    private(set) var reads: [LookupRead] = []
    /// All that it has read since it began, keys without rows included.
    private(set) var used: Set<LookupRead> = []
    /// Elements and rows that it has found.
    private(set) var results: Int
    /// Bytes of its names, keys and failure.
    private(set) var bytes = 0
    private let querier: SharedQuerier
    /// What the stages need of the request: runs with a lookup last as long as their stream.
    private let request: RequestSlots
    /// For each stage its elements; none for one of a lookup, and for one whose array other stages find.
    private let elements: [[JSONElements.Element]]
    private var tuples = [QuerierTuple()]
    private var step = 0
    /// For each tuple the index of its read.
    private var keys: [Int] = []

    /// Begins a run; nil if a gate does not hold.
    ///
    /// Gates and elements, which no lookup changes, are computed at once.
    ///
    /// - Parameters:
    ///   - querier: The querier.
    ///   - stream: Index of its stream in the plan.
    ///   - reason: What it is run for.
    ///   - priority: The priority that it gives its buckets.
    ///   - request: The request with the parameters of the subscription.
    ///   - evaluator: What evaluates expressions.
    ///   - work: What counts the work.
    init?(
        _ querier: SharedQuerier, stream: Int, reason: Resolution.Reason, priority: Int,
        _ request: RequestSlots, _ evaluator: ExpressionRun, _ work: RequestWork
    ) {
        guard !querier.isClosed else { return nil }
        var elements: [[JSONElements.Element]] = []
        var failure: EvaluationError?
        do throws(EvaluationError) {
            let inputs = TupleInputs(slots: request, tuple: [], work: work)
            for gate in querier.gates where try !evaluator.holds(gate, in: inputs) { return nil }
            for step in querier.steps {
                elements.append(try Self.elements(of: step, in: querier, inputs, evaluator, work))
            }
        } catch {
            failure = error
        }
        self.querier = querier
        self.stream = stream
        self.reason = reason
        self.priority = priority
        self.request = request.with(querier.names)
        self.elements = elements
        results = elements.reduce(0) { $0 + $1.count }
        state = querier.isNameless ? .done([]) : .ready
        if let failure { fail(failure) }
    }

    private static func elements(
        of step: SharedQuerier.Step, in querier: SharedQuerier, _ inputs: TupleInputs,
        _ evaluator: ExpressionRun, _ work: RequestWork
    ) throws(EvaluationError) -> [JSONElements.Element] {
        switch step {
        case .elements(.shared(let elements), _): return try elements.get()
        case .elements(.own(let list), _):
            let value = try evaluator.value(of: list, in: inputs)
            return try work.elements(of: value, querier.options)
        case .elements(.nested, _), .lookup: return []
        }
    }

    /// Whether the request alone decides.
    var isStatic: Bool { querier.isStatic }

    /// Index of its buckets' source in the plan.
    var source: Int { querier.source }

    /// Goes back to its beginning, if it has read something, or may.
    mutating func restart() {
        guard !isStatic, !querier.isNameless, elements.count == querier.steps.count else { return }
        state = .ready
        reads = []
        used = []
        results = elements.reduce(0) { $0 + $1.count }
        bytes = 0
        tuples = [QuerierTuple()]
        step = 0
        keys = []
    }

    /// Goes on until it needs rows or is at its end.
    mutating func advance(_ evaluator: ExpressionRun, _ work: RequestWork) {
        do throws(EvaluationError) {
            while case .ready = state {
                guard step < querier.steps.count else {
                    state = try names(evaluator, work)
                    // There may be a hundred thousand, and a session keeps its runs.
                    tuples = []
                    keys = []
                    return
                }
                switch querier.steps[step] {
                case .elements(.nested(let list), let filters):
                    try walk(list, filters, evaluator, work)
                case .elements(_, let filters):
                    let parts = elements[step].map { TuplePart.element($0) }
                    try multiply(filters, tuples.map { _ in 0 }, [parts], evaluator, work)
                case .lookup(let lookup, let alternatives, _):
                    if let refusal = try collect(lookup, alternatives, evaluator, work) {
                        reads = []
                        state = .refused(refusal)
                    } else if reads.isEmpty {
                        state = .done([])
                    } else if reads.count > work.limits.results {
                        state = .refused(work.limits.tooManyKeys(reads.count))
                    } else {
                        used.formUnion(reads)
                        state = .waiting
                    }
                }
            }
        } catch {
            fail(error)
        }
    }

    /// How many rows it gets of these; nothing unless it waits.
    func found(_ rows: [LookupRead: [[ScalarValue]]]) -> Int {
        guard case .waiting = state else { return 0 }
        return reads.reduce(0) { $0 + (rows[$1]?.count ?? 0) }
    }

    /// Takes the rows that it waits for; a read that is not there has none.
    mutating func take(
        _ rows: [LookupRead: [[ScalarValue]]], _ evaluator: ExpressionRun, _ work: RequestWork
    ) {
        guard case .waiting = state, case .lookup(_, _, let filters) = querier.steps[step] else { return }
        results += found(rows)
        state = .ready
        let parts = reads.map { read in (rows[read] ?? []).map { TuplePart.row($0) } }
        reads = []
        do throws(EvaluationError) {
            try multiply(filters, keys, parts, evaluator, work)
        } catch {
            fail(error)
        }
    }

    /// Multiplies each tuple by the elements of a value that is made of what it has found, and goes to the next stage.
    ///
    /// A value that several tuples have is read once.
    private mutating func walk(
        _ list: Expression, _ filters: [Expression], _ evaluator: ExpressionRun, _ work: RequestWork
    ) throws(EvaluationError) {
        var places: [ScalarValue: Int] = [:]
        var parts: [[TuplePart]] = []
        var choice: [Int] = []
        for tuple in tuples {
            let inputs = TupleInputs(slots: request, tuple: tuple.parts, work: work)
            let value = try evaluator.value(of: list, in: inputs)
            if let place = places[value] {
                choice.append(place)
                continue
            }
            let found = try work.elements(of: value, querier.options)
            results += found.count
            guard results <= work.limits.results else {
                state = .refused(work.limits.tooManyResults)
                return
            }
            places[value] = parts.count
            choice.append(parts.count)
            parts.append(found.map { TuplePart.element($0) })
        }
        try multiply(filters, choice, parts, evaluator, work)
    }

    /// Makes of each tuple one for each of its parts for which the filters hold, and goes to the next stage.
    ///
    /// - Parameters:
    ///   - filters: What must hold.
    ///   - choice: For each tuple which of the parts are its own.
    ///   - parts: The parts.
    ///   - evaluator: What evaluates expressions.
    ///   - work: Counts them, and says how many there may be; over them nothing is made.
    /// - Throws: `EvaluationError` if a filter cannot be computed, or there is too much work.
    private mutating func multiply(
        _ filters: [Expression], _ choice: [Int], _ parts: [[TuplePart]], _ evaluator: ExpressionRun,
        _ work: RequestWork
    ) throws(EvaluationError) {
        let count = choice.reduce(0) { $0 + parts[$1].count }
        guard count <= work.limits.tuples else {
            state = .refused(work.limits.tooManyResults)
            return
        }
        var firsts: [Int] = []
        var found = 0
        for part in parts {
            firsts.append(found)
            found += part.count
        }
        var next: [QuerierTuple] = []
        for (tuple, index) in zip(tuples, choice) {
            for (number, part) in parts[index].enumerated() {
                try work.spend(1)
                let longer = tuple.with(part, number: firsts[index] + number)
                let inputs = TupleInputs(slots: request, tuple: longer.parts, work: work)
                var holds = true
                for filter in filters where holds { holds = try evaluator.holds(filter, in: inputs) }
                if holds { next.append(longer) }
            }
        }
        tuples = next
        step += 1
    }

    /// Finds the key of each tuple in a lookup.
    ///
    /// - Returns: What is said of too many; nil if all is well.
    /// - Throws: `EvaluationError` if a value of a key cannot be computed.
    private mutating func collect(
        _ lookup: Int, _ alternatives: [[Expression]], _ evaluator: ExpressionRun, _ work: RequestWork
    ) throws(EvaluationError) -> String? {
        var places: [LookupRead: Int] = [:]
        var found: [(tuple: QuerierTuple, result: Int)] = []
        reads = []
        for tuple in tuples {
            let inputs = TupleInputs(slots: request, tuple: tuple.parts, work: work)
            guard let key = try Self.key(alternatives, inputs, evaluator) else { continue }
            // Counted before it is hashed, also a key that is there already: each costs its length.
            bytes += key.reduce(0) { $0 + $1.byteCount }
            guard bytes <= work.limits.nameBytes else { return work.limits.tooManyBytes }
            let read = LookupRead(lookup: lookup, key: key)
            if let place = places[read] {
                found.append((tuple: tuple, result: place))
                continue
            }
            places[read] = reads.count
            found.append((tuple: tuple, result: reads.count))
            reads.append(read)
        }
        guard let taken = try Self.taken(found, querier.stageWays[step], work) else {
            return work.limits.tooManyResults
        }
        tuples = taken.map { $0.tuple }
        keys = taken.map { $0.result }
        return nil
    }

    /// Takes each tuple once for each way in which the values of its keys agree.
    ///
    /// - Parameters:
    ///   - found: Tuples, and what was found for them.
    ///   - keys: The keys that have several values.
    ///   - work: Counts them, and says how many there may be.
    /// - Returns: The ways with what was found; nil if there are too many.
    /// - Throws: `EvaluationError` if there is too much work.
    private static func taken<Value>(
        _ found: [(tuple: QuerierTuple, result: Value)], _ keys: [KeyWays], _ work: RequestWork
    ) throws(EvaluationError) -> [(tuple: QuerierTuple, result: Value)]? {
        var taken = found
        for key in keys {
            let hidden = key.own.indices.map { key.hidden(for: $0) }
            var seen: Set<[Int]> = []
            var next: [(tuple: QuerierTuple, result: Value)] = []
            for (tuple, result) in taken {
                try work.spend(hidden.count)
                for value in hidden.indices {
                    let way = tuple.taken(for: value, hiding: hidden[value])
                    if seen.insert(way.identity).inserted { next.append((tuple: way, result: result)) }
                }
                guard next.count <= work.limits.tuples else { return nil }
            }
            taken = next
        }
        return taken
    }

    /// The values of a key; nil if one is missing, or several of one value differ.
    private static func key(
        _ alternatives: [[Expression]], _ inputs: TupleInputs, _ evaluator: ExpressionRun
    ) throws(EvaluationError) -> [ScalarValue]? {
        var key: [ScalarValue] = []
        for expressions in alternatives {
            var agreed: ScalarValue?
            for expression in expressions {
                guard let value = try evaluator.value(of: expression, in: inputs).keyValue,
                    agreed == nil || agreed == value
                else { return nil }
                agreed = value
            }
            guard let agreed else { return nil }
            key.append(agreed)
        }
        return key
    }

    /// The end: the names of the buckets, one for each way to them.
    private mutating func names(
        _ evaluator: ExpressionRun, _ work: RequestWork
    ) throws(EvaluationError) -> State {
        let former = bytes
        var found: [(tuple: QuerierTuple, result: ExactText)] = []
        for tuple in tuples {
            let inputs = TupleInputs(slots: request, tuple: tuple.parts, work: work)
            guard let values = try values(inputs, evaluator) else { continue }
            let name = BucketSpelling.name(source: querier.name, values: values)
            bytes += name.text.utf8.count
            guard bytes <= work.limits.nameBytes else { return .refused(work.limits.tooManyBytes) }
            found.append((tuple: tuple, result: name))
        }
        guard let taken = try Self.taken(found, querier.nameWays, work) else {
            return .refused(work.limits.tooManyResults)
        }
        let names = taken.map { $0.result }
        bytes = former + names.reduce(0) { $0 + $1.text.utf8.count }
        return bytes <= work.limits.nameBytes ? .done(names) : .refused(work.limits.tooManyBytes)
    }

    private func values(
        _ inputs: TupleInputs, _ evaluator: ExpressionRun
    ) throws(EvaluationError) -> [String]? {
        var values: [String] = []
        for key in querier.keys {
            var text = key.shared
            for expression in key.own {
                let value = try evaluator.value(of: expression, in: inputs)
                guard let spelled = BucketSpelling.text(value, listsNull: querier.listsNull),
                    SharedQuerier.agree(text, spelled)
                else { return nil }
                text = spelled
            }
            guard let text else { return nil }
            values.append(text)
        }
        return values
    }

    private mutating func fail(_ error: EvaluationError) {
        let message = "Error evaluating bucket ids: \(error.message)"
        bytes += message.utf8.count
        reads = []
        state = .failed(message)
    }
}
