#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import PowerSyncCommandLine
import PowerSyncPostgresSource
import PowerSyncSystem
import PowerSyncWire

/// The command that runs the service (service 8).
package enum MockServiceCommand {
    /// `service`, with `start`.
    package static let command = Command(
        "service", abstract: "Runs a sync service for development and tests.",
        discussion:
            "The service replicates a Postgres database into buckets and streams them to PowerSync clients.",
        subcommands: [start])

    private static let start = Command(
        "start", abstract: "Starts the service and runs until it is told to stop.",
        discussion: """
            The configuration is taken from -c64, else from POWERSYNC_CONFIG_B64, else from the file given with -c, else from the file \
            named by POWERSYNC_CONFIG_PATH, else from powersync.yaml in the current folder. Its form is that of the real \
            service. The state is kept in SQLite: in the file that `storage` names, else in POWERSYNC_STATE_PATH, else in a \
            file beside the configuration or in the current folder. A `storage` of type postgresql or mongodb is accepted \
            and not used:

              replication:
                connections:
                  - {type: postgresql, uri: !env PS_DATA_URI, sslmode: disable}
              storage: {type: sqlite, path: sync-state.db}
              port: 8080
              telemetry: {prometheus_port: 9090}
              sync_config: {path: sync.yaml}
              client_auth: {audience: [powersync], jwks_uri: "http://localhost:6060/api/auth/keys"}

            One line of JSON with the address goes to standard output when clients can connect. The exit status is 150 for \
            a configuration that cannot be used, and for everything else that keeps the service from starting.
            """,
        options: [
            Option("-c", "FILE", help: "The configuration file, YAML or JSON."),
            Option("-c64", "TEXT", help: "The configuration itself, base64-encoded."),
            Option(
                "-sync64", "TEXT", help: "The sync config, base64-encoded; wins over environment and file."),
            Option(
                "-r", "RUNNER", help: "unified: API and replication in one process, which is all there is."),
        ],
        variables: [
            Variable("POWERSYNC_CONFIG_B64", help: "The configuration itself, base64-encoded."),
            Variable("POWERSYNC_CONFIG_PATH", help: "The configuration file."),
            Variable(
                "POWERSYNC_SYNC_CONFIG_B64", help: "The sync config, base64-encoded; wins over the file's."),
            Variable("POWERSYNC_SYNC_RULES_B64", help: "The same under its name of former days."),
            Variable("PS_RUNNER_TYPE", help: "The same as -r."),
            Variable(
                "POWERSYNC_STATE_PATH",
                help: "The file for the state, if `storage` names none of type sqlite."),
            Variable(
                "SSL_CERT_FILE", help: "The authorities of the system, for a source without a `cacert`."),
            Variable("PS_…", help: "Values for !env in the configuration."),
        ],
        run: { arguments in try await run(arguments) })

    private static func run(_ arguments: ParsedArguments) async throws -> Int32 {
        // A compose file leaves variables empty that nobody has set.
        var environment = ProcessInfo.processInfo.environment.filter {
            !($0.value.isEmpty && $0.key.hasPrefix("POWERSYNC_"))
        }
        if let encoded = arguments.value("-sync64") { environment["POWERSYNC_SYNC_CONFIG_B64"] = encoded }
        let runner = arguments.value("-r") ?? environment["PS_RUNNER_TYPE"] ?? ""
        guard ["", "unified"].contains(runner) else {
            throw fatal("'\(runner)' is no kind of this service: it is always unified")
        }
        let settings = try settings(arguments, environment)
        let log = Log(label: "service", level: settings.logLevel, format: settings.logFormat)
        for note in settings.notes { log.info(note) }
        let signals = StopSignal.stream()
        let poller = try orFatal { try Poller() }
        defer { poller.stop() }
        var configuration = settings.service
        let source = configuration.source
        let certificates = try orFatal { try source.certificates?.inFiles() }
        defer { withExtendedLifetime(certificates) {} }
        if let certificates { configuration.source = source.with(certificates) }
        let configured = configuration
        let service = MockService(configuration: configured, poller: poller, log: log)
        do {
            return try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await _ in signals { return }
                }
                group.addTask {
                    try await service.start()
                    let host = configured.host == "0.0.0.0" ? "127.0.0.1" : configured.host
                    let ready = JSON.object([
                        JSONMember("service", .string("http://\(host):\(service.port)"))
                    ])
                    StandardOutput.print(ready.text)
                    // Ends with the signal, which stops the service and cancels this.
                    try await poller.sleep(until: .now + .seconds(86_400 * 36_500))
                }
                defer { group.cancelAll() }
                try await group.next()
                await service.stop()
                return 0
            }
        } catch let error as SyncConfigError {
            await service.stop()
            // Without a word before the first line, so that editors find the place in it, too.
            StandardError.print(error.description)
            return fatalStatus
        } catch let error as CancellationError {
            await service.stop()
            throw error
        } catch {
            await service.stop()
            throw fatal("\(error)")
        }
    }

    /// The exit status of the real service for a configuration that cannot be used, and everything else that it cannot
    /// start with (service 8).
    private static let fatalStatus: Int32 = 150

    private static func fatal(_ message: String) -> CommandError {
        CommandError(message, exitStatus: fatalStatus)
    }

    /// What every start needs; without it there is none.
    private static func orFatal<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch {
            throw fatal("\(error)")
        }
    }

    private static func settings(
        _ arguments: ParsedArguments, _ environment: [String: String]
    ) throws -> ServiceSettings {
        for (name, encoded) in [
            ("-c64", arguments.value("-c64")), ("POWERSYNC_CONFIG_B64", environment["POWERSYNC_CONFIG_B64"]),
        ] {
            guard let encoded else { continue }
            guard let text = Base64Text.decode(encoded) else { throw fatal("\(name) is no base64 of a text") }
            return try read(text, name, file: nil, folder: ".", environment)
        }
        let file = arguments.value("-c") ?? environment["POWERSYNC_CONFIG_PATH"] ?? "powersync.yaml"
        let text: String
        do throws(SystemError) {
            text = try FileBytes.text(ofFile: file)
        } catch {
            throw fatal(
                "the configuration file '\(file)' cannot be read: \(error.reason); name it with -c or "
                    + "POWERSYNC_CONFIG_PATH")
        }
        let folder = file.lastIndex(of: "/").map { String(file[..<$0]) } ?? "."
        return try read(text, file, file: file, folder: folder.isEmpty ? "/" : folder, environment)
    }

    /// A file for the state, called like that of the configuration: beside it, or in the current folder if that one is not to
    /// be written to, as in a container.
    private static func statePath(configuration: String?, folder: String) -> String? {
        let file = (configuration ?? "powersync").split(separator: "/").last ?? "powersync"
        let name = file.lastIndex(of: ".").map { file[..<$0] } ?? file
        return [folder, "."].first { FileManager.default.isWritableFile(atPath: $0) }
            .map { "\($0)/\(name).state.sqlite" }
    }

    /// Paths in the configuration are relative to its own folder.
    private static func read(
        _ text: String, _ name: String, file: String?, folder: String, _ environment: [String: String]
    ) throws -> ServiceSettings {
        do {
            return try ConfigurationReader.read(
                text, name: name,
                inputs: ConfigurationReader.Inputs(
                    environment: environment,
                    readFile: { path throws(SystemError) in try FileBytes.text(ofFile: path) },
                    statePath: { statePath(configuration: file, folder: folder) },
                    systemAuthorities: {
                        SourceCertificates.systemAuthorities(environment) {
                            FileManager.default.fileExists(atPath: $0)
                        }
                    }))
        } catch {
            throw fatal(error.description)
        }
    }
}
