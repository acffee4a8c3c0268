import PowerSyncSystem

/// The names under which a backend answers while it takes anybody for whom he says he is (backend 7, number 33).
///
/// The owner of a name can have it lead to this machine (DNS rebinding). To the browser a page of that name is then of one
/// origin with the backend: it asks for no permission, and no rule of CORS applies. What such a page cannot change is the
/// name in its requests. Addresses cannot be led elsewhere, and programs that send no name are no browsers.
package struct HostPolicy: Sendable, Hashable {
    private let names: Set<String>

    /// Makes a policy.
    ///
    /// - Parameters:
    ///   - names: names that are allowed beside those of this machine.
    ///   - urls: URLs or origins whose names are allowed, too.
    package init(names: [String] = [], urls: [String] = []) {
        self.names = Set(names.compactMap(HostPolicy.name) + urls.compactMap(HostPolicy.host(ofURL:)))
    }

    /// Whether a request may be answered.
    ///
    /// - Parameter host: its field `Host`, which HTTP/1.0 leaves out.
    /// - Returns: false for names of others.
    package func allows(_ host: String?) -> Bool {
        guard let host, !host.isEmpty else { return true }
        guard let name = HostPolicy.name(host) else { return false }
        return name == "localhost" || name.hasSuffix(".localhost") || IPAddress(name) != nil
            || names.contains(name)
    }

    /// Returns the name or address of a host without its port, in one spelling; nil for what is neither.
    package static func name(_ host: String) -> String? {
        var name: Substring
        let port: Substring
        if host.hasPrefix("[") {
            guard let end = host.firstIndex(of: "]") else { return nil }
            name = host[host.index(after: host.startIndex)..<end]
            port = host[host.index(after: end)...]
            guard name.contains(":"), IPAddress(String(name)) != nil else { return nil }
        } else {
            name = host.prefix { $0 != ":" }
            port = host[name.endIndex...]
            if name.hasSuffix(".") { name.removeLast() }
        }
        let digits = port.utf8.dropFirst()
        guard
            port.isEmpty
                || port.hasPrefix(":") && digits.count <= 5
                    && digits.allSatisfy({ (0x30...0x39).contains($0) }),
            !name.isEmpty, name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") })
        else { return nil }
        return name.lowercased()
    }

    private static func host(ofURL url: String) -> String? {
        guard let scheme = url.firstRange(of: "://") else { return nil }
        let authority = url[scheme.upperBound...].prefix { !["/", "?", "#"].contains($0) }
        return name(String(authority.split(separator: "@").last ?? ""))
    }
}
