import PowerSyncCommandLine
import PowerSyncSystem

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The sub-command `up`.
enum UpCommand {
    static let command = Command(
        "up", abstract: "Start the local stack for an app of your own, until Ctrl-C.",
        discussion: """
            When all is ready, one line of JSON says where everything is; it is the only thing on standard output. \
            The log goes to standard error.

              {"postgres":"postgresql://…","backend":"http://127.0.0.1:6060","service":"http://127.0.0.1:8080"}

            A table file says what the backend may write. Tables and columns that it does not name are refused:

              tables:
                todos:                       # the client's name
                  table: public.todos        # this is the default
                  id: id                     # so is this
                  owner: owner_id            # rows belong to the token's subject, checked on every operation
                  ops: [PUT, PATCH, DELETE]
                  columns: { created_at: { write: server }, secret: { write: never } }   # all others: client
                  attachments: [photo_id]    # columns that hold ids of files; whose the row is may upload and get them

            Files lie in the folder of this run, and the backend serves them under addresses that it signs.
            """,
        options: [
            Option(
                "--schema", "FILE.sql",
                help: "SQL to run on a database that has no tables yet, at most 64 MiB."),
            Option(
                "--sync-config", "FILE.yaml",
                help: "A Sync Streams configuration. Without it every published table goes to everyone."),
            Option(
                "--tables", "FILE",
                help: "What the backend may write. Without it, every column of every published table."),
            Option(
                "--backend-port", "PORT", help: "The backend's port, 0 for any free one.", standard: "6060"),
            Option(
                "--service-port", "PORT", help: "The service's port, 0 for any free one.", standard: "8080"),
            Option(
                "--host", "ADDRESS", help: "The address of the two HTTP ports; Postgres stays on 127.0.0.1.",
                standard: "127.0.0.1"),
            Option(
                "--open-uploads",
                help:
                    "Take uploads without a token as those of the user dev-user: the official demo apps send none. Whoever "
                    + "reaches the backend writes then."),
            Option(
                "--data", "DIR",
                help:
                    "Keep cluster, keys, state, files and slot in this folder for the next time. Without it all are "
                    + "gone at the end."),
        ],
        variables: [
            Variable(
                "DATABASE_URI",
                help:
                    "A database to use instead of a private cluster, as superuser, or by a role that owns the tables "
                    + "of schema public, may create in the database, and replicate. Nothing in it is dropped but the "
                    + "slot of this run; the publication powersync and the backend's schema psb stay."),
            Variable(
                "LOG_LEVEL", help: "What backend and service log: trace, debug, info, warning or error."),
            Variable("LOG_FORMAT", help: "How: text or json."),
            Variable(
                "DEV_HOSTS",
                help:
                    "Names by which other machines may call the backend, separated by commas; localhost, addresses and the "
                    + "name of --host are known."),
        ]
    ) { arguments in
        var options = UpOptions()
        options.schema = arguments.value("--schema")
        options.syncConfig = arguments.value("--sync-config")
        options.tables = arguments.value("--tables")
        options.data = arguments.value("--data")
        options.hasOpenUploads = arguments.flag("--open-uploads")
        options.host = arguments.value("--host") ?? options.host
        options.backendPort = try arguments.number("--backend-port", in: 0...65535) ?? options.backendPort
        options.servicePort = try arguments.number("--service-port", in: 0...65535) ?? options.servicePort
        let environment = ProcessInfo.processInfo.environment.filter { !$0.value.isEmpty }
        options.databaseURI = environment["DATABASE_URI"]
        options.logLevel = environment["LOG_LEVEL"] ?? options.logLevel
        if options.databaseURI == nil { PartEnvironment.forgetPostgresVariables() }
        // What is open to others and what stays on a server is told whatever the parts log.
        let log = Log(
            label: "up", level: min(LogLevel(name: options.logLevel) ?? .info, .warning),
            format: environment["LOG_FORMAT"].flatMap(Log.Format.init(rawValue:)) ?? .text)
        let executable = try ThisExecutable.path()
        let chosen = options
        _ = try await Session.run(until: StopSignal.stream()) { session in
            try await UpRun.run(
                chosen, executable: executable, session: session, warn: { log.warning($0) },
                ready: { StandardOutput.print($0) })
        }
        return 0
    }
}
