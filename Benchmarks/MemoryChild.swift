import PowerSync
import PowerSyncCommandLine
import PowerSyncHTTP
import PowerSyncHTTPServer
import PowerSyncSystem
import PowerSyncWire

/// The two processes of the memory benchmark.
enum MemoryChild {
    /// The first argument of such a process.
    static let marker = "memory-child"

    /// What a process is to do.
    enum Role {
        case send(rows: Int)
        case sync(port: Int, rows: Int, folder: String)
        case sendLines(count: Int, streams: Int)
        case syncLines(port: Int, count: Int, streams: Int, folder: String)

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
            case ("send-lines", let numbers) where numbers.count == 2:
                guard let count = numbers[0], let streams = numbers[1] else { return nil }
                self = .sendLines(count: count, streams: streams)
            case ("sync-lines", let numbers) where numbers.count == 4:
                guard let port = numbers[0], let count = numbers[1], let streams = numbers[2] else {
                    return nil
                }
                self = .syncLines(port: port, count: count, streams: streams, folder: arguments[5])
            default: return nil
            }
        }
    }

    /// Does it; returns the exit status.
    static func run(_ role: Role) async -> Int32 {
        do {
            try LifeLine.follow(grace: 0)
            switch role {
            case .send(let rows):
                var lines: [[UInt8]] = []
                BenchmarkRows(count: rows).forEachLine { lines.append($0) }
                try await send(lines)
            case .sync(let port, let rows, let folder): try await sync(port, rows, folder)
            case .sendLines(let count, let streams): try await send(smallLines(count, streams))
            case .syncLines(let port, let count, let streams, let folder):
                try await syncLines(port, count, streams, folder)
            }
            return 0
        } catch {
            StandardError.print("\(marker): \(error)")
            return 1
        }
    }

    /// Serves a sync stream of lines that are ready before the port is told; goes on until it is killed.
    private static func send(_ lines: [[UInt8]]) async throws {
        let stream = lines.map { $0 + [UInt8(ascii: "\n")] }
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
        let database = database(in: folder)
        let start = ContinuousClock.now
        try await database.connect(connector: Connector(port: port))
        try await database.waitForFirstSync()
        let time = ContinuousClock.now - start
        let memory = try ProcessMemory.own(.peak)
        let stored = try await database.get("SELECT count(*) FROM ps_data__todos") {
            try $0.getInt(index: 0)
        }
        guard stored == count else { throw BenchmarkError("\(stored) of \(count) rows are there") }
        try await database.close()
        StandardOutput.print("\(time / .seconds(1)) \(memory)")
    }

    /// The name of a stream that the client subscribes to.
    private static func stream(_ number: Int) -> String { "stream\(number)" }

    /// The lines of a checkpoint whose one bucket is there for all of the streams, one operation in each data line.
    private static func smallLines(_ count: Int, _ streams: Int) -> [[UInt8]] {
        let bucket = BucketChecksum(
            bucket: BenchmarkRows.bucket, checksum: Checksum(UInt32(count)), priority: 3, count: Int64(count),
            subscriptions: (0..<streams).map { .subscription($0) })
        let checkpoint = Checkpoint(
            lastOpID: Int64(count), buckets: [bucket],
            streams: (0..<streams).map { StreamDescription(name: stream($0), isDefault: false) })
        let data = (1...count).map { number in
            let operation = Operation(
                id: Int64(number), kind: .put, objectType: "todos", objectID: "row\(number)",
                checksum: Checksum(1), data: "{\"description\":\"one of many\"}")
            return SyncLine.data(DataLine(bucket: BenchmarkRows.bucket, operations: [operation])).encoded()
        }
        return [SyncLine.checkpoint(checkpoint).encoded()] + data
            + [SyncLine.checkpointComplete(lastOpID: Int64(count)).encoded()]
    }

    /// Subscribes to streams, syncs, and prints the seconds of the sync and by how many bytes it needed more than before.
    private static func syncLines(_ port: Int, _ count: Int, _ streams: Int, _ folder: String) async throws {
        let database = database(in: folder)
        var handles: [any SyncStreamSubscription] = []
        for number in 0..<streams {
            handles.append(try await database.syncStream(name: stream(number), params: nil).subscribe())
        }
        let before = try ProcessMemory.own(.resident)
        let start = ContinuousClock.now
        try await database.connect(connector: Connector(port: port))
        try await database.waitForFirstSync()
        let time = ContinuousClock.now - start
        let peak = try ProcessMemory.own(.peak)
        let known = database.currentStatus.syncStreams?.count
        let stored = try await database.get("SELECT count(*) FROM ps_data__todos") {
            try $0.getInt(index: 0)
        }
        guard stored == count, known == handles.count else {
            throw BenchmarkError("\(stored) of \(count) rows and \(known ?? 0) streams are there")
        }
        try await database.close()
        StandardOutput.print("\(time / .seconds(1)) \(peak - before)")
    }

    private static func database(in folder: String) -> any PowerSyncDatabaseProtocol {
        PowerSyncDatabase(
            schema: Schema(BenchmarkRows.table), dbFilename: folder + "/client.db",
            logger: DefaultLogger(minSeverity: .warning, writers: [ErrorWriter()]))
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
