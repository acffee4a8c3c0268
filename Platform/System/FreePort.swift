import CPowerSyncSystem

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Ports that nobody uses.
package enum FreePort {
    /// Looks for a free TCP port.
    ///
    /// It is one below those that the system gives to whoever connects, or listens without naming one, as long as some of
    /// those are free: there only somebody who asks for it by its number takes it meanwhile.
    ///
    /// - Parameter host: The address to listen on, or a name of it.
    /// - Returns: The port; another program may take it before the caller does, which then finds it in use.
    /// - Throws: `SystemError` with `.socket` when the address is not one of this machine, or no port is free.
    package static func find(host: String = "127.0.0.1") throws(SystemError) -> Int {
        for _ in 0..<16 {
            // Nil where it is taken.
            guard let (descriptor, port) = try? TCPSocket.listen(host: host, port: Int.random(in: named))
            else {
                continue
            }
            close(descriptor)
            return port
        }
        let (descriptor, port) = try TCPSocket.listen(host: host)
        close(descriptor)
        return port
    }

    /// Linux gives away those from 32,768 on by itself (ip_local_port_range), others those from 49,152 on (RFC 6335, 6).
    static let named = 20_000..<32_768
}
