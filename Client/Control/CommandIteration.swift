import PowerSyncSQLite
import PowerSyncWire

/// The sync iteration that `powersync_control` drives on one connection (client-core 6.1, 6.3).
///
/// Every command is stored when it returns, within the caller's transaction, so each line by itself. What a command
/// changes in memory it changes last; a caller that rolls back after an error finds the iteration as the error says.
struct CommandIteration {
    private var state = SyncState()
    /// The raw tables of the schema that the iteration was started with.
    private(set) var rawTables: [RawTableDefinition] = []

    /// Whether an iteration is under way.
    var isActive: Bool { state.isActive }

    /// Does a command.
    ///
    /// While a line is handled, a database that is busy or locked leaves the iteration as it is, and the same line
    /// may be repeated. Any other error of an iteration ends it.
    ///
    /// - Parameters:
    ///   - command: what to do.
    ///   - store: the database, in the caller's transaction.
    ///   - core: the core of the connection.
    /// - Returns: a JSON array of instructions, or what the command is defined to return.
    /// - Throws: `SyncError`, `SQLiteError`.
    mutating func perform(
        _ command: SyncCommand, on store: SyncStore, of core: CoreExtension
    ) throws -> SQLiteValue {
        switch command {
        case .start(let start, let rawTables):
            guard !core.isIterationActive else {
                throw SyncError(.invalidState, "The SDK syncs on this connection")
            }
            state = SyncState()
            self.rawTables = rawTables
            return try feed(on: store) { .start(start) }
        case .stop: return try feed(on: store) { .stop }
        case .lineText(let bytes):
            try requireIteration()
            return try feed(on: store, isLine: true) {
                .line(try Self.line("text") { try SyncLine(parsing: bytes) }, size: bytes.count)
            }
        case .lineBinary(let bytes):
            try requireIteration()
            return try feed(on: store, isLine: true) {
                .line(
                    try Self.line("binary") { try SyncLine(parsingBSON: bytes) },
                    size: bytes.count)
            }
        case .event(let event):
            try requireIteration()
            return try feed(on: store) { event }
        case .subscriptions(let change):
            try store.perform(change)
            return .null
        case .seedCheckpointRequest(let id):
            try core.requireIteration()
            try store.seedCheckpointRequest(id)
            return .integer(id)
        case .nextCheckpointRequest:
            try core.requireIteration()
            return .integer(try store.nextCheckpointRequest())
        case .currentCheckpointRequest: return SQLiteValue(try store.currentCheckpointRequest())
        case .target(nil): return SQLiteValue(try store.target())
        case .target(let id?): return SQLiteValue(try store.setTarget(id))
        }
    }

    private mutating func feed(
        on store: SyncStore, isLine: Bool = false, _ event: () throws -> SyncEvent
    ) throws -> SQLiteValue {
        do {
            let result = try SyncTransaction.run(try event(), from: state, on: store)
            state = result.state
            return .text(JSON.array(SyncInstructions.json(result.effects)).text)
        } catch {
            if !(isLine && Self.isRetryable(error)) { state = SyncState() }
            throw error
        }
    }

    private func requireIteration() throws(SyncError) {
        if !isActive { throw SyncError(.invalidState, "No iteration is active") }
    }

    private static func line(_ kind: String, _ parse: () throws -> SyncLine) throws(SyncError) -> SyncLine {
        do {
            return try parse()
        } catch {
            throw SyncError(.protocolViolation, "invalid \(kind) line", cause: error)
        }
    }

    private static func isRetryable(_ error: any Error) -> Bool {
        // Writing a row of a raw table is the app's own SQL, which may have done anything before it failed.
        guard let error = error as? SQLiteError, error.context == nil else { return false }
        return error.code == .busy || error.code == .locked
    }
}

extension CoreExtension {
    /// Whether an iteration counts on what is stored, the SDK's or one of SQL commands.
    var hasIteration: Bool { isIterationActive || commandIteration.isActive }

    /// The raw tables that synced rows go to: those that a running iteration of SQL commands was started with, else
    /// those of the schema.
    var syncedRawTables: [RawTableDefinition] {
        commandIteration.isActive ? commandIteration.rawTables : rawTables
    }

    fileprivate func requireIteration() throws(SyncError) {
        if !hasIteration { throw SyncError(.invalidState, "No iteration is active") }
    }
}
