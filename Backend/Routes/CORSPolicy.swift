import PowerSyncHTTP

/// Which web pages may call the backend (backend 7, number 18); programs that are no browsers are unaffected.
package struct CORSPolicy: Sendable, Hashable {
    /// The origins, such as `https://app.example.com`; `*` is any.
    package let origins: Set<String>

    /// Whether pages that this machine serves may call, on any port: for development alone.
    package let allowsLoopback: Bool

    /// Whether pages of the origins may send cookies; those of any (`*`) or of this machine never may.
    package let allowsCredentials: Bool

    /// Makes a policy.
    ///
    /// - Parameters:
    ///   - origins: the origins allowed.
    ///   - allowsLoopback: whether `http://localhost` and `http://127.0.0.1` are, on any port.
    ///   - allowsCredentials: whether pages of `origins` may send cookies.
    package init(origins: [String], allowsLoopback: Bool = false, allowsCredentials: Bool = false) {
        self.origins = Set(origins)
        self.allowsLoopback = allowsLoopback
        self.allowsCredentials = allowsCredentials
    }

    /// Adds what a browser needs to let the page have the answer.
    ///
    /// - Parameters:
    ///   - response: the answer.
    ///   - request: the request.
    package func apply(to response: inout HTTPResponse, for request: HTTPRequest) {
        guard !origins.isEmpty || allowsLoopback else { return }
        let vary = response.fields["vary"].map { $0 + ", Origin" } ?? "Origin"
        response.fields["vary"] = vary
        guard let origin = request.fields["origin"] else { return }
        guard origins.contains("*") || origins.contains(origin) || allowsLoopback && isLoopback(origin)
        else { return }
        response.fields["access-control-allow-origin"] = origins.contains("*") ? "*" : origin
        if allowsCredentials, !origins.contains("*"), origins.contains(origin) {
            response.fields["access-control-allow-credentials"] = "true"
        }
        // Also what pages need that transfer attachments by signed URLs (backend 10.3).
        response.fields["access-control-expose-headers"] =
            "retry-after, x-request-id, etag, accept-ranges, content-range, content-disposition"
        guard request.method == "OPTIONS" else { return }
        response.fields["access-control-allow-methods"] = "GET, HEAD, POST, PUT, PATCH, DELETE"
        response.fields["access-control-allow-headers"] =
            "authorization, content-type, idempotency-key, x-request-id, x-requested-with, if-none-match, range, "
            + "x-amz-checksum-sha256"
        response.fields["access-control-max-age"] = "600"
    }

    /// Whether an origin is a page of this machine: nothing may stand behind the name but a port.
    private func isLoopback(_ origin: String) -> Bool {
        for name in ["http://localhost", "http://127.0.0.1"] where origin.utf8.starts(with: name.utf8) {
            let rest = origin.utf8.dropFirst(name.utf8.count)
            if rest.isEmpty { return true }
            let digits = rest.dropFirst()
            return rest.first == UInt8(ascii: ":") && (1...5).contains(digits.count)
                && digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        }
        return false
    }
}
