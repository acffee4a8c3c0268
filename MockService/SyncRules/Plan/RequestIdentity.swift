import PowerSyncWire

/// What tells one lookup from another: names, and the order of filters, do not.
struct LookupIdentity: Hashable {
    private let rest: LookupDefinition
    private let filters: Set<Expression>

    /// Makes the identity of a lookup.
    init(_ definition: LookupDefinition) {
        rest = LookupDefinition(
            name: ExactText(""), table: definition.table, expansions: definition.expansions,
            keys: definition.keys, outputs: definition.outputs)
        filters = Set(definition.filters)
    }
}

/// What tells the request's side of one variant from that of another: the order of gates, of filters, and of values
/// that must agree does not, nor how a value of the request is spelled.
struct RequestIdentity: Hashable {
    private enum Step: Hashable {
        case elements(Expression, filters: Set<Expression>)
        case lookup(LookupIdentity, keys: [Set<Expression>])
    }

    private let gates: Set<Expression>
    private let steps: [Step]
    private let keys: [Set<Expression>]

    /// Makes the identity of a side.
    ///
    /// - Parameters:
    ///   - request: The side.
    ///   - isFixed: Whether `fixed_json_extract` is on: without it `->>` makes a text of `null`, as `parameter` does not.
    init(_ request: RequestSide, isFixed: Bool = true) {
        func identity(_ expression: Expression) -> Expression {
            isFixed ? expression.withParameters : expression
        }
        func identities(_ expressions: [Expression]) -> Set<Expression> { Set(expressions.map(identity)) }
        gates = identities(request.gates)
        steps = request.steps.map { step -> Step in
            switch step {
            case .elements(let array, let filters): .elements(identity(array), filters: identities(filters))
            case .lookup(let definition, let keys):
                .lookup(LookupIdentity(definition), keys: keys.map(identities))
            }
        }
        keys = request.keys.map(identities)
    }
}

extension Expression {
    /// The expression with `subscription.parameters() ->> 'x'` as `subscription.parameter('x')`, as recorded
    /// (mistakes, 287).
    ///
    /// A path, or a key that an option may take for one, stays as it is.
    var withParameters: Expression {
        replacing { part in
            guard case .member(.request(let source), .literal(.text(let key)), .value) = part,
                !key.text.utf8.contains(where: { $0 == UInt8(ascii: "$") || $0 == UInt8(ascii: ".") })
            else { return nil }
            return .parameter(RequestParameter(source, argument: key.text))
        }
    }
}
