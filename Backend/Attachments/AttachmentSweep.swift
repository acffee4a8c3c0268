import PowerSyncCommandLine
import PowerSyncPostgres
import PowerSyncSystem

/// Clears up, every ten minutes, what nobody finishes or names any more (backend 10.3).
///
/// The rules have the time of the environment, and none is the database's. What a batch has done stays done if a later one
/// fails, and everything may be done twice: several backends clear up at once.
package struct AttachmentSweep: Sendable {
    /// What was done.
    package struct Outcome: Sendable, Hashable {
        /// Uploads that were not finished in time and are forgotten.
        package var unfinished = 0
        /// Uploads that were finished, which nobody had said.
        package var finished = 0
        /// Attachments that no row has named for long, and that are deleted.
        package var unnamed = 0
        /// Bytes of which the store was told that they go.
        package var removed = 0
        /// Deleted ids that are forgotten.
        package var forgotten = 0
        /// Users whose sums were not those of their records, and are.
        package var recounted = 0

        /// Makes an outcome of nothing.
        package init() {}
    }

    /// The most attachments that one transaction looks at.
    private static let batch = 500
    /// How long a transaction or a call of the store may take.
    private static let patience = Duration.seconds(60)
    private static let interval = Duration.seconds(600)

    private let service: AttachmentService
    private let clockTolerance: Duration?
    /// When the sums of all users were looked at last; nil before the first time.
    private let compared = Lock<Double?>(nil)

    /// Makes it.
    ///
    /// - Parameters:
    ///   - service: whose attachments it looks after.
    ///   - clockTolerance: how far the clock may be from that of the database; nil where it has nothing to do with it.
    init(_ service: AttachmentService, clockTolerance: Duration?) {
        self.service = service
        self.clockTolerance = clockTolerance
    }

    /// Runs until its task is cancelled.
    func run() async {
        while true {
            do {
                tell(try await sweep())
            } catch is CancellationError {
                return
            } catch {
                log.warning("attachments not cleared up to the end", ["error": "\(Self.told(error))"])
            }
            // It only throws when the task is cancelled.
            guard (try? await service.store.poller.sleep(until: .now + Self.interval)) != nil else { return }
        }
    }

    private func tell(_ outcome: Outcome) {
        let values: [LogKey: String] = [
            "attachments.unfinished": String(outcome.unfinished),
            "attachments.finished": String(outcome.finished),
            "attachments.unnamed": String(outcome.unnamed), "attachments.removed": String(outcome.removed),
            "attachments.forgotten": String(outcome.forgotten),
            "attachments.recounted": String(outcome.recounted),
        ]
        if outcome == Outcome() {
            log.debug("attachments looked through", values)
        } else {
            log.info("attachments cleared up", values)
        }
    }

    /// Clears up once.
    ///
    /// - Returns: what was done.
    /// - Throws: the first error that there was, when all that does not depend on it is done; `BackendError` where the clock
    ///   cannot be trusted; `CancellationError`.
    package func sweep() async throws -> Outcome {
        try await requireClock()
        var outcome = Outcome()
        var failure: (any Error)?
        for step in [endUnfinished, deleteUnnamed, removeDue, forgetDeleted, compareSums] {
            do {
                try await step(&outcome)
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return outcome
    }

    /// Refuses to decide by a clock that is far from that of the database: one that has jumped takes what was just begun for
    /// a day old.
    private func requireClock() async throws {
        guard let tolerance = clockTolerance else { return }
        let deadline = ContinuousClock.now + Self.patience
        let told = try await service.transactions.alone(until: deadline) {
            try await $0.query(
                "SELECT extract(epoch FROM pg_catalog.clock_timestamp())::text", [], until: deadline
            ).scalar
        }
        guard let theirs = told.flatMap({ Double($0) }) else { throw AttachmentTable.malformed }
        let difference = Duration.seconds(service.environment.now() - theirs)
        guard difference > .zero - tolerance, difference < tolerance else {
            throw BackendError(
                .configuration,
                "the clock of this machine and that of the database are \(difference.components.seconds) s apart: nothing "
                    + "is cleared up")
        }
    }

    private var log: Log { service.log }

    private var pace: PruningPace { PruningPace(most: Self.batch, poller: service.store.poller, log: log) }

    /// What the log says of an error; a problem is what a client would be told.
    private static func told(_ error: any Error) -> String {
        (error as? Problem).map(\.code) ?? "\(error)"
    }

    // MARK: Steps

    /// Forgets uploads of which nothing was heard for long; those that the store has whole are ready.
    ///
    /// Forgotten and not deleted: a device that comes back begins anew.
    private func endUnfinished(_ outcome: inout Outcome) async throws {
        var failures = Failures()
        while true {
            let now = service.environment.now()
            let limit = now - AttachmentRules.unfinished
            let deadline = ContinuousClock.now + Self.patience
            let records = try await service.transactions.alone(until: deadline) {
                try await AttachmentTable.unfinished(
                    since: limit, triedBefore: now - AttachmentRules.pause, most: Self.batch, on: $0,
                    until: deadline)
            }
            for record in records {
                do {
                    try await end(record, notSignedSince: limit, &outcome)
                } catch {
                    // The others have their turn before this one comes again.
                    let deadline = ContinuousClock.now + Self.patience
                    try await service.transactions.alone(until: deadline) {
                        try await AttachmentTable.pass([record.key], at: now, on: $0, until: deadline)
                    }
                    try failures.add(error)
                }
            }
            if records.count < Self.batch { return try failures.end() }
        }
    }

    private func end(
        _ record: AttachmentRecord, notSignedSince limit: Double, _ outcome: inout Outcome
    ) async throws {
        let deadline = ContinuousClock.now + Self.patience
        if try await service.isStored(record, deadline) {
            if try await service.settle(record, by: .nobody, deadline) == .ready { outcome.finished += 1 }
            return
        }
        try await service.requireStore(by: .nobody, deadline)
        let now = service.environment.now()
        let isGone = try await service.transactions.alone(until: deadline) {
            try await AttachmentTable.forget(record, notSignedSince: limit, at: now, on: $0, until: deadline)
        }
        if isGone { outcome.unfinished += 1 }
    }

    /// What went wrong with some of many, which keeps nobody from the others.
    private struct Failures {
        /// With so many the store is taken for away, and the rest waits for the next time.
        private static let most = 8

        private var first: (any Error)?
        private var count = 0

        /// Counts a failure.
        mutating func add(_ error: any Error) throws {
            if error is CancellationError { throw error }
            count += 1
            first = first ?? error
            if count == Self.most { try end() }
        }

        /// Tells of the first one.
        func end() throws {
            if let first { throw first }
        }
    }

    /// Looks at the rows of attachments, of each once a day, and deletes those that have had none for long.
    private func deleteUnnamed(_ outcome: inout Outcome) async throws {
        var pace = pace
        while true {
            let batch = try await pace.run { try await look(at: $0) }
            outcome.unnamed += batch.deleted
            if batch.seen < pace.size { return }
        }
    }

    private struct Batch: Sendable {
        var seen = 0
        /// The keys of those whose table nobody knows.
        var passed: [String] = []
        /// Those of them that no row has named for long.
        var unnamed: [AttachmentRecord] = []
        var deleted = 0
    }

    private func look(at most: Int) async throws -> Batch {
        let now = service.environment.now()
        let deadline = ContinuousClock.now + Self.patience
        var batch: Batch = try await service.transactions.run(as: .nobody, until: deadline) { transaction in
            let (connection, access) = (transaction.connection, transaction.access)
            guard try await seesRows(transaction) else { return Batch() }
            // Nothing is locked while the tables of the app are looked through.
            let unseen = try await AttachmentTable.unseen(
                since: now - AttachmentRules.lookedAt, most: most, on: connection, until: deadline)
            let known = unseen.filter { access.knowsTable(of: $0.record) }
            let passed = unseen.map(\.record).filter { !access.knowsTable(of: $0) }.map(\.key)
            guard !known.isEmpty else { return Batch(seen: unseen.count, passed: passed) }
            let named = try await self.named(known.map(\.record), transaction)
            let looks = known.enumerated().map { place, unseen in
                AttachmentTable.Look(unseen, isNamed: named.contains(place))
            }
            let unnamed = try await AttachmentTable.note(
                looks, at: now, unnamedSince: now - AttachmentRules.unnamed, on: connection, until: deadline)
            return Batch(
                seen: unseen.count, passed: passed,
                unnamed: known.map(\.record).filter { unnamed.contains($0.key) })
        }
        if !batch.passed.isEmpty {
            try await service.transactions.alone(until: deadline) { [passed = batch.passed] in
                try await AttachmentTable.pass(passed, at: now, on: $0, until: deadline)
            }
        }
        if !batch.unnamed.isEmpty { batch.deleted = try await delete(batch.unnamed, at: now) }
        return batch
    }

    /// Deletes attachments that no row has named for long, but for those that a row names by now; how many.
    ///
    /// Looking at many takes its time, and so may noting what was seen: rows that have come meanwhile were not.
    private func delete(_ unnamed: [AttachmentRecord], at now: Double) async throws -> Int {
        let deadline = ContinuousClock.now + Self.patience
        return try await service.transactions.run(as: .nobody, until: deadline) { transaction in
            let (connection, access) = (transaction.connection, transaction.access)
            guard try await seesRows(transaction) else { return 0 }
            let named = try await places(transaction.askRows(access.named(unnamed)))
            let keys = unnamed.indices.filter { !named.contains($0) }.map { unnamed[$0].key }
            let deleted = try await AttachmentTable.deleteUnnamed(
                keys, since: now - AttachmentRules.unnamed, at: now, on: connection, until: deadline)
            // Behind that, since it waits for no record with another one in hand.
            _ = try await transaction.ask(AttachmentTable.naming(named.map { unnamed[$0] }))
            return deleted
        }
    }

    /// Whether all rows are seen: those that nobody can see now may be there, and those of a table that no map names, too.
    private func seesRows(_ transaction: AttachmentTransactions.Transaction) async throws -> Bool {
        guard !transaction.access.tables.isEmpty, !transaction.lacksRows else { return false }
        return try await !hidesRows(transaction)
    }

    /// Whether one of the tables may hide rows from whoever clears up.
    private func hidesRows(_ transaction: AttachmentTransactions.Transaction) async throws -> Bool {
        let hiding = try await transaction.askRows(HiddenRows.question(transaction.access.tables))
        guard hiding?.rowCount ?? 0 > 0 else { return false }
        log.debug("the database may hide rows that name attachments: none is taken for unnamed")
        return true
    }

    /// The places of those that any row names.
    ///
    /// A table that cannot be looked through keeps the files of all: it is told which.
    private func named(
        _ records: [AttachmentRecord], _ transaction: AttachmentTransactions.Transaction
    ) async throws -> Set<Int> {
        var named: Set<Int> = []
        for table in transaction.access.tables {
            do {
                let question = transaction.access.named(records, in: [table])
                named.formUnion(places(try await transaction.askRows(question)))
            } catch let error as PostgresError {
                let name = table.source.name
                log.warning(
                    "no attachment is taken for unnamed now: a table cannot be looked through",
                    ["backend.table": "\(name.schema).\(name.table)", "error": "\(error)"])
                throw error
            }
        }
        return named
    }

    private func places(_ result: PostgresResult?) -> Set<Int> {
        guard let result else { return [] }
        return Set((0..<result.rowCount).compactMap { result[$0, 0].flatMap { Int($0) } })
    }

    /// Tells the store what goes.
    private func removeDue(_ outcome: inout Outcome) async throws {
        var failures = Failures()
        while true {
            let now = service.environment.now()
            let deadline = ContinuousClock.now + Self.patience
            let due = try await service.transactions.alone(until: deadline) {
                try await AttachmentTable.due(at: now, most: Self.batch, on: $0, until: deadline)
            }
            for removal in due {
                do {
                    try await service.remove(
                        removal, by: .nobody, until: ContinuousClock.now + Self.patience)
                    outcome.removed += 1
                } catch {
                    // The others have their turn before this one comes again.
                    let deadline = ContinuousClock.now + Self.patience
                    try await service.transactions.alone(until: deadline) {
                        try await AttachmentTable.postpone(
                            removal, to: now + AttachmentRules.pause, on: $0, until: deadline)
                    }
                    try failures.add(error)
                }
            }
            if due.count < Self.batch { return try failures.end() }
        }
    }

    /// Looks once a day, user by user, whether the sums are those of the records, and counts anew what is not.
    private func compareSums(_ outcome: inout Outcome) async throws {
        let now = service.environment.now()
        if let last = compared.withLock({ $0 }), last <= now, now < last + AttachmentRules.lookedAt { return }
        var pace = pace
        var user = ""
        while true {
            let users = try await pace.run { [user] most in
                let deadline = ContinuousClock.now + Self.patience
                return try await service.transactions.alone(until: deadline) {
                    try await AttachmentTable.users(after: user, most: most, on: $0, until: deadline)
                }
            }
            for user in users.wrong {
                let deadline = ContinuousClock.now + Self.patience
                try await service.transactions.alone(until: deadline) {
                    try await AttachmentTable.recount(user, on: $0, until: deadline)
                }
                outcome.recounted += 1
            }
            guard let last = users.last, users.count >= pace.size else { break }
            user = last
        }
        compared.withLock { $0 = now }
        guard outcome.recounted > 0 else { return }
        log.warning(
            "the sums of what users have were wrong, as where triggers are passed over: they are counted anew",
            ["attachments.recounted": String(outcome.recounted)])
    }

    /// Forgets ids that were deleted long ago.
    private func forgetDeleted(_ outcome: inout Outcome) async throws {
        var pace = pace
        let limit = service.environment.now() - AttachmentRules.kept
        while true {
            let count = try await pace.run { most in
                let deadline = ContinuousClock.now + Self.patience
                return try await service.transactions.alone(until: deadline) {
                    try await AttachmentTable.forgetDeleted(
                        before: limit, most: most, on: $0, until: deadline)
                }
            }
            outcome.forgotten += count
            if count < pace.size { return }
        }
    }
}
