import Foundation
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The command `powersync-backend start`, so that its memory and its threads are its own, for the time of a test.
struct BackendProcess: Sendable {
    let port: Int
    let id: Int32

    /// Lets a test have a backend on a database with this schema, of which a map or the publication says what may be written.
    ///
    /// Its files are in a folder of its own, or in one that somebody else removes: where this process is killed.
    static func with(
        schema: String, map: String? = nil, environment: [String: String] = [:], in place: String? = nil,
        _ body: (BackendProcess, _ uri: String) async throws -> Void
    ) async throws {
        let own = try place == nil ? TemporaryDirectory(prefix: "backend-process-") : nil
        defer { own?.remove() }
        let folder = try #require(place ?? own?.path)
        let poller = try Poller()
        defer { poller.stop() }
        let uri = try await TestPostgres.database(poller)
        let connection = try await PostgresConnection.connect(uri, poller: poller)
        try await connection.script(schema)
        await connection.close()
        var tables = ["DEV_OPEN_SCHEMA": "1"]
        if let map {
            let file = folder + "/map.yaml"
            try map.write(toFile: file, atomically: true, encoding: .utf8)
            tables = ["PSB_TABLE_MAP": file]
        }
        let path = folder + "/output"
        let output = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
        try #require(output >= 0)
        defer { close(output) }
        let process = try start(uri, tables.merging(environment) { $1 }, output)
        do {
            let line = try await wait(
                for: "the backend to be ready",
                read: { try String(contentsOfFile: path, encoding: .utf8) },
                until: { $0.hasSuffix("\n") || process.hasEnded })
            let url = try #require(try JSON.parse(line)["backend"]?.stringValue)
            let port = try #require(url.split(separator: ":").last.flatMap { Int($0) })
            try await body(BackendProcess(port: port, id: process.id), uri)
        } catch {
            process.signal(SIGKILL)
            throw error
        }
        process.signal(SIGTERM)
        let end = try await wait(forEndOf: process, called: "the backend")
        #expect(end == .exited(0))
    }

    /// Starts the command, which may write what one says of tables.
    static func start(_ uri: String, _ environment: [String: String], _ output: Int32) throws -> ChildProcess
    {
        let seconds = TestOptions.deadline.components.seconds
        let patience = String(seconds * 1_000)
        return try ChildProcess.guarded(
            Repository.executable("powersync-backend"), ["start"],
            environment: ProcessInfo.processInfo.environment.merging([
                // A machine that stands still connects to nothing within the five seconds of production.
                "DATABASE_URI": "\(uri)?connect_timeout=\(seconds)",
                "POWERSYNC_URL": "http://sync.example.com", "ENV": "development", "HOST": "127.0.0.1",
                "PORT": "0",
                // Tests that are about one of these set it.
                "STATEMENT_TIMEOUT_MS": patience, "LOCK_TIMEOUT_MS": patience,
                "TOKENS_PER_MINUTE": "0", "FAILED_CREDENTIALS_PER_MINUTE": "0",
                // What requests that are written by hand call it.
                "DEV_HOSTS": "h", "DEV_TOKENS": "1", "DEV_EPHEMERAL_KEYS": "1", "LOG_LEVEL": "error",
            ]) { $1 }.merging(environment) { $1 }, output: .descriptor(output), error: .inherit)
    }

    #if os(Linux)
        /// The most memory that it has had, in bytes.
        var peak: Int { get throws { try memory("VmHWM:") } }

        /// The memory that it has now, in bytes.
        var resident: Int { get throws { try memory("VmRSS:") } }

        private func memory(_ name: String) throws -> Int {
            let status = try String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8)
            let line = try #require(status.split(separator: "\n").first { $0.hasPrefix(name) })
            let kilobytes = line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }
            return try #require(kilobytes) << 10
        }
    #endif
}
