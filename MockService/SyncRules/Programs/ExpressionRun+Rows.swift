/// What the expressions of a row's queries read: the row, and the elements of its arrays that are being looked at.
package protocol RowInputs: ExpressionInputs {
    /// The elements: number n is of expansion n.
    var elements: [JSONElements.Element] { get set }
}

/// Rows do not depend on a request.
extension RowInputs {
    /// A part of the element that is being looked at; NULL if there is none.
    package func element(_ input: Input, _ part: ElementPart) -> ScalarValue {
        guard case .element(let number) = input, elements.indices.contains(number) else { return .null }
        return part == .key ? elements[number].key : elements[number].value
    }

    /// A value of the request: NULL.
    package func parameter(_ parameter: RequestParameter) -> ScalarValue { .null }

    /// A source of the request: NULL.
    package func request(_ source: RequestParameter.Source) -> ScalarValue { .null }
}

/// The loops of row programs, on values.
extension ExpressionRun {
    /// The row with the elements of each combination for which the filters hold, in order.
    ///
    /// A filter is computed as soon as the elements are there that it reads.
    ///
    /// - Parameters:
    ///   - row: The row, without elements.
    ///   - expansions: Its arrays, each in the scope of the elements before.
    ///   - filters: What must hold.
    /// - Returns: The combinations; the row alone if there is no array.
    /// - Throws: `EvaluationError` if an array or a filter has no value.
    package func combinations<Row: RowInputs>(
        of row: Row, _ expansions: [Expression], _ filters: [Expression]
    ) throws(EvaluationError) -> [Row] {
        var rows = [row]
        for depth in 0...expansions.count {
            if depth > 0 {
                var longer: [Row] = []
                for row in rows {
                    let list = try value(of: expansions[depth - 1], in: row)
                    for element in try JSONElements(options: options).elements(of: list) {
                        var next = row
                        next.elements.append(element)
                        longer.append(next)
                    }
                }
                rows = longer
            }
            for filter in filters where filter.loops == depth {
                var kept: [Row] = []
                for row in rows where try holds(filter, in: row) { kept.append(row) }
                rows = kept
            }
        }
        return rows
    }
}
