/// The inputs of one row of a term, numbered as programs of rows number them: the row is `row(0)`, and elements count
/// from 0.
///
/// So rows of two queries that are asked the same are equal by structure.
struct RowScope {
    /// The arrays whose elements are read, in the order of the query.
    let expansions: [Expression]
    private let numbers: [Input: Input]

    /// Makes a scope.
    ///
    /// - Parameters:
    ///   - row: The row.
    ///   - expressions: All that is asked of it.
    ///   - owners: What the inputs of the query belong to.
    init(row: Input, expressions: [Expression], owners: InputOwners) {
        var numbers: [Input: Input] = [row: .row(0)]
        var expansions: [Expression] = []
        for (number, element) in owners.elements(of: expressions).enumerated() {
            guard let array = owners.array(of: element) else { continue }
            expansions.append(Self.renumbered(array.expression, by: numbers))
            numbers[element] = .element(number)
        }
        self.numbers = numbers
        self.expansions = expansions
    }

    /// An expression over the row, with its numbers.
    func local(_ expression: Expression) -> Expression { Self.renumbered(expression, by: numbers) }

    private static func renumbered(_ expression: Expression, by numbers: [Input: Input]) -> Expression {
        expression.replacing { part in
            switch part {
            case .column(let input, let name): numbers[input].map { .column($0, name) }
            case .element(let input, let name): numbers[input].map { .element($0, name) }
            case .table(let fact, let input): numbers[input].map { .table(fact, $0) }
            default: nil
            }
        }
    }
}
