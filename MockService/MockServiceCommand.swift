#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import PowerSyncCommandLine
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
            The configuration is taken from POWERSYNC_CONFIG_B64, else from the file given with -c, else from the file \
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

            One line of JSON with the address goes to standard output when clients can connect.
            """,
        options: [Option("-c", "FILE", help: "The configuration file, YAML or JSON.")],
        variables: [
            Variable("POWERSYNC_CONFIG_B64", help: "The configuration itself, base64-encoded."),
            Variable("POWERSYNC_CONFIG_PATH", help: "The configuration file."),
            Variable(
                "POWERSYNC_SYNC_CONFIG_B64", help: "The sync config, base64-encoded; wins over the file's."),
            Variable(
                "POWERSYNC_STATE_PATH",
                help: "The file for the state, if `storage` names none of type sqlite."),
            Variable("PS_…", help: "Values for !env in the configuration."),
        ],
        run: { arguments in try await run(arguments) })

    private static func run(_ arguments: ParsedArguments) async throws -> Int32 {
        let settings = try settings(arguments.value("-c"), ProcessInfo.processInfo.environment)
        let log = Log(label: "service", level: settings.logLevel, format: settings.logFormat)
        for note in settings.notes { log.info(note) }
        let signals = StopSignal.stream()
        let poller = try Poller()
        defer { poller.stop() }
        var configuration = settings.service
        let certificates = try configuration.source.certificates?.inFiles()
        defer { withExtendedLifetime(certificates) {} }
        if let certificates { configuration.source = configuration.source.with(certificates) }
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
            let place = error.diagnostics.map { "\(configured.syncConfigName): \($0)" }.joined(
                separator: "\n")
            throw CommandError(place)
        } catch {
            await service.stop()
            throw error
        }
    }

    private static func settings(
        _ path: String?, _ environment: [String: String]
    ) throws -> ServiceSettings {
        if let encoded = environment["POWERSYNC_CONFIG_B64"] {
            guard let text = Base64Text.decode(encoded) else {
                throw CommandError("POWERSYNC_CONFIG_B64 is no base64 of a text")
            }
            return try read(text, "POWERSYNC_CONFIG_B64", folder: ".", environment)
        }
        let file = path ?? environment["POWERSYNC_CONFIG_PATH"] ?? "powersync.yaml"
        let text: String
        do {
            text = try String(contentsOfFile: file, encoding: .utf8)
        } catch {
            throw CommandError(
                "the configuration file '\(file)' cannot be read; name it with -c or POWERSYNC_CONFIG_PATH")
        }
        let folder = file.lastIndex(of: "/").map { String(file[..<$0]) } ?? "."
        return try read(text, file, folder: folder.isEmpty ? "/" : folder, environment)
    }

    /// A file for the state, called like the configuration: beside it, or in the current folder if that one is not to be
    /// written to, as in a container.
    private static func statePath(configuration: String, folder: String) -> String? {
        let file = configuration.split(separator: "/").last ?? "powersync"
        let name = file.lastIndex(of: ".").map { file[..<$0] } ?? file
        return [folder, "."].first { FileManager.default.isWritableFile(atPath: $0) }
            .map { "\($0)/\(name).state.sqlite" }
    }

    /// Paths in the configuration are relative to its own folder.
    private static func read(
        _ text: String, _ name: String, folder: String, _ environment: [String: String]
    ) throws -> ServiceSettings {
        do {
            return try ConfigurationReader.read(
                text, name: name,
                inputs: ConfigurationReader.Inputs(
                    environment: environment,
                    readFile: { path in
                        try String(
                            contentsOfFile: path.hasPrefix("/") ? path : "\(folder)/\(path)", encoding: .utf8)
                    },
                    statePath: { statePath(configuration: name, folder: folder) },
                    systemAuthorities: {
                        SourceCertificates.systemAuthorities(environment) {
                            FileManager.default.fileExists(atPath: $0)
                        }
                    }))
        } catch {
            throw CommandError(error.description)
        }
    }
}
