import PowerSyncWire

extension SQLParser {
    /// How tight operators bind, from OR to what stands behind a value; all are left-associative.
    ///
    /// As recorded: the lists of what the real service's parser expects behind each part of an expression. `IS` ends
    /// what binds tighter, but not `=`: `a IS NULL < b` is an error, `a = b IS NULL` is `a = (b IS NULL)`.
    enum Level {
        /// OR.
        static let or = 1
        /// AND.
        static let and = 2
        /// NOT.
        static let not = 3
        /// `=`, `!=`.
        static let equality = 4
        /// `IS`.
        static let check = 5
        /// `<`, `<=`, `>`, `>=`, `~`, `<<`, `>>`.
        static let order = 6
        /// BETWEEN.
        static let between = 7
        /// LIKE, ILIKE.
        static let like = 8
        /// IN.
        static let membership = 9
        /// `+`, `-`, `||`, `&&`, `&`, `|`.
        static let sum = 10
        /// `*`, `/`, `%`.
        static let product = 11
        /// `^`.
        static let power = 12
        /// A sign before a value.
        static let sign = 13
        /// `->`, `->>`, `::` and an index, from left to right.
        static let postfix = 14
    }

    /// What may follow a value.
    private enum Infix {
        case or, and, check, between, membership, cast, index
        case binary(BinaryOperator)
    }

    /// An operator that stands behind a value.
    private struct Step {
        /// How tight it binds.
        let level: Int
        /// What it is.
        let infix: Infix
        /// Whether a NOT stands before it.
        var isNegated = false
    }

    private static let signs: [SQLToken.Sign: (level: Int, operation: BinaryOperator)] = [
        .equal: (Level.equality, .equal), .notEqual: (Level.equality, .notEqual),
        .unequal: (Level.equality, .notEqual), .less: (Level.order, .less),
        .lessOrEqual: (Level.order, .lessOrEqual), .greater: (Level.order, .greater),
        .greaterOrEqual: (Level.order, .greaterOrEqual), .tilde: (Level.order, .matches),
        .plus: (Level.sum, .add), .minus: (Level.sum, .subtract), .concat: (Level.sum, .concat),
        .overlap: (Level.sum, .overlap), .ampersand: (Level.sum, .bitAnd), .bar: (Level.sum, .bitOr),
        .shiftLeft: (Level.order, .shiftLeft), .shiftRight: (Level.order, .shiftRight),
        .star: (Level.product, .multiply), .slash: (Level.product, .divide),
        .percent: (Level.product, .remainder), .caret: (Level.power, .power),
        .arrow: (Level.postfix, .member), .longArrow: (Level.postfix, .memberValue),
    ]

    /// Reads an expression.
    ///
    /// - Parameters:
    ///   - minimum: The level of the weakest operator that it may have; the next one ends it.
    ///   - allowsStar: Whether it may be `*`.
    /// - Returns: The expression.
    /// - Throws: `SyntaxError`.
    mutating func expression(
        _ minimum: Int = Level.or, allowsStar: Bool = false
    ) throws(SyntaxError) -> ExpressionSyntax {
        try enter()
        var left: ExpressionSyntax
        // What was read last ends what binds tighter: nothing of that may follow it.
        var ceiling = Level.postfix
        if isWord("not") {
            guard minimum <= Level.not else { throw unexpected("a value (NOT must be in parentheses here)") }
            let start = token.range.lowerBound
            advance()
            let inner = try expression(Level.not)
            left = try make(.unary(.not, inner), start..<inner.range.upperBound)
            ceiling = Level.not
        } else {
            left = try value(allowsStar: allowsStar)
            // A star alone is no operand.
            if case .star(qualifier: nil) = left.content { ceiling = 0 }
        }
        while let step = nextStep(), step.level >= minimum, step.level <= ceiling {
            left = try extended(left, by: step)
            ceiling = step.level
        }
        leave()
        return left
    }

    /// What the next token does with the value before it; nil if it is no operator.
    private func nextStep() -> Step? {
        switch token.kind {
        case .word("or"): return Step(level: Level.or, infix: .or)
        case .word("and"): return Step(level: Level.and, infix: .and)
        case .word("is"), .word("isnull"), .word("notnull"): return Step(level: Level.check, infix: .check)
        case .word("not"):
            var step = Self.negatable(following)
            step?.isNegated = true
            return step
        case .sign(.cast): return Step(level: Level.postfix, infix: .cast)
        case .sign(.openBracket): return Step(level: Level.postfix, infix: .index)
        case .sign(let sign):
            guard let known = Self.signs[sign] else { return nil }
            return Step(level: known.level, infix: .binary(known.operation))
        default: return Self.negatable(token.kind)
        }
    }

    /// Operators that may have a NOT before them.
    private static func negatable(_ kind: SQLToken.Kind) -> Step? {
        switch kind {
        case .word("between"): Step(level: Level.between, infix: .between)
        case .word("in"): Step(level: Level.membership, infix: .membership)
        case .word("like"): Step(level: Level.like, infix: .binary(.like))
        case .word("ilike"): Step(level: Level.like, infix: .binary(.ilike))
        default: nil
        }
    }

    /// Reads an operator and what stands behind it.
    private mutating func extended(
        _ left: ExpressionSyntax, by step: Step
    ) throws(SyntaxError) -> ExpressionSyntax {
        let start = left.range.lowerBound
        let (level, isNegated) = (step.level, step.isNegated)
        if isNegated { advance() }
        switch step.infix {
        case .or:
            let all = try chain(left, of: "or", level)
            return try make(.or(all.operands), start..<all.end)
        case .and:
            let all = try chain(left, of: "and", level)
            return try make(.and(all.operands), start..<all.end)
        case .check: return try check(left)
        case .between:
            advance()
            let low = try expression(Level.between + 1)
            try need("and")
            let high = try expression(Level.between + 1)
            return try make(.between(left, low, high, isNegated: isNegated), start..<high.range.upperBound)
        case .membership:
            advance()
            let right = try expression(level + 1)
            return try make(.membership(left, right, isNegated: isNegated), start..<right.range.upperBound)
        case .cast:
            advance()
            let type = try typeName()
            return try make(
                .cast(left, type: type.name, typeRange: type.range), start..<type.range.upperBound)
        case .index:
            advance()
            let index = try expression()
            try need(.closeBracket)
            return try make(.unsupported([left, index]), start..<lastEnd)
        case .binary(let operation):
            advance()
            let isMember = operation == .member || operation == .memberValue
            let right = isMember ? try memberKey() : try expression(level + 1)
            return try make(
                .binary(Self.negated(operation, isNegated), left, right), start..<right.range.upperBound)
        }
    }

    private static func negated(_ operation: BinaryOperator, _ isNegated: Bool) -> BinaryOperator {
        switch operation {
        case .like: isNegated ? .notLike : .like
        case .ilike: isNegated ? .notIlike : .ilike
        default: operation
        }
    }

    /// Reads all that AND or OR joins: as one list, which is as deep as one operator however long it is.
    private mutating func chain(
        _ left: ExpressionSyntax, of word: String, _ level: Int
    ) throws(SyntaxError) -> (operands: [ExpressionSyntax], end: Int) {
        var operands = [left]
        // Left-associative: `(a OR b) OR c` is `a OR b OR c`.
        if level == Level.or, case .or(let all) = left.content { operands = all }
        if level == Level.and, case .and(let all) = left.content { operands = all }
        var end = left.range.upperBound
        while takeWord(word) {
            let next = try expression(level + 1)
            operands.append(next)
            end = next.range.upperBound
        }
        return (operands, end)
    }

    private mutating func check(_ left: ExpressionSyntax) throws(SyntaxError) -> ExpressionSyntax {
        let start = left.range.lowerBound
        if takeWord("isnull") { return try make(.isCheck(left, .null, isNegated: false), start..<lastEnd) }
        if takeWord("notnull") { return try make(.isCheck(left, .null, isNegated: true), start..<lastEnd) }
        try need("is")
        let isNegated = takeWord("not")
        let what: IsWhat
        if takeWord("null") {
            what = .null
        } else if takeWord("true") {
            what = .isTrue
        } else if takeWord("false") {
            what = .isFalse
        } else {
            throw unexpected("NULL, TRUE or FALSE")
        }
        return try make(.isCheck(left, what, isNegated: isNegated), start..<lastEnd)
    }

    /// Reads what stands behind `->`: a text, or an integer.
    private mutating func memberKey() throws(SyntaxError) -> ExpressionSyntax {
        let start = token.range.lowerBound
        if case .text(let text) = token.kind {
            advance()
            return try make(.text(text), start..<lastEnd)
        }
        if case .integer(let digits) = token.kind {
            advance()
            return try make(.integer(digits), start..<lastEnd)
        }
        if isSign(.minus), case .integer(let digits) = following {
            advance()
            advance()
            return try make(.integer("-" + digits), start..<lastEnd)
        }
        throw unexpected("a text in single quotes or an integer")
    }

    /// Reads the name of a type.
    ///
    /// - Returns: The name in small letters, with what stands in its parentheses, and where it stands.
    /// - Throws: `SyntaxError`.
    mutating func typeName() throws(SyntaxError) -> (name: String, range: Range<Int>) {
        let first = try name("a type")
        let start = first.range.lowerBound
        if !first.isQuoted {
            switch first.text.text {
            case "double": try need("precision")
            case "character": _ = takeWord("varying")
            default: break
            }
        }
        if takeSign(.dot) { _ = try name("a type") }
        if takeSign(.open) {
            repeat {
                guard case .integer = token.kind else { throw unexpected("an integer") }
                advance()
            } while takeSign(.comma)
            try need(.close)
        }
        if isWord("with") || isWord("without"), following == .word("time") {
            advance()
            advance()
            try need("zone")
        }
        while isSign(.openBracket), following == .sign(.closeBracket) {
            advance()
            advance()
        }
        let range = start..<lastEnd
        return (range == first.range ? first.text.text : spelled(range).lowercased(), range)
    }
}
