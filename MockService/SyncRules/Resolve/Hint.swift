import PowerSyncWire

/// What is to be written in the place of what authors of configurations often write (real-configurations.md); the command
/// and the log have it behind the real service's message.
enum Hint {
    /// Several values in parentheses behind IN.
    static let list = "Write ARRAY[…] in place of (…)."
    /// `= (SELECT …)`, most of the time.
    static let subquery = "In WHERE, write IN (SELECT …) in place of = (SELECT …)."

    /// What is written in the place of a function that is not there, or of what looks like one.
    ///
    /// - Parameters:
    ///   - name: Its name in small letters.
    ///   - known: The functions that there are.
    /// - Returns: A sentence; nil if nothing is known.
    static func function(_ name: String, _ known: [String]) -> String? {
        switch name {
        case "now", "current_timestamp", "current_date", "current_time", "localtimestamp", "clock_timestamp",
            "random",
            "gen_random_uuid", "uuid_generate_v4":
            return
                "A query is computed when a row changes, not when time goes by: read a column, or a parameter."
        case "coalesce": return "Write ifnull(a, b)."
        case "count", "sum", "avg", "min", "max":
            return "Rows are synced one by one: compute this in the client, or keep it in a column."
        case "exists": return "Write IN (SELECT …) in place of EXISTS (SELECT …)."
        default:
            let near = NearestName(ExactText(name)).nearest(of: known.map { ExactText($0) })
            return near.map { "Did you mean \($0.text)?" }
        }
    }

    /// What may help with a text that is no YAML; nil if nothing is known.
    ///
    /// - Parameters:
    ///   - message: What the parser says.
    ///   - byte: The byte where it gave up.
    /// - Returns: A sentence.
    static func yaml(_ message: String, at byte: UInt8?) -> String? {
        if message.hasPrefix("found character that cannot start any token") {
            return byte == UInt8(ascii: "\t") ? "It is a tab: write spaces." : quoting
        }
        let isKey = ["mapping values are not allowed", "could not find expected ':'"].contains {
            message.hasPrefix($0)
        }
        return isKey ? quoting : nil
    }

    private static let quoting = "Put a query in quotes, or behind | on lines of its own."

    /// Several SELECTs in one.
    static let union = "Write each SELECT of a UNION as a query of its own, in `queries`."

    /// A UNION behind IN.
    static let subqueryUnion = "Write x IN (SELECT …) OR x IN (SELECT …) in place of a UNION in one."
    /// `NOT IN (SELECT …)`.
    static let negatedSubquery =
        "IN (SELECT …) cannot stand behind NOT or within another expression: ask for the rows that are wanted, or keep "
        + "in a column what is asked."

    /// What a name that is no table means in bucket definitions; nil for any other name.
    static func source(_ name: ExactText) -> String? {
        switch name.text {
        case "token_parameters":
            "Write auth.user_id() for token_parameters.user_id, auth.parameter('$.parameters.x') for "
                + "token_parameters.x."
        case "auth": "Write auth.user_id() for auth.user_id, auth.parameter('x') for auth.x."
        case "connection", "subscription": "Write \(name.text).parameter('x') for \(name.text).x."
        case "user_parameters": "Write connection.parameter('x') for user_parameters.x."
        case "bucket": "Streams have no bucket parameters: compare with the request, such as auth.user_id()."
        default: nil
        }
    }

    /// What a call of bucket definitions, or one that does not exist, is in streams; nil if there is no such thing.
    static func call(_ schema: ExactText, _ name: String) -> String? {
        switch (schema.text.lowercased(), name) {
        case ("request", "user_id"): "Write auth.user_id()."
        case ("request", "jwt"), ("auth", "jwt"): "Write auth.parameters()."
        case ("request", "parameters"): "Write connection.parameters()."
        default: nil
        }
    }
}
