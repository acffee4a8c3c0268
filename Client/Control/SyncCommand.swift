import PowerSyncSQLite
import PowerSyncWire

/// One call of `powersync_control`, its payload checked (client-core 6.1).
package enum SyncCommand {
    case start(SyncStart, rawTables: [RawTableDefinition])
    case stop
    case lineText([UInt8])
    case lineBinary([UInt8])
    case event(SyncEvent)
    case subscriptions(SubscriptionChange)
    case seedCheckpointRequest(Int64)
    case nextCheckpointRequest
    case currentCheckpointRequest
    /// Nil reads the target.
    case target(Int64?)

    /// Reads a command.
    ///
    /// - Parameter call: the operation and its payload.
    /// - Throws: `SyncError` with `.invalidArgument` for an operation or payload that is not known.
    init(_ call: SQLiteFunctionCall) throws {
        guard case .text(let operation) = call[0] else {
            throw Self.invalid("First argument must be a string")
        }
        if operation == "line_text", let text = call.utf8(1) {
            // As it came: a text that is no UTF-8 must be refused, not repaired.
            self = .lineText(text)
        } else {
            try self.init(operation, payload: call[1])
        }
    }

    /// Reads a command whose parts have been read.
    ///
    /// - Parameters:
    ///   - operation: the name of the command.
    ///   - payload: what comes with it.
    /// - Throws: `SyncError` with `.invalidArgument` for an operation or payload that is not known.
    package init(_ operation: String, payload: SQLiteValue) throws {
        switch operation {
        case "line_text":
            guard let text = payload.text else { throw Self.invalid("Second argument must be a string") }
            self = .lineText(Array(text.utf8))
        case "start":
            guard let text = payload.text else {
                self = .start(SyncStart(parameters: nil), rawTables: [])
                return
            }
            self = try SyncPayload(text).start()
        case "stop": self = .stop
        case "line_binary":
            guard case .blob(let bytes) = payload else {
                throw Self.invalid("Second argument must be a byte array")
            }
            self = .lineBinary(bytes)
        case "connection":
            switch payload.text {
            case "established": self = .event(.connectionEstablished)
            case "end": self = .event(.connectionEnded)
            default: throw Self.invalid("unknown connection event")
            }
        case "refreshed_token": self = .event(.tokenRefreshed)
        case "completed_upload": self = .event(.uploadCompleted)
        case "update_subscriptions":
            let streams = try SyncPayload(payload.text ?? "").streams()
            self = .event(.subscriptionsChanged(active: streams))
        case "subscriptions": self = .subscriptions(try SyncPayload(payload.text ?? "").subscriptionChange())
        case "seed_checkpoint_request_id":
            guard let id = Self.integer(payload) else {
                throw Self.invalid("checkpoint request id must be an integer or integer string")
            }
            self = .seedCheckpointRequest(id)
        case "next_checkpoint_request_id": self = .nextCheckpointRequest
        case "current_checkpoint_request_id": self = .currentCheckpointRequest
        case "target_checkpoint_request_id":
            guard payload != .null else {
                self = .target(nil)
                return
            }
            guard let id = Self.integer(payload) else {
                throw Self.invalid(
                    "target checkpoint request id must be an integer, integer string, or null")
            }
            self = .target(id)
        default: throw Self.invalid("Unknown operation")
        }
    }

    static func invalid(_ message: String) -> SyncError { SyncError(.invalidArgument, message) }

    private static func integer(_ value: SQLiteValue) -> Int64? {
        switch value {
        case .integer(let integer): integer
        case .text(let text): Int64(text)
        case .null, .real, .blob: nil
        }
    }
}

/// What the command `subscriptions` does (client-core 7.1).
package enum SubscriptionChange {
    case subscribe(StreamKey, timeToLive: Int64?, priority: Int?)
    case unsubscribe(StreamKey)
}

extension SyncStore {
    /// Does what the command says.
    package func perform(_ change: SubscriptionChange) throws {
        switch change {
        case .subscribe(let stream, let timeToLive, let priority):
            try subscribe(stream, timeToLive: timeToLive, priority: priority)
        case .unsubscribe(let stream): try unsubscribe(stream)
        }
    }
}
