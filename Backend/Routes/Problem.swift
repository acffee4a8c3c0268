import PowerSyncHTTP
import PowerSyncWire

/// An answer that is no success, as RFC 9457 spells it, with what older clients read as `message` (backend
/// 1.7).
package struct Problem: Error, Sendable, Hashable {
    /// The HTTP status.
    package let status: Int
    /// The end of the type's name.
    package let slug: String
    /// The kind of problem in a few words.
    package let title: String
    /// A stable code.
    package let code: String
    /// What to do about this one, without values.
    package var detail: String?
    /// Whether the same request may succeed later.
    package var isRetryable = false
    /// Seconds after which to come again.
    package var retryAfter: Int?
    /// Members of this kind of problem.
    package var extra: [JSONMember] = []
    /// The value of `WWW-Authenticate`.
    package var challenge: String?
    /// The value of `Allow`.
    package var allow: String?

    /// Makes a problem of its parts; without a code that is the slug in capitals.
    init(
        _ status: Int, _ slug: String, _ title: String, code: String? = nil, detail: String? = nil,
        isRetryable: Bool = false
    ) {
        self.status = status
        self.slug = slug
        self.title = title
        self.detail = detail
        self.isRetryable = isRetryable
        self.code = code ?? slug.uppercased().replacing("-", with: "_")
    }

    /// The body is no JSON.
    package static func malformedJSON(_ detail: String) -> Problem {
        Problem(400, "malformed-json", "Malformed JSON", detail: detail)
    }

    /// The body is JSON, but no upload.
    package static func invalidRequest(_ detail: String) -> Problem {
        Problem(400, "invalid-request", "Invalid request", detail: detail)
    }

    /// What the reader of a body says about it.
    package init(_ error: WireError) {
        switch error.code {
        case .malformedJSON: self = .malformedJSON(error.message)
        case .orderViolation:
            self.init(400, "order-violation", "Invalid request", detail: error.message)
        case .unknownDialect: self.init(400, "unknown-dialect", "Unknown dialect", detail: error.message)
        case .tooLarge: self = .tooLarge(error.message, limit: error.limit ?? 0)
        case .tooManyTransactions:
            self = .tooLarge(error.message, limit: error.limit ?? 0, maxTransactions: error.limit)
        default: self = .invalidRequest(error.message)
        }
    }

    /// There is no valid token.
    ///
    /// - Parameters:
    ///   - detail: what is wrong with it.
    ///   - hasToken: whether there was one at all.
    /// - Returns: the problem.
    package static func unauthenticated(_ detail: String, hasToken: Bool) -> Problem {
        var problem = Problem(401, "unauthenticated", "Unauthenticated", detail: detail, isRetryable: true)
        problem.challenge =
            hasToken
            ? "Bearer realm=\"powersync\", error=\"invalid_token\", error_description=\"\(detail)\""
            : "Bearer realm=\"powersync\""
        return problem
    }

    /// The request names the backend as nobody should who does not mean to attack it, while it is open for development.
    package static let hostNotAllowed = Problem(
        403, "host-not-allowed", "Host not allowed",
        detail:
            "with DEV_TOKENS or DEV_OPEN_UPLOADS this backend answers to localhost, to addresses and to the hosts of "
            + "POWERSYNC_URL and CORS_ORIGINS alone; list the name of this request in DEV_HOSTS if it is meant"
    )

    /// There is no such route.
    package static let noSuchRoute = Problem(404, "no-such-route", "No such route")

    /// The route has other methods.
    package static func methodNotAllowed(_ allowed: [String]) -> Problem {
        var problem = Problem(405, "method-not-allowed", "Method not allowed")
        problem.allow = allowed.joined(separator: ", ")
        return problem
    }

    /// The body came too slowly.
    package static let requestTimeout = Problem(408, "request-timeout", "Request timeout", isRetryable: true)

    /// Something is over a limit.
    package static func tooLarge(_ detail: String, limit: Int, maxTransactions: Int? = nil) -> Problem {
        var problem = Problem(413, "too-large", "Too large", detail: detail)
        problem.extra = [JSONMember("limit", .integer(limit))]
        if let maxTransactions {
            problem.extra.append(JSONMember("max_transactions_hint", .integer(maxTransactions)))
        }
        return problem
    }

    /// The body is of another type.
    package static let unsupportedMediaType = Problem(
        415, "unsupported-media-type", "Unsupported media type", detail: "expected application/json in UTF-8")

    /// The user asks for too much at once.
    ///
    /// - Parameters:
    ///   - detail: of what.
    ///   - code: the code, where it says more than the slug.
    ///   - retryAfter: seconds after which to come again.
    /// - Returns: the problem.
    package static func rateLimited(_ detail: String, code: String? = nil, retryAfter: Int) -> Problem {
        var problem = Problem(
            429, "rate-limited", "Too many requests", code: code, detail: detail, isRetryable: true)
        problem.retryAfter = retryAfter
        return problem
    }

    /// What the HTTP server answers by itself, before there is a route.
    ///
    /// - Parameters:
    ///   - status: the status.
    ///   - detail: what is wrong.
    ///   - retryAfter: seconds after which to come again, where that may help.
    package init(serverStatus status: Int, detail: String, retryAfter: Int) {
        switch status {
        case 408: self = .requestTimeout
        case 413, 414, 431: self.init(status, "too-large", "Too large")
        case 417: self.init(status, "expectation-failed", "Expectation failed")
        case 500: self = .internal
        case 501: self.init(status, "not-implemented", "Not implemented")
        case 503: self = .unavailable("overloaded", "Overloaded", retryAfter: retryAfter)
        case 505: self.init(status, "version-not-supported", "Version not supported")
        default: self.init(status, "invalid-request", "Invalid request")
        }
        self.detail = detail
    }

    /// A mistake of the backend.
    package static let `internal` = Problem(500, "internal", "Internal error", isRetryable: true)

    /// Something that passes.
    ///
    /// - Parameters:
    ///   - slug: `database-unavailable`, `store-unavailable`, `overloaded`, `draining` or `keys-unavailable`.
    ///   - title: the same in words.
    ///   - code: the code, where it says more than the slug.
    ///   - retryAfter: seconds after which to come again.
    /// - Returns: the problem.
    package static func unavailable(_ slug: String, _ title: String, code: String? = nil, retryAfter: Int)
        -> Problem
    {
        var problem = Problem(503, slug, title, code: code, isRetryable: true)
        problem.retryAfter = retryAfter
        return problem
    }

    /// The problem as JSON.
    ///
    /// - Parameter requestID: names the request in logs.
    /// - Returns: the body of the answer.
    package func json(requestID: String) -> JSON {
        var members = [
            JSONMember("type", .string("urn:psb:problem:" + slug)), JSONMember("title", .string(title)),
            JSONMember("status", .integer(status)),
        ]
        if let detail { members.append(JSONMember("detail", .string(detail))) }
        members += [
            JSONMember("instance", .string(requestID)), JSONMember("retryable", .bool(isRetryable)),
            JSONMember("code", .string(code)), JSONMember("message", .string(title)),
        ]
        return .object(members + extra)
    }

    /// The problem as one of several answers, which have no fields of their own: it says itself when to come again.
    ///
    /// - Parameter requestID: names the request in logs.
    /// - Returns: the item of the body.
    package func item(requestID: String) -> JSON {
        var problem = self
        if let retryAfter { problem.extra.append(JSONMember("retryAfter", .integer(retryAfter))) }
        return problem.json(requestID: requestID)
    }

    /// The problem as an answer.
    ///
    /// - Parameter requestID: names the request in logs.
    /// - Returns: the answer.
    package func response(requestID: String) -> HTTPResponse {
        var response = HTTPResponse(status: status, body: .bytes(json(requestID: requestID).utf8))
        response.fields["content-type"] = "application/problem+json"
        response.fields["cache-control"] = "no-store"
        if let retryAfter { response.fields["retry-after"] = String(retryAfter) }
        if let challenge { response.fields["www-authenticate"] = challenge }
        if let allow { response.fields["allow"] = allow }
        return response
    }
}
