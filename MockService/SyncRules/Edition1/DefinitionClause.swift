import PowerSyncWire

/// What an expression of a bucket definition's query comes to (service 6.5, 6.6).
enum DefinitionClause: Sendable, Hashable {
    /// A value, of one side alone.
    case value(DefinitionValue)
    /// A condition on which bucket, or which request, a row is of.
    case match(ParameterMatch)
}

/// A value that the row alone decides, or the request alone.
struct DefinitionValue: Sendable, Hashable {
    /// What it depends on.
    enum Source: Sendable, Hashable {
        /// Nothing.
        case constant
        /// The row.
        case row
        /// The request.
        case request
        /// A parameter of the bucket; it has no expression, for it is compared and nothing else.
        case bucket
    }

    /// What it depends on.
    let source: Source
    /// The value; NULL for a parameter of the bucket.
    let expression: Expression
}

/// A condition on which bucket, or which request, a row is of: an OR of conjunctions.
struct ParameterMatch: Sendable, Hashable {
    /// The other side of a match: a parameter of the bucket, or a value of the request.
    struct Parameter: Sendable, Hashable {
        /// What tells it from others: its SQL as the real service spells it.
        let key: ExactText
        /// Whether each element of it is a value of its own.
        let isArray: Bool
    }

    /// A value of the row that must be that of a parameter.
    struct Pair: Sendable, Hashable {
        /// The value of the row.
        let row: Expression
        /// Whether one of its elements must be it.
        let isArray: Bool
        /// The parameter.
        let parameter: Parameter
        /// The parameter's value for a request; NULL for a parameter of the bucket.
        let request: Expression
    }

    /// Conditions of the row and matches that must all hold.
    struct Conjunction: Sendable, Hashable {
        /// Conditions of the row.
        var filters: [Expression] = []
        /// The matches in the order of the text.
        var pairs: [Pair] = []
    }

    /// One of these must hold.
    let alternatives: [Conjunction]
    /// The parameters in the order of the text, each once; all alternatives have the same ones.
    let parameters: [Parameter]

    /// A condition of the row alone.
    init(filter: Expression) {
        alternatives = [Conjunction(filters: [filter])]
        parameters = []
    }

    /// A match alone.
    init(_ pair: Pair) {
        alternatives = [Conjunction(pairs: [pair])]
        parameters = [pair.parameter]
    }

    /// A conjunction alone.
    init(_ conjunction: Conjunction) {
        alternatives = [conjunction]
        parameters = conjunction.pairs.map(\.parameter)
    }

    private init(_ alternatives: [Conjunction], _ parameters: [Parameter]) {
        self.alternatives = alternatives
        self.parameters = parameters
    }

    /// How many conditions its alternatives have together.
    var size: Int { alternatives.reduce(0) { $0 + $1.filters.count + $1.pairs.count } }

    /// Whether elements of an array of the row must be a parameter.
    var readsRowArray: Bool { alternatives.contains { $0.pairs.contains(where: \.isArray) } }

    /// Whether a value must be an element of an array of the request.
    var readsRequestArray: Bool { parameters.contains(where: \.isArray) }

    /// Both hold.
    func and(_ other: ParameterMatch) -> ParameterMatch {
        let all = alternatives.flatMap { one in
            other.alternatives.map { two in
                Conjunction(filters: one.filters + two.filters, pairs: one.pairs + two.pairs)
            }
        }
        return ParameterMatch(all, parameters + other.parameters.filter { !parameters.contains($0) })
    }

    /// One of both holds; both have the same parameters.
    func or(_ other: ParameterMatch) -> ParameterMatch {
        ParameterMatch(alternatives + other.alternatives, parameters)
    }

    /// The parameters as a message has them.
    var parameterList: String {
        let texts = parameters.map { #"{"key":\#(JSON.quoted($0.key.text)),"expands":\#($0.isArray)}"# }
        return "[\(texts.joined(separator: ","))]"
    }
}
