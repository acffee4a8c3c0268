import PowerSyncSQLite
import PowerSyncWire

/// A sync iteration together with the data lines that wait to be stored (SPEC.md, "Coalescing").
///
/// A value without references to the database. When a call throws, it has not taken in the event; lines that waited
/// may have been stored, and no longer wait then.
package struct SyncIteration: Sendable {
    /// The iteration, including lines that wait.
    package private(set) var state = SyncState()
    /// How lines are stored.
    package let tuning: SyncTuning
    private var waiting: [WaitingLine] = []
    private var positions: [ExactText: WaitingPosition] = [:]
    /// The bytes of the lines that wait, as received.
    package private(set) var waitingBytes = 0

    /// Makes an iteration that has not begun.
    package init(tuning: SyncTuning = .standard) { self.tuning = tuning }

    /// Whether lines wait to be stored.
    package var isWaiting: Bool { !waiting.isEmpty }

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
        if case .line(.data(let line), let size) = event, tuning.coalescedBytes > 0 {
            let effects = try admit(line, event, size: size, on: connection, now: now)
            if waitingBytes >= tuning.coalescedBytes { try flush(on: connection, now: now) }
            return effects
        }
        try flush(on: connection, now: now)
        let result = try connection.transaction {
            try SyncTransaction.run([event], from: state, on: store(connection, now))
        }
        state = result.state
        return result.effects
    }

    /// Stores the lines that wait, in one transaction.
    ///
    /// - Throws: `SyncError` and `SQLiteError`; nothing is stored then, and the lines still wait.
    package mutating func flush(on connection: SQLiteConnection, now: Int64) throws {
        guard isWaiting else { return }
        try connection.transaction { try store(connection, now).save(waiting, expecting: positions) }
        waiting = []
        positions = [:]
        waitingBytes = 0
    }

    /// Counts what a line brings, and lets it wait.
    private mutating func admit(
        _ line: DataLine, _ event: SyncEvent, size: Int, on connection: SQLiteConnection, now: Int64
    ) throws -> [SyncEffect] {
        var next = state
        // The reducer marks the stream as connected and asks for the line to be saved, which is what waiting means.
        let asked = try SyncReducer.reduce(&next, event)
        var position =
            try positions[ExactText(line.bucket)]
            ?? WaitingPosition(stored: store(connection, now).position(ofBucket: line.bucket))
        let count = position.admit(line.operations)
        let effects = try SyncReducer.reduce(&next, .saved(bucket: line.bucket, count: count))
        state = next
        positions[ExactText(line.bucket)] = position
        waiting.append(WaitingLine(line: line, size: size))
        waitingBytes += size
        return effects
            + asked.filter {
                if case .perform = $0 { false } else { true }
            }
    }

    private func store(_ connection: SQLiteConnection, _ now: Int64) -> SyncStore {
        SyncStore(connection: connection, now: now, tuning: tuning)
    }
}
