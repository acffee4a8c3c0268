import PowerSyncCommandLine
import PowerSyncStack
import Testing

/// Whoever copies an example out of a help text runs what it says.
struct HelpExamplesTests {
    private static func all(_ command: Command) -> [Command] { [command] + command.subcommands.flatMap(all) }

    /// The first word of each indented line that is no setting (`NAME=value`).
    ///
    /// A row of a table is no example: it has more than one space between its columns.
    private static func firstWords(_ text: String) -> [String] {
        let lines = text.split(separator: "\n").filter { line in
            line.hasPrefix("  ") && !line.drop { $0 == " " }.contains("  ")
        }
        return lines.compactMap { line in
            line.split(separator: " ").first { !$0.contains("=") }.map(String.init)
        }
    }

    @Test func examplesOfEveryCommandBeginWithTheProgram() {
        let program = StackCommand.command.name
        let commands = Self.all(StackCommand.command)
        let names = Set(commands.map(\.name)).subtracting([program])
        var examples = 0
        for command in commands {
            for word in Self.firstWords(command.discussion) {
                #expect(!names.contains(word), "the help of \(command.name)")
                if word == "$0" || word == program { examples += 1 }
            }
        }
        #expect(examples >= 15)
    }
}
