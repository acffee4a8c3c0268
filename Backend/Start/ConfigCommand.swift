import PowerSyncCommandLine
import PowerSyncSystem
import PowerSyncWire

/// The command `config`: what an environment says, before a backend is started with it.
enum ConfigCommand {
    static func command(_ session: OperatorSession) -> Command {
        Command(
            "config", abstract: "See what the settings of the environment come to.",
            subcommands: [check(session)])
    }

    private static func check(_ session: OperatorSession) -> Command {
        Command(
            "check", abstract: "Show every setting, and everything that a start would refuse.",
            discussion: """
                Run it with the environment of start. It shows each setting with its value and where that comes from: the \
                environment, a file that NAME_FILE names, or the default; of secrets that they are set, and no more. Then it \
                tells all that is wrong, and not the first alone; with nothing wrong it ends with 0, else with 1.

                With --database it also connects, and looks whether the schema psb, the rights of the role and the tables of \
                the map are as a start needs them. Nothing is changed. The store of attachments is looked \
                at by a start alone.
                """,
            options: [
                Option("--database", help: "Look at the database, too."), OperatorSession.jsonOption,
            ],
            variables: [Variable("DATABASE_URI, …", help: "Everything that start reads.")]
        ) { arguments in
            let variables = session.environment()
            var found = SettingProblems()
            let reader = EnvironmentReader(variables: variables, readFile: OperatorSession.readFile)
            let configuration = BackendConfiguration(reader, &found)
            _ = LogSettings(reader, &found)
            var problems = found.all.map(\.message)
            // What is not read right leads nowhere.
            if problems.isEmpty {
                problems = try await self.problems(configuration, hasDatabase: arguments.flag("--database"))
            }
            let settings = rows(variables)
            if arguments.flag("--json") {
                session.print(json(settings, problems))
            } else {
                session.print(text(settings, problems))
            }
            return problems.isEmpty ? 0 : 1
        }
    }

    private static func problems(
        _ configuration: BackendConfiguration, hasDatabase: Bool
    ) async throws -> [String] {
        let poller = try Poller()
        defer { poller.stop() }
        let log = Log(label: "backend", level: .warning)
        return try await Backend(configuration: configuration, poller: poller, log: log).problems(
            hasDatabase: hasDatabase)
    }

    // MARK: Settings

    /// One setting as it is shown.
    struct Row: Sendable, Hashable {
        /// Its name.
        let name: String
        /// Its value; `(set)` for a secret, nil where nothing is set and there is no default.
        let value: String?
        /// Where the value comes from.
        let origin: String
    }

    /// Says of every setting what an environment makes of it.
    static func rows(_ variables: [String: String]) -> [Row] {
        let isProduction = variables["ENV"] != "development"
        return Setting.all.map { setting in
            if let value = variables[setting.name], !value.isEmpty {
                return Row(
                    name: setting.name, value: setting.isSecret ? "(set)" : value, origin: "environment")
            }
            if setting.isSecret, let path = variables[setting.name + "_FILE"], !path.isEmpty {
                return Row(name: setting.name, value: "(set)", origin: "file \(path)")
            }
            let standard = isProduction ? setting.standardInProduction ?? setting.standard : setting.standard
            return Row(name: setting.name, value: standard, origin: "default")
        }
    }

    private static func text(_ settings: [Row], _ problems: [String]) -> String {
        var table = TextTable(["SETTING", "VALUE", "FROM"])
        for row in settings { table.add([row.name, row.value ?? "–", row.origin]) }
        guard !problems.isEmpty else { return table.text + "\n\nNothing is wrong." }
        let lines = problems.map { "  " + TextTable.shown($0) }.joined(separator: "\n")
        return table.text + "\n\nWrong:\n" + lines
    }

    private static func json(_ settings: [Row], _ problems: [String]) -> JSON {
        .object([
            JSONMember(
                "settings",
                .array(
                    settings.map { row in
                        .object([
                            JSONMember("name", .string(row.name)),
                            JSONMember("value", row.value.map { .string($0) } ?? .null),
                            JSONMember("origin", .string(row.origin)),
                        ])
                    })),
            JSONMember("problems", .array(problems.map { .string($0) })),
        ])
    }
}
