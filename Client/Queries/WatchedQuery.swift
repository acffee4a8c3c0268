import PowerSyncSystem

/// One watched query: runs when its consumer asks for the next result and something has changed.
///
/// Nothing happens while the consumer is busy, so a slow one gets the newest result alone and nothing piles up.
final class WatchedQuery<RowType>: @unchecked Sendable {
    // Safe because only the one task touches the mutable state that has set `isAsked`; the mailbox, which others fill,
    // has a lock of its own.
    private let isAsked = Lock(false)
    private weak var database: LocalDatabase?
    private let options: WatchOptions<RowType>
    /// Says while the query runs that nobody wants it any more; nil for one that runs to its end.
    private let isUnwanted: (@Sendable () -> Bool)?
    /// Called each time before the query runs.
    private let prepare: (@Sendable () async throws -> Void)?
    private let mailbox: TableChangeMailbox
    /// Lets changes of other processes be told, too.
    private let observation: ExternalChanges.Observation?
    private let throttle: Duration
    private var tables: Set<String>?
    private let environment: SyncEnvironment
    private var lastResult: Duration?
    private var isOver = false

    /// Starts to take note of changes.
    init(
        _ options: WatchOptions<RowType>, of database: LocalDatabase,
        unless isUnwanted: (@Sendable () -> Bool)? = nil,
        before prepare: (@Sendable () async throws -> Void)? = nil
    ) {
        self.options = options
        self.database = database
        self.isUnwanted = isUnwanted
        self.prepare = prepare
        environment = database.environment
        mailbox = database.changes.mailbox()
        observation = database.group.external?.observe()
        throttle = Duration(waiting: options.throttle)
    }

    /// Returns the results as they come.
    func results() -> AsyncThrowingStream<[RowType], any Error> {
        AsyncThrowingStream { try await self.next() }
    }

    /// Waits for the next result; nil when the consumer is cancelled or the database closed or gone.
    ///
    /// - Throws: what the query or the mapper throws; `operationFailed` to a task that asks while another one waits.
    private func next() async throws -> [RowType]? {
        let isFirst = isAsked.withLock { isAsked in
            defer { isAsked = true }
            return !isAsked
        }
        guard isFirst else {
            throw PowerSyncError(.invalidState, "A watched query is read by one task at a time")
        }
        defer { isAsked.withLock { $0 = false } }
        guard !isOver else { return nil }
        do {
            if lastResult != nil {
                guard try await waitForChange() else { return finish() }
            }
            if let prepare {
                try await prepare()
                // Taken before the query runs, as above.
                _ = isRelevant(mailbox.drain())
            }
            guard let database else { return finish() }
            if lastResult == nil {
                // What was written before, and by opening the database, is in the first result.
                _ = try await database.pool()
                _ = mailbox.drain()
            }
            let rows = try await run(on: database)
            lastResult = environment.uptime()
            return rows
        } catch is CancellationError where Task.isCancelled {
            return finish()
        } catch {
            isOver = true
            // Closing ends the stream, it is no failure of the query.
            if database?.isClosed ?? true { return nil }
            throw error
        }
    }

    private func finish() -> [RowType]? {
        isOver = true
        return nil
    }

    /// Waits for a change of the tables and for the throttle; what comes meanwhile is part of the same result.
    private func waitForChange() async throws -> Bool {
        repeat {
            guard let changed = try await mailbox.next() else { return false }
            if isRelevant(changed) { break }
        } while true
        if let lastResult {
            let rest = lastResult + throttle - environment.uptime()
            if rest > .zero {
                let environment = environment
                // Cancelled by us or by the app: looked at below.
                await withCancellation(by: mailbox.ended) { try? await environment.sleep(rest) }
                try Task.checkCancellation()
                if mailbox.isFinished { return false }
            }
        }
        // Taken before the query runs: a change that comes later leads to another result.
        _ = isRelevant(mailbox.drain())
        return true
    }

    private func isRelevant(_ changed: Set<String>) -> Bool {
        if changed.contains(TableChanges.schema) || changed.contains(TableChanges.external) {
            // Another process, too, may have put other tables behind the names.
            tables = nil
        }
        guard let tables else { return true }
        return !tables.isDisjoint(with: changed)
    }

    private func run(on database: LocalDatabase) async throws -> [RowType] {
        let options = options
        let known = tables
        let isUnwanted = isUnwanted
        let (found, rows): (Set<String>, [RowType]) = try await database.readLock { connection in
            let context = isUnwanted == nil ? nil : connection as? any StatementContext
            // Before its tables are asked for: by that some have their effect already.
            try context?.refuseWriting(sql: options.sql)
            let tables =
                try known
                ?? WatchedTables.resolve(sql: options.sql, parameters: options.parameters, on: connection)
            guard let isUnwanted, let context else {
                let rows = try connection.getAll(
                    sql: options.sql, parameters: options.parameters, mapper: options.mapper)
                return (tables, rows)
            }
            let outcome = try context.outcome(
                sql: options.sql, parameters: options.parameters, unless: isUnwanted, mapper: options.mapper)
            guard case .rows(let rows) = outcome else { return (tables, []) }
            return (tables, rows)
        }
        tables = found
        return rows
    }
}
