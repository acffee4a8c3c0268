import PowerSyncWire

/// What is to be written in the place of what authors of configurations often write (real-configurations.md); the command
/// and the log have it behind the real service's message.
enum Hint {
    /// Several values in parentheses behind IN.
    static let list = "Write ARRAY[…] in place of (…)."
    /// `= (SELECT …)`, most of the time.
    static let subquery = "In WHERE, write IN (SELECT …) in place of = (SELECT …)."

    /// What a name that is no table means in bucket definitions; nil for any other name.
    static func source(_ name: ExactText) -> String? {
        switch name.text {
        case "token_parameters":
            "Write auth.user_id() for token_parameters.user_id, auth.parameter('$.parameters.x') for "
                + "token_parameters.x."
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
