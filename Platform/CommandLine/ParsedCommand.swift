import PowerSyncSystem

/// What a command line asks for.
enum ParsedCommand {
    /// The help text of the named command.
    case help(String)
    /// The name and the version of the program.
    case version(String)
    /// The command to run, and with what.
    case run(Command.Run, ParsedArguments)

    /// Finds the command and its options; pure, prints nothing.
    static func parse(_ root: Command, _ words: [String]) throws(CommandError) -> ParsedCommand {
        var command = root
        var path = [root.name]
        var rest = words[...]
        while let word = rest.first, !word.hasPrefix("-"), !command.subcommands.isEmpty {
            guard let next = command.subcommands.first(where: { $0.name == word }) else {
                if word == "help" {
                    rest = rest.dropFirst()
                    if rest.isEmpty { return .help(HelpText.of(command, path: path)) }
                    rest = rest + ["--help"]
                    continue
                }
                throw usage(
                    "there is no command \"\(word)\"" + suggestion(word, command.subcommands.map(\.name)),
                    path)
            }
            command = next
            path.append(next.name)
            rest = rest.dropFirst()
        }
        var parsed = ParsedArguments()
        while let word = rest.popFirst() {
            if word == "--help" || word == "-h" { return .help(HelpText.of(command, path: path)) }
            if word == "--version" { return .version("\(root.name) \(PackageVersion.current)") }
            if word == "--" {
                parsed.arguments += rest
                break
            }
            guard word.hasPrefix("-"), word != "-" else {
                parsed.arguments.append(word)
                continue
            }
            try option(word, &rest, command, path, &parsed)
        }
        guard let run = command.run else {
            if words.isEmpty || parsed.arguments.isEmpty { return .help(HelpText.of(command, path: path)) }
            throw usage("name a command", path)
        }
        let isOpenEnded = command.arguments.last?.hasSuffix("…") == true
        guard isOpenEnded || parsed.arguments.count <= command.arguments.count else {
            throw usage("unexpected argument \"\(parsed.arguments[command.arguments.count])\"", path)
        }
        return .run(run, parsed)
    }

    private static func option(
        _ word: String, _ rest: inout ArraySlice<String>, _ command: Command, _ path: [String],
        _ parsed: inout ParsedArguments
    ) throws(CommandError) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(
            String.init)
        guard let option = command.options.first(where: { $0.name == parts[0] }) else {
            throw usage(
                "there is no option \(parts[0])" + suggestion(parts[0], command.options.map(\.name)), path)
        }
        guard let valueName = option.valueName else {
            if parts.count > 1 { throw usage("\(option.name) takes no value", path) }
            parsed.values[option.name, default: []].append("")
            return
        }
        guard let value = parts.count > 1 ? parts[1] : rest.popFirst(), option.mayBeEmpty || !value.isEmpty
        else {
            throw usage("\(option.name) needs a value: \(option.name) \(valueName)", path)
        }
        parsed.values[option.name, default: []].append(value)
    }

    private static func usage(_ message: String, _ path: [String]) -> CommandError {
        CommandError(
            "\(message); see \(path.joined(separator: " ")) --help", exitStatus: CommandError.usageStatus)
    }

    private static func suggestion(_ word: String, _ names: [String]) -> String {
        let near = names.map { ($0, distance(word, $0)) }.min { $0.1 < $1.1 }
        guard let near, near.1 <= max(2, word.count / 3) else { return "" }
        return " (did you mean \(near.0)?)"
    }

    /// The number of letters to add, drop or change between two words (Levenshtein).
    private static func distance(_ first: String, _ second: String) -> Int {
        let second = Array(second)
        var row = Array(0...second.count)
        for (index, letter) in first.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in second.indices {
                let above = row[column + 1]
                row[column + 1] = min(
                    above + 1, row[column] + 1, diagonal + (letter == second[column] ? 0 : 1))
                diagonal = above
            }
        }
        return row[second.count]
    }
}
