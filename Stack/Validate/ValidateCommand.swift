import PowerSyncCommandLine
import PowerSyncMockService
import PowerSyncSyncRules
import PowerSyncSystem

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The sub-command `validate-config`.
enum ValidateCommand {
    static let command = Command(
        "validate-config", abstract: "Tell what is wrong with a sync config, before it is deployed.",
        discussion: """
            FILE is a sync config of any edition, or the configuration file of a service: then its own sync config is \
            checked, or the file that it names. Each mistake is told with its place, the line, and a mark under it.

              powersync-stack validate-config sync.yaml
              powersync-stack validate-config --strict --schema schema.sql sync.yaml
              powersync-stack validate-config --format sarif sync.yaml > sync.sarif

            With --schema, tables and columns that are not there are warned of. A file of SQL is run on a private \
            Postgres; without one, name a database that has the tables.

            Exit status 0: it can be used. 1: there are warnings, with --strict. 2: there are errors, or the file \
            cannot be read.
            """,
        options: [
            Option("--strict", help: "Take warnings for mistakes."),
            Option("--format", "FORMAT", help: "How it is told: text, json or sarif.", standard: "text"),
            Option(
                "--schema", "FILE.sql | DATABASE_URI",
                help: "The tables of the source: SQL that makes them, or a database that has them."),
        ], arguments: ["FILE"],
        variables: [
            Variable("PS_…", help: "Values for !env in the configuration file of a service.")
        ]
    ) { arguments in
        guard let path = arguments.arguments.first else {
            throw CommandError(
                "FILE is missing; see powersync-stack validate-config --help",
                exitStatus: CommandError.usageStatus)
        }
        let word = arguments.value("--format") ?? "text"
        guard let format = ConfigurationCheck.Format(rawValue: word) else {
            throw CommandError(
                "--format takes text, json or sarif, not \"\(word)\"", exitStatus: CommandError.usageStatus)
        }
        let source = arguments.value("--schema").map { SchemaSource($0) }
        guard let check = try await check(path, source) else { return 130 }
        if let report = check.report(format) { try StandardOutput.put(report) }
        if format == .text { StandardError.print(check.summary) }
        return check.status(isStrict: arguments.flag("--strict"))
    }

    /// Reads and compiles a configuration.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - source: Where the tables stand; nil if the configuration is checked without.
    /// - Returns: The configuration; nil if somebody stopped the program.
    /// - Throws: `CommandError` if a file or the tables cannot be read.
    static func check(_ path: String, _ source: SchemaSource?) async throws -> ConfigurationCheck? {
        do {
            let environment = ProcessInfo.processInfo.environment
            let checked = try SyncConfigText.read(path, environment: environment)
            guard let source else { return ConfigurationCheck(checked) }
            if case .file = source { PartEnvironment.forgetPostgresVariables() }
            let schema = try await Session.run(until: StopSignal.stream()) { session in
                try await source.read(session)
            }
            return schema.map { ConfigurationCheck(checked, schema: $0) }
        } catch let error as CancellationError {
            throw error
        } catch {
            throw CommandError("\(error)", exitStatus: ConfigurationCheck.fatalStatus)
        }
    }
}
