import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The two sockets of a connection through a proxy, closed with the last reference: until then nobody else's have their
/// numbers.
package final class RelayedConnection: Sendable {
    package let client: Int32
    package let server: Int32

    /// Takes two sockets over.
    package init(client: Int32, server: Int32) {
        self.client = client
        self.server = server
    }

    deinit {
        close(client)
        close(server)
    }

    /// Ends both sides, which wakes whoever waits for them.
    package func cut() {
        shutdown(client, Int32(SHUT_RDWR))
        shutdown(server, Int32(SHUT_RDWR))
    }

    /// Reads the first message of the client, whole, which has no letter; a wish for encryption is declined.
    func opening() -> [UInt8]? {
        var bytes: [UInt8] = []
        while true {
            while bytes.count < 8 {
                guard let more = receive(from: client) else { return nil }
                bytes += more
            }
            // SSLRequest and GSSENCRequest.
            let code = bytes[4..<8].reduce(0) { $0 << 8 | Int($1) }
            guard code == 80_877_103 || code == 80_877_104 else {
                let length = bytes[0..<4].reduce(0) { $0 << 8 | Int($1) }
                while bytes.count < length {
                    guard let more = receive(from: client) else { return nil }
                    bytes += more
                }
                return bytes
            }
            bytes.removeFirst(8)
            guard send([UInt8(ascii: "N")], to: client) else { return nil }
        }
    }

    /// Reads what has arrived, waiting for it; nil at the end.
    package func receive(from descriptor: Int32) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while Self.wait(descriptor, POLLIN) {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count > 0 { return Array(buffer[..<count]) }
            guard count < 0, errno == EAGAIN || errno == EINTR else { return nil }
        }
        return nil
    }

    /// Sends all bytes; false if the other side is gone.
    package func send(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let result = bytes[sent...].withUnsafeBytes { sendWithoutSignal(descriptor, $0) }
            if result > 0 {
                sent += result
            } else {
                guard errno == EAGAIN || errno == EINTR, Self.wait(descriptor, POLLOUT) else { return false }
            }
        }
        return true
    }

    /// Waits until something can be done with a socket; false when it cannot be waited for.
    package static func wait(_ descriptor: Int32, _ events: Int32) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        return poll(&request, 1, -1) > 0
    }
}

private func sendWithoutSignal(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    #if os(Linux)
        send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    #else
        // The sockets of `TCPSocket` have SO_NOSIGPIPE set.
        send(descriptor, bytes.baseAddress, bytes.count, 0)
    #endif
}
