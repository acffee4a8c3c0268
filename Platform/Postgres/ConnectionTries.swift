/// The tries of which the first that succeeds makes a connection: one server each, in their order.
///
/// libpq itself goes to the next of several hosts when one refuses, but not when one says nothing: PQconnectPoll does not
/// heed `connect_timeout`. So it is given one server at a time, and a part of the time for each.
enum ConnectionTries {
    /// Returns the keywords of each try.
    ///
    /// - Parameters:
    ///   - places: Where the server is said to be.
    ///   - options: The effective keywords, of which `target_session_attrs` and `load_balance_hosts` count.
    /// - Returns: As many as there are places, or twice as many.
    static func all(_ places: [ServerPlace], _ options: [String: String]) -> [[(String, String)]] {
        let places = options["load_balance_hosts"] == "random" ? places.shuffled() : places
        let tries = places.map { ServerPlace.keywords([$0]) }
        // libpq's two rounds would both be over at the first server.
        guard options["target_session_attrs"] == "prefer-standby", places.count > 1 else { return tries }
        return ["standby", "any"].flatMap { attributes in
            tries.map { $0 + [("target_session_attrs", attributes)] }
        }
    }

    /// Returns how long all tries together may take: ten seconds unless somebody says otherwise.
    ///
    /// - Parameters:
    ///   - deadline: What the caller allows; nil if that is left to the connection text.
    ///   - tries: How many there are.
    ///   - timeout: What the connection text allows for each, `connect_timeout`.
    /// - Returns: The time.
    static func allowed(_ deadline: Duration?, tries: Int, timeout: Duration?) -> Duration {
        deadline ?? max(.seconds(10), (timeout ?? .zero) * tries)
    }

    /// Returns when a try is over, if it is not the last: then there is time for the others.
    ///
    /// Each gets an equal part of what is left, but not less than a second unless that is more than half.
    ///
    /// - Parameters:
    ///   - now: When it begins.
    ///   - end: When the last one is over.
    ///   - left: How many there are from this one on.
    ///   - timeout: What the connection text allows for each, `connect_timeout`.
    /// - Returns: The moment.
    static func end(
        now: ContinuousClock.Instant, end: ContinuousClock.Instant, left: Int, timeout: Duration?
    ) -> ContinuousClock.Instant {
        let rest = end - now
        let part = left > 1 ? max(rest / left, min(rest / 2, .seconds(1))) : rest
        return now + min(part, timeout ?? part)
    }

    /// Returns the `connect_timeout` of the effective keywords; nil if there is none.
    static func timeout(_ options: [String: String]) -> Duration? {
        guard let seconds = options["connect_timeout"].flatMap({ Int($0) }), seconds > 0 else { return nil }
        return .seconds(seconds)
    }

    /// Whether another server may do what this one did not: it cannot be reached, is not of the kind that was asked for, has
    /// no room or is about to stop.
    ///
    /// Not after a refused password, for example: libpq, too, says that then "the remaining hosts in the list are not tried".
    static func goesOn(after error: PostgresError) -> Bool {
        switch error.code {
        case .connectTimedOut: true
        case .unavailable: error.sqlstate.map { ["08", "53", "57"].contains($0.prefix(2)) } ?? true
        default: false
        }
    }

    /// Returns the one error of all tries.
    ///
    /// - Parameter failures: Of each, at least one.
    /// - Returns: What tells most, with all messages.
    static func failure(_ failures: [PostgresError]) -> PostgresError {
        var messages: [String] = []
        for failure in failures where !messages.contains(failure.message) { messages.append(failure.message) }
        // What a server said tells more than that another said nothing.
        let telling = failures.last { $0.sqlstate != nil } ?? failures.last { $0.code != .connectTimedOut }
        return PostgresError(
            telling?.code ?? .connectTimedOut, messages.joined(separator: "; "), sqlstate: telling?.sqlstate,
            severity: telling?.severity)
    }
}
