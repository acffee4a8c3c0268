import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A private Postgres on 127.0.0.1, set up for logical replication, that is gone when we are gone.
///
/// Whoever has its URI is its superuser `postgres`: it is for development and tests. Others who can reach the port are asked
/// for a password.
package final class PostgresServer: Sendable {
    /// The port on 127.0.0.1.
    package let port: Int
    /// The password of the superuser: letters and digits.
    package let password: String
    private let launch: ServerLaunch
    private let process: Lock<WatchedProcess>

    /// Makes a cluster if there is none, starts it and returns when it takes connections.
    ///
    /// - Parameters:
    ///   - directory: Where the data is kept (in the sub-folder `cluster`); nil for a temporary folder, which is
    ///     removed at the end. Data that a crash left behind is recovered.
    ///   - port: 0 for a free one.
    ///   - maxReplicationSlots: For slots and for connections that stream.
    ///   - fsync: Whether committed data survives a crash of the machine; by default for a given directory only.
    ///   - lockPatience: How long another program may take to leave the directory.
    ///   - places: Where the programs are looked for.
    ///   - log: Gets a line for what takes a moment.
    /// - Returns: The running server; it ends with `stop`, with its last reference, and with this process.
    /// - Throws: `PostgresServerError`, or `CancellationError`.
    package static func start(
        directory: String? = nil, port: Int = 0, maxReplicationSlots: Int = 64, fsync: Bool? = nil,
        lockPatience: Duration = FolderLock.patience, places: PostgresBinaries.Places = .ofThisMachine(),
        log: @Sendable (String) -> Void = { _ in }
    ) async throws -> PostgresServer {
        let binaries = try await PostgresBinaries.find(in: places)
        let user = try ClusterUser()
        let runFolder = try RunFolder.make(for: user)
        let remover = try RunFolderRemover(runFolder)
        do {
            let cluster = try await ClusterDirectory.locked(
                directory.map(RunFolder.absolute) ?? runFolder, for: user, patience: lockPatience, log: log)
            let settings = ServerSettings(
                dataDirectory: cluster.cluster, socketDirectory: runFolder,
                maxReplicationSlots: maxReplicationSlots,
                isDurable: fsync ?? (directory != nil))
            let launch = ServerLaunch(
                directory: cluster, user: user, binaries: binaries, settings: settings, runFolder: runFolder)
            let kept = cluster.password
            let password = kept ?? ClusterDirectory.newPassword()
            // An earlier version made clusters without one, which let everybody in.
            let isOpen = kept == nil && cluster.isInitialized
            if !cluster.isInitialized {
                log("making a Postgres cluster in \(cluster.path)")
                try cluster.keep(password, for: user)
                try await launch.initialize()
            }
            try await launch.waitForFormerPostmaster()
            if isOpen { try cluster.endTrust() }
            let (process, port) = try await launch.run(port: port)
            if isOpen {
                do {
                    try await launch.setPassword(password, port: port)
                    try cluster.keep(password, for: user)
                } catch {
                    await process.end(keepingFolder: true)
                    throw error
                }
            }
            await remover.dismiss()
            log("Postgres is ready on port \(port)")
            return PostgresServer(launch, process, port, password)
        } catch {
            await remover.remove()
            throw error
        }
    }

    private init(_ launch: ServerLaunch, _ process: WatchedProcess, _ port: Int, _ password: String) {
        self.launch = launch
        self.port = port
        self.password = password
        self.process = Lock(process)
    }

    /// The process id of the postmaster.
    package var processID: Int32 { process.withLock { $0.id } }

    /// Whether the postmaster or any of its children is there.
    package var isRunning: Bool { !process.withLock { $0.hasEnded } }

    /// The folder of the socket and the log, and of temporary data; gone after `stop`.
    package var temporaryFolder: String { launch.runFolder }

    /// A URI over TCP with the password of the superuser, without query.
    ///
    /// - Parameters:
    ///   - database: The database.
    ///   - user: The superuser, or a role of letters, digits and underscores that has the same password.
    /// - Returns: The URI.
    package func uri(database: String = "postgres", user: String = "postgres") -> String {
        let allowed = database.utf8.map { byte in
            let letter = Character(UnicodeScalar(byte))
            let isPlain = byte < 0x80 && (letter.isLetter || letter.isNumber || "-_.~".contains(letter))
            return isPlain
                ? String(letter) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }
        return "postgresql://\(user):\(password)@127.0.0.1:\(port)/\(allowed.joined())"
    }

    /// Stops the server, within nine seconds, and removes its temporary folder.
    ///
    /// Transactions are rolled back. A replication client that stays connected without answering is cut after 2.5 s.
    package func stop() async {
        await process.withLock { $0 }.end(keepingFolder: false)
        launch.directory.unlock()
    }

    /// Kills the postmaster with SIGKILL, as a crash would, of which its children die: for tests of recovery.
    package func kill() {
        let id = processID
        // The watcher keeps the id from being reused; if the process is dead already there is nothing to do.
        signal(id, SIGKILL)
    }

    /// Starts the server again, in the same folder and on the same port, stopping it first if it runs.
    ///
    /// Not after `stop`, which has given both away.
    package func restart() async throws {
        let former = process.withLock { $0 }
        await former.end(keepingFolder: true)
        let deadline = ContinuousClock.now + ServerLaunch.patience
        while !former.hasEnded {
            guard ContinuousClock.now < deadline else {
                throw PostgresServerError(
                    .notStarted, "children of the killed server did not end in a minute")
            }
            try await Task.sleep(for: .milliseconds(5))
        }
        let (started, _) = try await launch.run(port: port)
        process.withLock { $0 = started }
    }

    private func signal(_ id: Int32, _ number: Int32) {
        #if canImport(Glibc)
            _ = Glibc.kill(id, number)
        #elseif canImport(Musl)
            _ = Musl.kill(id, number)
        #else
            _ = Darwin.kill(id, number)
        #endif
    }
}
