/// What a Postgres has logged with `log_statement`, in the form that it has by itself.
enum ServerLog {
    /// A statement as a session has sent it.
    struct Statement: Sendable, Equatable {
        /// The process id of the session.
        let session: Int
        /// Its text.
        let text: String
        /// The values of its parameters; nil is NULL.
        var parameters: [String?] = []
    }

    /// Returns the statements that a log tells of, in their order; what else is in it is left out.
    static func statements(of log: String) -> [Statement] {
        var statements: [Statement] = []
        for entry in entries(of: log) {
            if entry.kind == "LOG", let text = statement(entry.text) {
                statements.append(Statement(session: entry.session, text: text))
            } else if entry.kind == "DETAIL", entry.text.lowercased().hasPrefix("parameters: "),
                let last = statements.indices.last, statements[last].session == entry.session
            {
                // Both lines are written as one.
                statements[last].parameters = parameters(entry.text)
            }
        }
        return statements
    }

    private struct Entry {
        let session: Int
        let kind: Substring
        var text: String
    }

    /// The entries, each of which begins with time and `[process id]`; more lines of one begin with a tab.
    private static func entries(of log: String) -> [Entry] {
        var entries: [Entry] = []
        for line in log.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("\t") {
                guard !entries.isEmpty else { continue }
                entries[entries.count - 1].text += "\n\(line.dropFirst())"
            } else if let start = line.firstIndex(of: "["), let end = line[start...].firstIndex(of: "]"),
                let session = Int(line[line.index(after: start)..<end]),
                let colon = line[end...].firstRange(of: ":  ")
            {
                let kind = line[line.index(after: end)..<colon.lowerBound].drop { $0 == " " }
                entries.append(
                    Entry(session: session, kind: kind, text: String(line[colon.upperBound...])))
            }
        }
        return entries
    }

    /// The text of a statement, by the extended protocol or the simple one; nil for another line.
    private static func statement(_ text: String) -> String? {
        guard text.hasPrefix("execute ") || text.hasPrefix("statement: "),
            let colon = text.firstRange(of: ": ")
        else { return nil }
        return String(text[colon.upperBound...])
    }

    /// Reads `parameters: $1 = 'it''s', $2 = NULL`.
    private static func parameters(_ text: String) -> [String?] {
        var parameters: [String?] = []
        var rest = Array(text.utf8)[...]
        let quote = UInt8(ascii: "'")
        while let equals = rest.firstIndex(of: UInt8(ascii: "=")) {
            rest = rest[equals...].dropFirst(2)
            guard rest.first == quote else {
                parameters.append(nil)
                continue
            }
            rest = rest.dropFirst()
            var value: [UInt8] = []
            while let end = rest.firstIndex(of: quote) {
                value += rest[..<end]
                rest = rest[end...].dropFirst()
                // Two of them are one within the text.
                guard rest.first == quote else { break }
                value.append(quote)
                rest = rest.dropFirst()
            }
            parameters.append(String(decoding: value, as: UTF8.self))
        }
        return parameters
    }
}
