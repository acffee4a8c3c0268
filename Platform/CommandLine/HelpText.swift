/// The help of a command, set for a terminal of 100 columns.
enum HelpText {
    private static let width = 100

    /// Writes the help.
    static func of(_ command: Command, path: [String]) -> String {
        let name = path.joined(separator: " ")
        var parts = [wrapped(command.abstract, indent: 0)]
        var usage = "Usage: " + name
        if !command.subcommands.isEmpty { usage += " COMMAND" }
        usage += command.options.isEmpty ? "" : " [OPTIONS]"
        usage += command.arguments.map { " " + $0 }.joined()
        parts.append(usage)
        if !command.subcommands.isEmpty {
            parts.append(list("Commands", command.subcommands.map { ($0.name, $0.abstract) }))
        }
        let options = command.options.map { option in
            (
                option.name + (option.valueName.map { " " + $0 } ?? ""),
                option.help + (option.standard.map { " (default: \($0))" } ?? "")
            )
        }
        let everywhere = [("--help", "Print this."), ("--version", "Print the version.")]
        parts.append(list("Options", options + everywhere))
        if !command.variables.isEmpty {
            parts.append(list("Environment", command.variables.map { ($0.name, $0.help) }))
        }
        if !command.discussion.isEmpty { parts.append(discussion(command.discussion, of: name)) }
        return parts.joined(separator: "\n\n")
    }

    private static func list(_ title: String, _ rows: [(String, String)]) -> String {
        let column = min(32, (rows.map(\.0.count).max() ?? 0) + 4)
        let lines = rows.map { name, help in
            let text = wrapped(help, indent: column)
            let head = "  " + name
            if head.count + 2 > column { return head + "\n" + String(repeating: " ", count: column) + text }
            return head + String(repeating: " ", count: column - head.count) + text
        }
        return ([title + ":"] + lines).joined(separator: "\n")
    }

    private static func discussion(_ text: String, of name: String) -> String {
        let text = text.replacing("$0", with: name)
        return text.split(separator: "\n\n", omittingEmptySubsequences: false).map { paragraph in
            paragraph.hasPrefix(" ") ? String(paragraph) : wrapped(String(paragraph), indent: 0)
        }.joined(separator: "\n\n")
    }

    private static func wrapped(_ text: String, indent: Int) -> String {
        var lines: [String] = []
        var line = ""
        for word in text.split(whereSeparator: { $0 == " " || $0 == "\n" }) {
            if !line.isEmpty, indent + line.count + 1 + word.count > width {
                lines.append(line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        lines.append(line)
        return lines.joined(separator: "\n" + String(repeating: " ", count: indent))
    }
}
