import PowerSyncSQLite
import PowerSyncWire

/// The SQL functions of sync that apps and official tools may call outside an iteration (client-core 4, 6.1).
///
/// Iterations themselves belong to `SyncCoordinator`; the commands that drive one are not offered in SQL.
package enum SyncFunctions {
    /// Registers `powersync_control` and `powersync_offline_sync_status`.
    ///
    /// - Parameters:
    ///   - connection: a connection with the core installed.
    ///   - now: returns microseconds since 1970.
    /// - Throws: `SQLiteError`.
    package static func register(
        on connection: SQLiteConnection, now: @escaping () -> Int64 = WallClock.microseconds
    ) throws(SQLiteError) {
        try connection.createFunction(
            "powersync_offline_sync_status", argumentCount: 0, flags: [.directOnly]
        ) { [unowned connection] _ in
            .text(try SyncStore(connection: connection, now: now()).offlineStatus().json().text)
        }
        try connection.createFunction("powersync_control", argumentCount: 2, flags: [.directOnly]) {
            [unowned connection] call in
            do {
                return try control(call, SyncStore(connection: connection, now: now()))
            } catch let error as SyncError {
                let code: Int32 = error.code == .invalidState ? 21 : 3091
                throw SQLiteError(extendedCode: code, message: "powersync_control: \(error.message)")
            }
        }
    }

    private static func control(_ call: SQLiteFunctionCall, _ store: SyncStore) throws -> SQLiteValue {
        guard case .text(let operation) = call[0] else {
            throw SyncError(.invalidArgument, "First argument must be a string")
        }
        guard store.connection.isInTransaction else {
            throw SyncError(.invalidState, "This function may only be called in transactions.")
        }
        switch operation {
        case "target_checkpoint_request_id":
            if call[1].isNull { return SQLiteValue(try store.target()) }
            let id = try identifier(
                call[1], "target checkpoint request id must be an integer, integer string, or null")
            return SQLiteValue(try store.setTarget(id))
        case "current_checkpoint_request_id": return SQLiteValue(try store.currentCheckpointRequest())
        case "next_checkpoint_request_id": return .integer(try store.nextCheckpointRequest())
        case "seed_checkpoint_request_id":
            let id = try identifier(call[1], "checkpoint request id must be an integer or integer string")
            try store.seedCheckpointRequest(id)
            return .integer(id)
        case "subscriptions":
            try store.perform(subscriptionCommand: try JSON.parse(call[1].text ?? ""))
            return .null
        case "stop": return .text("[]")
        default: throw SyncError(.invalidArgument, "Unknown operation")
        }
    }

    private static func identifier(_ value: SQLiteValue, _ message: String) throws -> Int64 {
        switch value {
        case .integer(let id): return id
        case .text(let text):
            guard let id = Int64(text) else { throw SyncError(.invalidArgument, message) }
            return id
        case .null, .real, .blob: throw SyncError(.invalidArgument, message)
        }
    }
}

extension SyncStore {
    /// Subscribes or unsubscribes as the JSON of client-core 7.1 says.
    ///
    /// The text of the parameters is part of a subscription's identity: it is written compact, in the order it has.
    package func perform(subscriptionCommand command: JSON) throws {
        func key(_ stream: JSON) throws -> StreamKey {
            guard let name = stream["name"]?.stringValue else {
                throw SyncError(.invalidArgument, "a subscription needs the name of a stream")
            }
            return StreamKey(
                name: name, parameters: stream["params"].flatMap { $0.isNull ? nil : $0.text })
        }
        if let subscription = command["subscribe"] {
            try subscribe(
                try key(subscription["stream"] ?? .null), timeToLive: subscription["ttl"]?.int64Value,
                priority: subscription["priority"]?.int64Value.map { Int($0) })
        } else if let stream = command["unsubscribe"] {
            try unsubscribe(try key(stream))
        } else {
            throw SyncError(.invalidArgument, "expected subscribe or unsubscribe")
        }
    }
}
