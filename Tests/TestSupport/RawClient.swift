import PowerSyncSystem

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// An answer as it came over the socket.
package struct RawResponse {
    /// Status line and fields, to the empty line.
    package var head: String
    /// The body, without the marks of chunks.
    package var body: String
    /// Whether the end of the body was marked, by length or by the last chunk.
    package var isComplete: Bool

    /// The status of the first line.
    package var status: Int { Int(head.dropFirst(9).prefix(3)) ?? 0 }

    /// Whether the head has this line.
    package func has(_ line: String) -> Bool { head.contains("\r\n\(line)\r\n") }
}

private func closeDescriptor(_ descriptor: Int32) { close(descriptor) }

/// A client that sends and reads bytes as it is told; every wait ends with an error at the deadline of tests.
package final class RawClient: Sendable {
    /// A wait that ended without what was waited for.
    package struct Failure: Error {
        /// What did not come.
        package let what: String
    }

    private let channel: Channel
    private let received = Lock<[UInt8]>([])
    private let isOpen = Lock(true)
    /// The socket.
    package var descriptor: Int32 { channel.descriptor }

    /// Connects to 127.0.0.1.
    ///
    /// - Parameters:
    ///   - port: The server's port.
    ///   - poller: Wakes the waits.
    ///   - receiveBuffer: The bytes of the system's buffer, for a client that takes little.
    /// - Throws: `Failure` when nobody listens there.
    package init(_ port: Int, _ poller: Poller, receiveBuffer: Int32? = nil) throws {
        let descriptor = try TCPSocket.connect(port: port) { descriptor in
            guard var size = receiveBuffer else { return }
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        // A refusal shows when the attempt has come to an end.
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&request, 1, Int32(TestOptions.deadline.components.seconds) * 1000)
        var reason: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &reason, &length)
        guard reason == 0, request.revents != 0 else {
            closeDescriptor(descriptor)
            throw Failure(what: "cannot connect: \(SystemError.text(of: reason))")
        }
        channel = try poller.channel(descriptor)
    }

    /// Takes over a socket that is connected, and closes it in the end.
    ///
    /// - Parameters:
    ///   - descriptor: The socket.
    ///   - poller: Wakes the waits.
    /// - Throws: What the poller throws.
    package init(connected descriptor: Int32, _ poller: Poller) throws {
        do {
            channel = try poller.channel(descriptor)
        } catch {
            closeDescriptor(descriptor)
            throw error
        }
    }

    deinit { leave() }

    /// Closes the connection.
    package func leave() {
        isOpen.withLock { isOpen in
            guard isOpen else { return }
            isOpen = false
            channel.deregister()
            closeDescriptor(descriptor)
        }
    }

    /// Says that nothing more will be sent.
    package func sayNoMore() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Sends a text.
    package func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    /// Sends bytes.
    package func send(_ bytes: [UInt8]) async throws {
        var left = bytes[...]
        while !left.isEmpty {
            let count = left.withUnsafeBytes { systemSend(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                left = left.dropFirst(count)
            } else if errno == EAGAIN {
                guard try await channel.writable(until: .now + TestOptions.deadline) else {
                    throw Failure(what: "the server reads nothing")
                }
            } else {
                throw Failure(what: "cannot send: \(SystemError.text(of: errno))")
            }
        }
    }

    /// Sends a request without a body and reads the answer.
    package func get(_ target: String, _ fields: String = "") async throws -> RawResponse {
        try await send("GET \(target) HTTP/1.1\r\nHost: h\r\n\(fields)\r\n")
        return try await response()
    }

    /// Reads once; false at the end.
    package func read(within patience: Duration = TestOptions.deadline) async throws -> Bool {
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
    package func rest() async throws -> String {
        while try await read() {}
        return received.withLock { bytes in
            defer { bytes = [] }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    /// What has been read and not been taken.
    package var unread: String { received.withLock { String(decoding: $0, as: UTF8.self) } }

    /// Reads to the end of a line; nil when the connection ends before.
    package func line() async throws -> String? {
        try await text { $0.firstRange(of: Array("\r\n".utf8))?.upperBound }
    }

    /// Reads the head and the body of one answer.
    package func response(toHead: Bool = false) async throws -> RawResponse {
        guard let head = try await text({ $0.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound }) else {
            throw Failure(what: "no head, but: \(unread)")
        }
        var response = RawResponse(head: head, body: "", isComplete: true)
        if toHead || response.status < 200 { return response }
        if let mark = head.firstRange(of: "content-length: ") {
            let length = Int(head[mark.upperBound...].prefix { $0 != "\r\n" }) ?? 0
            if let body = try await text({ $0.count >= length ? length : nil }) {
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
    package func chunk() async throws -> String? {
        try await chunkBytes().map { String(decoding: $0, as: UTF8.self) }
    }

    /// Reads one chunk of any bytes; empty for the last, nil when the connection ends before it.
    package func chunkBytes() async throws -> [UInt8]? {
        guard let line = try await line() else { return nil }
        guard let size = Int(line.dropLast(), radix: 16) else {
            throw Failure(what: "no chunk size: \(line)")
        }
        let chunk = try await take { $0.count >= size + 2 ? size + 2 : nil }
        guard let chunk, chunk.suffix(2).elementsEqual("\r\n".utf8) else { return nil }
        return chunk.dropLast(2)
    }

    private func text(_ count: ([UInt8]) -> Int?) async throws -> String? {
        try await take(count).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Takes bytes off the front once there are enough; nil when the connection ends before.
    private func take(_ count: ([UInt8]) -> Int?) async throws -> [UInt8]? {
        while true {
            let taken = received.withLock { bytes -> [UInt8]? in
                guard let count = count(bytes) else { return nil }
                defer { bytes.removeFirst(count) }
                return Array(bytes[..<count])
            }
            if let taken { return taken }
            guard try await read() else { return nil }
        }
    }
}
