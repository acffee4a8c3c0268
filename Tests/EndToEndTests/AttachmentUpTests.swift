import Foundation
import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncHTTPTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Files with the servers of `powersync-stack up`, which nobody has set up for that.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct AttachmentUpTests {
    /// The list of Examples/Todos, which is Alice's, and a todo of it.
    private static let list = "a0000000-0000-4000-8000-000000000001"
    private static let todo = "a0000000-0000-4000-8000-000000000002"

    /// Starts the servers for the app of README.md.
    private static func up(_ more: [String] = [], temporary: String) throws -> StackProcess {
        let example = Repository.root.path + "/Examples/Todos/"
        return try StackProcess(
            [
                "up", "--schema", example + "schema.sql", "--sync-config", example + "sync-config.yaml",
                "--tables", example + "tables.yaml", "--backend-port", "0", "--service-port", "0",
            ] + more, temporary: temporary)
    }

    private func end(_ up: StackProcess) async throws {
        up.process.signal(SIGTERM)
        #expect(try await up.end() == .exited(0))
        try await up.leavesNothingBehind()
    }

    private func token(of user: String, at backend: JSONClient) async throws -> String {
        let answer = try await backend.send("GET", "/api/auth/token?user_id=\(user)")
        return try #require(try answer.json["token"]?.stringValue)
    }

    /// Sends a request as its signature wants it; returns status and body.
    private func send(
        _ signed: SignedRequest, _ body: [UInt8]?, _ client: HTTPClient
    ) async throws -> HTTPClientResponse {
        var request = HTTPClientRequest(method: signed.method, url: signed.url, body: body)
        // The client says itself how long the body is.
        for header in signed.headers where header.name.lowercased() != "content-length" {
            request.fields[header.name] = header.value
        }
        request.idleTimeout = TestOptions.deadline
        return try await client.send(request)
    }

    @Test func aSignedAddressTakesAndServesAFile() async throws {
        try await EndToEnd.withFolder { _, temporary in
            let up = try Self.up(temporary: temporary)
            let backend = try JSONClient(try await up.endpoints().backend)
            let storage = try HTTPClient()
            defer { storage.close() }
            let (alice, bob) = (
                try await token(of: "alice", at: backend), try await token(of: "bob", at: backend)
            )
            let (id, bytes) = (UUID().uuidString.lowercased(), Array("no picture, but bytes".utf8))
            let patch = """
                {"batch":[{"op":"PATCH","table":"todos","id":"\(Self.todo)","data":{"photo_id":"\(id)"}}]}
                """
            let uploaded = try await backend.send("POST", "/api/data", patch, token: alice)
            #expect(try uploaded.json["summary"]?["applied"] == .number("1"))

            let question = AttachmentUploadRequest(
                id: id, filename: "a.txt", contentType: "text/plain", size: Int64(bytes.count),
                sha256: Hexadecimal.encode(Digest.sha256(bytes)))
            let path = "/api/v1/attachments/"
            let refused = try await backend.send(
                "POST", path + "upload-url", question.json.text, token: bob)
            #expect(refused.status == 404)
            let asked = try await backend.send(
                "POST", path + "upload-url", question.json.text, token: alice)
            #expect(asked.status == 200)
            let upload = try #require(try AttachmentUploadTicket(json: try asked.json).request)
            #expect(upload.url.hasPrefix("http://127.0.0.1:"))
            let stored = try await send(upload, bytes, storage)
            #expect((200...204).contains(stored.status))
            let completed = try await backend.send("POST", "\(path)\(id)/complete", "{}", token: alice)
            #expect(completed.status == 204)

            let told = try await backend.send("GET", "\(path)\(id)/download-url", token: alice)
            let ticket = try AttachmentDownloadTicket(json: try told.json)
            #expect(ticket.size == Int64(bytes.count) && ticket.contentType == "text/plain")
            let download = SignedRequest(url: ticket.url, method: "GET", expiresAt: ticket.expiresAt)
            let answer = try await send(download, nil, storage)
            #expect(answer.status == 200 && answer.body == bytes)
            #expect(try await backend.send("GET", "\(path)\(id)/download-url", token: bob).status == 404)
            try await end(up)
        }
    }

    @Test func filesAreThereTheNextTime() async throws {
        try await EndToEnd.withFolder { folder, temporary in
            let data = ["--data", folder + "/data"]
            let content = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            try Data(content).write(to: URL(filePath: folder + "/cat.bin"))
            let first = try Self.up(data, temporary: temporary)
            var places = try await first.endpoints()
            let a = try FileClient(folder + "/a.db", backend: places.backend, service: places.service)
            try await a.settle()
            let id = try await a.attach(folder + "/cat.bin", to: Self.list, "picture")
            try await a.waitForAll()
            try await a.close()
            try await end(first)

            let second = try Self.up(data, temporary: temporary)
            places = try await second.endpoints()
            let b = try FileClient(folder + "/b.db", backend: places.backend, service: places.service)
            try await b.ask("connect")
            try await wait(
                for: "the file", read: { try await b.files().map(\.state) }, until: { $0 == ["synced"] })
            try await b.export(id, to: folder + "/copy.bin")
            #expect(try Array(Data(contentsOf: URL(filePath: folder + "/copy.bin"))) == content)
            try await b.close()
            try await end(second)
        }
    }
}
