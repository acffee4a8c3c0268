import PowerSyncWire

/// What one stage of a querier has found.
enum TuplePart: Sendable {
    /// An element of a JSON value.
    case element(JSONElements.Element)
    /// The outputs of a lookup.
    case row([ScalarValue])
}

/// What the expressions of a querier read: the request, and for each stage that is done what it has found.
struct TupleInputs: ExpressionInputs {
    let slots: RequestSlots
    let tuple: [TuplePart]

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

    func parameter(_ parameter: RequestParameter) -> ScalarValue { slots.value(of: parameter) }

    func request(_ source: RequestParameter.Source) -> ScalarValue { slots.text(of: source) }

    /// A request is of no table.
    func table(_ fact: TableFact, _ input: Input) -> ScalarValue { .null }
}
