import Foundation
import PowerSyncCommandLine
import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncHTTPServer
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncBackend

/// A disk store in a folder of its own, with a clock that tests move, asked without a socket or over one.
struct DiskStoreFixture: Sendable {
    let temporary: TemporaryDirectory
    let store: DiskStore
    let routes: BlobRoutes
    let clock: Lock<Int64>
    /// What the log was told.
    let lines: Lock<[String]>
    /// Where the server listens; 0 without one.
    let port: Lock<Int>

    /// The folder of the store.
    var folder: String { temporary.path + "/store" }

    init(
        transfers: Int = 512, perUser: Int = 16, waits: Lock<ContinuousClock.Instant>? = nil,
        write: @escaping BlobSink.Write = { file, bytes throws(SystemError) in try file.write(bytes) }
    ) throws {
        temporary = try TemporaryDirectory(prefix: "disk-store-")
        let (clock, port, lines) = (Lock<Int64>(1_800_000_000), Lock(0), Lock<[String]>([]))
        self.clock = clock
        self.port = port
        self.lines = lines
        store = try DiskStore(
            folder: temporary.path + "/store",
            publicURL: { "http://127.0.0.1:\(port.withLock { $0 })/" }, write: write)
        routes = BlobRoutes(
            store: store, now: { clock.withLock { $0 } }, uniqueName: { "request" }, transfers: transfers,
            perUser: perUser, clock: { waits?.withLock { $0 } ?? .now },
            log: Log(label: "test") { line in lines.withLock { $0.append(line) } })
    }

    /// Another store in the same folder, as after a restart.
    func restarted() throws -> DiskStore {
        try DiskStore(folder: folder, publicURL: { "http://127.0.0.1:1" })
    }

    /// The time of the clock.
    var now: Int64 { clock.withLock { $0 } }

    // MARK: Over a socket

    /// Serves the URLs of the store while `body` runs.
    func serve(_ body: @Sendable (HTTPServer) async throws -> Void) async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let time = TestOptions.deadline * 2
        let server = try HTTPServer(
            configuration: HTTPServerConfiguration(
                headerTimeout: time, bodyTimeout: time, idleTimeout: time, writeTimeout: time),
            poller: poller)
        port.withLock { $0 = server.port }
        let routes = routes
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await server.run { await routes.answer($0, $1) } }
            do {
                try await body(server)
            } catch {
                server.stop(grace: .zero)
                throw error
            }
            server.stop(grace: .zero)
            try await group.waitForAll()
        }
    }

    // MARK: Without a socket

    /// An answer with its whole body.
    struct Answer: Sendable {
        let status: Int
        let fields: HTTPFields
        let body: [UInt8]

        /// The end of the type of a problem.
        var problem: String? {
            guard let json = try? JSON.parse(body) else { return nil }
            return json["type"]?.stringValue?.split(separator: ":").last.map(String.init)
        }
    }

    /// A body that comes in pieces, and says how much of it was asked for.
    final class Body: HTTPRequestBody {
        let length: Int64?
        private let pieces: Lock<[[UInt8]]>
        private let failure: HTTPError?
        private let count = Lock(0)

        /// Makes a body; with a failure it breaks off behind its pieces.
        init(_ pieces: [[UInt8]], length: Int64?, failure: HTTPError? = nil) {
            self.pieces = Lock(pieces)
            self.length = length
            self.failure = failure
        }

        /// How often somebody has asked for more.
        var asked: Int { count.withLock { $0 } }

        func next(limit: Int) async throws(HTTPError) -> [UInt8]? {
            count.withLock { $0 += 1 }
            let piece = pieces.withLock { pieces -> [UInt8]? in
                guard let first = pieces.first else { return nil }
                if first.count <= limit { return pieces.removeFirst() }
                pieces[0] = Array(first[limit...])
                return Array(first[..<limit])
            }
            if piece == nil, let failure { throw failure }
            return piece
        }

        func collect(limit: Int) async throws(HTTPError) -> [UInt8] {
            throw HTTPError(.alreadyRead, "a body of a blob is taken in pieces")
        }
    }

    private final class Collector: HTTPBodyWriter {
        private let bytes = Lock<[UInt8]>([])
        private let longest = Lock(0)

        var all: [UInt8] { bytes.withLock { $0 } }
        var longestPiece: Int { longest.withLock { $0 } }

        func write(_ more: [UInt8]) async throws {
            longest.withLock { $0 = max($0, more.count) }
            bytes.withLock { $0 += more }
        }

        func beginChunk(of count: Int) throws {}
    }

    /// Sends a request to the routes.
    func send(
        _ method: String, _ target: String, _ fields: HTTPFields = [:], body: Body = Body([], length: 0)
    ) async throws -> Answer {
        let response = await routes.answer(
            HTTPRequest(method: method, target: target, fields: fields), body)
        switch response.body {
        case .empty: return Answer(status: response.status, fields: response.fields, body: [])
        case .bytes(let bytes): return Answer(status: response.status, fields: response.fields, body: bytes)
        case .stream: throw HTTPError(.malformed, "a blob is no stream of unknown length")
        case .sized(let size, let write):
            let collector = Collector()
            try await write(collector)
            #expect(collector.all.count == Int(size))
            #expect(collector.longestPiece <= BlobUpload.piece)
            return Answer(status: response.status, fields: response.fields, body: collector.all)
        }
    }

    /// Sends what was signed, as it was signed unless a test changes it.
    func send(
        _ signed: SignedRequest, body: Body = Body([], length: 0), method: String? = nil,
        _ change: (inout String, inout HTTPFields) -> Void = { _, _ in }
    ) async throws -> Answer {
        var target = String(signed.url.dropFirst("http://127.0.0.1:\(port.withLock { $0 })".count))
        var fields: HTTPFields = [:]
        for field in signed.headers { fields.append(field.name, field.value) }
        change(&target, &fields)
        return try await send(method ?? signed.method, target, fields, body: body)
    }

    /// Signs an upload of these bytes.
    func upload(_ bytes: [UInt8], as key: String) throws -> SignedRequest {
        try store.signUpload(
            key: key, contentType: "image/png", size: Int64(bytes.count), sha256: Digest.sha256(bytes),
            at: now)
    }

    /// Signs a download.
    func download(_ key: String, disposition: String = "inline") throws -> SignedRequest {
        try store.signDownload(key: key, contentType: "image/png", disposition: disposition, at: now)
    }

    /// Stores bytes.
    func put(_ bytes: [UInt8], as key: String) async throws {
        let answer = try await send(
            try upload(bytes, as: key), body: Body([bytes], length: Int64(bytes.count)))
        #expect(answer.status == 200)
    }

    // MARK: The folder

    /// The paths of all files below a folder of the store, without that folder.
    func files(_ place: String = "") throws -> [String] {
        let root = place.isEmpty ? folder : "\(folder)/\(place)"
        return try FileManager.default.subpathsOfDirectory(atPath: root).filter {
            let kind = try FileManager.default.attributesOfItem(atPath: "\(root)/\($0)")[.type]
            return kind as? FileAttributeType != .typeDirectory
        }.sorted()
    }

    /// What of the store this process has open.
    var openFiles: [String] { get throws { try Processes.openFiles().filter { $0.contains(folder) } } }
}
