import PowerSyncSystem

/// Holds up who shows many credentials that are no good (backend 7, number 20): in each process for itself.
///
/// What is good passes: those behind one address, as behind a balancer, may be many, and one of them must not shut
/// out the others.
package final class FailedCredentials: Sendable {
    private let limit: RateLimit<[UInt8]>

    /// Makes a count of nothing.
    ///
    /// - Parameter perMinute: how many a client may show; 0 sets no limit.
    package init(perMinute: Int) { limit = RateLimit(perMinute: perMinute) }

    /// How many clients are remembered.
    package var clients: Int { limit.count }

    /// Counts what a client has shown, and says what to answer.
    ///
    /// A token that has expired does not count: a phone that wakes up shows one, too, and nobody guesses those.
    ///
    /// - Parameters:
    ///   - problem: what is wrong with it.
    ///   - client: who has shown it; nil, where a handler is called without a connection, is nobody.
    ///   - now: seconds of any clock.
    /// - Returns: the problem; 429 in place of a 401 that counts, for whoever has shown too many.
    package func answer(to problem: Problem, of client: IPAddress?, now: Double) -> Problem {
        guard problem.status == 401, problem.code != Problem.CredentialsCode.tokenExpired.rawValue,
            let client,
            let seconds = limit.take(Self.name(of: client), now)
        else { return problem }
        return .rateLimited("too many credentials of this client were no good", retryAfter: seconds)
    }

    /// Whoever has an address of version 6 has the 64 bits behind its prefix, too.
    private static func name(of client: IPAddress) -> [UInt8] {
        let bytes = client.unmapped.bytes
        return bytes.count == 16 ? Array(bytes[..<8]) : bytes
    }
}
