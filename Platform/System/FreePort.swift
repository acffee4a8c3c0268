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
    /// Asks the system for a free TCP port.
    ///
    /// - Parameter host: The address to listen on, or a name of it.
    /// - Returns: The port; another program may take it before the caller does, which then finds it in use.
    /// - Throws: `SystemError` with `.socket` when the address is not one of this machine, or no port is free.
    package static func find(host: String = "127.0.0.1") throws(SystemError) -> Int {
        let (descriptor, port) = try TCPSocket.listen(host: host)
        close(descriptor)
        return port
    }
}
