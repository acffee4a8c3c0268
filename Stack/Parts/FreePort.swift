#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Ports that nobody uses.
package enum FreePort {
    /// Asks the kernel for a free port of an IPv4 address.
    ///
    /// - Parameter host: a numeric address; any other host is asked for on 127.0.0.1.
    /// - Returns: the port; somebody else may take it before we do, which then says so.
    /// - Throws: `StackError` if the kernel gives none.
    package static func find(host: String) throws -> Int {
        #if os(Linux)
            let stream = Int32(SOCK_STREAM.rawValue)
        #else
            let stream = SOCK_STREAM
        #endif
        let descriptor = socket(AF_INET, stream, 0)
        guard descriptor >= 0 else { throw StackError(.file, "no socket can be made (too many open files?)") }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        if inet_pton(AF_INET, host, &address.sin_addr) != 1 {
            inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        }
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, length) == 0 && getsockname(descriptor, pointer, &length) == 0
            }
        }
        guard result else { throw StackError(.file, "no free port was found on \(host)") }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    /// The host as it stands in a URL for clients on this machine.
    package static func urlHost(_ host: String) -> String {
        if host == "0.0.0.0" || host == "::" || host.isEmpty { return "127.0.0.1" }
        return host.contains(":") ? "[\(host)]" : host
    }
}
