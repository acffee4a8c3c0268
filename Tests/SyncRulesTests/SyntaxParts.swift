import PowerSyncSyncRules

/// What the ranges of a parsed query cover.
struct SyntaxParts {
    /// Of what a range is.
    enum Kind: Hashable {
        /// An expression; of a chain of OR also its beginning, which is an expression as recorded.
        case expression
        /// The name of a function.
        case name
        /// The type of a cast.
        case type
        /// A SELECT.
        case select
    }

    private let bytes: [UInt8]
    private var ranges: [Kind: Set<Range<Int>>] = [:]

    /// Parses a query; one that is none has no parts.
    init(_ sql: String) {
        bytes = Array(sql.utf8)
        // What is refused has no ranges.
        guard let statements = try? SQLParser.parse(bytes) else { return }
        for case .select(let select, _) in statements { add(select) }
    }

    /// The texts of all parts of a kind.
    func texts(_ kind: Kind) -> Set<String> {
        Set((ranges[kind] ?? []).map { String(decoding: bytes[$0], as: UTF8.self) })
    }

    private mutating func add(_ select: SelectSyntax) {
        ranges[.select, default: []].insert(select.range)
        for item in select.items { add(item.expression) }
        for source in select.sources {
            switch source.content {
            case .table, .union: break
            case .call(let call, let range):
                ranges[.expression, default: []].insert(range)
                add(call)
            case .select(let inner, _): add(inner)
            }
            if let condition = source.condition { add(condition) }
        }
        if let condition = select.condition { add(condition) }
    }

    private mutating func add(_ call: CallSyntax) {
        ranges[.name, default: []].insert(call.nameRange)
        for argument in call.arguments { add(argument) }
    }

    private mutating func add(_ expression: ExpressionSyntax) {
        ranges[.expression, default: []].insert(expression.range)
        switch expression.content {
        case .call(let call): add(call)
        case .subquery(let select): add(select)
        case .cast(let inner, _, let range):
            ranges[.type, default: []].insert(range)
            add(inner)
        case .row(let all):
            // As recorded it is taken for the name of a function.
            let start = expression.range.lowerBound
            ranges[.name, default: []].insert(start..<start + 3)
            for element in all { add(element) }
        case .or(let all), .and(let all):
            for operand in all {
                add(operand)
                ranges[.expression, default: []].insert(
                    expression.range.lowerBound..<operand.range.upperBound)
            }
        default: for child in expression.content.children { add(child) }
        }
    }
}
