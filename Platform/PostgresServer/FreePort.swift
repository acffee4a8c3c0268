#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A TCP port of 127.0.0.1 that nobody uses at this moment; another program may take it before we do.
func freePort() throws(PostgresServerError) -> Int {
    #if canImport(Glibc)
        let stream = Int32(SOCK_STREAM.rawValue)
    #else
        let stream = SOCK_STREAM
    #endif
    let descriptor = socket(AF_INET, stream, 0)
    defer { if descriptor >= 0 { close(descriptor) } }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
            descriptor < 0
                ? -1 : bind(descriptor, generic, length) | getsockname(descriptor, generic, &length)
        }
    }
    guard status == 0 else {
        throw PostgresServerError(.notStarted, "no free port was found: \(String(cString: strerror(errno)))")
    }
    return Int(UInt16(bigEndian: address.sin_port))
}
