import CPowerSyncPQ
import Dispatch
import PowerSyncSystem

extension PostgresConnection {
    /// Connects without blocking a thread.
    ///
    /// - Parameters:
    ///   - uri: A connection URI or keyword/value text of libpq; `replication=database` makes it a replication
    ///     connection. Several hosts are tried in order.
    ///   - parameters: Further keywords of libpq, which win over those of the URI; `options` pins session settings
    ///     (see `PostgresSession`).
    ///   - poller: Watches the socket; must outlive the connection.
    ///   - deadline: The time allowed for all of it.
    /// - Returns: A connection that is ready, with UTF-8 as its encoding.
    /// - Throws: `PostgresError` (`unavailable`, `timedOut`, `invalidInput`) or `CancellationError`.
    package static func connect(
        _ uri: String, parameters: [String: String] = [:], poller: Poller, deadline: Duration = .seconds(10)
    ) async throws -> PostgresConnection {
        let end = ContinuousClock.now + deadline
        try checkConnectionText(uri)
        let handle = try await start(uri, parameters)
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
                throw PostgresError(.timedOut, "connecting to Postgres took longer than \(deadline)")
            }
            try Task.checkCancellation()
            wanted = handle.connectPoll()
        }
        handle.setVerboseErrors(false)
        try handle.watch(poller)
        try handle.setNonBlocking()
        return PostgresConnection(handle, poller)
    }

    /// Begins to connect, on a thread of its own, because libpq looks up the host's name before it returns.
    private static func start(_ uri: String, _ parameters: [String: String]) async throws -> ConnectionHandle
    {
        var keywords = ["dbname", "client_encoding", "fallback_application_name"]
        var values = [uri, "UTF8", "powersync"]
        for (keyword, value) in parameters.sorted(by: { $0.key < $1.key }) {
            try refuseNUL(keyword + value, "a connection parameter")
            keywords.append(keyword)
            values.append(value)
        }
        let (names, texts) = (keywords as [String?] + [nil], values as [String?] + [nil])
        // Handed over under a lock, because ThreadSanitizer does not see that a continuation orders memory.
        let made = Lock<ConnectionHandle?>(nil)
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "powersync.postgres.connect").async {
                let connection = withCStrings(names) { names in
                    withCStrings(texts) { PQconnectStartParams(names.baseAddress, $0.baseAddress, 1) }
                }
                made.withLock { $0 = connection.map { ConnectionHandle($0) } }
                continuation.resume()
            }
        }
        let handle = made.withLock { $0 }
        guard let handle else { throw PostgresError(.unavailable, "libpq is out of memory") }
        guard handle.hasStarted else { throw connectionError(handle.message) }
        return handle
    }

    /// Refuses a malformed URI here, without quoting it: libpq's message would show the password.
    private static func checkConnectionText(_ uri: String) throws(PostgresError) {
        try refuseNUL(uri, "the connection URI")
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(uri, &message) else {
            let detail = oneLine(message)
            PQfreemem(message)
            throw PostgresError(
                .invalidInput,
                "the connection URI is malformed: use postgres://user:password@host:port/database",
                detail: detail)
        }
        PQconninfoFree(options)
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
