import Foundation
import PowerSyncBackend
import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// A backend that keeps attachments: asked for URLs without a socket between, and for bytes over one.
struct AttachmentsFixture: Sendable {
    /// Where the bytes are.
    enum Store: String, Sendable, CaseIterable {
        /// In a folder; the backend serves its URLs.
        case disk
        /// In a bucket of OpenStack Swift, which checks what it is sent.
        case s3

        /// Those that are there; of a Swift that is not `S3StoreTests` tell.
        static let all = SwiftPeer.isWanted ? allCases : [.disk]
    }

    let backend: TestBackend
    /// The folder of the store.
    let folder: String
    private let client: HTTPClient
    /// The store, if it is a bucket.
    private let bucket: S3Store?
    /// How many seconds late the clock is of which a bucket knows nothing.
    private let lateness = Lock(0.0)

    /// Rows with an owner and a condition, with a condition alone, and with neither.
    static let schema = """
        CREATE TABLE notes (id text PRIMARY KEY, owner_id text NOT NULL, photo_id text, cover_id uuid, friend text);
        CREATE TABLE boards (id text PRIMARY KEY, picture_id text, is_public boolean NOT NULL DEFAULT true);
        CREATE TABLE walls (id text PRIMARY KEY, picture_id text);
        """
    static let map = """
        tables:
          notes:
            owner: owner_id
            attachments: [photo_id, cover_id]
            read: friend = :sub
          boards:
            attachments: [picture_id]
            read: is_public
          walls:
            attachments: [picture_id]
        """

    /// Runs a test with a store that is used over a socket.
    static func with(
        in store: Store = .disk, schema: String = schema, map: String? = map,
        _ change: (inout BackendConfiguration) -> Void = { _ in },
        _ body: (AttachmentsFixture) async throws -> Void
    ) async throws {
        let folder = try TemporaryDirectory(prefix: "attachments-")
        defer { folder.remove() }
        let client = try HTTPClient()
        defer { client.close() }
        var place = ObjectStoreConfiguration.disk(folder: folder.path + "/store")
        var bucket: S3Store?
        if store == .s3 {
            let configuration = try await SwiftPeer.configuration()
            place = .s3(configuration)
            bucket = S3Store(configuration, client: client)
        }
        let (chosen, found) = (place, bucket)
        try await TestBackend.with(
            schema: schema, map: map,
            {
                $0.attachments = AttachmentConfiguration(store: chosen)
                change(&$0)
            }
        ) { backend in
            let fixture = AttachmentsFixture(
                backend: backend, folder: folder.path + "/store", client: client, bucket: found)
            try await fixture.waitForFirstSweep()
            try await body(fixture)
        }
    }

    /// Runs a test with a store that the test drives.
    static func withScripted(
        schema: String = schema, map: String? = map, uri: String? = nil,
        _ change: (inout BackendConfiguration) -> Void = { _ in },
        _ body: (AttachmentsFixture, ScriptedStore) async throws -> Void
    ) async throws {
        let client = try HTTPClient()
        defer { client.close() }
        let store = ScriptedStore()
        try await TestBackend.with(
            schema: schema, uri: uri, map: map, store: store,
            {
                $0.attachments = AttachmentConfiguration(store: .disk(folder: "/nonexistent"))
                change(&$0)
            }
        ) { backend in
            let fixture = AttachmentsFixture(backend: backend, folder: "", client: client, bucket: nil)
            try await fixture.waitForFirstSweep()
            try await body(fixture, store)
        }
    }

    /// Waits until the start has cleared up, which would else do so in the midst of a test.
    private func waitForFirstSweep() async throws {
        try await wait(for: "the sweep of the start") {
            backend.lines.withLock {
                $0.contains { $0.contains("attachments looked through") || $0.contains("cleared up") }
            }
        }
    }

    // MARK: Rows

    /// Makes a row of `notes`.
    func note(
        _ id: String, of owner: String, photo: String? = nil, cover: String? = nil, friend: String? = nil
    )
        async throws
    {
        _ = try await backend.query(
            "INSERT INTO notes VALUES ($1::text, $2::text, $3::text, $4::uuid, $5::text)",
            [id, owner, photo, cover, friend])
    }

    func execute(_ sql: String) async throws { _ = try await backend.query(sql) }

    /// A value of the record of an attachment.
    func record(_ id: String, _ column: String) async throws -> String? {
        try await backend.query("SELECT (\(column))::text FROM psb.attachments WHERE id = $1::text", [id])
            .first?
            .first ?? nil
    }

    /// Lets time pass.
    func pass(_ seconds: Double) { backend.clock.withLock { $0 += seconds } }

    /// Asks as somebody has who did so some seconds before, so that what was signed is as old.
    func earlier<Value>(_ seconds: Double, _ ask: () async throws -> Value) async throws -> Value {
        lateness.withLock { $0 = seconds }
        pass(-seconds)
        let value = try await ask()
        lateness.withLock { $0 = 0 }
        pass(seconds)
        return value
    }

    func sweep() async throws -> AttachmentSweep.Outcome {
        try #require(try await backend.backend.sweepAttachments())
    }

    // MARK: Questions

    static let base = "/api/v1/attachments"

    func send(_ method: String, _ path: String, _ body: String? = nil, as user: String? = "alice")
        async throws -> TestBackend.Answer
    {
        if bucket != nil {
            // What a service takes for late is not the test's to say.
            let now = Double(WallClock.microseconds()) / 1_000_000 - lateness.withLock { $0 }
            backend.clock.withLock { $0 = now }
        }
        var fields: HTTPFields = [:]
        if let user { fields["authorization"] = "Bearer \(try await backend.token(user))" }
        return try await backend.send(method, Self.base + path, body, fields: fields)
    }

    /// What is asked for an upload.
    static func question(
        _ id: String, _ bytes: [UInt8], type: String = "image/png", filename: String = "a.png",
        size: Int64? = nil, row: (table: String, id: String)? = nil
    ) -> AttachmentUploadRequest {
        AttachmentUploadRequest(
            id: id, filename: filename, contentType: type, size: size ?? Int64(bytes.count),
            sha256: Hexadecimal.encode(Digest.sha256(bytes)), table: row?.table, rowID: row?.id)
    }

    func upload(_ question: AttachmentUploadRequest, as user: String = "alice") async throws
        -> TestBackend.Answer
    {
        try await send("POST", "/upload-url", question.json.text, as: user)
    }

    func upload(_ id: String, _ bytes: [UInt8] = [1, 2, 3], as user: String = "alice") async throws
        -> TestBackend.Answer
    {
        try await upload(Self.question(id, bytes), as: user)
    }

    func complete(_ id: String, as user: String = "alice") async throws -> TestBackend.Answer {
        try await send("POST", "/\(PercentEncoding.encode(id))/complete", as: user)
    }

    func download(_ id: String, as user: String = "alice", _ query: String = "") async throws
        -> TestBackend.Answer
    {
        try await send("GET", "/\(PercentEncoding.encode(id))/download-url\(query)", as: user)
    }

    func delete(_ id: String, as user: String = "alice") async throws -> TestBackend.Answer {
        try await send("DELETE", "/\(PercentEncoding.encode(id))", as: user)
    }

    func parts(_ id: String, _ numbers: [Int], as user: String = "alice") async throws -> TestBackend.Answer {
        let request = AttachmentPartsRequest(
            parts: numbers.map { AttachmentPart(number: $0, sha256: Hexadecimal.encode(Digest.sha256([]))) })
        return try await send("POST", "/\(PercentEncoding.encode(id))/parts", request.json.text, as: user)
    }

    // MARK: Bytes

    /// Sends bytes with a signed URL; `change` makes another request of it.
    func put(
        _ ticket: JSON, _ bytes: [UInt8], _ change: (inout HTTPClientRequest) -> Void = { _ in }
    ) async throws -> HTTPClientResponse {
        var request = HTTPClientRequest(
            method: ticket["method"]?.stringValue ?? "", url: try #require(ticket["uploadUrl"]?.stringValue),
            body: bytes)
        for header in ticket["headers"]?.objectMembers ?? [] {
            request.fields.append(header.name, header.value.stringValue ?? "")
        }
        change(&request)
        return try await send(request)
    }

    func get(_ url: String) async throws -> HTTPClientResponse { try await send(HTTPClientRequest(url: url)) }

    func send(_ request: HTTPClientRequest) async throws -> HTTPClientResponse {
        var request = request
        request.connectTimeout = TestOptions.deadline
        request.idleTimeout = TestOptions.deadline * 2
        return try await client.send(request)
    }

    /// Uploads a file whole.
    func keep(_ id: String, _ bytes: [UInt8] = [1, 2, 3], as user: String = "alice") async throws {
        let ticket = try await upload(id, bytes, as: user)
        try #require(ticket.status == 200, "\(ticket.json.text)")
        try #require(try await put(ticket.json, bytes).status == 200)
        try #require(try await complete(id, as: user).status == 204)
    }

    /// The same with a store that a test drives.
    func keep(_ id: String, in store: ScriptedStore, _ bytes: [UInt8] = [1, 2, 3], as user: String = "alice")
        async throws
    {
        let ticket = try await upload(id, bytes, as: user)
        try #require(ticket.status == 200, "\(ticket.json.text)")
        store.put(try await key(id), size: Int64(bytes.count))
        try #require(try await complete(id, as: user).status == 204)
    }

    /// Whether the store has something under a key.
    func isStored(_ key: String) async throws -> Bool {
        if let bucket { return try await bucket.head(key: key) != nil }
        return files().contains { $0.hasSuffix("/\(key)") }
    }

    /// All files below a folder of the disk store.
    func files(_ part: String = "objects") -> [String] {
        let found = FileManager.default.enumerator(atPath: folder + "/" + part)?.allObjects ?? []
        return found.compactMap { $0 as? String }.filter { path in
            var isFolder: ObjCBool = false
            return FileManager.default.fileExists(atPath: "\(folder)/\(part)/\(path)", isDirectory: &isFolder)
                && !isFolder.boolValue
        }
    }

    func key(_ id: String) async throws -> String { try #require(try await record(id, "key")) }
}

extension TestBackend.Answer {
    /// The end of the type of a problem.
    var slug: String? { json["type"]?.stringValue?.split(separator: ":").last.map(String.init) }

    /// Status and slug, for comparison.
    var verdict: String { slug.map { "\(status) \($0)" } ?? "\(status)" }
}
