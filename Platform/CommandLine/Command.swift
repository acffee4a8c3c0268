#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// One option of a command.
package struct Option: Sendable {
    /// The name with its dashes, `--schema`.
    package let name: String
    /// What the value is called in the help, `FILE.sql`; nil for a flag.
    package let valueName: String?
    /// One or two sentences.
    package let help: String
    /// The default as it is shown, for options that have one.
    package let standard: String?
    /// Whether an empty value says something; where it does not it counts as a mistake.
    package let mayBeEmpty: Bool

    /// Makes an option of its parts.
    package init(
        _ name: String, _ valueName: String? = nil, help: String, standard: String? = nil,
        mayBeEmpty: Bool = false
    ) {
        self.name = name
        self.valueName = valueName
        self.help = help
        self.standard = standard
        self.mayBeEmpty = mayBeEmpty
    }
}

/// An environment variable that a command reads.
package struct Variable: Sendable {
    /// The name.
    package let name: String
    /// One or two sentences.
    package let help: String

    /// Makes a variable of its parts.
    package init(_ name: String, help: String) {
        self.name = name
        self.help = help
    }
}

/// A command with its help: it either runs or has sub-commands.
package struct Command: Sendable {
    /// What does the work; returns the exit status.
    package typealias Run = @Sendable (ParsedArguments) async throws -> Int32

    /// The word on the command line.
    package let name: String
    /// One line.
    package let abstract: String
    /// Paragraphs and examples below the usage; lines that begin with a space are kept as they are, and `$0` stands for the
    /// words by which the command is called.
    package let discussion: String
    /// The options.
    package let options: [Option]
    /// What the arguments without dashes are called in the help; no others are accepted, but for a last one that ends
    /// in `…`, of which there may be several.
    package let arguments: [String]
    /// The environment variables.
    package let variables: [Variable]
    /// The sub-commands.
    package let subcommands: [Command]
    /// What it does; nil if only the sub-commands do.
    package let run: Run?

    /// Makes a command of its parts.
    package init(
        _ name: String, abstract: String, discussion: String = "", options: [Option] = [],
        arguments: [String] = [],
        variables: [Variable] = [], subcommands: [Command] = [], run: Run? = nil
    ) {
        self.name = name
        self.abstract = abstract
        self.discussion = discussion
        self.options = options
        self.arguments = arguments
        self.variables = variables
        self.subcommands = subcommands
        self.run = run
    }

    /// Parses a command line, runs what it names, and prints help and errors.
    ///
    /// From here on a reader that goes away ends the output and nothing else, as SIGPIPE is ignored; children of
    /// `ChildProcess` have its default action.
    ///
    /// - Parameters:
    ///   - arguments: the words behind the program's name.
    ///   - errors: gets the line that says what went wrong; standard error by default.
    /// - Returns: the exit status: 0, the command's own, 64 for a line that cannot be understood, else 1.
    package func main(
        _ arguments: [String], errors: @Sendable (String) -> Void = { StandardError.print($0) }
    ) async -> Int32 {
        signal(SIGPIPE, SIG_IGN)
        do {
            switch try ParsedCommand.parse(self, arguments) {
            case .help(let text), .version(let text):
                StandardOutput.print(text)
                return 0
            case .run(let run, let arguments): return try await run(arguments)
            }
        } catch let error as CommandError {
            errors("error: \(error.message)")
            return error.exitStatus
        } catch is CancellationError {
            return 130
        } catch {
            errors("error: \(error)")
            return 1
        }
    }
}

/// The options and arguments that were given.
package struct ParsedArguments: Sendable {
    var values: [String: [String]] = [:]
    /// The arguments without dashes, in order.
    package internal(set) var arguments: [String] = []

    /// Returns the value of an option, the last one if it was given several times.
    package func value(_ name: String) -> String? { values[name]?.last }

    /// Returns all values of an option in the order given.
    package func all(_ name: String) -> [String] { values[name] ?? [] }

    /// Tells whether a flag was given.
    package func flag(_ name: String) -> Bool { values[name] != nil }

    /// Returns the whole number of an option.
    ///
    /// - Parameters:
    ///   - name: the option.
    ///   - range: the numbers that make sense.
    /// - Returns: nil if the option was not given.
    /// - Throws: `CommandError` for any other text.
    package func number(_ name: String, in range: ClosedRange<Int>) throws(CommandError) -> Int? {
        guard let text = value(name) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw CommandError(
                "\(name) takes a number from \(range.lowerBound) to \(range.upperBound), not \"\(text)\"",
                exitStatus: CommandError.usageStatus)
        }
        return number
    }
}
