import PowerSyncCommandLine
import PowerSyncSyncRules
import PowerSyncSystem

/// The sub-command `generate-schema`.
enum GenerateSchemaCommand {
    static let command = Command(
        "generate-schema", abstract: "Print the schema of an app, and its streams, in Swift.",
        discussion: """
            FILE is a sync config, or the configuration file of a service. The tables are what clients get by it, the \
            types of their columns those of the database, or of SQL that makes its tables. Each stream that clients \
            have to ask for is a function.

              powersync-stack generate-schema sync.yaml postgresql://localhost/app > Schema.swift
              powersync-stack generate-schema sync.yaml schema.sql > Schema.swift

            What is wrong with the sync config is told on standard error; with an error the exit status is 2.
            """, arguments: ["FILE", "DATABASE_URI"]
    ) { arguments in
        let words = arguments.arguments
        guard words.count == 2 else {
            throw CommandError(
                "FILE and DATABASE_URI are needed; see powersync-stack generate-schema --help",
                exitStatus: CommandError.usageStatus)
        }
        let source = SchemaSource(words[1])
        guard let check = try await ValidateCommand.check(words[0], source) else { return 130 }
        if let report = check.report(.text) { StandardError.print(report) }
        guard let text = text(check) else { return ConfigurationCheck.fatalStatus }
        try StandardOutput.put(text)
        return 0
    }

    /// The Swift of a configuration, without the last end of line; nil if it has an error, or its tables are not known.
    static func text(_ check: ConfigurationCheck) -> String? {
        guard let plan = check.config.plan, let schema = check.schema else { return nil }
        let text = SwiftSchema.text(ClientSchema(of: plan, schema: schema), streams: plan.streams)
        return String(text.dropLast())
    }
}
