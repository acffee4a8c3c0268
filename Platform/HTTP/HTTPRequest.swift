import PowerSyncSystem

/// The head of a request.
package struct HTTPRequest: Sendable {
    /// The method, in upper case for every method that is known.
    package var method: String
    /// The target as it was sent: "/path?query", an absolute URL, or "*".
    package var target: String
    /// The header fields.
    package var fields: HTTPFields
    /// The other end of the connection that the request came by: a proxy's address where one stands before the server.
    ///
    /// The server sets it from the accepted socket; nil where a handler is called without one.
    package var peer: IPAddress?

    /// Creates a request.
    package init(method: String, target: String, fields: HTTPFields = [:], peer: IPAddress? = nil) {
        self.method = method
        self.target = target
        self.fields = fields
        self.peer = peer
    }

    /// The percent-decoded path; "*" for a question about the whole server.
    ///
    /// An encoded slash becomes a slash. A path whose encoding is broken stays as sent; the server's parser
    /// rejects such targets.
    package var path: String {
        let path = rawPath
        return PercentEncoding.decode(path) ?? String(path)
    }

    /// The decoded pairs of the query in their order; "+" is a space, a pair without "=" has an empty value.
    package var query: [(name: String, value: String)] {
        guard let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) else { return [] }
        return PercentEncoding.decodeForm(target[target.utf8.index(after: mark)...])
    }

    /// Returns the first value of a name in the query.
    package func queryValue(_ name: String) -> String? {
        query.first { $0.name == name }?.value
    }

    /// The path as sent, without the scheme and authority of an absolute target (RFC 9112 3.2.2): with the slashes apart that
    /// were encoded.
    package var rawPath: Substring {
        var path = target[...]
        if let mark = path.utf8.firstIndex(of: UInt8(ascii: "?")) { path = path[..<mark] }
        if path.utf8.first == UInt8(ascii: "/") { return path }
        for scheme in ["http://", "https://"] where path.asciiLowercased.hasPrefix(scheme) {
            let rest = path.dropFirst(scheme.count)
            return rest.firstIndex(of: "/").map { rest[$0...] } ?? "/"
        }
        return path
    }
}
