import CPowerSyncSystem

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// TCP sockets as plain descriptors, non-blocking and closed in children; the caller closes them.
package enum TCPSocket {
    /// Listens.
    ///
    /// - Parameters:
    ///   - host: The address, or a name of it.
    ///   - port: 0 for any free one.
    ///   - backlog: How many connections may wait to be accepted.
    /// - Returns: The listening socket and its port.
    /// - Throws: `SystemError` with `.socket`.
    package static func listen(
        host: String = "127.0.0.1", port: Int = 0, backlog: Int = 64
    ) throws(SystemError) -> (descriptor: Int32, port: Int) {
        var taken = Int32(port)
        let descriptor = try SystemError.check(
            powersync_listen(host, &taken, Int32(backlog)), .socket, "cannot listen on \(host)")
        return (descriptor, Int(taken))
    }

    /// Returns the next connection that has arrived; nil when there is none now.
    ///
    /// - Throws: `SystemError` with `.socket`, for example when no descriptor is left.
    package static func accept(_ listener: Int32) throws(SystemError) -> Int32? {
        try acceptWithPeer(listener)?.descriptor
    }

    /// Returns the next connection that has arrived and the address of who made it; nil when there is none now.
    ///
    /// The peer of version 4 is told as such, also by a listener for both versions. It is nil for a socket that is none of the
    /// Internet Protocol.
    ///
    /// - Throws: As `accept`.
    package static func acceptWithPeer(
        _ listener: Int32
    ) throws(SystemError) -> (descriptor: Int32, peer: IPAddress?)? {
        var address = sockaddr_storage()
        while true {
            let descriptor = powersync_accept(listener, &address)
            if descriptor >= 0 {
                let peer = withUnsafePointer(to: &address) { pointer in
                    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { IPAddress($0)?.unmapped }
                }
                return (descriptor, peer)
            }
            switch -descriptor {
            case EAGAIN: return nil
            // The client has left before it was accepted (accept(2), "Error handling").
            case EINTR, ECONNABORTED, EPROTO, ENETDOWN, EHOSTDOWN, EHOSTUNREACH, ENETUNREACH, EPERM: continue
            default: throw SystemError(.socket, "cannot accept a connection", errno: -descriptor)
            }
        }
    }

    /// Begins to connect; the socket becomes writable when that has come to an end.
    ///
    /// - Parameters:
    ///   - address: A numeric IPv4 address.
    ///   - port: The port.
    ///   - configure: Gets the socket before it connects, to set its options.
    /// - Returns: The socket.
    /// - Throws: `SystemError` with `.socket`.
    package static func connect(
        address: String = "127.0.0.1", port: Int, configure: (Int32) -> Void = { _ in }
    ) throws(SystemError) -> Int32 {
        guard let number = UInt16(exactly: port) else {
            throw SystemError(.socket, "\(port) is no port")
        }
        #if os(Linux)
            let stream = Int32(SOCK_STREAM.rawValue)
        #else
            let stream = SOCK_STREAM
        #endif
        let descriptor = try SystemError.check(
            powersync_socket(AF_INET, stream), .socket, "cannot make a socket")
        configure(descriptor)
        var target = sockaddr_in()
        target.sin_family = sa_family_t(AF_INET)
        target.sin_port = number.bigEndian
        guard inet_pton(AF_INET, address, &target.sin_addr) == 1 else {
            close(descriptor)
            throw SystemError(.socket, "\(address) is no numeric address")
        }
        let result = withUnsafePointer(to: &target) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                systemConnect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 || errno == EINPROGRESS else {
            let reason = errno
            close(descriptor)
            throw SystemError(.socket, "cannot connect to port \(port)", errno: reason)
        }
        return descriptor
    }
}

/// Outside of the type, whose own `connect` hides the function.
private func systemConnect(
    _ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t
) -> Int32 {
    connect(descriptor, address, length)
}
