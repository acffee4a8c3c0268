import PowerSyncWire

/// What one stage of a querier has found.
enum TuplePart: Sendable {
    /// An element of a JSON value.
    case element(JSONElements.Element)
    /// The outputs of a lookup.
    case row([ScalarValue])
}

/// One combination of what the stages of a querier have found.
struct QuerierTuple: Sendable {
    /// What each stage has found.
    private(set) var parts: [TuplePart] = []
    /// What tells it from other combinations: for each stage the number of what it has found.
    private var numbers: [Int] = []
    /// For each key of several values the one that it is taken for.
    private var ways: [Int] = []

    /// A combination by these is the same; a number below zero is of what does not count.
    var identity: [Int] { numbers + ways }

    /// The combination with what the next stage has found.
    ///
    /// - Parameters:
    ///   - part: What it has found.
    ///   - number: A number that nothing else has which it finds.
    /// - Returns: The longer combination.
    func with(_ part: TuplePart, number: Int) -> QuerierTuple {
        var longer = self
        longer.parts.append(part)
        longer.numbers.append(number)
        return longer
    }

    /// The combination as one way in which the values of a key agree; stages that serve the other values do not count.
    func taken(for value: Int, hiding stages: Set<Int>) -> QuerierTuple {
        var way = self
        for stage in stages where way.numbers.indices.contains(stage) { way.numbers[stage] = -1 }
        way.ways.append(value)
        return way
    }
}

/// What the expressions of a querier read: the request, and for each stage that is done what it has found.
struct TupleInputs: ExpressionInputs {
    let slots: RequestSlots
    let tuple: [TuplePart]
    var work: RequestWork?

    func column(_ input: Input, _ name: ExactText) -> ScalarValue {
        guard case .row(let stage) = input, tuple.indices.contains(stage),
            case .row(let values) = tuple[stage], let index = Int(name.text), values.indices.contains(index)
        else { return .null }
        return values[index]
    }

    func element(_ input: Input, _ part: ElementPart) -> ScalarValue {
        guard case .element(let stage) = input, tuple.indices.contains(stage),
            case .element(let element) = tuple[stage]
        else { return .null }
        switch part {
        case .key: return element.key
        case .value: return element.value
        }
    }

    /// Members of what is inside of an object are looked at one after the other.
    func parameter(_ parameter: RequestParameter) throws(EvaluationError) -> ScalarValue {
        try work?.spend(slots.memberCount(on: parameter))
        let value = slots.value(of: parameter)
        try work?.spend(value.byteCount)
        return value
    }

    func request(_ source: RequestParameter.Source) throws(EvaluationError) -> ScalarValue {
        let text = slots.text(of: source)
        try work?.spend(text.byteCount)
        return text
    }

    /// A request is of no table.
    func table(_ fact: TableFact, _ input: Input) -> ScalarValue { .null }
}
