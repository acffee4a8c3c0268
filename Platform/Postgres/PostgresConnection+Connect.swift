import CPowerSyncPQ
import PowerSyncSystem

extension PostgresConnection {
    /// Connects without blocking a thread of the pool.
    ///
    /// - Parameters:
    ///   - uri: A connection URI or keyword/value text of libpq; `replication=database` makes it a replication
    ///     connection. Several hosts, and several addresses of a host, are tried in order; none of them, silent as it may
    ///     be, uses up the time of the others. `connect_timeout` holds for each of them.
    ///   - parameters: Further keywords of libpq, which win over those of the URI; `options` pins session settings
    ///     (see `PostgresSession`).
    ///   - addresses: Which addresses may be connected to.
    ///   - poller: Looks up the host's name and watches the socket; must outlive the connection.
    ///   - deadline: The time allowed for all of it; nil allows ten seconds, or `connect_timeout` for each server if that
    ///     is longer.
    /// - Returns: A connection that is ready, with UTF-8 as its encoding.
    /// - Throws: `PostgresError` (`unavailable`, `connectTimedOut`, `rejectedAddress`, `invalidInput`) or
    ///   `CancellationError`.
    package static func connect(
        _ uri: String, parameters: [String: String] = [:],
        addresses: PostgresAddressRules = PostgresAddressRules(), poller: Poller,
        deadline: Duration? = nil
    ) async throws -> PostgresConnection {
        let begun = ContinuousClock.now
        let known = begun + ConnectionTries.allowed(deadline, tries: 1, timeout: nil)
        // Refuses a malformed URI without quoting it.
        _ = try ConnectionOptions.named(in: uri)
        var keywords = [
            ("dbname", uri), ("client_encoding", "UTF8"), ("fallback_application_name", "powersync"),
        ]
        for (keyword, value) in parameters.sorted(by: { $0.key < $1.key }) {
            try refuseNUL(keyword + value, "a connection parameter")
            keywords.append((keyword, value))
        }
        let options = try await effective(keywords, poller, until: known)
        let places = try await resolved(try ServerPlace.all(options), addresses, poller, until: known)
        let tries = ConnectionTries.all(places, options)
        let timeout = ConnectionTries.timeout(options)
        let end = begun + ConnectionTries.allowed(deadline, tries: tries.count, timeout: timeout)
        var failures: [PostgresError] = []
        for (index, place) in tries.enumerated() {
            let part = ConnectionTries.end(
                now: .now, end: end, left: tries.count - index, timeout: timeout)
            do {
                // These win over those of URI, environment and service file, from which they were made.
                return try await connect(keywords + place, poller, until: part)
            } catch let error as PostgresError where ConnectionTries.goesOn(after: error) {
                failures.append(error)
            }
            if ContinuousClock.now >= end { break }
        }
        throw ConnectionTries.failure(failures)
    }

    /// Connects to one address.
    private static func connect(
        _ keywords: [(String, String)], _ poller: Poller, until end: ContinuousClock.Instant
    ) async throws -> PostgresConnection {
        let started = try await onThread(poller, until: end) { () -> ConnectionHandle? in
            withCStrings(keywords.map { $0.0 as String? } + [nil]) { names in
                withCStrings(keywords.map { $0.1 as String? } + [nil]) {
                    PQconnectStartParams(names.baseAddress, $0.baseAddress, 1)
                }
            }.map { ConnectionHandle($0) }
        }
        guard let handle = started else { throw PostgresError(.unavailable, "libpq is out of memory") }
        guard handle.hasStarted else { throw connectionError(handle.message) }
        handle.setVerboseErrors(true)
        var wanted = PGRES_POLLING_WRITING
        while wanted != PGRES_POLLING_OK {
            guard wanted != PGRES_POLLING_FAILED else { throw connectionError(handle.message) }
            try handle.watch(poller)
            guard let channel = handle.readiness else { throw handle.lost() }
            let isReading = wanted == PGRES_POLLING_READING
            let isInTime =
                try await isReading ? channel.readable(until: end) : channel.writable(until: end)
            guard isInTime else {
                throw PostgresError(.connectTimedOut, "\(handle.place) did not answer in time")
            }
            try Task.checkCancellation()
            wanted = try await onThread(poller, until: end) { handle.connectPoll() }
        }
        handle.setVerboseErrors(false)
        try handle.watch(poller)
        try handle.setNonBlocking()
        return PostgresConnection(handle, poller)
    }

    private static func effective(
        _ keywords: [(String, String)], _ poller: Poller, until end: ContinuousClock.Instant
    ) async throws -> [String: String] {
        try await onThread(poller, until: end) { () -> Result<[String: String], PostgresError> in
            do throws(PostgresError) {
                return .success(try ConnectionOptions.effective(keywords))
            } catch {
                return .failure(error)
            }
        }.get()
    }

    /// Calls libpq on a thread of its own, because it reads files, which may be on a disk that does not answer: a service
    /// file, a password file, certificates, credentials of Kerberos.
    ///
    /// A call that nobody waits for any more has the connection to itself, which is closed when the call returns.
    private static func onThread<Value: Sendable>(
        _ poller: Poller, until end: ContinuousClock.Instant, _ body: @escaping @Sendable () -> Value
    ) async throws -> Value {
        do {
            guard let value = try await poller.value(until: end, of: body) else {
                throw PostgresError(
                    .connectTimedOut, "reading the files that the connection needs took too long")
            }
            return value
        } catch let error as SystemError {
            throw PostgresError(.unavailable, "cannot connect to Postgres: \(error)")
        }
    }

    /// Takes the SQLSTATE out of a message of the verbose form, `…FATAL:  28P01: password authentication failed…`.
    static func connectionError(_ message: String) -> PostgresError {
        let parts = message.split(separator: "; ").filter { part in
            !part.hasPrefix("LOCATION:") && !part.hasPrefix("DETAIL:")
        }
        let text = parts.joined(separator: "; ")
        guard let mark = sqlstateMark(in: Array(text.utf8)) else { return PostgresError(.unavailable, text) }
        let bytes = Array(text.utf8)
        return PostgresError(
            .unavailable, String(decoding: bytes[..<mark] + bytes[(mark + 7)...], as: UTF8.self),
            sqlstate: String(decoding: bytes[mark..<mark + 5], as: UTF8.self), severity: "FATAL")
    }

    /// Where five digits or upper-case letters stand between two spaces and a colon.
    private static func sqlstateMark(in text: [UInt8]) -> Int? {
        let colon = UInt8(ascii: ":")
        let space = UInt8(ascii: " ")
        return text.indices.first { start in
            start >= 3 && start + 7 <= text.count
                && text[start - 3] == colon && text[start - 2] == space && text[start - 1] == space
                && text[start + 5] == colon && text[start + 6] == space
                && text[start..<start + 5].allSatisfy {
                    (0x30...0x39).contains($0) || (0x41...0x5A).contains($0)
                }
        }
    }
}
