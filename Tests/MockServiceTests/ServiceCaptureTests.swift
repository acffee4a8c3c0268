import Foundation
import PowerSyncHTTP
import PowerSyncPostgres
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Sends what the official Node SDK sent, byte for byte, and compares the answers with those of the real service.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct ServiceCaptureTests {
    private static let schema = [
        "CREATE TABLE notes(id text PRIMARY KEY, owner_id text, body text)",
        "INSERT INTO notes VALUES ('n1', 'u1', 'one')",
    ]
    private static let config = """
        config: {edition: 3}
        streams:
          mine: {auto_subscribe: true, query: SELECT * FROM notes WHERE owner_id = auth.user_id()}
        """

    /// A connection of a capture on which something was answered other than a stream.
    private func exchanges(_ capture: String) throws -> [(request: String, answer: String)] {
        let connections =
            try JSON.parse(Repository.fixture("service/captures/\(capture).json")).arrayValue ?? []
        return connections.compactMap { connection in
            let parts = connection.arrayValue ?? []
            guard let request = parts.first?["text"]?.stringValue, !request.hasPrefix("POST /sync/stream"),
                let answer = parts.dropFirst().first?["text"]?.stringValue
            else { return nil }
            return (request, answer)
        }
    }

    /// Status line, fields in their order and body, without the time and what belongs to the connection alone.
    private func comparable(_ head: String, _ body: String) -> [String] {
        let left = ["date:", "connection:", "keep-alive:"]
        let lines = head.lowercased().components(separatedBy: "\r\n")
        return lines.filter { line in !line.isEmpty && !left.contains { line.hasPrefix($0) } } + [body]
    }

    @Test(arguments: [("streaming-http-service", 2), ("checkpoint-requests-service", 5)])
    func writeCheckpointsAreAnsweredAsTheOfficialSDKGotThem(capture: String, count: Int) async throws {
        let exchanges = try exchanges(capture)
        #expect(exchanges.count == count)
        try await TestService.run(Self.schema) { service in
            // Behind the `iat` of every token of the captures, before their `exp`.
            try await service.start(Self.config, clock: ManualClock(1_795_225_600).clock)
            for (request, answer) in exchanges {
                let client = try RawClient(service.port, service.poller)
                try await client.send(request)
                let got = try await client.response()
                let parts = answer.components(separatedBy: "\r\n\r\n")
                #expect(comparable(got.head, got.body) == comparable(parts[0], parts[1]))
            }
        }
    }
}
