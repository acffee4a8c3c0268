import Foundation
import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A server that does exactly what its script says, byte for byte: one thread a connection.
final class RawServer: Sendable {
    let port: UInt16
    private let listener: Int32
    private let count = Lock(0)

    /// How many connections were made.
    var connections: Int { count.withLock { $0 } }

    init(_ script: @escaping @Sendable (RawConnection) -> Void) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 64) == 0
                    && getsockname(listener, $0, &length) == 0
            }
        }
        guard listener >= 0, isBound else { throw POSIXError(.EADDRINUSE) }
        self.listener = listener
        port = UInt16(bigEndian: address.sin_port)
        let count = count
        Thread {
            while case let descriptor = accept(listener, nil, nil), descriptor >= 0 {
                count.withLock { $0 += 1 }
                Thread {
                    script(RawConnection(descriptor: descriptor))
                    close(descriptor)
                }.start()
            }
            // Closed here alone: a number that is free again may be the listener of the next server by now.
            close(listener)
        }.start()
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }
}

/// The server's end of one connection.
final class RawConnection: Sendable {
    private let descriptor: Int32

    init(descriptor: Int32) { self.descriptor = descriptor }

    /// Reads a request to the end of its head and as many bytes of a body as content-length says; nil at
    /// the end.
    func request() -> String? {
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
            var buffer = [UInt8](repeating: 0, count: 4096)
            let received = recv(descriptor, &buffer, buffer.count, 0)
            guard received > 0 else { return nil }
            bytes.append(contentsOf: buffer[..<received])
        }
    }

    /// Sends a text; false if the peer is gone or takes nothing for `patience`.
    @discardableResult
    func send(_ text: String, patience: Double = 30) -> Bool {
        sendCounting(Array(text.utf8), patience: patience) == text.utf8.count
    }

    /// Sends bytes until the peer takes none for `patience` seconds; returns how many went out.
    func sendCounting(_ bytes: [UInt8], patience: Double) -> Int {
        var time = timeval(
            tv_sec: Int(patience), tv_usec: Int((patience - patience.rounded(.down)) * 1_000_000))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
        var sent = 0
        while sent < bytes.count {
            let result = bytes[sent...].withUnsafeBytes { rest in
                Glibc.send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
            }
            guard result > 0 else { break }
            sent += result
        }
        return sent
    }

    func chunk(_ text: String) {
        send("\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n")
    }

    /// Returns once the peer has closed its end.
    func waitForHangUp() {
        var byte: UInt8 = 0
        while recv(descriptor, &byte, 1, 0) > 0 {}
    }
}

extension String {
    static let chunkedHead =
        "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
}
