import PowerSyncCommandLine
import PowerSyncPostgres
import PowerSyncSystem
import PowerSyncWire

/// Reads the catalog: at the start, when an upload does not fit it, when the database says that it has changed, and from
/// time to time (backend 8.5).
package actor CatalogWatch {
    /// Where the tables come from.
    package enum Source: Sendable {
        /// A table map and the name of its file.
        case map(TableMap, name: String)
        /// The publication, for development.
        case open
    }

    /// How a reading ended.
    private typealias Outcome = Result<CatalogKnowledge, any Error>

    private var source: Source
    /// Rises with each other source: what was read for one of before is none of this one's.
    private var sourceNumber = 0
    private let writer: DatabaseRole?
    private let pool: PostgresPool
    private let poller: Poller
    private let log: Log
    private let interval: Duration
    private let listener: CatalogListener?
    private var current: CatalogKnowledge?
    private var reading: (task: Task<Void, Never>, begun: ContinuousClock.Instant)?
    private var waiters: [Int: CheckedContinuation<Outcome, any Error>] = [:]
    private var lastWaiter = 0
    private var drifts = TriggerDrifts()
    private var commits: [ExactText: ContinuousClock.Instant] = [:]

    /// Makes a watch that has read nothing yet.
    ///
    /// - Parameters:
    ///   - source: where the tables come from.
    ///   - writer: the role that writes, whose rights count; nil for that of the pool.
    ///   - pool: reads the catalog.
    ///   - poller: waits.
    ///   - log: gets what has changed, and what cannot be read.
    ///   - interval: how often the catalog is looked at, whoever says nothing.
    ///   - listener: hears of changes; nil looks for them alone.
    package init(
        source: Source, writer: DatabaseRole? = nil, pool: PostgresPool, poller: Poller, log: Log,
        interval: Duration = .seconds(30), listener: CatalogListener? = nil
    ) {
        self.source = source
        self.writer = writer
        self.pool = pool
        self.poller = poller
        self.log = log
        self.interval = interval
        self.listener = listener
    }

    /// Whether the publication decides what may be written, whose changes no digest tells.
    package var isOpen: Bool {
        if case .open = source { true } else { false }
    }

    /// Reads the catalog for the first time and checks the map against it.
    ///
    /// - Throws: `BackendError` if the map names what is not there, `PostgresError`.
    package func load() async throws {
        let begun = ContinuousClock.now
        let tables = try await resolved(isRunning: false)
        warn(of: tables)
        current = CatalogKnowledge(tables, at: begun)
    }

    /// Says what an operator should know of tables.
    private func warn(of tables: UploadTables) {
        let subject = isOpen ? "open schema" : "table map"
        for warning in tables.warnings { log.warning(subject, ["backend.warning": warning]) }
    }

    /// Reads the catalog for another source and checks it as at the start, without taking it.
    ///
    /// - Parameter source: the other source.
    /// - Returns: its tables.
    /// - Throws: `BackendError` if it names what is not there, `PostgresError`.
    package func tables(of source: Source) async throws -> UploadTables {
        try await Self.resolved(source, as: writer, from: pool, isRunning: false)
    }

    /// Takes another source in place of the one of before; who plans from now on plans with its tables.
    ///
    /// - Parameters:
    ///   - source: the other source.
    ///   - tables: its tables, as `tables(of:)` has read them.
    ///   - moment: when that began.
    package func take(_ source: Source, _ tables: UploadTables, at moment: ContinuousClock.Instant) {
        self.source = source
        sourceNumber += 1
        warn(of: tables)
        var knowledge = current ?? CatalogKnowledge(tables, at: moment)
        knowledge.take(tables, at: moment)
        current = knowledge
        drifts.endAll()
    }

    /// What is known now.
    ///
    /// - Throws: what reading throws, if nothing was ever read.
    package func knowledge() async throws -> CatalogKnowledge {
        if let current { return current }
        return try await look(after: 0, since: .now, until: .now + .seconds(10))
    }

    /// Reads the catalog again, unless another reading already found something newer.
    ///
    /// All who ask at once share one reading, and there are at most ten a second.
    ///
    /// - Parameters:
    ///   - number: that of the knowledge which does not fit.
    ///   - moment: the reading must have begun after it.
    ///   - deadline: until when to wait; the reading goes on for the others.
    /// - Returns: what is known then.
    /// - Throws: `PostgresError`, `CancellationError`: it is not known whether the catalog has changed.
    package func look(
        after number: Int, since moment: ContinuousClock.Instant, until deadline: ContinuousClock.Instant
    ) async throws -> CatalogKnowledge {
        while true {
            if let current, current.number > number { return current }
            let isOlder = reading.map { $0.begun < moment } ?? false
            let outcome = try await outcome(until: deadline)
            // An older one may have seen what was before; whether it failed is not our concern.
            if !isOlder { return try outcome.get() }
        }
    }

    /// Begins a reading unless there is one, and waits for its end.
    private func outcome(until deadline: ContinuousClock.Instant) async throws -> Outcome {
        if reading == nil {
            let begun = ContinuousClock.now
            let pause = current.map { $0.readAt + .milliseconds(100) } ?? begun
            let task = Task { [poller] in
                do {
                    if pause > begun { try await poller.sleep(until: pause) }
                    end(.success(try await read()))
                } catch {
                    end(.failure(error))
                }
            }
            reading = (task, begun)
        }
        lastWaiter += 1
        let id = lastWaiter
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [poller] in
                // It throws when the reading ended first or the caller was cancelled: then there is no wait to end.
                guard (try? await poller.sleep(until: deadline)) != nil else { return }
                await self.endWait(id, Self.tooLate)
            }
            defer { group.cancelAll() }
            return try await wait(id, until: deadline)
        }
    }

    private func wait(_ id: Int, until deadline: ContinuousClock.Instant) async throws -> Outcome {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                // Whoever ends the wait may have come already and have found nobody waiting.
                if Task.isCancelled || deadline <= .now {
                    continuation.resume(throwing: Task.isCancelled ? CancellationError() : Self.tooLate)
                } else {
                    waiters[id] = continuation
                }
            }
        } onCancel: {
            Task { await self.endWait(id, CancellationError()) }
        }
    }

    private func endWait(_ id: Int, _ error: any Error) {
        waiters.removeValue(forKey: id)?.resume(throwing: error)
    }

    private func end(_ outcome: Outcome) {
        reading = nil
        let waiting = waiters
        waiters = [:]
        for waiter in waiting.values { waiter.resume(returning: outcome) }
    }

    /// How long a reading that no upload waits for may take.
    private static let patience = Duration.seconds(60)
    private static let tooLate = PostgresError(.timedOut, "the catalog was not read in time")

    private func read() async throws -> CatalogKnowledge {
        let (begun, number) = (ContinuousClock.now, sourceNumber)
        if var current, try await isUnchanged(current.tables) {
            guard number == sourceNumber else { return try await read() }
            current.take(current.tables, at: begun)
            self.current = current
            return current
        }
        let tables = try await resolved(isRunning: true)
        // Meanwhile another source may have come.
        guard number == sourceNumber else { return try await read() }
        var knowledge = current ?? CatalogKnowledge(tables, at: begun)
        let before = knowledge.number
        knowledge.take(tables, at: begun)
        current = knowledge
        if knowledge.number != before {
            drifts.endAll()
            log.info("the catalog has changed", ["backend.tables": String(tables.tables.count)])
        }
        return knowledge
    }

    /// Whether every table of the map is as it was read: one small question instead of the whole catalog.
    private func isUnchanged(_ tables: UploadTables) async throws -> Bool {
        guard !isOpen else { return false }
        let entries = tables.tables.values.map(\.source) + tables.missing.values
        let different = try await pool.withConnection { [writer] connection in
            try await connection.query(
                """
                SELECT count(*)::text FROM unnest($1::text[], $2::text[], $3::text[]) AS e(schema_name, table_name, digest)
                WHERE psb.table_digest(e.schema_name, e.table_name, $4::name) IS DISTINCT FROM e.digest
                """,
                [
                    arrayLiteral(entries.map(\.name.schema)), arrayLiteral(entries.map(\.name.table)),
                    arrayLiteral(entries.map(\.digest)), writer?.name,
                ])
        }
        return different.scalar == "0"
    }

    private func resolved(isRunning: Bool) async throws -> UploadTables {
        try await Self.resolved(source, as: writer, from: pool, isRunning: isRunning)
    }

    private static func resolved(
        _ source: Source, as writer: DatabaseRole?, from pool: PostgresPool, isRunning: Bool
    ) async throws -> UploadTables {
        let catalog = try await pool.withConnection { try await Catalog(reading: $0, as: writer) }
        switch source {
        case .map(let map, let name):
            return try UploadTables(map: map, source: name, catalog: catalog, isRunning: isRunning)
        case .open:
            return try UploadTables(openSchemaOf: catalog, isRunning: isRunning)
        }
    }

    // MARK: What the uploads of others tell

    /// Notes that a transaction has committed.
    ///
    /// - Parameters:
    ///   - work: what was executed in it.
    ///   - moment: when.
    package func committed(_ work: Set<TriggerDrifts.Work>, at moment: ContinuousClock.Instant) {
        for work in work { commits[work.table] = moment }
        drifts.end(work)
    }

    /// Whether a transaction of one of these tables has committed since.
    ///
    /// - Parameters:
    ///   - tables: the client's names.
    ///   - moment: since when.
    /// - Returns: whether there was one.
    package func hasCommit(of tables: Set<ExactText>, since moment: ContinuousClock.Instant) -> Bool {
        tables.contains { table in commits[table].map { $0 > moment } ?? false }
    }

    /// Notes that statements missed a name although the catalog has not changed (`TriggerDrifts.isLasting`).
    package func isLasting(
        _ work: Set<TriggerDrifts.Work>, sqlstate: String, at now: ContinuousClock.Instant, grace: Duration
    ) -> Bool {
        drifts.isLasting(work, sqlstate: sqlstate, at: now, grace: grace)
    }

    // MARK: Changes that no upload meets

    /// Reads the catalog when somebody says that it has changed, and from time to time, until its task is cancelled.
    package func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.poll() }
            if let listener { group.addTask { await listener.run { await self.reread() } } }
        }
    }

    private func poll() async {
        while true {
            // It only throws when the task is cancelled.
            guard (try? await poller.sleep(until: .now + interval)) != nil else { return }
            await takeOver(since: nil)
        }
    }

    /// Reads what is there now, however many changes that are.
    private func reread() async { await takeOver(since: .now) }

    private func takeOver(since moment: ContinuousClock.Instant?) async {
        do {
            // One that has begun before may see what was before; whether it fails is not our concern.
            if let moment, let reading, reading.begun < moment {
                _ = try await outcome(until: .now + Self.patience)
            }
            _ = try await outcome(until: .now + Self.patience).get()
        } catch is CancellationError {
            return
        } catch {
            log.warning("the catalog could not be read", ["error": "\(error)"])
        }
    }
}
