import Foundation
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncPostgresServer
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The containers of docker-compose.yml as processes of this machine: their environment and their files, with what
/// leads out of a container (hosts, ports, absolute paths) turned to where it is here.
final class Containers: Sendable {
    let compose: ComposeFile
    /// As the superuser of the container of Postgres.
    let postgres: PostgresConnection
    private let server: PostgresServer
    private let poller: Poller
    private let folder: TemporaryDirectory
    private let running = Lock<[(name: String, process: ChildProcess)]>([])

    private init(
        _ compose: ComposeFile, _ server: PostgresServer, _ poller: Poller, _ folder: TemporaryDirectory
    ) async throws {
        self.compose = compose
        self.server = server
        self.poller = poller
        self.folder = folder
        let database = try compose.setting("PG_DATABASE_NAME")
        postgres = try await PostgresConnection.connect(server.uri(database: database), poller: poller)
    }

    /// Runs docker/init.sql on a server of its own, lets `body` act and takes everything away; `changes` are values of
    /// .env that a user has changed.
    static func with(changes: [String: String] = [:], _ body: (Containers) async throws -> Void) async throws
    {
        let folder = try TemporaryDirectory(prefix: "powersync-containers-")
        defer { folder.remove() }
        let poller = try Poller()
        defer { poller.stop() }
        let server = try await PostgresServer.start()
        do {
            let containers = try await Containers(ComposeFile(changes: changes), server, poller, folder)
            do {
                try await containers.initialize()
                try await body(containers)
            } catch {
                await containers.end()
                throw error
            }
            await containers.end()
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    /// Does what the image's entry point does with the files of /docker-entrypoint-initdb.d.
    ///
    /// The server asks for passwords as the image does, so that a wrong one shows.
    private func initialize() async throws {
        let container = try compose.container("postgres")
        let script = try #require(
            container.mounts.first { $0.target.hasPrefix("/docker-entrypoint-initdb.d/") })
        var environment = environmentOfThePrograms
        environment.merge(container.environment) { $1 }
        // That of POSTGRES_USER, whom the image makes with POSTGRES_PASSWORD.
        environment["PGPASSWORD"] = server.password
        let psql = try await PostgresBinaries.find().directory + "/psql"
        let result = try await ChildProcess.run(
            FileManager.default.isExecutableFile(atPath: psql) ? psql : "psql",
            [
                "--no-psqlrc", "--no-password", "--quiet", "--set", "ON_ERROR_STOP=1",
                "--host", "127.0.0.1", "--port", String(server.port),
                "--username", try #require(container.environment["POSTGRES_USER"]),
                "--dbname", try #require(container.environment["POSTGRES_DB"]),
                "--file", Repository.root.path + "/" + script.source,
            ], environment: environment, timeout: TestOptions.deadline)
        try #require(result.status == .exited(0), "psql: \(result.error)")
        try await wait(for: "a login without password to be refused") { [server, poller] in
            do {
                let uri = "postgresql://powersync_backend@127.0.0.1:\(server.port)/postgres"
                await (try PostgresConnection.connect(uri, poller: poller)).close()
                return false
            } catch is PostgresError {
                return true
            }
        }
    }

    /// Starts the program of a container and returns the URL that it says when it is ready; `settings` are variables that it
    /// gets besides, or in place of those of docker-compose.yml.
    func start(
        _ name: String, _ executable: String, ready: String, backend: String? = nil,
        settings: [String: String] = [:]
    ) async throws -> String {
        let container = try compose.container(name)
        try fill(container.mounts)
        var environment = environmentOfThePrograms
        for (key, value) in container.environment {
            environment[key] = here(value, backend: backend)
        }
        environment.merge(settings) { $1 }
        environment["DATABASE_URI"] = environment["DATABASE_URI"].map { EndToEnd.patient($0) }
        // Free ports, and of this machine alone; the service has no setting for its address.
        environment[name == "backend" ? "PORT" : "PS_PORT"] = "0"
        if name == "backend" {
            environment["HOST"] = "127.0.0.1"
            environment["METRICS_HOST"] = "127.0.0.1"
            environment["METRICS_PORT"] = String(try FreePort.find())
        }
        let files = [folder.path + "/\(name).out", folder.path + "/\(name).log"]
        let descriptors = files.map { open($0, O_CREAT | O_WRONLY | O_APPEND | O_TRUNC | O_CLOEXEC, 0o600) }
        defer { for descriptor in descriptors { close(descriptor) } }
        let process = try ChildProcess.guarded(
            Repository.executable(executable), ["start"], environment: environment,
            output: .descriptor(descriptors[0]), error: .descriptor(descriptors[1]))
        running.withLock { $0.append((name, process)) }
        let (output, log) = try await wait(for: "\(name) to be ready") {
            try (
                String(contentsOfFile: files[0], encoding: .utf8),
                String(contentsOfFile: files[1], encoding: .utf8).suffix(2000)
            )
        } until: { output, _ in
            output.hasSuffix("\n") || process.hasEnded
        }
        try #require(output.hasSuffix("\n"), "\(name) ended: \(log)")
        return try #require(try JSON.parse(output)[ready]?.stringValue, "\(name) printed \(output)")
    }

    /// Connects with the URI of a container's environment.
    func connect(as name: String, _ variable: String) async throws -> PostgresConnection {
        let uri = try #require(try compose.container(name).environment[variable])
        return try await PostgresConnection.connect(here(uri, backend: nil), poller: poller)
    }

    /// Returns what the superuser of the container of Postgres sees.
    func rows(_ query: String) async throws -> [[String?]] {
        let result = try await postgres.query(query)
        return (0..<result.rowCount).map { result.row($0) }
    }

    /// Stops the programs as an engine does, the last first; each must end by itself.
    func stopAll() async throws {
        let ending = running.withLock { running in
            defer { running = [] }
            return running
        }
        for (name, process) in ending.reversed() {
            process.signal(SIGTERM)
            let end = try await wait(forEndOf: process, called: name)
            #expect(end == .exited(0), "\(name) said: \(said(by: name))")
        }
    }

    /// The end of a program's log.
    private func said(by name: String) -> String {
        // A log that cannot be read says nothing, and the status of its program all the same.
        ((try? String(contentsOfFile: folder.path + "/\(name).log", encoding: .utf8)) ?? "").suffix(4000)
            .description
    }

    private func end() async {
        for (_, process) in running.withLock({ $0 }) { process.signal(SIGKILL) }
        await postgres.close()
    }

    /// Puts files of the repository and empty volumes below the folder, which stands for a container's root.
    private func fill(_ mounts: [(source: String, target: String)]) throws {
        let files = FileManager.default
        for (source, target) in mounts {
            let place = folder.path + target
            let isFile = source.hasPrefix("./")
            try files.createDirectory(
                atPath: isFile ? String(place[..<(place.lastIndex(of: "/") ?? place.endIndex)]) : place,
                withIntermediateDirectories: true)
            if isFile, !files.fileExists(atPath: place) {
                try files.copyItem(atPath: Repository.root.path + "/" + source, toPath: place)
            }
        }
    }

    /// A value of a container's environment, for this machine.
    private func here(_ value: String, backend: String?) -> String {
        var value = value.hasPrefix("/") ? folder.path + value : value
        if value.hasPrefix("file:///") { value = "file://" + folder.path + value.dropFirst(7) }
        value = value.replacing("@postgres:5432/", with: "@127.0.0.1:\(server.port)/")
        if let backend { value = value.replacing("http://backend:6060", with: backend) }
        return value
    }

    /// What the programs need of this machine's environment to start at all.
    private var environmentOfThePrograms: [String: String] {
        ProcessInfo.processInfo.environment.filter { ["PATH", "LD_LIBRARY_PATH"].contains($0.key) }
    }
}
