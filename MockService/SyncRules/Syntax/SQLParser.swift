/// Reads the statements of a query's text, in the grammar that was recorded (service 6.3, LANGUAGE.md 2).
///
/// A value without I/O: no text crashes it, and none makes it recurse deeper than `SyntaxLimits.depth`.
package struct SQLParser {
    /// The SQL.
    let bytes: [UInt8]
    private let tokens: [SQLToken]
    private var index = 0
    private var depth = 0
    private var nodes = 0

    /// Reads a text.
    ///
    /// - Parameter sql: The SQL in UTF-8.
    /// - Returns: Its statements, at least one.
    /// - Throws: `SyntaxError` for the first thing that is wrong; what stands behind it is not looked at.
    package static func parse(_ sql: [UInt8]) throws(SyntaxError) -> [StatementSyntax] {
        var parser = SQLParser(bytes: sql, tokens: SQLTokenizer.tokens(of: sql))
        return try parser.statements()
    }

    private init(bytes: [UInt8], tokens: [SQLToken]) {
        self.bytes = bytes
        self.tokens = tokens
    }

    private mutating func statements() throws(SyntaxError) -> [StatementSyntax] {
        var statements: [StatementSyntax] = []
        while true {
            while takeSign(.semicolon) {}
            if case .end = token.kind {
                guard !statements.isEmpty else { throw unexpected("SELECT") }
                return statements
            }
            statements.append(try statement())
            guard isSign(.semicolon) || token.kind == .end else { throw unexpected("the end of the query") }
        }
    }

    private mutating func statement() throws(SyntaxError) -> StatementSyntax {
        let start = token.range.lowerBound
        if case .word(let word) = token.kind, Keywords.statements.contains(word) {
            while !isSign(.semicolon), token.kind != .end {
                if case .invalid = token.kind { throw unexpected("the rest of the statement") }
                advance()
            }
            return .other(start..<lastEnd)
        }
        guard let select = try query() else { return .union(start..<lastEnd) }
        return .select(select, start..<lastEnd)
    }

    // What stands where the parser is.

    /// The next token; `.end` behind the last one.
    var token: SQLToken { tokens[index] }

    /// What follows the next token.
    var following: SQLToken.Kind { tokens[min(index + 1, tokens.count - 1)].kind }

    /// Where the last token that was taken ends.
    var lastEnd: Int { index == 0 ? 0 : tokens[index - 1].range.upperBound }

    /// Whether the next token is a word.
    func isWord(_ word: String) -> Bool { token.kind == .word(word) }

    /// Whether the next token is a sign.
    func isSign(_ sign: SQLToken.Sign) -> Bool { token.kind == .sign(sign) }

    /// Takes the next token; the end stays.
    mutating func advance() {
        if index < tokens.count - 1 { index += 1 }
    }

    /// Takes a word if it is the next token.
    mutating func takeWord(_ word: String) -> Bool {
        guard isWord(word) else { return false }
        advance()
        return true
    }

    /// Takes a sign if it is the next token.
    mutating func takeSign(_ sign: SQLToken.Sign) -> Bool {
        guard isSign(sign) else { return false }
        advance()
        return true
    }

    /// Takes a word that must be there.
    mutating func need(_ word: String) throws(SyntaxError) {
        guard takeWord(word) else { throw unexpected(word.uppercased()) }
    }

    /// Takes a sign that must be there.
    mutating func need(_ sign: SQLToken.Sign) throws(SyntaxError) {
        guard takeSign(sign) else { throw unexpected("'\(sign.rawValue)'") }
    }

    /// Takes a name if it is the next token; a reserved word is none without quotes.
    ///
    /// - Parameter also: Reserved words that are names here.
    /// - Returns: The name.
    mutating func takeName(also: Set<String> = []) -> NameSyntax? {
        let token = token
        switch token.kind {
        case .name(let name):
            advance()
            return NameSyntax(name, isQuoted: true, range: token.range)
        case .word(let word) where !Keywords.reserved.contains(word) || also.contains(word):
            advance()
            return NameSyntax(word, isFolded: token.isFolded, range: token.range)
        default: return nil
        }
    }

    /// Takes a name that must be there.
    mutating func name(_ expected: String) throws(SyntaxError) -> NameSyntax {
        guard let name = takeName() else { throw unexpected(expected) }
        return name
    }

    /// Takes names in parentheses, of which the first one was taken.
    mutating func namesInParentheses() throws(SyntaxError) -> [NameSyntax] {
        var names = [try name("a column")]
        while takeSign(.comma) { names.append(try name("a column")) }
        try need(.close)
        return names
    }

    /// The error that something else stands here than what was expected.
    func unexpected(_ expected: String) -> SyntaxError {
        let found: String
        switch token.kind {
        case .end:
            let range = index == 0 ? token.range : tokens[index - 1].range
            return SyntaxError(
                .sqlUnexpectedEnd, "The query ends where \(expected) is expected.", at: range)
        case .invalid(let reason): return SyntaxError(.sqlSyntax, reason, at: token.range)
        case .word, .integer, .real, .parameter: found = "'\(DiagnosticName.shortened(spelled(token.range)))'"
        case .sign(let sign): found = "'\(sign.rawValue)'"
        case .name: found = "a name in quotes"
        case .text: found = "a text"
        }
        return SyntaxError(.sqlSyntax, "Found \(found), expected \(expected).", at: token.range)
    }

    /// A part of the SQL as it is written.
    func spelled(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    // Limits.

    /// Counts a level that the parser goes down; `leave` counts it up again.
    mutating func enter() throws(SyntaxError) {
        depth += 1
        guard depth <= SyntaxLimits.depth else { throw Self.tooDeep(token.range) }
    }

    /// Counts a level up.
    mutating func leave() { depth -= 1 }

    private static func tooDeep(_ range: Range<Int>) -> SyntaxError {
        SyntaxError(
            .nestingTooDeep, DiagnosticName.nestingTooDeep.message(["\(SyntaxLimits.depth)"]), at: range)
    }

    /// Makes an expression and counts it.
    mutating func make(
        _ content: ExpressionSyntax.Content, _ range: Range<Int>
    ) throws(SyntaxError) -> ExpressionSyntax {
        nodes += 1
        guard nodes <= SyntaxLimits.nodes else {
            let message = DiagnosticName.tooLarge.message(["\(SyntaxLimits.nodes) expressions"])
            throw SyntaxError(.tooLarge, message, at: range)
        }
        let expression = ExpressionSyntax(content, range)
        guard expression.depth <= SyntaxLimits.depth else { throw Self.tooDeep(range) }
        return expression
    }
}
