import PowerSync
import PowerSyncHTTP
import PowerSyncHTTPServer
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Rows as large as the service sends them, through real sockets.
@Suite(.patient()) struct LargeRowTests {
    /// 15 MiB of text in which quotes, line ends and letters of several bytes occur.
    private static let text: String = {
        let pattern = "0123456789 the \"quick\" fox\\jumps\nover \u{2028} äöü 漢字 😀 "
        let whole = String(repeating: pattern, count: (15 << 20) / pattern.utf8.count)
        return whole + String(repeating: "x", count: (15 << 20) - whole.utf8.count)
    }()

    @Test func aRowOf15MiBArrivesIntactAndGoesBackIntact() async throws {
        #expect(Self.text.utf8.count == 15 << 20)
        let poller = try Poller()
        defer { poller.stop() }
        let folder = try TemporaryDirectory()
        let lines = [
            SyncLines.checkpoint(2, [.init("b", checksum: 8, count: 2)]),
            SyncLines.data(
                "b", SyncLines.put(1, "large", checksum: 5, data: "{\"col\":\(JSON.quoted(Self.text))}")),
            SyncLines.data("b", SyncLines.put(2, "small", checksum: 3)),
            SyncLines.complete(2),
        ]
        let body = Array((lines.joined(separator: "\n") + "\n").utf8)
        // A client that stands still takes nothing for as long; one that was sent away would begin again.
        let time = TestOptions.deadline * 2
        let server = try HTTPServer(
            configuration: HTTPServerConfiguration(
                headerTimeout: time, bodyTimeout: time, idleTimeout: time, writeTimeout: time),
            poller: poller)
        let handler: HTTPHandler = { request, _ in
            guard request.path == "/sync/stream" else {
                return HTTPResponse(
                    status: 200, body: .bytes(Array("{\"data\":{\"write_checkpoint\":\"1\"}}".utf8)))
            }
            return HTTPResponse(
                status: 200, fields: ["content-type": "application/x-ndjson"],
                body: .stream { writer in
                    // Chunks of odd sizes, as a network has them.
                    for start in stride(from: 0, to: body.count, by: 99_991) {
                        try await writer.write(Array(body[start..<min(start + 99_991, body.count)]))
                    }
                    // The stream stays open until the client leaves.
                    try await poller.sleep(until: .now + TestOptions.deadline * 10)
                })
        }
        let connector = TestConnector(endpoint: "http://127.0.0.1:\(server.port)")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await server.run(handler) }
            let database = PowerSyncDatabase(
                schema: Schema(Table(name: "items", columns: [.text("col")])), dbFilename: folder.file())
            try await database.connect(
                connector: connector, options: ConnectOptions(crudThrottle: 0, retryDelay: 0.1))
            try await database.waitForFirstSync()
            let arrived = try await database.get("SELECT col FROM items WHERE id = 'large'") {
                try $0.getString(index: 0)
            }
            #expect(arrived == Self.text)
            try await database.execute(
                "INSERT INTO items (id, col) SELECT 'copy', col FROM items WHERE id = 'large'")
            try await wait(for: "the copy to be uploaded") { !connector.entries.isEmpty }
            #expect(connector.entries.map { $0.opData?["col"] } == [Self.text])
            try await database.close()
            server.stop(grace: .zero)
            group.cancelAll()
        }
    }
}
