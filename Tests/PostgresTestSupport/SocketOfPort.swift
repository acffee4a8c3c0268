#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A TCP socket of this process, found by the port at its own end, as `inet_client_port()` tells it.
package struct SocketOfPort {
    /// The socket.
    package let descriptor: Int32

    /// Finds the socket; nil if there is none.
    package init?(_ port: Int) {
        let found = (0..<Int32(getdtablesize())).first { descriptor in
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let status = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    getsockname(descriptor, $0, &length)
                }
            }
            return status == 0 && address.sin_family == sa_family_t(AF_INET)
                && UInt16(bigEndian: address.sin_port) == port
        }
        guard let found else { return nil }
        descriptor = found
    }

    /// Returns what an option of the socket is set to; nil if the system does not know it.
    package func option(_ level: Int32, _ name: Int32) -> Int32? {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, level, name, &value, &length) == 0 ? value : nil
    }
}
