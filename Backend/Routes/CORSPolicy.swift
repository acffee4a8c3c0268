import PowerSyncHTTP

/// Which web pages may call the backend (backend 7, number 18); programs that are no browsers are unaffected.
package struct CORSPolicy: Sendable, Hashable {
    /// The origins, such as `https://app.example.com`; `*` is any.
    package let origins: Set<String>

    /// Makes a policy of the origins allowed.
    package init(origins: [String]) { self.origins = Set(origins) }

    /// Adds what a browser needs to let the page have the answer.
    ///
    /// - Parameters:
    ///   - response: the answer.
    ///   - request: the request.
    package func apply(to response: inout HTTPResponse, for request: HTTPRequest) {
        guard !origins.isEmpty else { return }
        let vary = response.fields["vary"].map { $0 + ", Origin" } ?? "Origin"
        response.fields["vary"] = vary
        guard let origin = request.fields["origin"] else { return }
        guard origins.contains("*") || origins.contains(origin) else { return }
        response.fields["access-control-allow-origin"] = origins.contains("*") ? "*" : origin
        response.fields["access-control-expose-headers"] = "retry-after, x-request-id"
        guard request.method == "OPTIONS" else { return }
        response.fields["access-control-allow-methods"] = "GET, POST, PUT, PATCH, DELETE"
        response.fields["access-control-allow-headers"] =
            "authorization, content-type, idempotency-key, x-request-id"
        response.fields["access-control-max-age"] = "600"
    }
}
