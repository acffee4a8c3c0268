#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A numeric address of the Internet Protocol, version 4 or 6.
package struct IPAddress: Sendable, Hashable, CustomStringConvertible {
    /// Four bytes or sixteen, as they are sent.
    package let bytes: [UInt8]
    /// The number of the interface that a link-local address belongs to; 0 where none was named.
    package let scope: UInt32

    init(bytes: [UInt8], scope: UInt32 = 0) {
        self.bytes = bytes
        self.scope = scope
    }

    /// Reads the usual text of an address: four decimal numbers, or the form of RFC 4291 2.2 with or without `%` and an
    /// interface.
    ///
    /// Nil for everything else, also for forms that only some functions of the system take for an address, such as `127.1`
    /// or `0x7f000001`.
    package init?(_ text: String) {
        guard !text.utf8.contains(0) else { return nil }
        var four = in_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            self.init(bytes: withUnsafeBytes(of: four) { [UInt8]($0) })
            return
        }
        let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false).map(
            String.init)
        var scope: UInt32 = 0
        if parts.count == 2 {
            scope = UInt32(parts[1]) ?? if_nametoindex(parts[1])
            guard scope > 0 else { return nil }
        }
        var six = in6_addr()
        guard inet_pton(AF_INET6, parts[0], &six) == 1 else { return nil }
        self.init(bytes: withUnsafeBytes(of: six) { [UInt8]($0) }, scope: scope)
    }

    /// Reads an address of a socket; nil for other families.
    package init?(_ address: UnsafePointer<sockaddr>?) {
        guard let address else { return nil }
        let raw = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            let four = raw.loadUnaligned(as: sockaddr_in.self).sin_addr
            self.init(bytes: withUnsafeBytes(of: four) { [UInt8]($0) })
        case AF_INET6:
            let whole = raw.loadUnaligned(as: sockaddr_in6.self)
            self.init(
                bytes: withUnsafeBytes(of: whole.sin6_addr) { [UInt8]($0) }, scope: whole.sin6_scope_id)
        default: return nil
        }
    }

    /// The text, which functions of the system take for the same address.
    package var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        guard inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return "" }
        let plain = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return scope == 0 ? plain : "\(plain)%\(scope)"
    }

    /// The address of version 4 that a mapped one is (RFC 4291 2.5.5.2), as sockets for both versions have it; every other
    /// address itself.
    package var unmapped: IPAddress {
        let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]
        guard bytes.count == 16, bytes.starts(with: mapped) else { return self }
        return IPAddress(bytes: Array(bytes[12...]))
    }

    /// Whether what is sent to it never leaves this machine (RFC 1122 3.2.1.3, RFC 4291 2.5.3).
    package var isLoopback: Bool {
        let address = unmapped.bytes
        return address.count == 4 ? address[0] == 127 : address == [UInt8](repeating: 0, count: 15) + [1]
    }

    /// Returns whether a host is such an address, or the name of this machine (RFC 6761 6.3).
    ///
    /// - Parameter host: an address or a name, without a port.
    /// - Returns: false for every other name, wherever that leads.
    package static func isLoopback(host: String) -> Bool {
        host == "localhost" || IPAddress(host)?.isLoopback == true
    }

    /// The address itself, and the one of version 4 that stands in it, to which a packet may be sent on.
    ///
    /// That is so for mapped and compatible addresses (RFC 4291 2.5.5), translated ones (RFC 2765 2.1), the prefix of
    /// translators (RFC 6052 2.1) and 6to4 (RFC 3056 2).
    var forms: [IPAddress] {
        guard bytes.count == 16 else { return [self] }
        let zeros = [UInt8](repeating: 0, count: 8)
        if bytes.starts(with: [0x20, 0x02]) { return [self, IPAddress(bytes: Array(bytes[2..<6]))] }
        let holdsFour =
            [[0, 0, 0, 0], [0, 0, 0xFF, 0xFF], [0xFF, 0xFF, 0, 0]].contains { bytes.starts(with: zeros + $0) }
            || bytes.starts(with: [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0])
        return holdsFour ? [self, IPAddress(bytes: Array(bytes[12...]))] : [self]
    }
}
