import PowerSyncCommandLine
import PowerSyncCrypto
import PowerSyncSystem

/// The command `keys`: which keys sign and verify tokens, and how one follows another (backend 4.6).
struct KeysCommand: Sendable {
    private let session: OperatorSession
    private let now: @Sendable () -> Double
    private let pause: @Sendable (Duration) async throws -> Void

    /// Makes the command.
    ///
    /// - Parameters:
    ///   - session: the environment, and where it prints.
    ///   - now: seconds since 1970.
    ///   - pause: waits.
    init(
        _ session: OperatorSession, now: @escaping @Sendable () -> Double,
        pause: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.session = session
        self.now = now
        self.pause = pause
    }

    private static let folder = Option(
        "--keys", "DIR", help: "The folder of keys, instead of the one that JWT_KEYS_DIR names.")
    private static let variables = [
        Variable("JWT_KEYS_DIR", help: "The folder of keys of the backend."),
        Variable("JWT_TTL", help: "How long a token lives, as the backend knows it; 10m by default."),
    ]

    /// The command with its four.
    var command: Command {
        Command(
            "keys", abstract: "List and change the keys that sign tokens.",
            discussion: """
                One key of the folder is current and signs. To change it, make the next one, wait until everybody who \
                verifies tokens has fetched it, and promote it: the former one is retired, and what it has signed counts \
                for as long as tokens live. Backends that run notice within a second; none needs a restart.

                  $0 generate
                  $0 promote 3fK9aQ2x         waits ten minutes behind generate
                  $0 list --remove            takes away what is over
                """,
            subcommands: [list, generate, promote, retire])
    }

    private var list: Command {
        Command(
            "list", abstract: "Say which keys there are, and what each does.",
            options: [
                Option("--remove", help: "Take away the keys that count for nothing any more."), Self.folder,
            ], variables: Self.variables
        ) { arguments in
            let folder = try folder(arguments)
            if arguments.flag("--remove") {
                try await holding(folder) {
                    for entry in try roster(folder).entries where entry.standing == .over {
                        try folder.remove(entry.file)
                    }
                }
            }
            var table = TextTable(["KID", "ALGORITHM", "STATE", "SINCE", "DOES", "FILE"])
            for entry in try roster(folder).entries {
                let times = entry.file.times
                let since = times.retired ?? times.current ?? times.published
                table.add([
                    entry.file.id, entry.file.key.algorithm?.rawValue ?? "", times.state?.rawValue ?? "-",
                    since.map { String($0) } ?? "-", KeyCommands.words(entry), entry.file.name,
                ])
            }
            session.output(table.text)
            return 0
        }
    }

    private var generate: Command {
        let known = SignatureAlgorithm.allCases.filter { $0.keyType != .oct }.map(\.rawValue)
        return Command(
            "generate", abstract: "Make a key that is published at once and signs once it is promoted.",
            options: [
                Option(
                    "--algorithm", "NAME", help: "One of \(known.joined(separator: ", ")).",
                    standard: "ES256"),
                Self.folder,
            ], variables: Self.variables
        ) { arguments in
            let name = arguments.value("--algorithm") ?? "ES256"
            guard known.contains(name), let algorithm = SignatureAlgorithm(rawValue: name) else {
                throw CommandError(
                    "--algorithm takes one of \(known.joined(separator: ", "))",
                    exitStatus: CommandError.usageStatus)
            }
            let folder = try folder(arguments)
            let key = try KeyFolder.generate(algorithm)
            try await holding(folder) {
                for write in try KeyCommands.generate(key, try roster(folder), now: seconds) {
                    guard try folder.write(write) else {
                        throw CommandError("there is a file \(write.name) already; no key is made")
                    }
                }
            }
            session.output(key.kid ?? "")
            return 0
        }
    }

    private var promote: Command {
        Command(
            "promote", abstract: "Have a key sign, and retire the one that did.",
            options: [
                Option("--now", help: "Do not wait until others have fetched it: tokens may be refused."),
                Self.folder,
            ], arguments: ["KID"], variables: Self.variables
        ) { arguments in
            let (folder, id) = (try folder(arguments), try named(arguments))
            let begun = seconds
            let ready = try KeyCommands.promotable(
                try KeyCommands.find(id, in: try roster(folder)), now: begun)
            if !arguments.flag("--now"), ready > begun {
                session.output("waiting for \(ready - begun) seconds, until others have fetched the key")
                while seconds < ready { try await pause(.seconds(min(ready - seconds, 60))) }
            }
            try await holding(folder) {
                // Meanwhile somebody may have done something else.
                let roster = try roster(folder)
                let entry = try KeyCommands.find(id, in: roster)
                _ = try KeyCommands.promotable(entry, now: seconds)
                for write in KeyCommands.promote(entry, roster, now: seconds) { try folder.write(write) }
            }
            session.output("\(id) signs")
            return 0
        }
    }

    private var retire: Command {
        Command(
            "retire", abstract: "Have a key sign nothing any more.",
            options: [
                Option("--now", help: "What it has signed counts no more either: it is known to others."),
                Self.folder,
            ], arguments: ["KID"], variables: Self.variables
        ) { arguments in
            let (folder, id) = (try folder(arguments), try named(arguments))
            try await holding(folder) {
                let entry = try KeyCommands.find(id, in: try roster(folder))
                let writes = try KeyCommands.retire(entry, isNow: arguments.flag("--now"), now: seconds)
                for write in writes { try folder.write(write) }
            }
            session.output("\(id) is retired")
            return 0
        }
    }

    // MARK: What they share

    private var seconds: Int64 { Int64(now()) }

    private func named(_ arguments: ParsedArguments) throws(CommandError) -> String {
        guard let id = arguments.arguments.first else {
            throw CommandError("name the key: KID", exitStatus: CommandError.usageStatus)
        }
        return id
    }

    private func folder(_ arguments: ParsedArguments) throws(CommandError) -> KeyFolder {
        let named = session.environment()["JWT_KEYS_DIR"].flatMap { $0.isEmpty ? nil : $0 }
        guard let path = arguments.value("--keys") ?? named else {
            throw CommandError(
                "name the folder: JWT_KEYS_DIR, or --keys DIR", exitStatus: CommandError.usageStatus)
        }
        return KeyFolder(path: path)
    }

    private func roster(_ folder: KeyFolder) throws(BackendError) -> KeyRoster {
        let lifetime = try BackendConfiguration.tokenLifetime(
            environment: session.environment(), readFile: OperatorSession.readFile)
        return try KeyRoster(
            try folder.read(), now: seconds, lifetime: lifetime.components.seconds)
    }

    /// Does something while no other command changes the folder.
    private func holding(_ folder: KeyFolder, _ body: () throws -> Void) async throws {
        let lock = try FolderLock(folder.path, mode: 0o600)
        guard try await lock.take() else {
            throw CommandError("another command changes the keys in \(folder.path); nothing is changed")
        }
        try body()
        lock.release()
    }
}
