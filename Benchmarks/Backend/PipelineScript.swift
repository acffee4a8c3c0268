/// What pgbench sends again and again: the statements of one upload, in one pipeline, as a backend has sent them.
///
/// What named the upload, its numbers, its row and its user, is another with each transaction and client; all other
/// parameters have the values that they had.
struct PipelineScript: Sendable {
    /// The script, as pgbench takes it.
    let text: String
    /// The variables of it that have one value for all clients, by their names.
    let constants: [String: String]

    /// Makes a script of one upload.
    ///
    /// - Parameters:
    ///   - statements: those that a server has logged, others among them.
    ///   - number: the number of the upload's one operation and of its transaction, which nothing else has.
    ///   - rowID: the id of its row, the same.
    ///   - user: whose upload it was.
    /// - Throws: `BenchmarkError` if it is not among the statements, or has one that pgbench would read otherwise.
    init(
        _ statements: [ServerLog.Statement], number: Int, rowID: String, user: String
    ) throws(BenchmarkError) {
        let found = Self.transactions(statements).first { transaction in
            transaction.contains { $0.parameters.contains(rowID) }
        }
        guard let found else { throw BenchmarkError("the log has no transaction with the row \(rowID)") }
        var lines = [
            "\\set n :n + 1", "\\set confirmed :n - 1", "\\set id :client_id * 1000000000 + :n",
            "\\startpipeline",
        ]
        var constants: [String: String] = [:]
        for statement in found {
            guard Self.isPlain(statement.text) else {
                throw BenchmarkError("pgbench would read a statement otherwise: \(statement.text)")
            }
            var words: [String] = []
            for value in statement.parameters {
                switch value ?? "" {
                case _ where value == nil: words.append("NULL")
                case String(number): words.append(":n")
                case String(number - 1): words.append(":confirmed")
                case "{\(number)}": words.append("ARRAY[:n::bigint]")
                case rowID: words.append(":id")
                case user: words.append(":client_id")
                // Of which pgbench makes no variable.
                case "": words.append("''")
                case let constant:
                    let name = "c\(constants.count)"
                    constants[name] = constant
                    words.append(":" + name)
                }
            }
            lines.append(Self.filled(statement.text, with: words) + ";")
        }
        self.constants = constants
        text = (lines + ["\\endpipeline"]).joined(separator: "\n") + "\n"
    }

    /// The transactions of sessions, each from BEGIN to COMMIT.
    private static func transactions(_ statements: [ServerLog.Statement]) -> [[ServerLog.Statement]] {
        var open: [Int: [ServerLog.Statement]] = [:]
        var whole: [[ServerLog.Statement]] = []
        for statement in statements {
            if statement.text.hasPrefix("BEGIN") { open[statement.session] = [] }
            guard open[statement.session] != nil else { continue }
            open[statement.session, default: []].append(statement)
            guard statement.text == "COMMIT" else { continue }
            whole.append(open.removeValue(forKey: statement.session) ?? [])
        }
        return whole
    }

    /// Whether pgbench reads a text as Postgres does: it ends statements at semicolons, has commands behind backslashes,
    /// and takes a colon in front of a name for a variable.
    private static func isPlain(_ text: String) -> Bool {
        var former: Character = " "
        for (index, character) in zip(text.indices, text) {
            if character == ";" || character == "\\" { return false }
            if character == ":", former != ":" {
                let next = text[text.index(after: index)...].first ?? " "
                if next == "_" || next.isLetter || next.isNumber { return false }
            }
            former = character
        }
        return true
    }

    /// A text with other words in the place of `$1`, `$2` and so on.
    private static func filled(_ text: String, with words: [String]) -> String {
        var filled = ""
        var rest = text[...]
        while let dollar = rest.firstIndex(of: "$") {
            filled += rest[..<dollar]
            rest = rest[dollar...].dropFirst()
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            rest = rest.dropFirst(digits.count)
            let word = Int(digits).flatMap { words.indices.contains($0 - 1) ? words[$0 - 1] : nil }
            filled += word ?? "$\(digits)"
        }
        filled += rest
        return filled
    }
}
