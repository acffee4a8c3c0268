import PowerSyncPostgres
import PowerSyncSystem

/// All that is needed to start one server, the first time and again.
struct ServerLaunch: Sendable {
    /// How long the processes of a server that was killed may take to end, even on a machine that has much else to do.
    static let patience = Duration.seconds(60)

    let directory: ClusterDirectory
    let user: ClusterUser
    let binaries: PostgresBinaries
    let settings: ServerSettings
    let runFolder: String

    /// Makes the cluster; nothing of it stays if that fails or we die meanwhile.
    func initialize() async throws {
        try directory.prepareStage(for: user)
        let process = try await WatchedProcess.start(
            user.command(
                binaries.initdb,
                settings.initdbArguments(
                    directory.stagedCluster, passwordFile: directory.passwordFile),
                interruptedWithParent: true),
            folder: runFolder)
        let output: String
        do {
            output = try await process.outputToEnd()
        } catch {
            await process.end(keepingFolder: true)
            throw error
        }
        await process.end(keepingFolder: true)
        guard output.contains("Success.") else {
            let reason: String
            if case .other(let words) = ServerFailure(log: process.log) {
                reason = words
            } else {
                reason = process.log
            }
            throw PostgresServerError(.notInitialized, "initdb failed: \(reason)")
        }
        try directory.commitStage()
    }

    /// Waits a moment for a server of a program that was just killed; `directoryInUse` if it does not end.
    func waitForFormerPostmaster() async throws {
        let deadline = ContinuousClock.now + Self.patience
        while let id = directory.livingPostmaster() {
            guard ContinuousClock.now < deadline else { throw ClusterDirectory.inUse(directory.path, by: id) }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Starts the server and returns when it takes connections.
    ///
    /// With port 0 it tries another free port when one is taken meanwhile. Waits for shared memory that children of a
    /// killed server still hold.
    func run(port: Int) async throws -> (process: WatchedProcess, port: Int) {
        let memoryDeadline = ContinuousClock.now + Self.patience
        var portsLeft = 10
        while true {
            let chosen = try port == 0 ? FreePort.find() : port
            let process = try await WatchedProcess.start(
                user.command(
                    binaries.postgres, settings.arguments(port: chosen), interruptedWithParent: true),
                folder: runFolder)
            do {
                if try await becomesReady(process) { return (process, chosen) }
            } catch {
                await process.end(keepingFolder: true)
                throw error
            }
            await process.end(keepingFolder: true)
            switch ServerFailure(log: process.log) {
            case .portInUse where port == 0 && portsLeft > 0:
                portsLeft -= 1
            case .portInUse:
                throw PostgresServerError(
                    .portInUse,
                    "port \(chosen) on 127.0.0.1 is in use: stop what uses it or choose another port")
            case .sharedMemoryInUse where ContinuousClock.now < memoryDeadline:
                try await Task.sleep(for: .milliseconds(50))
            case .sharedMemoryInUse, .directoryInUse:
                throw ClusterDirectory.inUse(directory.path, by: nil)
            case .other(let reason):
                throw PostgresServerError(.notStarted, "Postgres did not start: \(reason)")
            }
        }
    }

    /// Gives the superuser a password, by the socket of the server, which asks for none.
    func setPassword(_ password: String, port: Int) async throws {
        do {
            let poller = try Poller()
            defer { poller.stop() }
            let connection = try await PostgresConnection.connect(
                "user=postgres dbname=postgres", parameters: ["host": runFolder, "port": String(port)],
                poller: poller, deadline: Self.patience)
            try await connection.script(
                """
                SET password_encryption = 'scram-sha-256';
                ALTER ROLE postgres PASSWORD \(quoteLiteral(password))
                """)
            await connection.close()
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw PostgresServerError(
                .notStarted, "the cluster of an earlier version could not be given a password: \(error)")
        }
    }

    /// Waits for the state that the postmaster writes down; false if it ended instead.
    private func becomesReady(_ process: WatchedProcess) async throws -> Bool {
        let deadline = ContinuousClock.now + .seconds(180)
        while !directory.isReady(postmaster: process.id) {
            if process.hasEnded { return false }
            guard ContinuousClock.now < deadline else {
                throw PostgresServerError(.notStarted, "Postgres was not ready after three minutes")
            }
            try await Task.sleep(for: .milliseconds(5))
        }
        return true
    }
}
