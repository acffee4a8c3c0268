import CPowerSyncPQ
import PowerSyncSystem

/// One connection to Postgres, used by one task at a time.
///
/// A second statement while one runs is refused as `busy`. When the task that waits is cancelled, the server is
/// told to stop the statement and the connection is read empty, so that it can be used again; if that takes longer
/// than five seconds it is closed. The same happens when the deadline of a call or the connection's patience is over, but
/// within one second. A transaction stays open (and is usually failed) and is the caller's to roll back.
package actor PostgresConnection {
    /// What the transaction of the session is doing.
    package enum TransactionStatus: Sendable {
        /// There is none.
        case idle
        /// A statement is running.
        case active
        /// It is open and waits for the next statement.
        case inTransaction
        /// A statement of the transaction failed: only a rollback ends it.
        case inError
        /// The connection is gone.
        case unknown
    }

    enum Activity {
        case idle
        case statement
        case pipeline
        case copyOut
        case streaming
    }

    let handle: ConnectionHandle
    let poller: Poller
    var activity = Activity.idle
    /// How many segments of the pipeline that runs have not come to their end.
    var segmentsLeft = 0
    var isStreamBeingRead = false
    var isStreamBeingWritten = false
    /// Whether libpq has told that the stream is at its end, and whoever reads it has yet to hear of that.
    var isStreamAtEnd = false
    /// What the session has prepared; nil if statements have no names.
    var prepared: PreparedStatements?
    private var isInUse = false
    private var patience: Duration?
    private var recoveryTime: Duration?
    private var closingTime: ClosingTime?
    private var watcher: (@Sendable (Duration) -> Void)?

    init(_ handle: ConnectionHandle, _ poller: Poller) {
        self.handle = handle
        self.poller = poller
    }

    /// Whether statements can be sent: it is open, and the server has not said good-bye since the last one.
    package var isAlive: Bool {
        guard handle.isFine else { return false }
        if activity == .idle, handle.isReadable {
            // A notice or a notification is fine, an end is not: only reading tells.
            return handle.consumeInput() && handle.isFine
        }
        return true
    }

    /// Returns what a keyword of libpq was when connecting, whoever set it: the URI, the environment, a service file.
    package func option(_ keyword: String) -> String? { handle.option(keyword) }

    /// For example 150020 for 15.20.
    package var serverVersion: Int { handle.serverVersion }

    /// The process id of the session on the server, as in `pg_stat_activity`.
    package var backendProcessID: Int32 { handle.backendProcessID }

    /// What the transaction of the session is doing, as the server said last.
    package var transactionStatus: TransactionStatus {
        switch handle.transactionStatus {
        case PQTRANS_IDLE: .idle
        case PQTRANS_ACTIVE: .active
        case PQTRANS_INTRANS: .inTransaction
        case PQTRANS_INERROR: .inError
        default: .unknown
        }
    }

    /// How long the server may say nothing while it is waited for, and take nothing; nil, as at first, for ever.
    ///
    /// A wait that is over throws `timedOut`. It does not hold for a replication stream, whose reader has deadlines of its
    /// own, nor for a call that is given a deadline.
    package func setPatience(_ patience: Duration?) { self.patience = patience }

    /// Who is told before each call for how long the server may say nothing; not of calls that may take for ever.
    package func setWatcher(_ watcher: (@Sendable (Duration) -> Void)?) { self.watcher = watcher }

    /// How long the server may take to stop what a call left behind, before the connection is closed.
    ///
    /// Nil, as at first, is a second after a wait that was over, and five after a cancellation.
    package func setRecoveryTime(_ time: Duration?) { recoveryTime = time }

    /// How many statements of pipelines stay prepared, by their text; 0, as at first, prepares none.
    ///
    /// A statement that has parameters is then parsed and planned once, in front of its first use and in the same round trip.
    /// One text must have one meaning, whatever the session is set to. Behind a pooler that hands out another session for
    /// each transaction leave it at 0.
    package func setPreparedStatements(_ limit: Int) {
        prepared = limit > 0 ? PreparedStatements(limit: limit) : nil
    }

    /// By when it must be out of use, once that is said; nil, as at first, waits as long as the other times allow.
    package func setClosingTime(_ time: ClosingTime?) { closingTime = time }

    /// When a wait that begins now is over.
    func end(of deadline: ContinuousClock.Instant?) -> ContinuousClock.Instant? {
        deadline ?? patience.map { .now + $0 }
    }

    static let tooSlow = PostgresError(.timedOut, "the server did not answer in time")

    /// Asks the server to stop the statement that is running, which then fails with SQLSTATE 57014.
    ///
    /// Returns at once; if nothing runs any more, nothing happens.
    package func cancel() {
        // If it cannot be made the statement goes on, as it does where the server does not heed it.
        _ = handle.cancelRequest()?.send(poller)
    }

    /// Closes the connection; a statement that is running ends with the error `closed`.
    package func close() {
        handle.finish()
    }

    // MARK: Turns

    /// Runs `body` as the only user and puts the connection in order if it fails half-way.
    func exclusively<Value: Sendable>(
        until deadline: ContinuousClock.Instant? = nil, _ body: () async throws -> Value
    ) async throws -> Value {
        guard handle.isFine else { throw handle.lost() }
        guard !isInUse, activity == .idle else {
            throw PostgresError(.busy, "the connection is in use by another task or is streaming")
        }
        try Task.checkCancellation()
        if let deadline, deadline <= .now {
            throw PostgresError(.timedOut, "the time was over before anything was sent")
        }
        if let watcher, let end = end(of: deadline) { watcher(end - .now) }
        isInUse = true
        defer { isInUse = false }
        do {
            return try await body()
        } catch {
            // A cancelled task cannot wait, so the clearing up has a task of its own; it has a deadline.
            if activity != .idle, activity != .streaming {
                // Whoever waited long enough already does not wait long for this.
                let isLate = (error as? PostgresError)?.code == .timedOut
                let time = recoveryTime ?? (isLate ? Duration.seconds(1) : Duration.seconds(5))
                await Task { await self.recover(within: time) }.value
            }
            throw error
        }
    }

    /// Stops what runs and reads its results to the end; closes the connection if that fails.
    private func recover(within time: Duration) async {
        let (limit, closing) = (ContinuousClock.now + time, closingTime)
        // Again each time: it may be said meanwhile.
        var deadline: ContinuousClock.Instant { closing?.limit(limit) ?? limit }
        do {
            var isDrained = false
            // The server ignores a request that arrives before it has begun with the statement, so it is repeated.
            while !isDrained {
                guard handle.isFine, let request = handle.cancelRequest(), request.send(poller) else {
                    return handle.finish()
                }
                isDrained = try await drains(until: min(deadline, .now + .milliseconds(100)))
                // A request that arrives late would stop the next statement.
                while !request.isDone {
                    guard ContinuousClock.now < deadline else { return handle.finish() }
                    try await poller.sleep(until: .now + .milliseconds(1))
                }
                if !isDrained, ContinuousClock.now >= deadline { return handle.finish() }
            }
            activity = .idle
        } catch {
            // Whatever it was, the connection cannot be trusted any more, and the caller has the first error.
            handle.finish()
        }
    }

    /// Reads to the end of what runs; false when the deadline passes first, and then it can be called again.
    private func drains(until deadline: ContinuousClock.Instant) async throws -> Bool {
        do {
            try await drain(until: deadline)
            return true
        } catch let error as PostgresError where error.code == .timedOut {
            return false
        }
    }

    private func drain(until deadline: ContinuousClock.Instant) async throws {
        while true {
            let result = try await nextResult(until: deadline)
            guard let result else {
                if activity == .pipeline, handle.isFine { continue }
                return
            }
            switch result.status {
            case PGRES_COPY_OUT: while try await copyStep(until: deadline) != nil {}
            case PGRES_COPY_IN: guard handle.refuseCopy() else { throw handle.lost() }
            case PGRES_PIPELINE_SYNC:
                segmentsLeft -= 1
                guard segmentsLeft <= 0 else { continue }
                guard handle.exitPipeline() else { throw handle.lost() }
                return
            case PGRES_COPY_BOTH: throw handle.lost()
            default: break
            }
        }
    }

    // MARK: Waiting

    /// Returns when there may be something to read, which the caller then consumes; false if the deadline passed before.
    func waitReadable(until deadline: ContinuousClock.Instant? = nil) async throws -> Bool {
        while !handle.mayHoldInput, !handle.isReadable {
            guard try await wait({ try await $0.readable(until: deadline) }) else { return false }
        }
        // A stream that never runs dry must still end when its task is cancelled.
        try Task.checkCancellation()
        return true
    }

    /// Returns when the socket takes more.
    func waitWritable() async throws {
        let end = end(of: nil)
        while !handle.isWritable {
            guard try await wait({ try await $0.writable(until: end) }) else { throw Self.tooSlow }
        }
        try Task.checkCancellation()
    }

    private func wait(_ readiness: (Channel) async throws -> Bool) async throws -> Bool {
        guard let channel = handle.readiness else { throw handle.lost() }
        do {
            let isReady = try await readiness(channel)
            guard !handle.isFinished else { throw handle.lost() }
            return isReady
        } catch is CancellationError where handle.readiness == nil && !Task.isCancelled {
            // Closing the connection, or losing it, ends the wait in this way.
            throw handle.lost()
        }
    }

    /// Sends all that is queued, reading meanwhile: a server that cannot write its answers stops reading.
    func flush(until deadline: ContinuousClock.Instant? = nil) async throws {
        while try !handle.flush() {
            try Task.checkCancellation()
            if let deadline, deadline <= .now { throw Self.tooSlow }
            if !handle.isReadable && !handle.isWritable {
                let end = end(of: deadline)
                guard try await wait({ try await Self.waitReadableOrWritable($0, until: end) }) else {
                    throw Self.tooSlow
                }
            }
            // What had arrived before a loss is still to be read, and the next read reports the loss.
            if handle.isReadable, !handle.consumeInput() { return }
        }
    }

    private static func waitReadableOrWritable(
        _ channel: Channel, until deadline: ContinuousClock.Instant?
    ) async throws -> Bool {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask { try await channel.readable(until: deadline) }
            group.addTask { try await channel.writable(until: deadline) }
            // The other wait ends by this cancellation, which the group does not throw on.
            defer { group.cancelAll() }
            return try await group.next() ?? false
        }
    }

    /// The next result of what was sent, nil at the end of a statement.
    func nextResult(until deadline: ContinuousClock.Instant? = nil) async throws -> ResultHandle? {
        // On a connection that is lost there may still be results to read, the reason among them.
        if handle.isFine { try await flush(until: deadline) }
        while handle.isBusy {
            // A server that never stops sending is not waited for, and is late all the same.
            if let deadline, deadline <= .now { throw Self.tooSlow }
            guard try await waitReadable(until: end(of: deadline)) else { throw Self.tooSlow }
            // What had arrived before a loss is still to be read: libpq then makes a result of the loss.
            if !handle.consumeInput() { break }
        }
        return handle.nextResult()
    }
}
