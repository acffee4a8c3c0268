import Foundation
import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A server on 127.0.0.1 that does exactly what its script says, byte for byte: one thread a connection.
package final class RawServer: Sendable {
    /// Where it listens.
    package let port: Int
    private let listener: Int32
    private let count = Lock(0)

    /// How many connections were made.
    package var connections: Int { count.withLock { $0 } }

    /// Listens on a free port.
    ///
    /// - Parameter script: What happens on a connection, which is closed when it returns.
    /// - Throws: `SystemError`.
    package init(_ script: @escaping @Sendable (RawConnection) -> Void) throws {
        let (listener, port) = try TCPSocket.listen()
        self.listener = listener
        self.port = port
        let count = count
        try DetachedThread.start {
            while Self.wait(listener, POLLIN), let accepted = try? TCPSocket.accept(listener) {
                count.withLock { $0 += 1 }
                do {
                    try DetachedThread.start {
                        let connection = RawConnection(descriptor: accepted)
                        script(connection)
                        connection.end()
                    }
                } catch {
                    // The peer sees the end at once, and its test fails with that.
                    close(accepted)
                }
            }
            // Closed here alone: a number that is free again may be the listener of the next server by now.
            close(listener)
        }
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    /// Returns a URL of the server.
    package func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }

    fileprivate static func wait(_ descriptor: Int32, _ events: Int32, milliseconds: Int32 = -1) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        return poll(&request, 1, milliseconds) > 0
    }
}

/// The server's end of one connection; its calls block the connection's thread.
package final class RawConnection: Sendable {
    private let descriptor: Int32

    fileprivate init(descriptor: Int32) { self.descriptor = descriptor }

    fileprivate func end() { close(descriptor) }

    /// Reads what has arrived, waiting for it; nil at the end.
    package func receive() -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count > 0 { return Array(buffer[..<count]) }
            guard count < 0, errno == EAGAIN || errno == EINTR else { return nil }
            _ = RawServer.wait(descriptor, POLLIN)
        }
    }

    /// Reads a request to the end of its head and as many bytes of a body as content-length says; nil at the end.
    package func request() -> String? {
        var bytes: [UInt8] = []
        while true {
            let text = String(decoding: bytes, as: UTF8.self)
            if let end = text.range(of: "\r\n\r\n") {
                let length =
                    text[..<end.lowerBound].split(separator: "\r\n")
                    .first { $0.lowercased().hasPrefix("content-length:") }
                    .flatMap { Int($0.split(separator: ":")[1].trimmingCharacters(in: .whitespaces)) } ?? 0
                if text[end.upperBound...].utf8.count >= length { return text }
            }
            guard let more = receive() else { return nil }
            bytes += more
        }
    }

    /// Sends a text; false if the peer is gone or takes nothing until the deadline of all tests.
    @discardableResult
    package func send(_ text: String) -> Bool { send(Array(text.utf8)) == text.utf8.count }

    /// Sends bytes until the peer takes none until the deadline of all tests; returns how many went out.
    @discardableResult
    package func send(_ bytes: [UInt8]) -> Int {
        let patience = Int32(TestOptions.deadline / .milliseconds(1))
        var sent = 0
        while sent < bytes.count {
            let result = bytes[sent...].withUnsafeBytes { systemSend(descriptor, $0.baseAddress, $0.count) }
            if result > 0 {
                sent += result
            } else if errno == EAGAIN {
                guard RawServer.wait(descriptor, POLLOUT, milliseconds: patience) else { break }
            } else if errno != EINTR {
                break
            }
        }
        return sent
    }

    /// Sends one chunk of a chunked body.
    package func chunk(_ text: String) {
        send("\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n")
    }

    /// Sends one chunk of a chunked body; not of no bytes, which would end it.
    package func chunk(_ bytes: [UInt8]) {
        send(Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8))
    }

    /// Ends a chunked body.
    package func endChunks() { send("0\r\n\r\n") }

    /// Says that nothing more will be sent.
    package func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Passes everything on between the peer and a server of this machine, until neither sends any more.
    ///
    /// - Parameters:
    ///   - port: Where the server listens; if nobody does, the peer sees the end.
    ///   - first: What the server gets before all that the peer sends from now on.
    ///   - willPass: Gets how many bytes the peer has sent before they are passed on; may block.
    package func relay(to port: Int, sending first: [UInt8] = [], willPass: (Int) -> Void = { _ in }) {
        guard let other = (try? TCPSocket.connect(port: port)).map(RawConnection.init(descriptor:)) else {
            return
        }
        other.send(first)
        let isAnswered = DispatchSemaphore(value: 0)
        let pass: @Sendable () -> Void = {
            while let bytes = other.receive() { self.send(bytes) }
            self.finishSending()
            isAnswered.signal()
        }
        guard (try? DetachedThread.start(pass)) != nil else { return other.end() }
        while let bytes = receive() {
            willPass(bytes.count)
            other.send(bytes)
        }
        other.finishSending()
        isAnswered.wait()
        other.end()
    }

    /// Sends a request to a server of this machine and reads its answer.
    ///
    /// - Parameters:
    ///   - request: The request, head and body.
    ///   - port: Where the server listens.
    /// - Returns: The answer, as far as content-length says; nil if it does not come.
    package static func answer(to request: String, from port: Int) -> String? {
        guard let other = (try? TCPSocket.connect(port: port)).map(RawConnection.init(descriptor:)) else {
            return nil
        }
        defer { other.end() }
        return other.send(request) ? other.request() : nil
    }

    /// Returns when something has arrived, of which nothing is read, or the peer has closed its end.
    package func waitForBytes() { _ = RawServer.wait(descriptor, POLLIN) }

    /// Returns once the peer has closed its end.
    package func waitForHangUp() {
        while receive() != nil {}
    }
}

extension String {
    /// The head of an answer whose body comes in chunks.
    package static let chunkedHead =
        "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
}

/// Sends without a signal when the peer is gone.
func systemSend(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    #if os(Linux)
        send(descriptor, bytes, count, Int32(MSG_NOSIGNAL))
    #else
        // The sockets of `TCPSocket` have SO_NOSIGPIPE set.
        send(descriptor, bytes, count, 0)
    #endif
}
