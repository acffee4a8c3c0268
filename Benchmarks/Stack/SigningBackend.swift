import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncPostgres
import PowerSyncStack
import PowerSyncSystem
import PowerSyncWire

/// What signs addresses for curl, as a client would ask for them.
struct SigningBackend: Sendable {
    /// A file that is announced.
    struct File: Sendable {
        /// Its id.
        let id: String
        /// Its size in bytes.
        let size: Int64
        /// Its SHA-256, in hexadecimal digits.
        let sha256: String
    }

    private static let path = "/api/v1/attachments"

    private let url: String
    private let token: String
    private let client: HTTPClient

    /// Gets a token for the one user.
    init(_ world: StackWorld) async throws {
        url = try await world.stack.url(.backend)
        client = try HTTPClient()
        token = try await TokenRequest.send(backend: url, user: StackApp.user, client: client).token
    }

    /// Lets rows of the user name files, so that they may go to the storage and come back.
    static func name(_ ids: [String], in world: StackWorld) async throws {
        try await PostgresConnection.with(world.database.uri, poller: world.poller) { connection in
            try await connection.query(
                "INSERT INTO pictures SELECT id, $1, id FROM unnest($2::text[]) id",
                [StackApp.user, "{\(ids.joined(separator: ","))}"])
        }
    }

    /// Has files deleted that no row names any more.
    func delete(_ ids: [String], in world: StackWorld) async throws {
        try await PostgresConnection.with(world.database.uri, poller: world.poller) { connection in
            try await connection.query(
                "DELETE FROM pictures WHERE id = ANY ($1::text[])", ["{\(ids.joined(separator: ","))}"])
        }
        for id in ids { _ = try await ask("DELETE", "/\(id)") }
    }

    /// Returns where a file goes.
    func upload(_ file: File) async throws -> AttachmentUploadTicket {
        let question = AttachmentUploadRequest(
            id: file.id, filename: file.id + ".bin", contentType: FileQueue.mediaType, size: file.size,
            sha256: file.sha256)
        return try AttachmentUploadTicket(json: try await ask("POST", "/upload-url", question.json))
    }

    /// Returns where the parts of a file go, by their SHA-256 in their order.
    func parts(of id: String, _ digests: [String]) async throws -> [SignedRequest] {
        let parts = digests.enumerated().map { AttachmentPart(number: $0.offset + 1, sha256: $0.element) }
        var requests: [SignedRequest] = []
        for start in stride(from: 0, to: parts.count, by: AttachmentPart.countPerRequest) {
            let some = parts[start..<min(start + AttachmentPart.countPerRequest, parts.count)]
            let question = AttachmentPartsRequest(parts: Array(some))
            let answer = try await ask("POST", "/\(id)/parts", question.json)
            requests += try AttachmentPartsTicket(json: answer).parts.map(\.request)
        }
        return requests
    }

    /// Says that all bytes of a file are there.
    func complete(_ id: String) async throws { _ = try await ask("POST", "/\(id)/complete", .object([])) }

    /// Returns where a file is.
    func download(_ id: String) async throws -> String {
        try AttachmentDownloadTicket(json: try await ask("GET", "/\(id)/download-url")).url
    }

    private func ask(_ method: String, _ path: String, _ body: JSON? = nil) async throws -> JSON {
        var request = HTTPClientRequest(
            method: method, url: url + Self.path + path, fields: ["authorization": "Bearer \(token)"],
            body: body?.utf8)
        if body != nil { request.fields["content-type"] = "application/json" }
        request.idleTimeout = .seconds(300)
        let answer = try await client.send(request)
        guard (200...299).contains(answer.status) else {
            throw BenchmarkError("the backend answered \(method) \(Self.path) with \(answer.status)")
        }
        return answer.body.isEmpty ? .null : try JSON.parse(answer.body)
    }
}
