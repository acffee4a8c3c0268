import PowerSync
import PowerSyncWire

/// One command of a driving program, as it stands in a line.
package struct ClientRequest: Sendable {
    /// What is asked for.
    package enum Operation: Sendable {
        /// What changes the database or the connection; in order of arrival.
        case change(Change)
        /// What only looks; beside everything else, once the changes before it are done.
        case look(Look)
        /// A query whose rows are told at first and at each change, and the least time between two results in seconds.
        case watch(ClientStatement, throttle: Double)
        /// Ends what watches; the id is that of the command that began it.
        case unwatch(JSON)
        /// Waits for a state, as many seconds as are given.
        case wait(Condition, timeout: Double?)
        /// Ends the program.
        case close
    }

    /// What changes something.
    package enum Change: Sendable {
        /// Runs statements in one transaction.
        case write([ClientStatement])
        /// Starts syncing; the wait after an error and the least time between two upload rounds, in seconds.
        case connect(retry: Double, throttle: Double)
        /// Stops syncing.
        case disconnect
        /// Stops syncing and removes the data; if `soft`, what was downloaded is kept aside.
        case clear(soft: Bool)
        /// Gives up the transaction that the backend refuses and leaves to the client.
        case discard
        /// Subscribes to a stream and holds it.
        case stream(ClientStream, timeToLive: Double?, priority: Int32?)
        /// Gives up what `stream` holds; all subscriptions of the stream, whoever made them, if asked for.
        case unstream(ClientStream, all: Bool)
        /// Saves a copy of a file as a new attachment, and runs statements in the same transaction; nil for the media type
        /// that its name tells.
        case attach(file: String, mediaType: String?, [ClientStatement])
        /// Deletes an attachment here and in the storage, and runs statements in the same transaction.
        case deleteAttachment(id: String, [ClientStatement])
    }

    /// What only looks.
    package enum Look: Sendable {
        /// Runs a query.
        case read(ClientStatement)
        /// Tells the state of syncing.
        case status
        /// Counts the upload queue.
        case crudCount
        /// Lists the attachments.
        case attachments
        /// Copies an attachment into a file.
        case export(id: String, file: String)
    }

    /// What can be waited for.
    package enum Condition: Sendable, Equatable {
        /// All data was complete once.
        case firstSync
        /// Nothing is left to upload.
        case queueEmpty
        /// This client and the service have nothing more to tell each other.
        case upToDate
        /// The data of a stream was complete once.
        case stream(ClientStream)
        /// Every attachment that is named is here and in the storage, and no other one is to be transferred.
        case attachments

        /// The word of the command.
        package var name: String {
            switch self {
            case .firstSync: "first-sync"
            case .queueEmpty: "queue-empty"
            case .upToDate: "up-to-date"
            case .stream: "stream"
            case .attachments: "attachments"
            }
        }
    }

    /// The least time between two results of a watch unless said otherwise, in seconds.
    private static let standardWatchThrottle = 0.001

    /// What the answer repeats, any value; nil where the command has none.
    package let id: JSON?
    /// What is asked for.
    package let operation: Operation

    /// Reads a command.
    ///
    /// - Parameter json: the command.
    /// - Throws: `ClientError`, which names the member that is wrong.
    package init(_ json: JSON) throws(ClientError) {
        guard json.objectMembers != nil else { throw ClientError("expected a command as an object") }
        id = json["id"]
        guard let word = json["op"]?.stringValue else { throw ClientError("op: expected a command") }
        operation = try Self.operation(word, json)
    }

    private static func operation(_ word: String, _ json: JSON) throws(ClientError) -> Operation {
        switch word {
        case "write":
            return .change(.write(try statements(try fields(json, "tx"))))
        case "read": return .look(.read(try ClientStatement(try fields(json, "sql", "args"))))
        case "watch":
            let fields = try fields(json, "sql", "args", "throttle")
            return .watch(
                try ClientStatement(fields),
                throttle: try seconds(fields, "throttle", standard: standardWatchThrottle))
        case "unwatch":
            let fields = try fields(json, "watch")
            guard let id = fields.member("watch") ?? json["id"] else {
                throw fields.expected("the id of a watch", "watch")
            }
            return .unwatch(id)
        case "connect":
            let fields = try fields(json, "retry", "throttle")
            return .change(
                .connect(
                    retry: try seconds(fields, "retry", standard: ClientOperations.standardRetry),
                    throttle: try seconds(
                        fields, "throttle", standard: ClientOperations.standardUploadThrottle)))
        case "disconnect":
            _ = try fields(json)
            return .change(.disconnect)
        case "clear": return .change(.clear(soft: try fields(json, "soft").optionalBool("soft")))
        case "discard":
            _ = try fields(json)
            return .change(.discard)
        case "stream":
            let fields = try fields(json, "name", "parameters", "ttl", "priority")
            let priority = try fields.optionalInteger("priority", in: 0...Int64(Int32.max))
            return .change(
                .stream(
                    try ClientStream(fields), timeToLive: try fields.optionalNumber("ttl"),
                    priority: priority.map { Int32($0) }))
        case "unstream":
            // What `stream` takes beside the name is allowed, so that the same members serve both.
            let fields = try fields(json, "name", "parameters", "ttl", "priority", "all")
            return .change(.unstream(try ClientStream(fields), all: try fields.optionalBool("all")))
        case "attach", "delete-attachment", "attachments", "export": return try attachment(word, json)
        case "status":
            _ = try fields(json)
            return .look(.status)
        case "wait": return try wait(json)
        case "crud-count":
            _ = try fields(json)
            return .look(.crudCount)
        case "close":
            _ = try fields(json)
            return .close
        default: throw ClientError("op: unknown command \(JSON.quoted(word))")
        }
    }

    private static func attachment(_ word: String, _ json: JSON) throws(ClientError) -> Operation {
        switch word {
        case "attach":
            let fields = try fields(json, "file", "media_type", "tx")
            return .change(
                .attach(
                    file: try fields.string("file"), mediaType: try fields.optionalString("media_type"),
                    try statements(fields, mayNameAttachment: true)))
        case "delete-attachment":
            let fields = try fields(json, "attachment_id", "tx")
            return .change(
                .deleteAttachment(
                    id: try fields.string("attachment_id"), try statements(fields, mayNameAttachment: true)))
        case "export":
            let fields = try fields(json, "attachment_id", "file")
            return .look(
                .export(id: try fields.string("attachment_id"), file: try fields.string("file")))
        default:
            _ = try fields(json)
            return .look(.attachments)
        }
    }

    /// Reads the statements of a transaction.
    private static func statements(
        _ fields: JSONFields, mayNameAttachment: Bool = false
    ) throws(ClientError) -> [ClientStatement] {
        var statements: [ClientStatement] = []
        for (json, place) in try fields.elements("tx") {
            statements.append(
                try ClientStatement(pair: json, at: place, mayNameAttachment: mayNameAttachment))
        }
        return statements
    }

    private static func wait(_ json: JSON) throws(ClientError) -> Operation {
        let condition: Condition
        let state = json["for"]?.stringValue
        let fields =
            state == "stream"
            ? try fields(json, "for", "timeout", "name", "parameters") : try fields(json, "for", "timeout")
        switch state {
        case "first-sync": condition = .firstSync
        case "queue-empty": condition = .queueEmpty
        case "up-to-date": condition = .upToDate
        case "stream": condition = .stream(try ClientStream(fields))
        case "attachments": condition = .attachments
        default: throw fields.expected("first-sync, queue-empty, up-to-date, stream or attachments", "for")
        }
        return .wait(condition, timeout: try fields.optionalNumber("timeout"))
    }

    private static func fields(_ json: JSON, _ names: String...) throws(ClientError) -> JSONFields {
        try JSONFields(json, known: ["id", "op"] + names)
    }

    /// Returns milliseconds of a command as seconds, or else the seconds that are standard.
    private static func seconds(
        _ fields: JSONFields, _ name: String, standard: Double
    ) throws(ClientError) -> Double {
        (try fields.optionalNumber(name)).map { $0 / 1000 } ?? standard
    }
}

/// One SQL statement of a command, with the values of its placeholders.
package struct ClientStatement: Sendable {
    /// Stands among the values for the id of an attachment that is not known yet.
    struct AttachmentMark: Sendable {}

    /// How a command spells that: `{"$attachment":true}`.
    static let attachmentMark = "$attachment"

    /// The statement.
    let sql: String
    /// The values, as the SDK takes them.
    let arguments: [(any Sendable)?]

    /// Makes a statement of its parts.
    init(_ sql: String, _ arguments: [(any Sendable)?] = []) {
        self.sql = sql
        self.arguments = arguments
    }

    /// Returns the statement with the id of an attachment where it is to stand.
    func naming(attachment id: String) -> ClientStatement {
        ClientStatement(
            sql, arguments.map { value -> (any Sendable)? in value is AttachmentMark ? id : value })
    }

    /// Reads the members `sql` and `args` of a command.
    init(_ fields: JSONFields) throws(ClientError) {
        sql = try fields.string("sql")
        arguments = try Self.values(try fields.optionalElements("args"))
    }

    /// Reads a statement of a transaction: `[sql, args]`, or `[sql]`.
    ///
    /// - Parameters:
    ///   - json: the statement.
    ///   - place: where it is in the command.
    ///   - mayNameAttachment: whether the id of an attachment may be among the values.
    /// - Throws: `ClientError`, which names what is wrong.
    init(pair json: JSON, at place: String, mayNameAttachment: Bool = false) throws(ClientError) {
        guard let parts = json.arrayValue, (1...2).contains(parts.count), let sql = parts[0].stringValue
        else {
            throw ClientError("\(place): expected [sql, args]")
        }
        self.sql = sql
        guard parts.count == 2, !parts[1].isNull else {
            arguments = []
            return
        }
        guard let values = parts[1].arrayValue else { throw ClientError("\(place)[1]: expected an array") }
        arguments = try Self.values(
            values.enumerated().map { ($1, "\(place)[1][\($0)]") }, mayNameAttachment: mayNameAttachment)
    }

    private static func values(
        _ elements: [(json: JSON, place: String)], mayNameAttachment: Bool = false
    ) throws(ClientError) -> [(any Sendable)?] {
        let mark = JSON.object([JSONMember(attachmentMark, .bool(true))])
        var values: [(any Sendable)?] = []
        for (json, place) in elements {
            if mayNameAttachment, json == mark {
                values.append(AttachmentMark())
            } else {
                values.append(try ClientValue.parameter(json, at: place))
            }
        }
        return values
    }
}

/// A stream that a command names.
package struct ClientStream: Sendable, Hashable {
    /// Its name in the sync configuration.
    let name: String
    /// Its parameters; nil is not the same as none.
    let parameters: JsonParam?

    /// Makes a stream of its parts.
    package init(name: String, parameters: JsonParam?) {
        self.name = name
        self.parameters = parameters
    }

    /// Reads the members `name` and `parameters` of a command.
    init(_ fields: JSONFields) throws(ClientError) {
        name = try fields.string("name")
        guard let json = fields.member("parameters") else {
            parameters = nil
            return
        }
        guard let members = json.objectMembers else { throw fields.expected("an object", "parameters") }
        parameters = JsonParam(members)
    }

    /// Compares bytes, as the service does.
    package static func == (left: ClientStream, right: ClientStream) -> Bool {
        ExactText(left.name) == ExactText(right.name) && left.parameters?.json == right.parameters?.json
    }

    /// Hashes the bytes.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(ExactText(name))
        hasher.combine(parameters?.json)
    }
}
