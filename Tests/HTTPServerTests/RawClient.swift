import PowerSyncHTTP
import PowerSyncHTTPServer
import PowerSyncSystem
import Testing

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// An answer as it came over the socket.
struct RawResponse {
    var head: String
    var body: String
    /// Whether the end of the body was marked, by length or by the last chunk.
    var isComplete: Bool

    var status: Int { Int(head.dropFirst(9).prefix(3)) ?? 0 }

    func has(_ line: String) -> Bool { head.contains("\r\n\(line)\r\n") }
}

private func systemSend(
    _ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int, _ flags: Int32
) -> Int { send(descriptor, bytes, count, flags) }

private func closeDescriptor(_ descriptor: Int32) { close(descriptor) }

/// A client that sends and reads bytes as it is told; every wait ends after some seconds with an error.
final class RawClient: Sendable {
    struct Failure: Error { let what: String }

    private let channel: Channel
    private let received = Lock<[UInt8]>([])
    private let isOpen = Lock(true)
    var descriptor: Int32 { channel.descriptor }

    init(_ port: Int, _ poller: Poller, receiveBuffer: Int32? = nil) throws {
        #if canImport(Glibc)
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        if var size = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else {
            closeDescriptor(descriptor)
            throw Failure(what: "cannot connect: \(SystemError.text(of: errno))")
        }
        channel = try poller.channel(descriptor)
    }

    deinit { leave() }

    func leave() {
        isOpen.withLock { isOpen in
            guard isOpen else { return }
            isOpen = false
            channel.deregister()
            closeDescriptor(descriptor)
        }
    }

    func sayNoMore() { shutdown(descriptor, Int32(SHUT_WR)) }

    func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) async throws {
        var left = bytes[...]
        while !left.isEmpty {
            #if canImport(Darwin)
                let flags: Int32 = 0
            #else
                let flags = Int32(MSG_NOSIGNAL)
            #endif
            let count = left.withUnsafeBytes { systemSend(descriptor, $0.baseAddress, $0.count, flags) }
            if count > 0 {
                left = left.dropFirst(count)
            } else if errno == EAGAIN {
                guard try await channel.writable(until: .now + .seconds(20)) else {
                    throw Failure(what: "the server reads nothing")
                }
            } else {
                throw Failure(what: "cannot send: \(SystemError.text(of: errno))")
            }
        }
    }

    func get(_ target: String, _ fields: String = "") async throws -> RawResponse {
        try await send("GET \(target) HTTP/1.1\r\nHost: h\r\n\(fields)\r\n")
        return try await response()
    }

    /// Reads once; false at the end.
    func read(within patience: Duration = .seconds(20)) async throws -> Bool {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let deadline = ContinuousClock.now + patience
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count > 0 {
                received.withLock { $0 += buffer[..<count] }
                return true
            }
            if count == 0 { return false }
            guard errno == EAGAIN else { throw Failure(what: "cannot read: \(SystemError.text(of: errno))") }
            guard try await channel.readable(until: deadline) else { throw Failure(what: "nothing arrives") }
        }
    }

    /// Reads until the server closes the connection and returns everything unread.
    func rest() async throws -> String {
        while try await read() {}
        return received.withLock { bytes in
            defer { bytes = [] }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    /// What has been read and not been taken.
    var unread: String { received.withLock { String(decoding: $0, as: UTF8.self) } }

    func line() async throws -> String? {
        try await take { $0.firstRange(of: Array("\r\n".utf8))?.upperBound }
    }

    /// Reads the head and the body of one answer.
    func response(toHead: Bool = false) async throws -> RawResponse {
        guard let head = try await take({ $0.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound }) else {
            throw Failure(what: "no head, but: \(unread)")
        }
        var response = RawResponse(head: head, body: "", isComplete: true)
        if toHead || response.status < 200 { return response }
        if let mark = head.firstRange(of: "content-length: ") {
            let length = Int(head[mark.upperBound...].prefix { $0 != "\r\n" }) ?? 0
            if let body = try await take({ $0.count >= length ? length : nil }) {
                response.body = body
            } else {
                response.isComplete = false
            }
        } else if head.contains("transfer-encoding: chunked") {
            while let chunk = try await chunk() {
                if chunk.isEmpty { return response }
                response.body += chunk
            }
            response.isComplete = false
        }
        return response
    }

    /// Reads one chunk; empty for the last, nil when the connection ends before it.
    func chunk() async throws -> String? {
        guard let line = try await line() else { return nil }
        guard let size = Int(line.dropLast(), radix: 16) else {
            throw Failure(what: "no chunk size: \(line)")
        }
        let chunk = try await take { $0.count >= size + 2 ? size + 2 : nil }
        guard let chunk, chunk.utf8.suffix(2).elementsEqual("\r\n".utf8) else { return nil }
        return String(decoding: chunk.utf8.dropLast(2), as: UTF8.self)
    }

    /// Takes bytes off the front once there are enough; nil when the connection ends before.
    private func take(_ count: ([UInt8]) -> Int?) async throws -> String? {
        while true {
            let taken = received.withLock { bytes -> String? in
                guard let count = count(bytes) else { return nil }
                defer { bytes.removeFirst(count) }
                return String(decoding: bytes[..<count], as: UTF8.self)
            }
            if let taken { return taken }
            guard try await read() else { return nil }
        }
    }
}

/// Runs a server for the time of a test.
struct ServerFixture {
    let server: HTTPServer
    let poller: Poller

    func connect(receiveBuffer: Int32? = nil) throws -> RawClient {
        try RawClient(server.port, poller, receiveBuffer: receiveBuffer)
    }

    static func with(
        _ handler: @escaping HTTPHandler, _ body: @Sendable (ServerFixture) async throws -> Void
    ) async throws {
        try await with(HTTPServerConfiguration(), handler, body)
    }

    static func with(
        _ configuration: HTTPServerConfiguration, _ handler: @escaping HTTPHandler,
        _ body: @Sendable (ServerFixture) async throws -> Void
    ) async throws {
        let poller = try Poller()
        let server = try HTTPServer(configuration: configuration, poller: poller)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await server.run(handler) }
            do {
                try await body(ServerFixture(server: server, poller: poller))
            } catch {
                server.stop(grace: .zero)
                throw error
            }
            server.stop(grace: .zero)
            try await group.waitForAll()
        }
        #expect(server.connectionCount == 0)
    }

    /// Waits until something holds.
    func eventually(
        _ what: Comment, _ location: SourceLocation = #_sourceLocation, _ isSo: () -> Bool
    ) async throws {
        let deadline = ContinuousClock.now + .seconds(20)
        while !isSo() {
            if ContinuousClock.now > deadline {
                Issue.record(what, sourceLocation: location)
                return
            }
            try await poller.sleep(until: .now + .milliseconds(2))
        }
    }
}

extension HTTPResponse {
    static func text(_ text: String, status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, fields: ["content-type": "text/plain"], body: .bytes(Array(text.utf8)))
    }
}

/// Answers with what was asked.
let echo: HTTPHandler = { request, body in
    do throws(HTTPError) {
        let bytes = try await body.collect(limit: 1 << 20)
        return .text("\(request.method) \(request.path) \(String(decoding: bytes, as: UTF8.self))")
    } catch {
        return .text(error.code.rawValue, status: error.status)
    }
}
