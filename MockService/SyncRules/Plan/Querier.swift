/// Makes the names of buckets for a request.
///
/// It keeps tuples of rows, at first an empty one. Columns of its expressions are `column(.row(n), …)`, of the outputs
/// of stage n by their position ("0", "1", …), and `element(.element(n), …)`, of stage n.
package struct Querier: Sendable, Hashable {
    /// Index into the plan's sources.
    package let source: Int
    /// The priority that it gives its buckets, of `_priority`; nil is that of the stream.
    package let priority: Int?
    /// What must hold of the request; a false one ends it.
    package let gates: [Expression]
    /// How tuples become more tuples, in order.
    package let stages: [Stage]
    /// The values of the name, over request and tuple; several of one key must agree.
    package let keys: [[Expression]]
    /// For each stage the ways of its keys that have several values; made once, for they cost the square of the values.
    let stageWays: [[KeyWays]]
    /// The ways of the values of the name, of those that several conditions give.
    let nameWays: [KeyWays]

    /// Makes a querier of its parts.
    package init(
        source: Int, priority: Int? = nil, gates: [Expression] = [], stages: [Stage] = [],
        keys: [[Expression]] = []
    ) {
        self.source = source
        self.priority = priority
        self.gates = gates
        self.stages = stages
        self.keys = keys
        let ways = KeyWays.all(of: stages, keys)
        stageWays = ways.stages
        nameWays = ways.names
    }

    /// Whether the request alone decides.
    package var isStatic: Bool {
        !stages.contains { stage in
            if case .lookup = stage { true } else { false }
        }
    }
}

/// A step of a querier.
package enum Stage: Sendable, Hashable {
    /// Each element of a JSON value of the request for which the filters hold.
    case elements(Expression, filters: [Expression])
    /// The rows of a lookup, by its index in the plan, that have these keys and for which the filters hold; several
    /// values of one key must agree.
    case lookup(Int, keys: [[Expression]], filters: [Expression])
}
