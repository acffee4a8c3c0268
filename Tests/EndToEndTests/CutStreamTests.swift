import PowerSync
import PowerSyncHTTP
import PowerSyncHTTPServer
import PowerSyncStack
import PowerSyncSystem
import PowerSyncWire
import PowerSyncTestSupport
import Testing

/// A service that breaks off, on real sockets.
@Suite(.patient())
struct CutStreamTests {
    private struct Cut: Error {}

    private static func line(_ line: SyncLine) -> [UInt8] { line.encoded() + [0x0A] }

    private static func rows(_ ids: ClosedRange<Int>) -> [UInt8] {
        line(
            .data(
                DataLine(
                    bucket: "1#all|0[]",
                    operations: OperationList(
                        ids.map { id in
                            Operation(
                                id: Int64(id), kind: .put, objectType: "items", objectID: "r\(id)",
                                subkey: "s", checksum: Checksum(UInt32(id)),
                                data: "{\"id\":\"r\(id)\",\"name\":\"n\(id)\"}")
                        }))))
    }

    @Test func streamCutInTheMiddleOfALineGoesOnBehindTheLastStoredOperation() async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let folder = try TemporaryDirectory(prefix: "powersync-cut-")
        defer { folder.remove() }
        let requests = Lock<[SyncStreamRequest]>([])
        let sum = Checksum((1...6).reduce(0, +))
        let checkpoint = Self.line(
            .checkpoint(
                Checkpoint(
                    lastOpID: 6,
                    buckets: [BucketChecksum(bucket: "1#all|0[]", checksum: sum, priority: 3, count: 6)])))
        let time = TestOptions.deadline * 2
        let server = try HTTPServer(
            configuration: HTTPServerConfiguration(
                headerTimeout: time, bodyTimeout: time, idleTimeout: time, writeTimeout: time),
            poller: poller)
        let handler: HTTPHandler = { request, body in
            guard request.path == "/sync/stream",
                let parsed = try? SyncStreamRequest(json: JSON.parse(await body.collect(limit: 1 << 20)))
            else { return HTTPResponse(status: 404) }
            let number = requests.withLock { requests in
                requests.append(parsed)
                return requests.count
            }
            return HTTPResponse(
                status: 200, fields: ["content-type": "application/x-ndjson"],
                body: .stream { writer in
                    try await writer.write(checkpoint)
                    if number == 1 {
                        try await writer.write(Self.rows(1...4))
                        try await writer.write(Array(Self.rows(5...6).prefix(70)))
                        throw Cut()
                    }
                    try await writer.write(Self.rows(5...6))
                    try await writer.write(Self.line(.checkpointComplete(lastOpID: 6)))
                    // The stream stays open until the client leaves.
                    try await poller.sleep(until: .now + TestOptions.deadline * 10)
                })
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await server.run(handler) }
            let database = PowerSyncDatabase(
                schema: Schema(Table(name: "items", columns: [.text("name")])),
                dbFilename: folder.path + "/c.db")
            try await database.connect(
                connector: FixedConnector(endpoint: "http://127.0.0.1:\(server.port)"),
                options: ConnectOptions(retryDelay: 0.1))
            try await database.waitForFirstSync()
            let names = try await database.getAll("SELECT name FROM items ORDER BY id") {
                try $0.getString(index: 0)
            }
            #expect(names == ["n1", "n2", "n3", "n4", "n5", "n6"])
            try await database.close()
            server.stop(grace: .zero)
            group.cancelAll()
        }
        // A client that stands still may find its stream silent and ask once more, which proves nothing.
        let positions = requests.withLock { $0.prefix(2).map(\.buckets) }
        #expect(positions == [[], [BucketRequest(name: "1#all|0[]", after: 4)]])
    }
}

private struct FixedConnector: PowerSyncBackendConnectorProtocol {
    let endpoint: String

    func fetchCredentials() async throws -> PowerSyncCredentials? {
        PowerSyncCredentials(endpoint: endpoint, token: "t")
    }

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {}
}
