import PowerSyncCompression
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSync

/// How the lines of a recording go to this client.
enum RecordedWire: Sendable, CaseIterable {
    /// As they were recorded: text, not compressed.
    case text
    /// In BSON and compressed by gzip; the streams in which bytes stand as they are stay text.
    case compressedDocuments
}

/// Does to this client what was done to the official one in a recording.
///
/// The clock is moved only as far as the recording had come when it showed its next event, and a little further: what
/// this client does later does not come, and what it does more often shows among the requests.
final class RecordingPlayer {
    /// How much later than in the recording something may come: the reference spreads its delays.
    static let slack = Duration.milliseconds(250)

    let bench: ConnectedBench
    let notes: RecordingNotes
    private let recording: ClientRecording
    private let wire: RecordedWire
    private let clock: SteppedClock
    /// The connection that is served, and the next of its items.
    private var (connection, item) = (0, 0)
    /// What compresses that connection, if something does.
    private var compressor: Compressor?
    /// When the item is over, if it is a pause that has begun.
    private var due: Duration?

    init(_ recording: ClientRecording, as wire: RecordedWire) throws {
        let clock = SteppedClock()
        let notes = RecordingNotes(clock)
        // More than any situation needs.
        let connections = (0..<40).map { recording.connection($0) }
        let answers = recording.statuses("wc") + [200, 200, 200]
        let transport = ScriptedTransport(
            statuses: connections.map { Int($0["status"]?.int64Value ?? 200) },
            types: connections.map { Self.format($0, on: wire).mediaType },
            answers: answers.enumerated().map { index, status in
                status == 200 ? .writeCheckpoint(7 + index) : .status(status)
            })
        self.recording = recording
        self.wire = wire
        self.clock = clock
        self.notes = notes
        bench = try ConnectedBench(
            transport: transport,
            schema: Schema(Table(name: "notes", columns: [.text("owner_id"), .text("body")])),
            environment: clock.environment,
            reaching: {
                NotingTransport(
                    transport: $0, notes: notes, compression: wire == .compressedDocuments ? .gzip : nil)
            })
    }

    /// Plays everything; what came of it is in the notes and the status.
    func play() async throws {
        let results = try bench.database.watch(
            options: WatchOptions(sql: Self.query, throttle: 0, mapper: Self.row))
        let notes = notes
        let watching = Task { for try await rows in results { notes.show(rows) } }
        defer { watching.cancel() }
        let app = RecordedApp(
            tokens: recording.statuses("token"), uploads: recording.statuses("upload"), notes: notes)
        var (requests, checkpoints, shown) = (0, 0, 0)
        var (recorded, here) = (Duration.zero, Duration.zero)
        for moment in recording.moments {
            // As much after what was before as in the recording.
            let time = here + (moment.time - recorded)
            switch moment.event {
            case .connect:
                try await bench.database.connect(
                    connector: app, options: ConnectOptions(crudThrottle: 0.01, retryDelay: 1))
            case .write(let statements): try await write(statements, at: time)
            case .request(let request):
                requests += 1
                try await proceed(to: "request \(requests), \(request)", by: time) {
                    notes.requests.count >= requests
                }
            case .checkpoint:
                checkpoints += 1
                try await proceed(to: "checkpoint \(checkpoints)", by: time) {
                    self.checkpoints >= checkpoints
                }
            case .rows(let rows):
                shown += 1
                try await proceed(to: "the rows \(rows)", by: time) { notes.shown.count >= shown }
            }
            (recorded, here) = (moment.time, clock.now)
        }
        // What the service says that nothing shows.
        try await proceed(to: "the end of the script", by: nil) { isServed && isSettled }
        // The watch tells what it has not told yet.
        let rows = try await rows()
        try await wait(for: "the app to see the rows", read: { notes.shown }) { $0.last == rows }
    }

    /// How many checkpoints were applied.
    var checkpoints: Int {
        bench.log.lines.count {
            $0.message == "Validated and applied checkpoint"
                || $0.message == "Applied pending checkpoint after completed upload"
        }
    }

    /// The status that the app sees.
    var status: ClientRecording.Status {
        let status = bench.status
        return ClientRecording.Status(
            connected: status.connected, connecting: status.connecting, hasSynced: status.hasSynced,
            hasDownloadError: status.downloadError != nil, hasUploadError: status.uploadError != nil)
    }

    /// The rows that the database has.
    func rows() async throws -> [ClientRecording.Row] {
        try await bench.database.getAll(Self.query, mapper: Self.row)
    }

    private static let query = "SELECT id, body FROM notes ORDER BY id"

    private static let row: @Sendable (any SqlCursor) throws -> ClientRecording.Row = { cursor in
        ClientRecording.Row(id: try cursor.getString(index: 0), body: cursor.getStringOptional(index: 1))
    }

    // MARK: Time

    /// Serves, and moves the clock, until something has come.
    ///
    /// - Parameters:
    ///   - what: what is waited for.
    ///   - time: when it came in the recording; nil if time does not matter.
    ///   - hasCome: looks whether it has.
    /// - Throws: `StateDidNotCome`.
    private func proceed(to what: String, by time: Duration?, _ hasCome: () -> Bool) async throws {
        let limit = recording.isTimed ? time.map { $0 + Self.slack } : nil
        try await wait(for: what) {
            serve()
            if hasCome() { return true }
            // Nothing of the client is under way while it waits for the service, or for the clock.
            if isSettled, let next = nextTime, limit.map({ next <= $0 }) ?? true {
                clock.advance(by: next - clock.now)
            }
            return false
        }
    }

    /// When the next pause is over, the service's or one of the client.
    private var nextTime: Duration? {
        [clock.waiting.first.map { clock.now + $0 }, isServed ? nil : due].compactMap { $0 }.min()
    }

    private func write(_ statements: [String], at time: Duration) async throws {
        try await wait(for: "the lines before a write to be handled") { isSettled }
        if time > clock.now { clock.advance(by: time - clock.now) }
        try await bench.database.writeTransaction { transaction in
            for statement in statements { try transaction.execute(sql: statement, parameters: []) }
        }
    }

    // MARK: The service

    private var stream: ScriptedStream? {
        let streams = bench.transport.streams
        return connection < streams.count ? streams[connection] : nil
    }

    /// Whether the client has handled all that was sent, or takes no more.
    private var isSettled: Bool { stream.map { $0.isIdle || $0.isCancelled } ?? true }

    /// Whether nothing more is to be sent on this connection.
    private var isServed: Bool {
        guard let stream else { return true }
        let items = recording.connection(connection).arrayValue ?? []
        return stream.isCancelled || item >= items.count || items[item] == .string("hold")
    }

    /// How the lines of a connection are spelled.
    private static func format(_ items: JSON, on wire: RecordedWire) -> SyncLineFormat {
        let hasBytes = (items.arrayValue ?? []).contains { $0.stringValue?.hasPrefix("raw:") ?? false }
        return wire == .text || hasBytes ? .json : .bson
    }

    private func send(_ bytes: [UInt8], to stream: ScriptedStream) {
        if wire == .compressedDocuments, compressor == nil { compressor = Compressor(.gzip) }
        stream.sendRaw(bytes: compressor?.compress(bytes) ?? bytes)
    }

    /// Sends what can be sent now.
    private func serve() {
        while connection + 1 < bench.transport.streams.count {
            connection += 1
            item = 0
            due = nil
            compressor = nil
        }
        guard let stream else { return }
        let format = Self.format(recording.connection(connection), on: wire)
        let items = recording.connection(connection).arrayValue ?? []
        while !isServed {
            switch items[item] {
            case .string("end"):
                if let last = compressor?.finish() { stream.sendRaw(bytes: last) }
                stream.end()
            case .string("cut"): stream.cut()
            case .string(let text): send(Array(text.utf8.dropFirst("raw:".utf8.count)), to: stream)
            case let entry:
                if let pause = entry["wait"] {
                    let end = due ?? clock.now + .seconds(Double(pause.text) ?? 0)
                    due = end
                    guard clock.now >= end else { return }
                    due = nil
                } else if entry["until"] != nil {
                    guard notes.requests.contains(where: \.isForWriteCheckpoint) else { return }
                } else {
                    send(format == .json ? entry.utf8 + [0x0A] : BSONWriter.document(entry), to: stream)
                }
            }
            item += 1
        }
    }
}

/// What was seen of this client.
final class RecordingNotes: Sendable {
    private struct State {
        var requests: [ClientRecording.Request] = []
        var times: [Duration] = []
        var shown: [[ClientRecording.Row]] = []
    }

    private let clock: SteppedClock
    private let state = Lock(State())

    init(_ clock: SteppedClock) { self.clock = clock }

    var requests: [ClientRecording.Request] { state.withLock { $0.requests } }
    var times: [Duration] { state.withLock { $0.times } }
    /// Rows that the app saw, other ones each time.
    var shown: [[ClientRecording.Row]] { state.withLock { $0.shown } }

    /// Notes a request; returns how many there were with that path.
    @discardableResult
    func note(_ request: ClientRecording.Request) -> Int {
        let now = clock.now
        return state.withLock { state in
            state.requests.append(request)
            state.times.append(now)
            return state.requests.count { $0.path == request.path }
        }
    }

    func show(_ rows: [ClientRecording.Row]) {
        state.withLock { state in
            if state.shown.last != rows { state.shown.append(rows) }
        }
    }
}

/// The connector of the official demo app, which fetches a token for each upload, too.
private struct RecordedApp: PowerSyncBackendConnectorProtocol {
    /// What the token endpoint and the backend answer, in turn; 200 behind that.
    let tokens: [Int]
    let uploads: [Int]
    let notes: RecordingNotes

    func fetchCredentials() async throws -> PowerSyncCredentials? {
        PowerSyncCredentials(endpoint: NotingTransport.endpoint, token: try token())
    }

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        guard let transaction = try await database.getNextCrudTransaction() else { return }
        let entries = transaction.crud.map { entry in
            JSON.object([
                JSONMember("op", .string(entry.op.rawValue)), JSONMember("table", .string(entry.table)),
                JSONMember("id", .string(entry.id)), JSONMember("data", entry.opDataTyped?.json ?? .null),
            ])
        }
        let fetched = try token()
        let number = notes.note(
            ClientRecording.Request(
                method: "POST", path: "/api/data", authorization: "Bearer \(fetched)",
                body: .object([JSONMember("batch", .array(entries))])))
        let status = number <= uploads.count ? uploads[number - 1] : 200
        guard (200..<300).contains(status) else { throw ScriptError("status \(status)") }
        try await transaction.complete()
    }

    private func token() throws -> String {
        let number = notes.note(ClientRecording.Request(method: "GET", path: "/api/auth/token?user_id=u1"))
        let status = number <= tokens.count ? tokens[number - 1] : 200
        guard status == 200 else { throw ScriptError("status \(status)") }
        return "token-\(number)"
    }
}

/// Notes each request before it goes out.
private struct NotingTransport: SyncTransport {
    static let endpoint = "https://service.test"

    let transport: ScriptedTransport
    let notes: RecordingNotes
    /// How the streams that come are compressed.
    let compression: CompressionFormat?

    func open(_ request: SyncHTTPRequest) async throws -> any SyncResponseStream {
        try note(request)
        let stream = try await transport.open(request)
        guard let compression, stream.status == 200 else { return stream }
        return DecodedStream(stream, format: compression)
    }

    func send(_ request: SyncHTTPRequest) async throws -> SyncHTTPResponse {
        try note(request)
        return try await transport.send(request)
    }

    private func note(_ request: SyncHTTPRequest) throws {
        notes.note(
            ClientRecording.Request(
                method: request.method, path: String(request.url.dropFirst(Self.endpoint.count)),
                authorization: request.headers.first { $0.name == "Authorization" }?.value,
                body: try request.body.map { try JSON.parse($0) }))
    }
}

extension ClientRecording.Request {
    fileprivate var isForWriteCheckpoint: Bool { path.hasPrefix("/write-checkpoint2.json") }
}
