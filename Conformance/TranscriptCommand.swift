import PowerSyncCrypto
import PowerSyncSQLite
import PowerSyncWire

/// A step of a recording as a call of `powersync_control`.
struct TranscriptCommand {
    let operation: String
    let payload: SQLiteValue

    /// Translates a step; nil for one that is no command.
    ///
    /// - Parameters:
    ///   - step: the step.
    ///   - schema: the schema that was applied last.
    /// - Throws: `WireError` for a binary line that is not base64.
    init?(_ step: Transcript.Step, schema: JSON?) throws(WireError) {
        let fields = step.fields
        switch step.action {
        case "start":
            var members = (fields.objectMembers ?? []).filter {
                ["parameters", "active_streams", "include_defaults"].contains($0.name)
            }
            if fields["parameters"] == nil { members.append(JSONMember("parameters", .object([]))) }
            if let schema { members.append(JSONMember("schema", schema)) }
            self.init("start", Self.spaced(.object(members)))
        case "connection": self.init("connection", fields["event"]?.stringValue)
        case "line": self.init("line_text", fields["line"]?.text)
        case "line_text": self.init("line_text", fields["text"]?.stringValue)
        case "line_binary":
            guard let bytes = Base64.decode(fields["base64"]?.stringValue ?? "") else {
                throw WireError(.invalidField, "a binary line must be base64")
            }
            self.init("line_binary", .blob(bytes))
        case "uploads_completed": self.init("completed_upload", .null)
        case "token_refreshed": self.init("refreshed_token", .null)
        case "stop": self.init("stop", .null)
        case "update_subscriptions":
            self.init("update_subscriptions", Self.spaced(fields["active"] ?? .array([])))
        case "subscriptions": self.init("subscriptions", Self.spaced(fields["payload"] ?? .null))
        case "set_write_checkpoint_target":
            self.init("target_checkpoint_request_id", SQLiteValue(fields["id"]?.int64Value))
        default: return nil
        }
    }

    private init(_ operation: String, _ payload: SQLiteValue) {
        self.operation = operation
        self.payload = payload
    }

    private init(_ operation: String, _ payload: String?) { self.init(operation, SQLiteValue(payload)) }

    /// Runs the command in a transaction of its own.
    ///
    /// - Returns: instructions without log lines and times, or a number; nil for none.
    /// - Throws: `SQLiteError`.
    func run(on connection: SQLiteConnection) throws -> JSON? {
        let result = try connection.transaction {
            try connection.one("SELECT powersync_control(?1, ?2)", [.text(operation), payload]) { $0[0] }
        }
        switch result {
        case .integer(let integer): return .integer(integer)
        case .text(let text):
            return .array(TranscriptComparison.masked(try JSON.parse(text).arrayValue ?? []))
        case .null, .real, .blob, nil: return operation == "subscriptions" ? .array([]) : nil
        }
    }

    /// The recordings were made with blanks behind colons and commas, which for the parameters of a stream are part of
    /// their identity.
    static func spaced(_ json: JSON) -> String {
        switch json {
        case .array(let elements): "[" + elements.map(spaced).joined(separator: ", ") + "]"
        case .object(let members):
            "{" + members.map { "\(JSON.quoted($0.name)): \(spaced($0.value))" }.joined(separator: ", ") + "}"
        case .null, .bool, .number, .string: json.text
        }
    }
}
