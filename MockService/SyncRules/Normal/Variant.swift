/// One way in which rows come into buckets, and requests to these buckets; not linked to others yet.
///
/// Whatever edition a query is of, it comes to variants (LANGUAGE.md 1).
package struct Variant: Sendable, Hashable {
    /// What puts rows into buckets.
    package let processor: RowProcessor
    /// What finds the names of the buckets.
    package let request: RequestSide

    /// Makes a variant of both sides; they have as many keys, in one order.
    package init(processor: RowProcessor, request: RequestSide) {
        precondition(processor.keys.count == request.keys.count, "A key has one side only.")
        self.processor = processor
        self.request = request
    }
}

/// A querier with the lookups that it uses, in place of their numbers.
package struct RequestSide: Sendable, Hashable {
    /// A step, as of a querier.
    package enum Step: Sendable, Hashable {
        /// Each element of a JSON value of the request for which the filters hold.
        case elements(Expression, filters: [Expression])
        /// The rows of a lookup without a name that have these keys.
        case lookup(LookupDefinition, keys: [[Expression]])
    }

    /// What must hold of the request.
    package let gates: [Expression]
    /// How tuples become more tuples, in order.
    package let steps: [Step]
    /// The values of the name; several of one key must agree.
    package let keys: [[Expression]]

    /// Makes a side of its parts.
    package init(gates: [Expression] = [], steps: [Step] = [], keys: [[Expression]] = []) {
        self.gates = gates
        self.steps = steps
        self.keys = keys
    }
}
