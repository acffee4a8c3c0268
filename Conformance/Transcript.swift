import PowerSyncWire

/// A recorded session of the official core: steps, and what each must answer.
package struct Transcript: Sendable {
    /// One step.
    package struct Step: Sendable {
        /// What is done; the names are those of the recordings.
        package let action: String
        /// All fields of the step.
        package let fields: JSON

        /// What the step must answer; nil if that was not recorded.
        package var expected: JSON? { fields["expect"] }
        /// Whether the step must fail.
        package var expectsError: Bool { fields["expect_error"]?.boolValue ?? false }
        /// The content of the tables after the step; nil if that was not recorded.
        package var dump: JSON? { fields["dump"] }
    }

    /// The situation.
    package let name: String
    /// The id of the client, stored before the first step.
    package let clientID: String
    /// The steps in order.
    package let steps: [Step]

    /// Reads a recording.
    ///
    /// - Throws: `WireError` for a text that is no recording; its message says which field of which step is wrong.
    package init(parsing text: [UInt8]) throws(WireError) {
        // The lines of a transcript may be nested as deeply as a client takes them, and a few levels lie above.
        let json = try JSON.parse(text, limits: JSONLimits(depth: JSONLimits.standard.depth + 8))
        guard json.objectMembers != nil else {
            throw WireError(.invalidField, "a transcript is a JSON object with name, client_id and steps")
        }
        name = try Self.field("name", of: json, "a text", \.stringValue)
        clientID = try Self.field("client_id", of: json, "a text", \.stringValue)
        steps = try Self.field("steps", of: json, "a list", \.arrayValue).enumerated().map {
            index, step throws(WireError) in
            do throws(WireError) {
                return try Self.step(step)
            } catch {
                throw WireError(error.code, "step \(index): \(error.message)")
            }
        }
    }

    private static func step(_ json: JSON) throws(WireError) -> Step {
        let action = try field("do", of: json, "a text", \.stringValue)
        switch action {
        case "replace_schema": _ = try field("schema", of: json, "a JSON value") { $0 }
        case "clear": _ = try field("flags", of: json, "a whole number", \.int64Value)
        case "sql": _ = try field("statements", of: json, "a list", \.arrayValue)
        case "query": _ = try field("sql", of: json, "a text", \.stringValue)
        case "connection":
            _ = try field("event", of: json, "established or end") {
                ["established", "end"].contains($0.stringValue) ? true : nil
            }
        case "line": _ = try field("line", of: json, "a JSON value") { $0 }
        case "line_text": _ = try field("text", of: json, "a text", \.stringValue)
        case "line_binary": _ = try field("base64", of: json, "a text", \.stringValue)
        case "subscriptions": _ = try field("payload", of: json, "a JSON value") { $0 }
        case "update_subscriptions": _ = try field("active", of: json, "a list", \.arrayValue)
        case "set_write_checkpoint_target": _ = try field("id", of: json, "a whole number", \.int64Value)
        case "start", "stop", "uploads_completed", "token_refreshed": break
        default: throw WireError(.invalidField, "there is no step \"\(action)\"")
        }
        return Step(action: action, fields: json)
    }

    /// Returns a field that must be there and of its kind.
    private static func field<Value>(
        _ name: String, of json: JSON, _ kind: String, _ read: (JSON) -> Value?
    ) throws(WireError) -> Value {
        guard let field = json[name] else { throw WireError(.invalidField, "\"\(name)\" is missing") }
        guard let value = read(field) else { throw WireError(.invalidField, "\"\(name)\" is not \(kind)") }
        return value
    }
}
