import PowerSyncSystem
import PowerSyncWire

/// Logs the requests of another transport as the app asked for (client-api 1.7).
struct LoggingTransport: SyncTransport {
    let transport: any SyncTransport
    let lines: RequestLogLines

    init(_ transport: any SyncTransport, configuration: SyncRequestLoggerConfiguration) {
        self.transport = transport
        lines = RequestLogLines(configuration)
    }

    func open(_ request: SyncHTTPRequest) async throws -> any SyncResponseStream {
        lines.request(request)
        do {
            let stream = try await transport.open(request)
            lines.response(status: stream.status, headers: stream.headers, to: request)
            return LoggingStream(stream: stream, lines: lines)
        } catch {
            lines.failure(error)
            throw error
        }
    }

    func send(_ request: SyncHTTPRequest) async throws -> SyncHTTPResponse {
        lines.request(request)
        do {
            let response = try await transport.send(request)
            lines.response(status: response.status, headers: response.headers, to: request)
            lines.body(response.body)
            return response
        } catch {
            lines.failure(error)
            throw error
        }
    }
}

/// Logs the lines of a stream as they are taken.
private final class LoggingStream: SyncResponseStream {
    private let stream: any SyncResponseStream
    private let lines: RequestLogLines
    private let texts: Lock<LineTexts>

    init(stream: any SyncResponseStream, lines: RequestLogLines) {
        self.stream = stream
        self.lines = lines
        texts = Lock(LineTexts(SyncHTTP.format(stream.headers) ?? .json))
    }

    var status: Int { stream.status }
    var headers: [SyncHTTPHeader] { stream.headers }

    func next() async throws -> [UInt8]? {
        do {
            guard let bytes = try await stream.next() else {
                lines.endOfStream()
                return nil
            }
            if lines.includesBodies {
                for text in texts.withLock({ $0.append(bytes) }) { lines.line(text) }
            }
            return bytes
        } catch {
            lines.failure(error)
            throw error
        }
    }

    func cancel() { stream.cancel() }
}

/// The texts of the log lines, and which of them a level wants; headers without the token.
struct RequestLogLines: Sendable {
    private let configuration: SyncRequestLoggerConfiguration

    init(_ configuration: SyncRequestLoggerConfiguration) {
        self.configuration = configuration
    }

    var includesBodies: Bool { configuration.requestLevel == .body || configuration.requestLevel == .all }
    private var includesHeaders: Bool {
        configuration.requestLevel == .headers || configuration.requestLevel == .all
    }
    private var isOn: Bool { configuration.requestLevel != .none }

    func request(_ request: SyncHTTPRequest) {
        guard isOn else { return }
        configuration.log("Starting request to \(request.method) \(ShownText.address(request.url))")
        log(request.headers)
        if includesBodies, let body = request.body {
            configuration.log("with body: \(String(decoding: body, as: UTF8.self))")
        }
        configuration.log("sending request")
    }

    func response(status: Int, headers: [SyncHTTPHeader], to request: SyncHTTPRequest) {
        guard isOn else { return }
        configuration.log("Got response code \(status) on \(ShownText.address(request.url))")
        log(headers)
    }

    func line(_ line: String) {
        if includesBodies { configuration.log("Response line: \(line)") }
    }

    func endOfStream() {
        if includesBodies { configuration.log("End of response") }
    }

    func body(_ body: [UInt8]) {
        if includesBodies { configuration.log("  Response: \(String(decoding: body, as: UTF8.self))") }
    }

    func failure(_ error: any Error) {
        if isOn, !(error is CancellationError) { configuration.log("Error: \(error)") }
    }

    private func log(_ headers: [SyncHTTPHeader]) {
        guard includesHeaders else { return }
        for header in headers {
            let isSecret = header.name.lowercased() == "authorization"
            configuration.log("with header \(header.name): \(isSecret ? "(redacted)" : header.value)")
        }
    }
}
