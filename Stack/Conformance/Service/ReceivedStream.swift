import PowerSyncCompression
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncSystem
import PowerSyncWire

/// One stream of the service under test, read in the background.
///
/// What has come and was not taken is kept without a limit: recordings are short.
final class ReceivedStream: Sendable {
    private struct State {
        var response: RecordedAnswer?
        var lines: [JSON] = []
        var types = BSONTypes()
        var end: StreamEnd?
        var ended: ContinuousClock.Instant?
        /// Why it ended, for people.
        var reason = ""
        var lastArrival = ContinuousClock.now
        var reader: Task<Void, Never>?
    }

    private let state = Lock(State())

    /// Sends the request and begins to read.
    ///
    /// - Parameters:
    ///   - client: sends it.
    ///   - request: the request.
    init(_ client: HTTPClient, _ request: HTTPClientRequest) {
        let state = state
        // Stored, and cancelled by `close` or with the last reference.
        let reader = Task {
            do {
                let end = try await Self.read(client, request, state)
                state.withLock { $0.end = end }
            } catch is CancellationError {
                state.withLock { $0.end = .clean }
            } catch {
                state.withLock { state in
                    let isCut = (error as? HTTPClientError)?.code == .cut
                    state.end = isCut ? .cut : .error
                    state.reason = "\(error)"
                }
            }
            state.withLock { $0.ended = .now }
        }
        state.withLock { $0.reader = reader }
    }

    deinit { close() }

    /// Ends the stream from this side.
    func close() { state.withLock { $0.reader }?.cancel() }

    /// The head, once it has come.
    var response: RecordedAnswer? { state.withLock { $0.response } }

    /// How it ended, nil while it goes on.
    var end: StreamEnd? { state.withLock { $0.end } }

    /// When it ended, nil while it goes on.
    var ended: ContinuousClock.Instant? { state.withLock { $0.ended } }

    /// Why it ended, for people.
    var reason: String { state.withLock { $0.reason } }

    /// When the last line came, or the stream was opened.
    var lastArrival: ContinuousClock.Instant { state.withLock { $0.lastArrival } }

    /// The types in all lines that came as BSON.
    var types: BSONTypes { state.withLock { $0.types } }

    /// Returns the lines that came since the last call.
    func takeLines() -> [JSON] {
        state.withLock { state in
            defer { state.lines = [] }
            return state.lines
        }
    }

    private static let limit = 64 << 20

    private static func read(
        _ client: HTTPClient, _ request: HTTPClientRequest, _ state: Lock<State>
    ) async throws -> StreamEnd {
        let stream = try await client.open(request)
        defer { stream.cancel() }
        var answer = RecordedAnswer(status: stream.status, headers: [:])
        for (name, value) in stream.fields { answer.headers[name.lowercased()] = value }
        state.withLock { [answer] in $0.response = answer }
        guard stream.status == 200 else {
            state.withLock { $0.reason = "status \(stream.status)" }
            return .error
        }
        var decompressor: Decompressor?
        if let encoding = stream.fields["content-encoding"] {
            guard let format = CompressionFormat(rawValue: encoding) else {
                throw StackError(.answer, "the content encoding \(encoding) is not known")
            }
            decompressor = Decompressor(format, limit: 1 << 30)
        }
        let isBSON = stream.fields["content-type"] == "application/vnd.powersync.bson-stream"
        var lines = LineSplitter(limit: limit)
        var documents = DocumentSplitter(limit: limit)
        while let part = try await stream.next() {
            let bytes = try decompressor?.decompress(part) ?? part
            var parsed: [JSON] = []
            var types = BSONTypes()
            if isBSON {
                documents.append(bytes)
                while let document = try documents.next() {
                    parsed.append(try JSON.parse(bson: document))
                    try types.add(document)
                }
            } else {
                lines.append(bytes)
                while let line = try lines.next() { parsed.append(try RecordedJSON.parse(line)) }
            }
            state.withLock { [parsed, types] state in
                state.lines += parsed
                state.types.add(types)
                if !parsed.isEmpty { state.lastArrival = .now }
            }
        }
        if lines.hasPartialLine || documents.hasPartialDocument {
            throw StackError(.answer, "the stream ended within a line")
        }
        return .clean
    }
}
