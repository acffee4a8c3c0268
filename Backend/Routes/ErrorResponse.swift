import PowerSyncHTTP
import PowerSyncPostgres
import PowerSyncSystem

/// The one place where errors become answers (backend 1.7).
package enum ErrorResponse {
    /// Returns the problem that an error is.
    ///
    /// - Parameters:
    ///   - error: what a route threw.
    ///   - bodyLimit: the most bytes of a body.
    ///   - retryAfter: seconds after which a client should come again, drawn by chance so that they do not
    ///   all at once.
    /// - Returns: the problem.
    package static func problem(for error: any Error, bodyLimit: Int, retryAfter: Int) -> Problem {
        switch error {
        case let problem as Problem: return problem
        case let error as HTTPError where error.code == .overloaded:
            return .unavailable("overloaded", "Overloaded", retryAfter: retryAfter)
        case let error as HTTPError where error.code == .cut: return cutShort(retryAfter)
        case let error as HTTPError: return body(error, bodyLimit)
        case let refusal as Budget.Refusal:
            return refusal == .lineIsFull
                ? .rateLimited("too many uploads of this user wait", retryAfter: retryAfter)
                : .unavailable("overloaded", "Overloaded", retryAfter: retryAfter)
        case is DeadLetterQuota.Exhausted:
            return .rateLimited(
                "the refused writes of this user must be seen to first", code: "DEAD_LETTER_QUOTA",
                retryAfter: 60)
        case let failure as UploadFailure where failure.code == BackendSchema.userDisabledCode:
            return .accountDisabled
        case let error as PostgresError where error.sqlstate == BackendSchema.userDisabled:
            return .accountDisabled
        case let failure as UploadFailure:
            return failure.isBug ? .internal : unavailable(code: failure.code, retryAfter)
        case let error as PostgresError:
            let verdict = DatabaseVerdict(error)
            return verdict.kind == .bug ? .internal : unavailable(code: verdict.code, retryAfter)
        case is CancellationError: return cutShort(retryAfter)
        default: return .internal
        }
    }

    private static func body(_ error: HTTPError, _ limit: Int) -> Problem {
        switch error.code {
        case .bodyTooLarge: .tooLarge("a body has at most \(limit) bytes", limit: limit)
        case .bodyTimeout: .requestTimeout
        default: .invalidRequest("the body did not arrive whole")
        }
    }

    /// The server stops, or the connection has ended: neither is a mistake in what the client sent.
    private static func cutShort(_ retryAfter: Int) -> Problem {
        .unavailable("draining", "The request was cut short", retryAfter: retryAfter)
    }

    private static func unavailable(code: String, _ retryAfter: Int) -> Problem {
        code == "DATABASE_OVERLOADED"
            ? .unavailable("overloaded", "Overloaded", code: code, retryAfter: retryAfter)
            : .unavailable("database-unavailable", "Database unavailable", code: code, retryAfter: retryAfter)
    }
}
