import PowerSyncSystem

/// Holds up who shows many credentials that are no good (backend 7, number 20): in each process for itself.
package final class FailedCredentials: Sendable {
    private let limit: RateLimit<[UInt8]>

    /// Makes a count of nothing.
    ///
    /// - Parameter perMinute: how many a client may show; 0 sets no limit.
    package init(perMinute: Int) { limit = RateLimit(perMinute: perMinute) }

    /// How many clients are remembered.
    package var clients: Int { limit.count }

    /// Tells whether a client has shown too many.
    ///
    /// - Parameters:
    ///   - client: who; nil, where a handler is called without a connection, is nobody.
    ///   - now: seconds of any clock.
    /// - Returns: what to answer in place of looking at what is shown; nil if it may be looked at.
    package func barrier(for client: IPAddress?, now: Double) -> Problem? {
        guard let client, let seconds = limit.wait(Self.name(of: client), now) else { return nil }
        return .rateLimited("too many credentials of this client were no good", retryAfter: seconds)
    }

    /// Counts an answer to what a client has shown.
    ///
    /// A token that has expired does not count: a phone that wakes up shows one, too, and nobody guesses those.
    ///
    /// - Parameters:
    ///   - problem: the answer.
    ///   - client: who has shown it.
    ///   - now: seconds of any clock.
    package func count(_ problem: Problem, of client: IPAddress?, now: Double) {
        guard problem.status == 401, problem.code != Problem.CredentialsCode.tokenExpired.rawValue, let client
        else { return }
        limit.take(Self.name(of: client), now)
    }

    /// Whoever has an address of version 6 has the 64 bits behind its prefix, too.
    private static func name(of client: IPAddress) -> [UInt8] {
        let bytes = client.unmapped.bytes
        return bytes.count == 16 ? Array(bytes[..<8]) : bytes
    }
}
