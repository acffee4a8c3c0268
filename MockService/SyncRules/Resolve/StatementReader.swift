/// Reads the one SELECT of a query's text, and notes what is wrong with it (service 6.3).
enum StatementReader {
    /// Reads a text of edition 3.
    ///
    /// - Parameters:
    ///   - text: The SQL.
    ///   - diagnostics: Where it is noted why there is no SELECT, and what follows it without effect.
    /// - Returns: The SELECT, and where its statement stands up to its last parenthesis; nil without one.
    static func select(
        _ text: QueryText, _ diagnostics: inout DiagnosticList
    ) -> (select: SelectSyntax, statement: Range<Int>)? {
        if let warning = FoldedComment.warning(of: text) { diagnostics.add(warning) }
        let statements: [StatementSyntax]
        do throws(SyntaxError) {
            statements = try SQLParser.parse(text.bytes)
        } catch {
            diagnostics.add(diagnostic(error, in: text))
            return nil
        }
        if statements.count > 1 {
            // As recorded the real service passes them over without a word (service 3.14, D17).
            diagnostics.add(
                Diagnostic(
                    .severalStatements, at: text.range(statements[1].range), severity: .warning,
                    recorded: Recorded(.silent)))
        }
        guard case .select(let select, let range)? = statements.first else {
            let range = statements.first?.range ?? 0..<text.bytes.count
            let isUnion = if case .union? = statements.first { true } else { false }
            diagnostics.add(
                Diagnostic(.notASelect, at: text.range(range)).hinting(isUnion ? Hint.union : nil))
            return nil
        }
        return (select, range)
    }

    /// What is told of a syntax error; the admin routes have a first line as the real service's parser writes it.
    static func diagnostic(_ error: SyntaxError, in text: QueryText) -> Diagnostic {
        let range = text.range(error.range)
        let recorded: Recorded?
        switch error.name {
        case .sqlSyntax where isOneWord(error.range, of: text):
            // As recorded of `SELEC`: any word may begin a statement, and what follows it is not there.
            recorded = Recorded(.text("Unexpected end of input", text.content))
        case .sqlSyntax:
            let (line, column) = place(error.range.lowerBound, in: text)
            let first = "Syntax error at line \(line) col \(column):"
            recorded = Recorded(.text("\(first)\n\n\(error.message)", range))
        case .sqlUnexpectedEnd: recorded = Recorded(.text("Unexpected end of input", text.content))
        default: recorded = nil
        }
        return Diagnostic(
            name: error.name, severity: .fatal, message: error.message, range: range, recorded: recorded)
    }

    /// Whether a place is an ordinary word that is all of a text.
    private static func isOneWord(_ range: Range<Int>, of text: QueryText) -> Bool {
        let tokens = SQLTokenizer.tokens(of: text.bytes)
        guard tokens.count == 2, tokens[0].range == range, case .word(let word) = tokens[0].kind else {
            return false
        }
        return !Keywords.reserved.contains(word)
    }

    /// Line and column of a byte of the SQL, both from 1, in characters.
    private static func place(_ byte: Int, in text: QueryText) -> (line: Int, column: Int) {
        let before = text.bytes.prefix(byte)
        let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        // All but the continuing bytes of characters.
        let column = before[start...].count { $0 & 0xC0 != 0x80 } + 1
        return (before.count { $0 == UInt8(ascii: "\n") } + 1, column)
    }
}
