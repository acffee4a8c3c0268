import Foundation
import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncHTTPServer
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire

@testable import PowerSync

/// A backend and its storage behind one server of this package, and clients of them.
///
/// They do what they are for unless the test has a script for an exchange, and keep all that they were asked.
final class StorageRig: Sendable {
    /// A request as it came.
    struct Exchange: Sendable {
        let request: HTTPRequest
        let body: [UInt8]

        /// The target without its query.
        var path: String { String(request.target.prefix { $0 != "?" }) }
        /// The method and the last word of the path, as `POST complete`; `PUT store` and `GET store` for the storage.
        var call: String {
            let words = path.split(separator: "/")
            return "\(request.method) \(isStorage ? "store" : String(words.last ?? ""))"
        }
        /// Whether the storage was asked, and not the backend.
        var isStorage: Bool { path.hasPrefix("/store/") }
        /// The names of the fields in lower case, sorted.
        var names: [String] { request.fields.map { $0.name.lowercased() }.sorted() }
        /// The number of the part that came.
        var part: Int? { request.queryValue("part").flatMap { Int($0) } }
    }

    /// Answers an exchange; nil leaves it to the rig.
    ///
    /// The number counts the exchanges with the same call, from 1.
    typealias Script = @Sendable (_ exchange: Exchange, _ number: Int) async throws -> HTTPResponse?

    private struct State {
        var exchanges: [Exchange] = []
        var files: [String: [UInt8]] = [:]
        var parts: [String: [Int: [UInt8]]] = [:]
        var questions: [String: AttachmentUploadRequest] = [:]
        var script: Script?
        /// Where the storage is; nil for the same server.
        var base: String?
        var sent: [HTTPClientRequest] = []
        var sessions = 0
        var pieces: [Int] = []
    }

    /// What no error and no log may show.
    static let secret = "very-secret"

    let folder: TemporaryDirectory
    private let server: HTTPServer
    private let state = Lock(State())

    private init(_ poller: Poller) throws {
        folder = try TemporaryDirectory()
        // A client that stands still is not sent away.
        let time = TestOptions.deadline * 2
        server = try HTTPServer(
            configuration: HTTPServerConfiguration(
                headerTimeout: time, bodyTimeout: time, idleTimeout: time, writeTimeout: time),
            poller: poller)
    }

    /// Runs a test beside a server.
    static func run(_ body: (StorageRig) async throws -> Void) async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let rig = try StorageRig(poller)
        // A script may hold the rig, which would keep both, and the folder, for ever.
        defer { rig.state.withLock { $0.script = nil } }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await rig.server.run { await rig.answer($0, $1) } }
            defer { rig.server.stop(grace: .zero) }
            try await body(rig)
        }
    }

    // MARK: What the test says and sees

    /// The base address of the backend.
    var url: String { "http://127.0.0.1:\(server.port)" }

    /// Answers from now on as the script says.
    func script(_ script: @escaping Script) { state.withLock { $0.script = script } }

    /// Names another storage in what is signed.
    func name(storage base: String) { state.withLock { $0.base = base } }

    /// All that was asked, in its order.
    var exchanges: [Exchange] { state.withLock { $0.exchanges } }
    /// The calls, in their order.
    var calls: [String] { exchanges.map(\.call) }
    /// What the storage was asked.
    var stored: [Exchange] { exchanges.filter(\.isStorage) }
    /// What the backend was asked.
    var asked: [Exchange] { exchanges.filter { !$0.isStorage } }
    /// The requests that the client was about to send to the storage.
    var sent: [HTTPClientRequest] { state.withLock { $0.sent } }
    /// The sizes of the pieces of files that the client held.
    var pieces: [Int] { state.withLock { $0.pieces } }

    /// The file that is stored.
    func file(_ id: String) -> [UInt8]? { state.withLock { $0.files[id] } }
    /// Stores a file, or takes it away.
    func store(_ bytes: [UInt8]?, as id: String) { state.withLock { $0.files[id] = bytes } }
    /// Stores parts of a file.
    func store(parts: [Int: [UInt8]], of id: String) { state.withLock { $0.parts[id] = parts } }

    /// Writes a file to upload and returns its path.
    func write(_ bytes: [UInt8], _ name: String = "up") throws -> String {
        try Data(bytes).write(to: URL(filePath: folder.file(name)))
        return folder.file(name)
    }

    /// Reads a file.
    func read(_ path: String) -> [UInt8]? { FileManager.default.contents(atPath: path).map { [UInt8]($0) } }

    /// Makes a client.
    ///
    /// - Parameters:
    ///   - environment: its clocks.
    ///   - session: what its session says, the same with a number behind it each time; nil for nobody.
    /// - Returns: the client.
    func client(
        environment: SyncEnvironment = .system(), session: String? = "Bearer \(StorageRig.secret)"
    ) -> SignedURLStorage {
        let connector = BackendConnector(
            url: url,
            access: .session {
                let number = self.state.withLock { state in
                    state.sessions += 1
                    return state.sessions
                }
                return session.map { "\($0)-\(number)" }
            }, environment: environment)
        return SignedURLStorage(
            connector: connector,
            through: { request in
                self.state.withLock { $0.sent.append(request) }
                return try await connector.client.open(request)
            },
            onPiece: { size in self.state.withLock { $0.pieces.append(size) } })
    }

    // MARK: Answers

    private func answer(_ request: HTTPRequest, _ body: any HTTPRequestBody) async -> HTTPResponse {
        do {
            let exchange = Exchange(request: request, body: try await body.collect(limit: 16 << 20))
            let (script, number) = state.withLock { state in
                state.exchanges.append(exchange)
                return (state.script, state.exchanges.count { $0.call == exchange.call })
            }
            if let answer = try await script?(exchange, number) { return answer }
            return try usual(exchange)
        } catch {
            return HTTPResponse(status: 500)
        }
    }

    /// Answers as a backend and a storage do where nothing goes wrong.
    func usual(_ exchange: Exchange) throws -> HTTPResponse {
        let words = exchange.path.split(separator: "/").map { PercentEncoding.decode($0) ?? "" }
        if exchange.isStorage { return storage(exchange, words[1]) }
        switch (exchange.request.method, words.last ?? "") {
        case ("POST", "upload-url"): return try ticket(exchange)
        case ("POST", "parts"):
            let parts = try AttachmentPartsRequest(json: JSON.parse(exchange.body)).parts
            return .json(
                AttachmentPartsTicket(
                    parts: parts.map {
                        .init(number: $0.number, request: signed(words[3], part: $0.number, $0.sha256))
                    }
                ).json)
        case ("POST", "batch"): return try batch(exchange)
        case ("POST", "complete"): return complete(words[3])
        case ("GET", "download-url"):
            guard let file = file(words[3]) else { return .problem(404, AttachmentProblem.notUploaded) }
            return .json(download(words[3], file).json)
        case ("DELETE", let id):
            store(nil, as: id)
            return HTTPResponse(status: 204)
        default: return .problem(404, "no-such-route")
        }
    }

    /// Answers each question of a batch with what it would be answered alone.
    private func batch(_ exchange: Exchange) throws -> HTTPResponse {
        let json = try JSON.parse(exchange.body)
        let answers = try BatchQuestion.Kind.allCases.map { kind -> JSONMember in
            let items = json[kind.rawValue]?.arrayValue ?? []
            return JSONMember(kind.rawValue, .array(try items.map { try answer(to: $0, kind) }))
        }
        return .json(.object(answers))
    }

    private func answer(to item: JSON, _ kind: BatchQuestion.Kind) throws -> JSON {
        let base = "/api/v1/attachments/"
        let id = PercentEncoding.encode(item.stringValue ?? "")
        let request =
            switch kind {
            case .upload: HTTPRequest(method: "POST", target: base + "upload-url")
            case .download: HTTPRequest(method: "GET", target: base + id + "/download-url")
            case .complete: HTTPRequest(method: "POST", target: base + id + "/complete")
            }
        let response = try usual(Exchange(request: request, body: item.utf8))
        guard case .bytes(let bytes) = response.body, !bytes.isEmpty else { return .object([]) }
        let json = try JSON.parse(bytes)
        guard response.status >= 300 else { return json }
        return .object((json.objectMembers ?? []) + [JSONMember("status", .integer(response.status))])
    }

    /// The answer about a download of these bytes.
    func download(_ id: String, _ file: [UInt8]) -> AttachmentDownloadTicket {
        AttachmentDownloadTicket(
            url: address(id), expiresAt: "2026-01-01T00:05:00Z", size: Int64(file.count),
            contentType: "application/octet-stream", sha256: Hexadecimal.encode(Digest.sha256(file)))
    }

    /// The request that brings a file or a part of it.
    func signed(_ id: String, part: Int? = nil, _ sha256: String, type: String? = nil) -> SignedRequest {
        var headers: [SignedRequest.Header] = []
        if let type { headers += [.init("content-type", type), .init("if-none-match", "*")] }
        headers += [.init("x-amz-checksum-sha256", sha256), .init("x-custom", "value")]
        return SignedRequest(
            url: address(id, part: part), method: "PUT", headers: headers, expiresAt: "2026-01-01T00:15:00Z")
    }

    private func address(_ id: String, part: Int? = nil) -> String {
        let base = state.withLock { $0.base } ?? url
        let number = part.map { "part=\($0)&" } ?? ""
        return "\(base)/store/\(PercentEncoding.encode(id))?\(number)sig=\(Self.secret)"
    }

    private func ticket(_ exchange: Exchange) throws -> HTTPResponse {
        let question = try AttachmentUploadRequest(json: JSON.parse(exchange.body))
        let (isStored, parts) = state.withLock { state in
            state.questions[question.id] = question
            return (state.files[question.id] != nil, state.parts[question.id] ?? [:])
        }
        var ticket = AttachmentUploadTicket(id: question.id, isUploaded: isStored)
        if !isStored, question.size >= AttachmentPart.size {
            let count = (question.size + AttachmentPart.size - 1) / AttachmentPart.size
            ticket.multipart = AttachmentMultipart(
                partSize: AttachmentPart.size, partCount: Int(count), uploaded: parts.keys.sorted())
        } else if !isStored {
            ticket.request = signed(question.id, question.sha256, type: question.contentType)
        }
        return .json(ticket.json)
    }

    private func complete(_ id: String) -> HTTPResponse {
        state.withLock { state -> HTTPResponse in
            if state.files[id] != nil { return HTTPResponse(status: 204) }
            let parts = (state.parts[id] ?? [:]).sorted { $0.key < $1.key }
            var bytes: [UInt8] = []
            for part in parts { bytes += part.value }
            guard !parts.isEmpty, Int64(bytes.count) == state.questions[id]?.size else {
                return .problem(409, AttachmentProblem.notStored)
            }
            state.files[id] = bytes
            return HTTPResponse(status: 204)
        }
    }

    private func storage(_ exchange: Exchange, _ id: String) -> HTTPResponse {
        if exchange.request.method == "PUT" {
            return state.withLock { state -> HTTPResponse in
                if let part = exchange.part {
                    state.parts[id, default: [:]][part] = exchange.body
                    return HTTPResponse(status: 200)
                }
                if state.files[id] != nil { return HTTPResponse(status: 412) }
                state.files[id] = exchange.body
                return HTTPResponse(status: 200)
            }
        }
        guard let file = file(id) else { return HTTPResponse(status: 404) }
        guard let start = exchange.start else { return HTTPResponse(status: 200, body: .bytes(file)) }
        guard start < file.count else { return HTTPResponse(status: 416) }
        return HTTPResponse(
            status: 206, fields: .range(start, of: file.count), body: .bytes(Array(file[start...])))
    }
}

extension StorageRig.Exchange {
    /// Where the range begins that is asked for; nil if none is.
    var start: Int? {
        request.fields["range"].flatMap { Int($0.dropFirst("bytes=".count).dropLast()) }
    }
}

extension HTTPFields {
    /// The fields of an answer with all bytes from one on.
    static func range(_ start: Int, of count: Int) -> HTTPFields {
        ["content-range": "bytes \(start)-\(count - 1)/\(count)"]
    }
}

extension HTTPResponse {
    /// An answer with a body of JSON.
    static func json(_ json: JSON) -> HTTPResponse {
        HTTPResponse(
            status: 200, fields: ["content-type": "application/json"], body: .bytes(json.utf8))
    }

    /// A problem of the backend.
    static func problem(_ status: Int, _ slug: String, _ fields: HTTPFields = [:]) -> HTTPResponse {
        let json = JSON.object([JSONMember("code", .string(AttachmentProblem.code(of: slug)))])
        var response = HTTPResponse(status: status, fields: fields, body: .bytes(json.utf8))
        response.fields["content-type"] = "application/problem+json"
        return response
    }
}

extension Attachment {
    /// A row as a queue hands it to a storage.
    static func row(
        _ id: String, _ state: AttachmentState = .queuedUpload, mediaType: String? = "image/jpeg"
    ) -> Attachment {
        Attachment(id: id, filename: "\(id).jpg", state: state, mediaType: mediaType)
    }
}

/// Keeps what is told of a transfer.
final class ToldBytes: Sendable {
    private let told = Lock<[AttachmentBytes]>([])

    /// All that was told, in its order.
    var all: [AttachmentBytes] { told.withLock { $0 } }

    /// Takes what is told.
    var report: @Sendable (AttachmentBytes) -> Void {
        { bytes in self.told.withLock { $0.append(bytes) } }
    }
}

extension SignedURLStorage {
    /// Uploads and returns the error that it ends with.
    func uploadFailure(_ id: String, _ path: String) async -> AttachmentStorageError? {
        await Self.failure { try await upload(attachment: .row(id), localUri: path, progress: { _ in }) }
    }

    /// Downloads and returns the error that it ends with.
    func downloadFailure(_ id: String, _ path: String) async -> AttachmentStorageError? {
        await Self.failure {
            try await download(attachment: .row(id, .queuedDownload), localUri: path, progress: { _ in })
        }
    }

    /// Deletes and returns the error that it ends with.
    func deleteFailure(_ id: String) async -> AttachmentStorageError? {
        await Self.failure { try await delete(attachment: .row(id, .queuedDelete)) }
    }

    private static func failure(_ body: () async throws -> Void) async -> AttachmentStorageError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? AttachmentStorageError
                ?? AttachmentStorageError(.init(rawValue: "another type"), String(describing: error))
        }
    }
}
