import PowerSyncMockService
import PowerSyncServiceEngine
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Sends what the official command-line tool sent, byte for byte, and compares the answers with those of the real service.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct AdminCaptureTests {
    /// Status line and fields, without the time, the length and what belongs to the connection alone.
    private func comparable(_ head: String) -> [String] {
        let left = ["date:", "connection:", "keep-alive:", "content-length:"]
        return head.lowercased().split(separator: "\r\n").map(String.init).filter { line in
            !left.contains { line.hasPrefix($0) }
        }
    }

    @Test func theCommandLineToolGetsItsAnswers() async throws {
        let setup = try JSON.parse(Repository.fixture("service/captures/cli-admin-setup.json"))
        let schema = (setup["schema"]?.arrayValue ?? []).compactMap(\.stringValue)
        let config = try #require(setup["sync_config"]?.stringValue)
        let tokens = (setup["service"]?["api"]?["tokens"]?.arrayValue ?? []).compactMap(\.stringValue)
        let connections = try CapturedConnection.all(of: "cli-admin")
        #expect(connections.count == 5 && tokens.count == 1)
        try await TestService.run(schema) { service in
            try await service.start(config) { $0.apiTokens = tokens }
            for connection in connections {
                let client = try RawClient(service.port, service.poller)
                try await client.send(connection.request)
                let got = try await client.response()
                client.leave()
                let what = connection.request.prefix { $0 != "\r\n" }
                #expect(comparable(got.head) == comparable(connection.head), "\(what)")
                #expect(
                    AdminAnswer.comparable(try JSON.parse(Array(got.body.utf8))).text
                        == AdminAnswer.comparable(try JSON.parse(connection.body)).text, "\(what)")
            }
        }
    }
}
