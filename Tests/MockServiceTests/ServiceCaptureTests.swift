import Foundation
import PowerSyncHTTP
import PowerSyncPostgres
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Sends what the official Node SDK sent, byte for byte but for positions, and compares the answers with those of the real service.
///
/// The table and the streams are inferred from the captures.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct ServiceCaptureTests {
    private static let schema = [
        "CREATE TABLE notes(id text PRIMARY KEY, owner_id text, body text)",
        "INSERT INTO notes VALUES ('n1', 'u1', 'hello'), ('n2', 'u2', 'of another')",
    ]
    private static let config = """
        config: {edition: 3}
        streams:
          mine: {auto_subscribe: true, priority: 1, query: SELECT * FROM notes WHERE owner_id = auth.user_id()}
          extra: {query: "SELECT * FROM notes WHERE body = subscription.parameter('name')"}
        """
    /// Behind the `iat` of every token of the captures, before their `exp`.
    private static let time = 1_795_225_600.0

    /// Status line, fields in their order and body, without the time and what belongs to the connection alone.
    private func comparable(_ head: String, _ body: String = "") -> [String] {
        let left = ["date:", "connection:", "keep-alive:", "transfer-encoding:"]
        let lines = head.lowercased().components(separatedBy: "\r\n")
        return lines.filter { line in !line.isEmpty && !left.contains { line.hasPrefix($0) } } + [body]
    }

    /// Rows with their data, write checkpoint, and what the buckets are but for checksums of removed rows.
    private func held(_ model: StreamModel) -> [String] {
        #expect(model.broken == [])
        let buckets = model.listed.values.sorted { $0.bucket < $1.bucket }.map {
            "\($0.bucket) \($0.count ?? -1) \($0.priority ?? -1) \($0.subscriptions)"
        }
        return model.rowNames.map { "\($0): \(model.data(of: $0) ?? "")" } + buckets
            + ["write checkpoint \(model.writeCheckpoint ?? 0)"]
    }

    /// One session: the stream, what is written, which write checkpoints are asked for, then streams that go on.
    @Test(arguments: ["streaming-http-service", "checkpoint-requests-service"])
    func aSessionOfTheOfficialSDKIsServedAsByTheRealService(capture: String) async throws {
        let connections = try CapturedConnection.all(of: capture)
        var requests = connections.filter { !$0.isStream }
        let streams = connections.filter(\.isStream)
        #expect(streams.count == 3 && requests.count == (capture == "streaming-http-service" ? 2 : 5))
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config, clock: ManualClock(Self.time).clock)
            func answer(_ request: CapturedConnection) async throws {
                let client = try RawClient(service.port, service.poller)
                try await client.send(request.request)
                let got = try await client.response()
                #expect(
                    comparable(got.head, got.body)
                        == comparable(request.head, String(decoding: request.body, as: UTF8.self)))
            }
            let stream = try await BinaryStream(streams[0].request, service)
            #expect(comparable(stream.head) == comparable(streams[0].head))
            try await stream.completes { $0.rowCount == 1 }
            // Each request belongs to a write; the first of the second capture is made on connecting.
            var writes = [
                [
                    "INSERT INTO notes VALUES ('m1', 'u1', 'mine')",
                    "UPDATE notes SET body = 'hello 2' WHERE id = 'n1'",
                ],
                ["DELETE FROM notes WHERE id = 'm1'"],
            ]
            if requests.count == 5 { writes.insert([], at: 0) }
            for (number, statements) in writes.enumerated() {
                if !statements.isEmpty { try await service.tx(statements) }
                try await answer(requests.removeFirst())
                // The state in which the recorded stream shows the write checkpoint first.
                var wanted = StreamModel()
                for line in try streams[0].lines()
                where !wanted.isComplete || wanted.writeCheckpoint != Int64(number + 1) {
                    wanted.take(line)
                }
                try await stream.completes { $0.writeCheckpoint == Int64(number + 1) }
                #expect(held(stream.model) == held(wanted))
            }
            for again in streams.dropFirst() {
                let request = try again.request(positions: stream.model.positions)
                let other = try await BinaryStream(request, service, positions: stream.model.positions)
                #expect(comparable(other.head) == comparable(again.head))
                try await other.completes { _ in true }
                var model = StreamModel(positions: stream.model.positions)
                for line in try again.lines() { model.take(line) }
                #expect(held(other.model) == held(model))
            }
            for request in requests { try await answer(request) }
        }
    }
}
