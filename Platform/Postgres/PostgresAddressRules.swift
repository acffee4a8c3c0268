import PowerSyncSystem

/// Which addresses of a server may be connected to, and whose certificate it must have.
package struct PostgresAddressRules: Sendable, Equatable {
    /// Addresses that are never connected to, whatever name they stand behind.
    ///
    /// Names are looked up once: what was checked is what libpq gets. With any of them a socket of this machine's file system
    /// is refused, too, because it has no address that could be checked.
    package var rejected: IPRanges
    /// The name that the server's certificate must have where that is not the name of the host; it is also the one that the
    /// server is told (SNI), and by which a password file is read.
    package var serverName: String?

    /// Makes rules; without any, everything is as libpq does it.
    package init(rejected: IPRanges = IPRanges(), serverName: String? = nil) {
        self.rejected = rejected
        self.serverName = serverName
    }
}

/// One of the places where a connection text says that the server is (libpq, "Specifying Multiple Hosts").
struct ServerPlace: Equatable {
    /// A name, an address, or the folder of a socket; empty for libpq's default.
    var host: String
    /// The address, where it is given beside the name; else empty.
    var address: String
    /// The port; empty for the default.
    var port: String

    /// Whether it is a socket of the file system.
    var isSocket: Bool { address.isEmpty && (host.isEmpty || host.hasPrefix("/") || host.hasPrefix("@")) }

    /// Returns the places in their order.
    ///
    /// - Parameter options: The effective keywords.
    /// - Returns: At least one place.
    /// - Throws: `PostgresError` (`invalidInput`) if hosts, addresses and ports are not equally many.
    static func all(_ options: [String: String]) throws(PostgresError) -> [ServerPlace] {
        func list(_ keyword: String) -> [String] {
            (options[keyword] ?? "").split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let (hosts, addresses, ports) = (list("host"), list("hostaddr"), list("port"))
        let count = addresses == [""] ? hosts.count : addresses.count
        guard hosts == [""] || hosts.count == count, ports.count == 1 || ports.count == count else {
            throw PostgresError(
                .invalidInput,
                "the connection URI has \(hosts.count) hosts, \(addresses.count) addresses and \(ports.count) ports"
            )
        }
        return (0..<count).map { index in
            ServerPlace(
                host: hosts == [""] ? "" : hosts[index], address: addresses == [""] ? "" : addresses[index],
                port: ports.count == 1 ? ports[0] : ports[index])
        }
    }

    /// Returns the keywords that say the same as the places.
    static func keywords(_ places: [ServerPlace]) -> [(String, String)] {
        [
            ("host", places.map(\.host).joined(separator: ",")),
            ("hostaddr", places.map(\.address).joined(separator: ",")),
            ("port", places.map(\.port).joined(separator: ",")),
        ]
    }
}
