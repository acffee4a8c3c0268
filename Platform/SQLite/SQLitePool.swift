import PowerSyncSystem

/// One writing and several reading connections of a database, each on a thread of its own; in long work another one
/// moves the write-ahead log into the file (``WALCheckpointer``).
///
/// Requests are served in the order they came. A cancelled task stops waiting at once; work that has started
/// runs to its end. A body that leaves a transaction open gets it rolled back.
package final class SQLitePool: Sendable {
    let writes = SQLiteJobQueue()
    private let reads: SQLiteJobQueue?
    private let updates: SQLiteTableUpdates
    private let writer: SQLiteWorker
    private let readers: Readers
    private let checkpointer: WALCheckpointer

    /// The readers that have been started.
    private final class Readers: Sendable {
        let workers = Lock<[SQLiteWorker]>([])
        let queue: SQLiteJobQueue?

        init(_ queue: SQLiteJobQueue?) { self.queue = queue }

        var count: Int { workers.withLock { $0.count } }

        /// Ends them after what they still have to do, and blocks until their connections are closed.
        func end() {
            queue?.close()
            for worker in workers.withLock({ $0 }) { worker.waitForEnd() }
        }
    }

    /// Opens a database whose log somebody copies who is given.
    init(
        opening path: String, readers count: Int,
        setUp: @escaping @Sendable (SQLiteConnection, _ isWriter: Bool) throws -> Void,
        onChange: @escaping @Sendable (Set<String>) -> Void, checkpointer: WALCheckpointer
    ) async throws {
        let isInMemory = path == ":memory:" || path.isEmpty
        let reads = isInMemory || count == 0 ? nil : SQLiteJobQueue()
        self.reads = reads
        let readers = Readers(reads)
        self.readers = readers
        let updates = SQLiteTableUpdates(onChange)
        self.updates = updates
        self.checkpointer = checkpointer
        // The connection that is closed last moves what is in the log into the file, which one that only reads cannot.
        let beforeClose: @Sendable () -> Void = {
            readers.end()
            checkpointer.end()
        }
        writer = try await SQLiteWorker.start(writes, beforeClose: beforeClose) {
            let connection = try SQLiteConnection(path: path)
            try setUp(connection, true)
            updates.observe(connection)
            try checkpointer.relieve(connection)
            return connection
        }
        guard let reads else { return }
        do {
            for _ in 0..<count {
                let reader = try await SQLiteWorker.start(reads) {
                    let connection = try SQLiteConnection(path: path, flags: .readOnly)
                    try setUp(connection, false)
                    return connection
                }
                readers.workers.withLock { $0.append(reader) }
            }
        } catch {
            writes.close()
            await writer.finished()
            throw error
        }
    }

    deinit {
        // The threads end after what they still have to do.
        writes.close()
    }

    /// Opens a database, the writer first.
    ///
    /// - Parameters:
    ///   - path: A file; for ":memory:" there are no readers, and reading uses the writer.
    ///   - readers: How many read-only connections.
    ///   - logLimit: From how many bytes on the write-ahead log begins anew, as soon as it can; it may become twice as long
    ///     where no reader keeps it, and any length where one does. Nil is 256 MB.
    ///   - keptLog: How many bytes of the log's file stay when it begins anew (`PRAGMA journal_size_limit`), for the next
    ///     ones, unless it does because of `shortenLog`; nil keeps the file as long as it was, or as `setUp` says.
    ///   - setUp: Runs once on each new connection, on its thread.
    ///   - onChange: Gets the names of the tables that a piece of work on the writer has changed and committed, also if
    ///     the work failed later. Runs on the writer's thread before whoever gave the work goes on; must not block.
    ///   - onCheckpointFailure: Gets why the write-ahead log is not copied into the file, or not beside the writer. Must
    ///     not block.
    /// - Returns: The open pool.
    /// - Throws: What opening or `setUp` throws; nothing stays open then.
    package static func open(
        path: String, readers: Int, logLimit: Int? = nil, keptLog: Int? = nil,
        setUp: @escaping @Sendable (SQLiteConnection, _ isWriter: Bool) throws -> Void = { _, _ in },
        onChange: @escaping @Sendable (Set<String>) -> Void = { _ in },
        onCheckpointFailure: @escaping @Sendable (WALFailure) -> Void = { _ in }
    ) async throws -> SQLitePool {
        try await SQLitePool(
            opening: path, readers: readers,
            setUp: { connection, isWriter in
                try setUp(connection, isWriter)
                // The one that writes is the one with which the log begins anew.
                if let keptLog, isWriter { try connection.execute("PRAGMA journal_size_limit = \(keptLog)") }
            }, onChange: onChange,
            checkpointer: WALCheckpointer(
                limits: logLimit.map { WALCheckpointer.Limits.forLog(of: $0) } ?? WALCheckpointer.Limits(),
                onFailure: onCheckpointFailure))
    }

    /// Runs `body` alone on the writing connection; it opens no transaction by itself.
    ///
    /// - Parameters:
    ///   - isCounted: Whether the request shows in ``countedWrites``, from the moment on at which it waits.
    ///   - body: The work; the connection must not leave it.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws, `CancellationError` while waiting, `.misuse` after `close` or if `body`
    ///   left a transaction open.
    package func write<T: Sendable>(
        isCounted: Bool = false, _ body: @escaping @Sendable (SQLiteConnection) throws -> T
    ) async throws -> T {
        if isCounted { writes.countRequest() }
        writes.beginUses(1)
        return try await submitWrite(body)
    }

    /// Runs `body` as `write` if nobody has the writing connection or waits for it.
    ///
    /// - Parameters:
    ///   - isCounted: Whether the request shows in ``countedWrites``.
    ///   - body: The work; the connection must not leave it.
    /// - Returns: What `body` returns; nil if the connection is in use.
    /// - Throws: As `write`.
    package func writeIfFree<T: Sendable>(
        isCounted: Bool = false, _ body: @escaping @Sendable (SQLiteConnection) throws -> T
    ) async throws -> T? {
        if isCounted { writes.countRequest() }
        guard writes.beginUse(ifBelow: 1) else { return nil }
        let value = try await submitWrite(body)
        return value
    }

    private func submitWrite<T: Sendable>(
        _ body: @escaping @Sendable (SQLiteConnection) throws -> T
    ) async throws -> T {
        let updates = updates
        return try await submit(to: writes) { connection in
            let result = Result { try connection.lend { try body(connection) } }
            // Told before the caller goes on, also about what was committed before a failure.
            updates.tellWhatWasCommitted()
            return try result.get()
        }
    }

    /// How many requests wait for the writing connection; costs a lock that is free as a rule.
    package var waitingWrites: Int { writes.count }

    /// How many counted requests for the writing connection there have been, those that wait included.
    package var countedWrites: Int { writes.counted }

    /// How many requests wait for a reading connection.
    package var waitingReads: Int { reads?.count ?? 0 }

    /// Runs `body` on a reading connection.
    ///
    /// - Parameter body: The work; the connection must not leave it.
    /// - Returns: What `body` returns.
    /// - Throws: As `write`.
    package func read<T: Sendable>(
        _ body: @escaping @Sendable (SQLiteConnection) throws -> T
    ) async throws -> T {
        guard let reads else { return try await write(body) }
        reads.beginUses(1)
        return try await submit(to: reads) { connection in try connection.lend { try body(connection) } }
    }

    /// Runs `body` as `read` if there is a reading connection that nobody has or waits for.
    ///
    /// - Parameter body: The work; the connection must not leave it.
    /// - Returns: What `body` returns; nil if all are in use.
    /// - Throws: As `write`.
    package func readIfFree<T: Sendable>(
        _ body: @escaping @Sendable (SQLiteConnection) throws -> T
    ) async throws -> T? {
        guard let reads else { return try await writeIfFree(body) }
        guard reads.beginUse(ifBelow: readers.count) else { return nil }
        let value = try await submit(to: reads) { connection in try connection.lend { try body(connection) } }
        return value
    }

    /// Runs `body` while it has every connection to itself.
    ///
    /// - Parameter body: The work; the connections must not leave it.
    /// - Returns: What `body` returns.
    /// - Throws: As `write`.
    package func all<T: Sendable>(
        _ body: @escaping @Sendable (_ writer: SQLiteConnection, _ readers: [SQLiteConnection]) throws -> T
    ) async throws -> T {
        let reads = reads
        let count = readers.count
        return try await write { writer in
            guard let reads else { return try body(writer, []) }
            reads.beginUses(count)
            defer { reads.endUses(count) }
            let parking = SQLiteParking()
            for _ in 0..<count where !reads.add({ parking.park($0) }) { throw closed }
            defer { parking.release() }
            let readers = parking.waitForAll(count)
            defer { for reader in readers { reader.rollBack() } }
            return try body(writer, readers)
        }
    }

    /// Lets the write-ahead log begin anew if it is long: for whoever writes much, between two transactions.
    ///
    /// Its file stays as long as it is until it is cut at rest (``cutLog()``, ``truncateLog()``). Others write while this waits for the log to be copied, and then only what they have written meanwhile is left. A
    /// reader that keeps the log is not waited for.
    ///
    /// - Throws: As `write`.
    package func shortenLog() async throws {
        guard checkpointer.isLong else { return }
        let checkpointer = checkpointer
        do {
            try await checkpointer.copyAll()
            try await write {
                try checkpointer.keepFile(on: $0)
                checkpointer.copyRest(on: $0)
            }
        } catch {
            checkpointer.leaveRest()
            throw error
        }
    }

    /// Cuts the write-ahead log as ``truncateLog()`` if it is long: for whoever has written much, once that is over.
    ///
    /// SQLite by itself cuts the file in the next transaction, which takes a moment for each megabyte.
    ///
    /// - Throws: As `truncateLog`.
    package func cutLog() async throws {
        guard checkpointer.isWorthCutting else { return }
        _ = try await truncateLog()
    }

    /// Moves all of the write-ahead log into the file and cuts it to nothing: for a time in which nothing is written.
    ///
    /// Others write while this waits for the log to be copied. A reader that needs the log, or another process that copies
    /// it, is not waited for.
    ///
    /// - Returns: Whether the log is empty; also where there is none.
    /// - Throws: As `write`, and SQLite's error.
    package func truncateLog() async throws -> Bool {
        let checkpointer = checkpointer
        defer { checkpointer.leaveRest() }
        try await checkpointer.copyAll()
        return try await write { try checkpointer.truncate(on: $0) }
    }

    /// Refuses new work, waits for what was accepted and closes every connection.
    package func close() async {
        writes.close()
        await writer.finished()
    }

    /// Lets a body wait for a connection, for which a use has begun.
    private func submit<T: Sendable>(
        to queue: SQLiteJobQueue, _ body: @escaping @Sendable (SQLiteConnection) throws -> T
    ) async throws -> T {
        let request = SQLiteRequest<T>()
        return try await withTaskCancellationHandler {
            try await withThrowingResumption { continuation in
                guard request.wait(continuation) else {
                    queue.endUses(1)
                    continuation.resume(throwing: CancellationError())
                    return
                }
                let isAccepted = queue.add(of: ObjectIdentifier(request)) { connection in
                    guard let continuation = request.begin() else { return queue.endUses(1) }
                    let result = Result { try body(connection) }
                    queue.endUses(1)
                    continuation.resume(with: result)
                }
                if !isAccepted {
                    queue.endUses(1)
                    request.begin()?.resume(throwing: closed)
                }
                // It may have been cancelled before it was there to be taken back.
                if request.isCancelled { queue.remove(of: ObjectIdentifier(request)) }
            }
        } onCancel: {
            guard let continuation = request.cancel() else { return }
            queue.remove(of: ObjectIdentifier(request))
            continuation.resume(throwing: CancellationError())
        }
    }
}

private let closed = SQLiteError(code: .misuse, message: "the database is closed")

/// Where readers wait while somebody else uses their connections.
private final class SQLiteParking: Sendable {
    /// Safe because the reader that parked it blocks until it is released.
    private struct Parked: @unchecked Sendable { let connection: SQLiteConnection }

    private struct State {
        var parked: [Parked] = []
        var isReleased = false
    }

    private let state = Monitor(State())

    func park(_ connection: SQLiteConnection) {
        let parked = Parked(connection: connection)
        state.change(waking: .everybody) { $0.parked.append(parked) }
        state.wait { $0.isReleased ? () : nil }
    }

    func waitForAll(_ count: Int) -> [SQLiteConnection] {
        state.wait { $0.parked.count == count ? $0.parked : nil }.map(\.connection)
    }

    func release() { state.change(waking: .everybody) { $0.isReleased = true } }
}
