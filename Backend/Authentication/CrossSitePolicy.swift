/// Keeps pages of other sites from acting by a cookie that the browser sends along, to the backend or to the proxy
/// whose word it takes (backend 7, number 19).
package struct CrossSitePolicy: Sendable, Hashable {
    private let origins: Set<String>

    /// Makes a policy.
    ///
    /// - Parameter origins: the pages that may act beside those of the backend's own host.
    package init(origins: [String]) { self.origins = Set(origins) }

    /// Refuses what a page of another site may have sent.
    ///
    /// A page can send `X-Requested-With` to another origin only where `CORSPolicy` allows it. A request without
    /// `Origin` is of the same origin, or of no page.
    ///
    /// - Parameter credentials: what the request shows.
    /// - Throws: `Problem` 403 `cross-site`.
    package func check(_ credentials: Credentials) throws(Problem) {
        guard credentials.isMarked else { throw .crossSite }
        guard let origin = credentials.origin else { return }
        guard origins.contains(origin) || Self.isSame(origin, credentials.host) else { throw .crossSite }
    }

    /// Refuses what a page of another site has sent, as far as a browser tells, where a proxy may have read a cookie.
    ///
    /// Programs that are no browsers go by the same proxy, and send nothing of this. The proxy may have changed `Host`,
    /// so what the browser says of the page's own origin counts first.
    ///
    /// - Parameter credentials: what the request shows.
    /// - Throws: `Problem` 403 `cross-site`.
    package func checkPage(_ credentials: Credentials) throws(Problem) {
        if let site = credentials.site, ["same-origin", "none"].contains(site) { return }
        guard let origin = credentials.origin else {
            guard credentials.site == nil else { throw .crossSite }
            return
        }
        guard origins.contains(origin) || Self.isSame(origin, credentials.host) else { throw .crossSite }
    }

    /// Whether an origin is a page of the host that the request is for, on the same port.
    private static func isSame(_ origin: String, _ host: String?) -> Bool {
        guard let host else { return false }
        for (scheme, port) in [("https://", ":443"), ("http://", ":80")]
        where origin.utf8.starts(with: scheme.utf8) {
            func authority(_ text: Substring) -> String {
                let name = text.lowercased()
                return name.hasSuffix(port) ? String(name.dropLast(port.count)) : name
            }
            return !host.isEmpty
                && authority(Substring(origin.utf8.dropFirst(scheme.utf8.count))) == authority(host[...])
        }
        return false
    }
}
