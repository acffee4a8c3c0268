import PowerSyncCommandLine
import PowerSyncSystem
import PowerSyncWire

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif
#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The command `backend`: runs the backend with the configuration of the environment, and sees to what it keeps.
package enum BackendCommand {
    /// The command as one of several.
    package static let command = named("backend")

    /// Returns the command under another name.
    ///
    /// - Parameters:
    ///   - name: that of the executable that runs it alone.
    ///   - environment: the environment in which the commands for operators run.
    ///   - output: gets what these print.
    /// - Returns: the command.
    package static func named(
        _ name: String,
        environment: @escaping @Sendable () -> [String: String] = { ProcessInfo.processInfo.environment },
        output: @escaping @Sendable (String) -> Void = { StandardOutput.print($0) }
    ) -> Command {
        let session = OperatorSession(environment: environment, output: output)
        return Command(
            name, abstract: "Apply uploads to Postgres and mint tokens.",
            subcommands: [
                Command(
                    "start", abstract: "Run the backend until it is told to stop.",
                    discussion: """
                        Creates the schema psb in the database at the first start, and brings it up to date, if the \
                        role of DATABASE_URI may; else the command migrate does so, as another role. When it is ready it \
                        prints one line, {"backend":"http://127.0.0.1:6060"}; its log goes to standard error. SIGTERM \
                        or SIGINT stops it in order, a second one at once. Secrets may also be in a file named by \
                        <NAME>_FILE.

                          DATABASE_URI=postgres://localhost/app POWERSYNC_URL=http://localhost:8080 \\
                          DEV_EPHEMERAL_KEYS=true DEV_OPEN_SCHEMA=true DEV_TOKENS=true $0
                        """,
                    variables: variables, run: { _ in try await start() }),
                MigrateCommand.command(session), LettersCommand.command(session),
                EraseCommand.command(session),
            ])
    }

    private static let variables = [
        Variable("DATABASE_URI", help: "The Postgres that uploads are written to."),
        Variable("POWERSYNC_URL", help: "Where clients find the sync service."),
        Variable("PSB_TABLE_MAP", help: "The YAML file of tables that clients may write."),
        Variable(
            "DEV_OPEN_SCHEMA", help: "Without a table map: open every published table. Development alone."),
        Variable("JWT_KEYS_DIR", help: "The folder of signing keys (*.jwk); a first key is made there."),
        Variable("POWERSYNC_PRIVATE_KEY", help: "Instead: the signing key, base64 of a JWK."),
        Variable("DEV_EPHEMERAL_KEYS", help: "Instead: a key of this run alone. Development alone."),
        Variable("JWT_AUDIENCE", help: "Whom tokens are for, separated by commas; POWERSYNC_URL by default."),
        Variable("JWT_ISSUER", help: "Who makes the tokens; checked in uploads too."),
        Variable("JWT_TTL", help: "How long a token lives, 60s to 24h; 10m by default."),
        Variable("DEV_TOKENS", help: "Mint a token for anybody by ?user_id=. Development alone."),
        Variable(
            "DEV_OPEN_UPLOADS",
            help:
                "Take an upload without a token as one of DEV_USER, as demo apps send it. Development alone."),
        Variable(
            "DEV_HOSTS",
            help:
                "With DEV_TOKENS or DEV_OPEN_UPLOADS: names by which requests may call the backend, separated by commas, "
                + "beside localhost, addresses, and the hosts of POWERSYNC_URL and CORS_ORIGINS. Any other is answered 403, "
                + "for a page of anywhere can have its own name lead here."),
        Variable(
            "DEV_USER",
            help:
                "The user of a development token asked for without one, and of open uploads; dev-user by default."
        ),
        Variable(
            "UPLOAD_ACCEPTS_SYNC_TOKEN", help: "Whether tokens for the service may upload; true by default."),
        Variable("UPLOAD_AUDIENCE", help: "Audiences of tokens that may upload besides."),
        Variable("HOST, PORT", help: "The address to listen on; 0.0.0.0 and 6060 by default."),
        Variable("BATCH_ON_FATAL_ERROR", help: "stop or skip: what happens behind a rejected transaction."),
        Variable(
            "LEGACY_BATCH_MODE", help: "atomic or isolate: refuse a bad batch whole, or cut out what is bad."),
        Variable(
            "CHECKPOINT_MODE", help: "managed or custom: whether the routes of custom checkpoints are there."),
        Variable(
            "CORS_ORIGINS",
            help: "Web pages that may call, separated by commas; none by default, with DEV_TOKENS those of "
                + "http://localhost and http://127.0.0.1 on any port."),
        Variable("MAX_BODY_BYTES", help: "The most bytes of a body; 16 MiB by default."),
        Variable(
            "UPLOAD_MEMORY_BYTES",
            help:
                "About the most memory of all uploads in work, a quarter of it for their bodies, which is at least "
                + "MAX_BODY_BYTES; 256 MiB by default. What comes beyond waits; who has waited 20 s in all, for a place, "
                + "a turn and memory, is answered 503."),
        Variable(
            "BODY_TIMEOUT, BODY_BYTES_PER_SECOND",
            help:
                "How long a body may take to arrive, and how slow its link may be: it has this time and that of its "
                + "bytes at this pace; 30s and 65536 by default. One that cannot end in time is answered 408 early. "
                + "Downloads of a file:// store whose client is slower than this pace are cut, too."
        ),
        Variable(
            "UPLOADS_PER_USER, UPLOADS_WAITING_PER_USER",
            help:
                "How many uploads of a user are in work at a time, and how many more arrive and wait before the next is "
                + "answered 429; 1 and 64 by default."),
        Variable(
            "DEAD_LETTER_ROWS, DEAD_LETTER_BYTES",
            help:
                "How many refused uploads of a user are kept, and their bytes, before all uploads of this user are "
                + "answered 429; 10000 and 100000000 by default. letters list says which there are."),
        Variable("DEAD_LETTER_RETENTION", help: "How long refused uploads are kept; 30d by default."),
        Variable(
            "ATTACHMENTS_STORE",
            help:
                "Where attachments are kept: file:///FOLDER, which this backend serves by signed URLs, or "
                + "s3://BUCKET/PREFIX?endpoint=https://…&region=…&style=path (or virtual); none by default, and no routes for "
                + "them. The table map names the columns that hold their ids."),
        Variable(
            "ATTACHMENTS_S3_ACCESS_KEY, ATTACHMENTS_S3_SECRET_KEY, ATTACHMENTS_S3_SESSION_TOKEN",
            help: "The credentials of an s3 store; the token if they are temporary."),
        Variable(
            "ATTACHMENTS_PUBLIC_URL",
            help:
                "Where devices reach this backend, for the URLs of a file store; http://127.0.0.1:PORT by default, with "
                + "ENV=production it must be given."),
        Variable(
            "ATTACHMENTS_MAX_BYTES, ATTACHMENTS_QUOTA_BYTES, ATTACHMENTS_QUOTA_FILES",
            help:
                "The most bytes of a file (413), and of all files of a user, and how many of these there may be (429); "
                + "5 GiB, 10 GiB and 100000 by default."),
        Variable(
            "ATTACHMENTS_TYPES",
            help:
                "The media types that are taken, separated by commas, such as image/*,application/pdf; any by default."
        ),
        Variable(
            "POOL_SIZE",
            help:
                "The most connections to the database, 8 by default; two more ask whether it answers, and listen."
        ),
        OperatorSession.times,
        MigrateCommand.timeout,
        Variable(
            "SCHEMA_DRIFT_GRACE",
            help: "How long uploads that name a table or column that is gone are answered 503, as during a "
                + "migration, before they are rejected; 10m by default."),
        Variable("DRAIN_DELAY", help: "How long the backend says that it leaves before it does."),
        Variable("ENV", help: "production refuses everything that is for development."),
        Variable("LOG_LEVEL, LOG_FORMAT", help: "trace to error; text or json."),
    ]

    private static func start() async throws -> Int32 {
        let variables = ProcessInfo.processInfo.environment
        let log = try logger(variables)
        let configuration = try BackendConfiguration(environment: variables) {
            try String(contentsOfFile: $0, encoding: .utf8)
        }
        let signals = StopSignal.stream()
        let poller = try Poller()
        defer { poller.stop() }
        let backend = Backend(configuration: configuration, poller: poller, log: log)
        try await backend.start()
        StandardOutput.print(readyLine(host: configuration.host, port: backend.port))
        for await _ in signals { break }
        log.info("stopping")
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await backend.stop() }
            group.addTask {
                // The second signal means now: nothing that the stop still waits for may hold it up.
                for await _ in signals { exit(130) }
            }
            await group.next()
            group.cancelAll()
        }
        return 0
    }

    /// What tells a program that started this one where the backend is.
    private static func readyLine(host: String, port: Int) -> String {
        let reachable =
            ["0.0.0.0": "127.0.0.1", "::": "[::1]"][host] ?? (host.contains(":") ? "[\(host)]" : host)
        return JSON.object([JSONMember("backend", .string("http://\(reachable):\(port)"))]).text
    }

    private static func logger(_ variables: [String: String]) throws -> Log {
        guard let level = LogLevel(name: variables["LOG_LEVEL"] ?? "info") else {
            throw BackendError.setting("LOG_LEVEL", "must be one of trace, debug, info, warning, error")
        }
        guard let format = Log.Format(rawValue: variables["LOG_FORMAT"] ?? "text") else {
            throw BackendError.setting("LOG_FORMAT", "must be text or json")
        }
        return Log(label: "backend", level: level, format: format)
    }
}
