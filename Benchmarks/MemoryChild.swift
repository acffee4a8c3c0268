import PowerSync
import PowerSyncCommandLine
import PowerSyncHTTP
import PowerSyncHTTPServer
import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The two processes of the memory benchmark.
enum MemoryChild {
    /// The first argument of such a process.
    static let marker = "memory-child"

    /// What a process is to do.
    enum Role {
        case send(rows: Int)
        case sync(port: Int, rows: Int, folder: String)

        /// Reads a command line; nil for that of a person.
        init?(_ arguments: [String]) {
            guard arguments.first == marker else { return nil }
            switch (arguments.dropFirst().first, arguments.dropFirst(2).map { Int($0) }) {
            case ("send", let numbers) where numbers.count == 1:
                guard let rows = numbers[0] else { return nil }
                self = .send(rows: rows)
            case ("sync", let numbers) where numbers.count == 3:
                guard let port = numbers[0], let rows = numbers[1] else { return nil }
                self = .sync(port: port, rows: rows, folder: arguments[4])
            default: return nil
            }
        }
    }

    /// Does it; returns the exit status.
    static func run(_ role: Role) async -> Int32 {
        do {
            try LifeLine.follow(grace: 0)
            switch role {
            case .send(let rows): try await send(rows)
            case .sync(let port, let rows, let folder): try await sync(port, rows, folder)
            }
            return 0
        } catch {
            StandardError.print("\(marker): \(error)")
            return 1
        }
    }

    /// Serves a sync stream of lines that are ready before the port is told; goes on until it is killed.
    private static func send(_ count: Int) async throws {
        var lines: [[UInt8]] = []
        BenchmarkRows(count: count).forEachLine { lines.append($0 + [UInt8(ascii: "\n")]) }
        let stream = lines
        let server = try HTTPServer(configuration: HTTPServerConfiguration(), poller: Poller())
        StandardOutput.print(String(server.port))
        await server.run { request, _ in
            guard request.path == "/sync/stream" else { return HTTPResponse(status: 404) }
            return HTTPResponse(
                status: 200, fields: ["content-type": "application/x-ndjson"],
                body: .stream { writer in
                    for line in stream { try await writer.write(line) }
                    // The stream stays open until the client leaves.
                    try await Task.sleep(for: .seconds(86_400))
                })
        }
    }

    /// Syncs everything and prints the seconds that it took and the most bytes that were resident.
    private static func sync(_ port: Int, _ count: Int, _ folder: String) async throws {
        let database = PowerSyncDatabase(
            schema: Schema(BenchmarkRows.table), dbFilename: folder + "/client.db",
            logger: DefaultLogger(minSeverity: .warning, writers: [ErrorWriter()]))
        let start = ContinuousClock.now
        try await database.connect(connector: Connector(port: port))
        try await database.waitForFirstSync()
        let time = ContinuousClock.now - start
        let memory = try peakMemory()
        let stored = try await database.get("SELECT count(*) FROM ps_data__todos") {
            try $0.getInt(index: 0)
        }
        guard stored == count else { throw BenchmarkError("\(stored) of \(count) rows are there") }
        try await database.close()
        StandardOutput.print("\(time / .seconds(1)) \(memory)")
    }

    /// Returns the most bytes of memory that this process has had resident.
    private static func peakMemory() throws -> Int {
        #if os(Linux)
            // Not getrusage: what it tells begins with the peak of the parent.
            guard let file = fopen("/proc/self/status", "r") else {
                throw BenchmarkError("/proc is not mounted")
            }
            defer { fclose(file) }
            var line = [CChar](repeating: 0, count: 256)
            while fgets(&line, Int32(line.count), file) != nil {
                let words = String(
                    decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self
                )
                .split { $0 == " " || $0 == "\t" }
                if words.first == "VmHWM:", words.count > 1, let kilobytes = Int(words[1]) {
                    return kilobytes * 1024
                }
            }
            throw BenchmarkError("the system does not tell the peak of this process")
        #else
            var usage = rusage()
            getrusage(RUSAGE_SELF, &usage)
            return usage.ru_maxrss
        #endif
    }

    private struct Connector: PowerSyncBackendConnectorProtocol {
        let port: Int

        func fetchCredentials() async throws -> PowerSyncCredentials? {
            PowerSyncCredentials(endpoint: "http://127.0.0.1:\(port)", token: "none")
        }

        func uploadData(database: any PowerSyncDatabaseProtocol) async throws {}
    }

    private struct ErrorWriter: LogWriterProtocol {
        func log(severity: LogSeverity, message: String, tag: String?) {
            StandardError.print("client: \(message)")
        }
    }
}
