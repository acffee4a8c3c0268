import PowerSyncWire

/// Counts what is looked at for a request, and keeps the lists that were read; of one step of its evaluation.
///
/// It is counted and not timed, so that a request is refused on every machine or on none.
package final class RequestWork {
    /// How many bytes of lists are kept: more than a body has.
    private static let listLimit = 2 << 20

    /// How much there may be.
    let limits: RequestLimits
    /// How much there was, also before this step.
    private(set) var spent: Int
    private var lists: [ExactText: Set<ScalarValue>] = [:]
    private var listBytes = 0

    /// Begins a step.
    ///
    /// - Parameters:
    ///   - limits: How much there may be.
    ///   - spent: How much there was before.
    init(_ limits: RequestLimits, spent: Int = 0) {
        self.limits = limits
        self.spent = spent
    }

    /// Whether the request is over its limit, whatever its queriers came to.
    var isExceeded: Bool { spent > limits.work }

    /// Counts bytes, elements or expressions.
    ///
    /// - Throws: `EvaluationError` if there are too many; from then on always.
    func spend(_ count: Int) throws(EvaluationError) {
        if !isExceeded { spent += count }
        if isExceeded { throw EvaluationError(message: limits.tooMuchWork) }
    }

    /// The rows of a `json_each`.
    ///
    /// - Throws: `EvaluationError` if the value is neither NULL nor JSON text, or there is too much work.
    func elements(
        of value: ScalarValue, _ options: CompatibilityOptions
    ) throws(EvaluationError) -> [JSONElements.Element] {
        try spend(value.byteCount)
        return try JSONElements(options: options).elements(of: value)
    }

    /// `JSONFunctions.contains`; a list that several subscriptions or elements are looked for in is read once.
    ///
    /// - Throws: As there, or if there is too much work.
    func contains(_ list: ScalarValue, _ value: ScalarValue) throws(EvaluationError) -> ScalarValue {
        guard !value.isNull, case .text(let text) = list else {
            return try JSONFunctions.contains(list, value)
        }
        // To find it costs little of what it costs to read it.
        try spend(list.byteCount >> 6 + value.byteCount)
        if let known = lists[text] { return Self.has(known, value) }
        try spend(list.byteCount)
        guard listBytes + list.byteCount <= Self.listLimit, let keys = try JSONFunctions.keys(of: list) else {
            return try JSONFunctions.contains(list, value)
        }
        listBytes += list.byteCount
        lists[text] = keys
        return Self.has(keys, value)
    }

    private static func has(_ keys: Set<ScalarValue>, _ value: ScalarValue) -> ScalarValue {
        ScalarValue(value.keyValue.map { keys.contains($0) } ?? false)
    }
}

extension ScalarValue {
    /// How many bytes it has.
    var byteCount: Int {
        switch self {
        case .null: 0
        case .integer, .real: 8
        case .text(let text): text.text.utf8.count
        case .wide(let integer): integer.digits.text.utf8.count
        case .blob(let bytes): bytes.count
        }
    }
}
