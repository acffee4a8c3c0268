import PowerSyncWire

/// Writes expressions for rows of one table: what is known of the table is a constant, and so is what it comes to.
struct ExpressionLowering {
    /// How long texts may be that a constant is made of; of longer ones it is made for each row.
    private static let constantBytes = 4_096

    /// The table.
    let shape: TableShape
    /// What stands in the place of the `%` of its name.
    let suffix: ExactText
    /// How expressions are computed.
    let options: CompatibilityOptions
    /// Where the columns are.
    let places: [ExactText: Int]

    /// Rewrites an expression over a row.
    ///
    /// - Parameters:
    ///   - expression: The expression.
    ///   - loops: How many expansions there are whose elements it may read.
    /// - Returns: One of columns, elements and constants; a part without a value stays, for no row has one.
    func lowered(_ expression: Expression, loops: Int) -> Expression {
        switch expression {
        case .literal: return expression
        case .column(_, let name): return places[name] == nil ? .literal(.null) : expression
        case .element(.element(let number), _) where number < loops: return expression
        // A row brings no request along.
        case .element, .parameter, .request: return .literal(.null)
        case .table(let fact, _): return .literal(.text(value(of: fact)))
        default: break
        }
        let result = expression.with(expression.children.map { lowered($0, loops: loops) })
        guard result.children.allSatisfy(Self.isShort), !hasAffinity(result) else { return result }
        // What has no value is told for each row.
        let known = try? ExpressionRun(options: options).value(of: result, in: NoInputs())
        return known.map { Expression.literal($0) } ?? result
    }

    private func value(of fact: TableFact) -> ExactText {
        switch fact {
        case .schema: shape.schema
        case .name: shape.name
        case .suffix: suffix
        }
    }

    /// Whether a comparison in the SQLite engine takes the other side by what the expression is.
    private func hasAffinity(_ expression: Expression) -> Bool {
        if case .cast = expression { options.engine == .sqlite } else { false }
    }

    private static func isShort(_ expression: Expression) -> Bool {
        guard case .literal(let value) = expression else { return false }
        switch value {
        case .null, .integer, .real: return true
        case .wide(let integer): return integer.digits.text.utf8.count <= constantBytes
        case .text(let text): return text.text.utf8.count <= constantBytes
        case .blob(let bytes): return bytes.count <= constantBytes
        }
    }
}

/// What a constant reads.
private struct NoInputs: ExpressionInputs {
    func column(_ input: Input, _ name: ExactText) -> ScalarValue { .null }
    func element(_ input: Input, _ part: ElementPart) -> ScalarValue { .null }
    func parameter(_ parameter: RequestParameter) -> ScalarValue { .null }
    func request(_ source: RequestParameter.Source) -> ScalarValue { .null }
    func table(_ fact: TableFact, _ input: Input) -> ScalarValue { .null }
}
