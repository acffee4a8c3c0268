import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncWire

/// The SQL functions of sync (client-core 4, 6.1).
///
/// An app that uses the SDK never needs them: `SyncCoordinator` drives iterations by the same reducer and store.
package enum SyncFunctions {
    private static let control = "powersync_control"

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
        try connection.createFunction(control, argumentCount: 2, flags: [.directOnly]) {
            [unowned connection] call in
            do {
                let core = try CoreExtension.of(connection)
                try core.requireTransaction()
                let command = try SyncCommand(call)
                // A copy: what the store does looks at the iteration of the core.
                var iteration = core.commandIteration
                defer { core.commandIteration = iteration }
                return try iteration.perform(
                    command, on: SyncStore(connection: connection, now: now()), of: core)
            } catch {
                throw described(error)
            }
        }
    }

    /// The error as SQL shows it, with the codes of client-core 4.
    private static func described(_ error: any Error) -> SQLiteError {
        switch error {
        case let error as SQLiteError: return CoreError.described(error, in: control)
        case let error as SyncError:
            let (code, prefix): (Int32, String) =
                switch error.code {
                case .invalidArgument: (3091, "")
                case .invalidState: (SQLiteError.Code.misuse.rawValue, "invalid state: ")
                case .localData: (SQLiteError.Code.corrupt.rawValue, "")
                default: (SQLiteError.Code.abort.rawValue, "Sync protocol error: ")
                }
            let cause = error.cause.map { ". cause: \($0)" } ?? ""
            return SQLiteError(
                extendedCode: code, message: "\(control): \(prefix)\(error.message)\(cause)")
        case let error as WireError:
            // Lines and payloads have been read: what is left was stored.
            return CoreError.corrupt("\(control): \(error)")
        default:
            return SQLiteError(code: .internal, message: "\(control): \(error)")
        }
    }
}
