import PowerSyncHTTP

/// What a request asks for (backend 1.4).
package enum Route: Sendable, Hashable {
    /// `POST /api/data` and `/api/v1/upload`.
    case upload
    /// `PUT`, `PATCH`, `DELETE /api/data`: one operation, named by the method.
    case operation(String)
    /// `PUT /api/data/checkpoint`: the server counts.
    case checkpoint
    /// `POST /api/data/checkpoint-request`: the client counts.
    case checkpointRequest
    /// `GET`, `POST /api/auth/token`.
    case token
    /// `GET /api/auth/keys`.
    case keys
    /// `GET /api/capabilities`.
    case capabilities
    /// `GET /`.
    case greeting
    /// `GET /healthz`.
    case liveness
    /// `GET /readyz`.
    case readiness
    /// `GET /startupz`.
    case startup
    /// `GET /api/v1/rejections`: what of the caller's was refused.
    case rejections
    /// `POST /api/v1/rejections/{id}/ack`: the caller has seen it.
    case acknowledgement(String)
    /// One about attachments.
    case attachment(AttachmentRoute)
    /// `/api/v1/blobs/…`: bytes of a store that the backend serves itself, by a URL that is signed for its method.
    case blob
    /// `OPTIONS` of a route: a browser asks first.
    case preflight

    /// The routes of paths that hold no id, by path and method.
    package static let table: [String: [String: Route]] = {
        var table: [String: [String: Route]] = [
            "/": ["GET": .greeting],
            "/api/data": [
                "POST": .upload, "PUT": .operation("PUT"), "PATCH": .operation("PATCH"),
                "DELETE": .operation("DELETE"),
            ],
            "/api/v1/upload": ["POST": .upload],
            "/api/data/checkpoint": ["PUT": .checkpoint],
            "/api/data/checkpoint-request": ["POST": .checkpointRequest],
            "/api/auth/token": ["GET": .token, "POST": .token],
            "/api/auth/keys": ["GET": .keys],
            "/.well-known/jwks.json": ["GET": .keys],
            "/api/capabilities": ["GET": .capabilities],
        ]
        for (route, paths) in [
            Route.liveness: ["/healthz", "/probes/liveness"], .readiness: ["/readyz", "/probes/readiness"],
            .startup: ["/startupz", "/probes/startup"],
        ] {
            for path in paths { table[path] = ["GET": route] }
        }
        return table
    }()

    /// Which routes there are only where somebody has asked for them.
    package struct Options: Sendable, Hashable {
        /// Whether the routes of custom checkpoints exist.
        package var hasCheckpoints = false
        /// Whether those of attachments exist.
        package var hasAttachments = false
        /// Whether those of signed URLs exist.
        package var hasBlobs = false
        /// Whether those of rejections exist.
        package var hasRejections = false

        /// Makes options of none.
        package init() {}
    }

    /// Finds the route of a request, ids within its path included.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - options: which routes there are.
    /// - Returns: the route.
    /// - Throws: `Problem` 404 or 405, 400 for what can be no id.
    package static func find(_ request: HTTPRequest, _ options: Options) throws(Problem) -> Route {
        if options.hasAttachments,
            let route = try AttachmentRoute.find(method: request.method, path: request.rawPath)
        {
            return route
        }
        let names = request.path.split(separator: "/")
        if options.hasBlobs, names.count > 3, names[..<3].elementsEqual(["api", "v1", "blobs"]) {
            // The signature says which method it is for, of all that there may be.
            return request.method == "OPTIONS" ? .preflight : .blob
        }
        if options.hasRejections, let methods = methodsOfRejections(names) {
            return try one(of: methods, method: request.method)
        }
        return try find(method: request.method, path: request.path, hasCheckpoints: options.hasCheckpoints)
    }

    /// Finds the route of a request that has no id in its path; a slash too many does not matter, and nothing is ever
    /// redirected.
    ///
    /// - Parameters:
    ///   - method: the HTTP method; HEAD is GET without a body.
    ///   - path: the decoded path.
    ///   - hasCheckpoints: whether the routes of custom checkpoints exist.
    /// - Returns: the route.
    /// - Throws: `Problem` 404 or 405.
    package static func find(method: String, path: String, hasCheckpoints: Bool) throws(Problem) -> Route {
        let name = "/" + path.split(separator: "/").joined(separator: "/")
        guard let methods = table[name], hasCheckpoints || !name.hasPrefix("/api/data/") else {
            throw .noSuchRoute
        }
        return try one(of: methods, method: method)
    }

    /// The methods of a path of rejections; nil if it is none.
    ///
    /// What can be no id of one is no mistake in the request: there is none of it, as of others that are not there.
    private static func methodsOfRejections(_ names: [Substring]) -> [String: Route]? {
        guard names.starts(with: ["api", "v1", "rejections"]) else { return nil }
        return switch names.count {
        case 3: ["GET": .rejections]
        case 5 where names[4] == "ack": ["POST": .acknowledgement(String(names[3]))]
        default: nil
        }
    }

    /// Chooses among the methods of a path.
    static func one(of methods: [String: Route], method: String) throws(Problem) -> Route {
        if method == "OPTIONS" { return .preflight }
        guard let route = methods[method == "HEAD" ? "GET" : method] else {
            throw .methodNotAllowed(
                (methods.keys + (methods["GET"] == nil ? [] : ["HEAD"]) + ["OPTIONS"]).sorted())
        }
        return route
    }

    /// The name in logs: never the path, which is the client's text.
    package var name: String {
        switch self {
        case .operation(let method): "operation." + method.lowercased()
        case .attachment(let route): "attachment." + route.name
        case .acknowledgement: "rejections.ack"
        default: kind.rawValue
        }
    }
}
