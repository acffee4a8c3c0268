import CPowerSyncPQ

/// What connection texts mean to libpq; the bridge to its functions for that.
package enum ConnectionOptions {
    /// A value that libpq refuses before it looks for a server.
    private static let refused = (keyword: "channel_binding", value: "(refused)")

    /// Returns the keywords that a connection text sets itself, not those of the environment or of a service file.
    ///
    /// - Parameter text: A connection URI or keyword/value text.
    /// - Returns: The values by keyword, as libpq reads them: `ssl=true` of a URI, for example, is `sslmode=require`.
    /// - Throws: `PostgresError` (`invalidInput`), which does not quote the text.
    package static func named(in text: String) throws(PostgresError) -> [String: String] {
        try refuseNUL(text, "the connection URI")
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(text, &message) else {
            // libpq's message would show the password.
            let detail = oneLine(message)
            PQfreemem(message)
            throw PostgresError(
                .invalidInput,
                "the connection URI is malformed: use postgres://user:password@host:port/database",
                detail: detail)
        }
        return values(options)
    }

    /// Returns what is effective for a connection text alone, as `connect` takes it.
    ///
    /// - Parameter text: A connection URI or keyword/value text.
    /// - Returns: The values by keyword: those of the text, then of the environment, a service file and libpq's defaults.
    /// - Throws: `PostgresError` if libpq does not accept it. Reads files, so it blocks.
    package static func effective(of text: String) throws(PostgresError) -> [String: String] {
        // Refuses a malformed text without quoting it.
        _ = try named(in: text)
        return try effective([("dbname", text)])
    }

    /// Returns what is effective: keywords in their order, then the environment, a service file and libpq's defaults.
    ///
    /// Reads files, so it blocks, but asks nobody. libpq tells this of a connection alone; the one that is made here is
    /// refused for a value, before a name is looked up or a server is sought.
    ///
    /// - Parameter keywords: Keywords and values, of which the later ones win; `dbname` may be a connection text.
    /// - Returns: The values by keyword.
    /// - Throws: `PostgresError` (`unavailable`) if libpq does not accept them.
    static func effective(_ keywords: [(String, String)]) throws(PostgresError) -> [String: String] {
        let names = keywords.map { $0.0 as String? } + [refused.keyword, nil]
        let texts = keywords.map { $0.1 as String? } + [refused.value, nil]
        let connection = withCStrings(names) { names in
            withCStrings(texts) { PQconnectStartParams(names.baseAddress, $0.baseAddress, 1) }
        }
        guard let connection, let options = PQconninfo(connection) else {
            PQfinish(connection)
            throw PostgresError(.unavailable, "libpq is out of memory")
        }
        defer { PQfinish(connection) }
        let values = values(options)
        // Without it libpq has not come as far as that: something before it is wrong.
        guard values[refused.keyword] == refused.value else {
            throw PostgresConnection.connectionError(oneLine(PQerrorMessage(connection)))
        }
        return values
    }

    /// Copies the values and frees the list.
    private static func values(_ options: UnsafeMutablePointer<PQconninfoOption>) -> [String: String] {
        defer { PQconninfoFree(options) }
        var values: [String: String] = [:]
        var option = options
        while let name = option.pointee.keyword {
            values[String(cString: name)] = option.pointee.val.map { String(cString: $0) }
            option += 1
        }
        return values
    }
}
