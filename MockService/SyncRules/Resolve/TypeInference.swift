import PowerSyncWire

/// Infers which types the values of expressions may have, NULL aside (LANGUAGE.md 3).
///
/// It is asked for the schema of clients alone: no value depends on it.
package struct TypeInference: Sendable {
    private let columns: [ExactText: ValueType]

    /// Takes the types of a row's columns; those that are not known may have any.
    package init(columns: [ExactText: ValueType]) { self.columns = columns }

    /// The types of an expression's values; none if they are NULL alone.
    package func type(of expression: Expression) -> ValueType {
        switch expression {
        case .literal(let value): type(of: value)
        case .column(_, let name): columns[name] ?? .any
        case .element(_, .key): [.integer, .text]
        case .element(_, .value), .parameter, .member(_, _, .value): .any
        case .request, .table, .concat, .member(_, _, .json): .text
        case .call(let function, let arguments): type(of: function, arguments)
        case .cast(let type, _): Self.type(of: type)
        case .arithmetic(let operation, let left, let right): type(of: operation, left, right)
        case .comparison, .isSame, .isTrue, .and, .or, .not, .isNull, .between, .oneOf, .contains, .overlaps:
            .integer
        case .choice(_, let branches, let otherwise):
            type(ofOneOf: branches.map(\.result) + [otherwise].compactMap { $0 })
        }
    }

    private func type(ofOneOf expressions: some Sequence<Expression>) -> ValueType {
        expressions.reduce(into: ValueType()) { $0.formUnion(type(of: $1)) }
    }

    private func type(of value: ScalarValue) -> ValueType {
        switch value {
        case .null: []
        case .integer, .wide: .integer
        case .real: .real
        case .text: .text
        case .blob: .blob
        }
    }

    private func type(of function: Function, _ arguments: [Expression]) -> ValueType {
        if let type = function.signature.type { return type }
        // The condition of `iif` is none of its values.
        return type(ofOneOf: function == .iif ? arguments.dropFirst() : arguments[...])
    }

    private static func type(of cast: CastType) -> ValueType {
        switch cast {
        case .text: .text
        case .integer: .integer
        case .numeric: [.integer, .real]
        case .real: .real
        case .blob: .blob
        }
    }

    private func type(of operation: Arithmetic, _ left: Expression, _ right: Expression) -> ValueType {
        switch operation {
        case .bitAnd, .bitOr, .shiftLeft, .shiftRight: .integer
        case .add, .subtract, .multiply, .divide, .remainder:
            type(of: left) == .integer && type(of: right) == .integer ? .integer : .real
        }
    }
}
