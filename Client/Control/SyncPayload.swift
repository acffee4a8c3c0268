import PowerSyncSQLite
import PowerSyncWire

/// A JSON payload of `powersync_control`.
///
/// The text of a stream's parameters is part of its identity, so values are kept as they are spelled.
struct SyncPayload {
    private let json: RawJSON

    /// Takes the payload of a command.
    init(_ text: String) { json = RawJSON(text: text) }

    private init(_ json: RawJSON) { self.json = json }

    /// Reads the payload of `start` (client-core 6.2); unknown keys are ignored.
    ///
    /// - Throws: `SyncError` with `.invalidArgument`, `SQLiteError` with code 3091 for a schema that does not fit.
    func start() throws -> SyncCommand {
        let members = try object("the payload of start")
        var start = SyncStart(parameters: nil)
        if let parameters = try members["parameters"]?.value() {
            guard parameters.objectMembers != nil else { throw expected("an object", "parameters") }
            start.parameters = parameters
        }
        if let flag = try members["include_defaults"]?.value() {
            guard let flag = flag.boolValue else { throw expected("true or false", "include_defaults") }
            start.includeDefaults = flag
        }
        if let streams = members["active_streams"] { start.activeStreams = try streams.streams() }
        if let metadata = try members["app_metadata"]?.value() {
            guard let members = metadata.objectMembers else { throw expected("an object", "app_metadata") }
            start.appMetadata = members
        }
        if let mode = try members["checkpoint_mode"]?.value() {
            guard let mode = mode.stringValue.flatMap(SyncStart.CheckpointMode.init) else {
                throw expected("legacy or requests", "checkpoint_mode")
            }
            start.checkpointMode = mode
        }
        start.wantsDiagnostics = try members["diagnostics"]?.value() != nil
        let schema = try members["schema"]?.value().map { schema throws in try SchemaDefinition(schema) }
        return .start(start, rawTables: schema?.rawTables ?? [])
    }

    /// Reads a list of streams that the app holds.
    func streams() throws -> [StreamKey] {
        guard let elements = try parsing({ () throws(WireError) in try json.elements() }) else {
            throw SyncCommand.invalid("expected an array of streams")
        }
        return try elements.map { try SyncPayload($0).stream() }
    }

    /// Reads the payload of `subscriptions` (client-core 7.1).
    func subscriptionChange() throws -> SubscriptionChange {
        let members = try object("the payload of subscriptions")
        if let stream = members["unsubscribe"] { return .unsubscribe(try stream.stream()) }
        guard let subscription = try members["subscribe"]?.object("subscribe") else {
            throw SyncCommand.invalid("expected subscribe or unsubscribe")
        }
        guard let stream = subscription["stream"] else { throw expected("a stream", "subscribe") }
        return .subscribe(
            try stream.stream(), timeToLive: try subscription["ttl"]?.integer("ttl"),
            priority: try subscription["priority"]?.integer("priority").flatMap { Int(exactly: $0) })
    }

    private func stream() throws -> StreamKey {
        let members = try object("a stream")
        guard let name = try members["name"]?.value()?.stringValue else { throw expected("a string", "name") }
        let parameters = members["params"].flatMap { $0.json.isNull ? nil : $0.json.text }
        return StreamKey(name: name, parameters: parameters)
    }

    private func integer(_ name: String) throws -> Int64? {
        guard let value = try value() else { return nil }
        guard let integer = value.int64Value else { throw expected("an integer", name) }
        return integer
    }

    /// The members by name; of two of one name the last counts.
    private func object(_ what: String) throws -> [String: SyncPayload] {
        guard let members = try parsing({ () throws(WireError) in try json.members() }) else {
            throw SyncCommand.invalid("expected an object as \(what)")
        }
        return Dictionary(members.map { ($0.name, SyncPayload($0.value)) }) { _, last in last }
    }

    /// The value; nil for null.
    private func value() throws -> JSON? {
        let value = try parsing { () throws(WireError) in try json.parsed() }
        return value.isNull ? nil : value
    }

    private func parsing<T>(_ body: () throws(WireError) -> T) throws(SyncError) -> T {
        do { return try body() } catch { throw SyncCommand.invalid(error.message) }
    }

    private func expected(_ kind: String, _ name: String) -> SyncError {
        SyncCommand.invalid("expected \(kind) as `\(name)`")
    }
}
