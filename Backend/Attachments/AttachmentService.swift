import PowerSyncCommandLine
import PowerSyncPostgres
import PowerSyncSystem
import PowerSyncWire

/// Says who may upload, download and delete which file, and keeps what is known of each (backend 10).
///
/// Each request asks the database in one transaction, which records what it decides about, and the store outside of it. What
/// the store brings is recorded only where nobody has decided otherwise meanwhile.
package struct AttachmentService: Sendable {
    let transactions: AttachmentTransactions
    let store: StoreCalls
    let policy: AttachmentPolicy
    let environment: BackendEnvironment
    let log: Log
    /// Whose questions the database is asked: one user has no more of its connections than these.
    let turns: UserTurns
    /// Whose uploads in parts are completed.
    let joins: UserTurns

    typealias Transaction = AttachmentTransactions.Transaction

    /// How long a store is waited for with what nobody waits for.
    static let patience = Duration.seconds(10)

    // MARK: Deleting

    /// Deletes an attachment of its uploader, once no row needs it.
    ///
    /// - Parameters:
    ///   - id: the attachment.
    ///   - caller: who asks.
    ///   - deadline: when the request is over.
    /// - Throws: `Problem`, `PostgresError`, `CancellationError`.
    func delete(
        _ id: String, by caller: AttachmentCaller, until deadline: ContinuousClock.Instant
    ) async throws {
        let now = environment.now()
        let removal = try await transaction(caller, deadline) { transaction -> AttachmentRemoval? in
            let known = try await transaction.ask(
                AttachmentTable.known([id], of: caller.subject, isLocked: true))
            let found = try known.map { try AttachmentTable.records($0) } ?? []
            guard let record = found.first else { throw unknown(transaction) }
            guard record.state != .deleted else { return nil }
            guard !transaction.lacksRows else { throw changing(transaction) }
            guard try await !transaction.isTrue(transaction.access.needed(record)) else {
                throw Problem.stillReferenced
            }
            return try await AttachmentTable.delete(
                record, at: now, on: transaction.connection, until: deadline)
        }
        guard let removal else { return }
        do {
            try await remove(removal, by: caller, until: deadline)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            // It is deleted, and clearing up tells the store again; what went wrong with that is in the log.
            log.debug("the bytes of an attachment go later", ["error": "\(type(of: error))"])
        }
    }

    /// Tells the store that bytes go, and notes that it was told.
    func remove(
        _ removal: AttachmentRemoval, by caller: AttachmentCaller, until deadline: ContinuousClock.Instant
    ) async throws {
        try await requireStore(by: caller, deadline)
        try await store.call(until: deadline) { store in
            // First the parts: whoever completes them meanwhile makes an object, or finds nothing.
            if let upload = removal.upload {
                try await store.abortMultipart(key: removal.key, upload: upload)
            }
            try await store.delete(key: removal.key)
        }
        let now = environment.now()
        try await alone(caller, deadline) {
            try await AttachmentTable.told(removal, at: now, on: $0, until: deadline)
        }
    }

    // MARK: Parts of all of them

    /// Runs a transaction and tells in the log what is the operator's to set right.
    func transaction<Value: Sendable>(
        _ caller: AttachmentCaller, _ deadline: ContinuousClock.Instant,
        _ body: @Sendable (Transaction) async throws -> Value
    ) async throws -> Value {
        do {
            return try await turns.run(caller.subject, until: deadline) {
                try await transactions.run(as: caller, until: deadline, body)
            }
        } catch let error as PostgresError {
            let verdict = DatabaseVerdict(error)
            if verdict.kind != .retry, verdict.kind != .unavailable {
                log.error(
                    "the database cannot say who may have an attachment: the read conditions of the table map, or rights",
                    ["error": "\(error)"])
            }
            throw error
        }
    }

    /// Runs statements about what the backend keeps itself, in a turn of the caller: it may wait for a record.
    ///
    /// Clearing up, which is nobody's, waits for no turn.
    func alone<Value: Sendable>(
        _ caller: AttachmentCaller, _ deadline: ContinuousClock.Instant,
        _ body: @Sendable (PostgresConnection) async throws -> Value
    ) async throws -> Value {
        guard caller != .nobody else { return try await transactions.alone(until: deadline, body) }
        return try await turns.run(caller.subject, until: deadline) {
            try await transactions.alone(until: deadline, body)
        }
    }

    /// That there is no such attachment for the caller: the same whether it is there or not.
    func unknown(_ transaction: Transaction) -> Problem {
        if transaction.lacksRows { return changing(transaction) }
        guard transaction.access.tables.isEmpty else { return .unknownAttachment }
        var problem = Problem.unknownAttachment
        problem.detail =
            "no table has columns of attachments: a table map names them (PSB_TABLE_MAP, attachments: [photo_id])"
        return problem
    }

    /// That the database lacks columns that the map names, as while it is migrated, or hides rows that are everybody's.
    private func changing(_ transaction: Transaction) -> Problem {
        if !transaction.tables.isMissingAttachments {
            log.error(
                "the database hides rows of a table whose attachments are everybody's: name its owner in the table map"
            )
        }
        return .unavailable(
            "database-unavailable", "Database unavailable", code: "SCHEMA_MISMATCH",
            retryAfter: 1 + Int(environment.random() * 4))
    }

    func head(_ record: AttachmentRecord, _ deadline: ContinuousClock.Instant) async throws -> StoredObject? {
        try await store.call(until: deadline) { try await $0.head(key: record.key) }
    }

    /// Whether the store has the bytes; others that stand there in their place are removed, or they would stay for ever.
    func isStored(_ record: AttachmentRecord, _ deadline: ContinuousClock.Instant) async throws -> Bool {
        guard let object = try await head(record, deadline) else { return false }
        if AttachmentRules.fits(object, record) { return true }
        log.error("the store has other bytes than were announced for an attachment: they are removed")
        try await store.call(until: deadline) { try await $0.delete(key: record.key) }
        return false
    }

    /// Notes that the store has the bytes of a record, see `settle` for several.
    func settle(
        _ record: AttachmentRecord, by caller: AttachmentCaller, _ deadline: ContinuousClock.Instant
    ) async throws -> AttachmentRecord.State? {
        try await settle([record], by: caller, deadline)[0]
    }

    /// Notes that the store has the bytes of records, in one statement.
    ///
    /// - Parameters:
    ///   - records: the records as they were read, pending.
    ///   - caller: who asks.
    ///   - deadline: when the request is over.
    /// - Returns: what has become of each; nil if it is not there any more. Of one that is ready no upload in parts is left.
    /// - Throws: `PostgresError`, `CancellationError`.
    func settle(
        _ records: [AttachmentRecord], by caller: AttachmentCaller, _ deadline: ContinuousClock.Instant
    ) async throws -> [AttachmentRecord.State?] {
        guard !records.isEmpty else { return [] }
        let now = environment.now()
        let states = try await alone(caller, deadline) { connection -> [AttachmentRecord.State?] in
            let ready = try await AttachmentTable.makeReady(records, at: now, on: connection, until: deadline)
            var states: [AttachmentRecord.State?] = []
            for record in records {
                if ready.contains(record.key) {
                    states.append(.ready)
                } else {
                    let present = try await AttachmentTable.present(record, on: connection, until: deadline)
                    states.append(present?.state)
                }
            }
            return states
        }
        // Nobody knows of it any more, and a store may have kept it beside the object.
        let left = zip(records, states).filter { $0.1 == .ready && $0.0.upload != nil }.map { $0.0 }
        let end = ContinuousClock.now + Self.patience
        _ = try await each(left, until: end) { record in
            if let upload = record.upload { await giveUp(upload, of: record, until: end) }
        }
        return states
    }

    /// Returns a record as it is now; nil if it is not there any more.
    func present(
        _ record: AttachmentRecord, by caller: AttachmentCaller, _ deadline: ContinuousClock.Instant
    ) async throws -> AttachmentRecord? {
        try await alone(caller, deadline) {
            try await AttachmentTable.present(record, on: $0, until: deadline)
        }
    }

    /// Refuses to conclude anything from what is not there, where the store is not that of the records.
    ///
    /// The database is asked in turns of the caller.
    func requireStore(by caller: AttachmentCaller, _ deadline: ContinuousClock.Instant) async throws {
        let binding = StoreBinding(store: store) { statement, deadline in
            try await alone(caller, deadline) {
                try await $0.query(statement.sql, statement.parameters, until: deadline).scalar
            }
        }
        try await binding.require(until: deadline)
    }

    func forgetUpload(
        of record: AttachmentRecord, by caller: AttachmentCaller, _ deadline: ContinuousClock.Instant
    ) async throws {
        try await requireStore(by: caller, deadline)
        _ = try await alone(caller, deadline) {
            try await AttachmentTable.setUpload(nil, of: record, on: $0, until: deadline)
        }
    }

    // MARK: Several at once

    /// How many calls of the store answer one batch at once.
    private static let callsAtOnce = 8

    /// Answers several questions in one transaction; each by itself where the database refuses that and one may be to blame.
    ///
    /// A statement that takes too long or a lock that is held may be one question's, too, and the time of the request bounds it.
    /// What ends that, as a database that goes away, is the answer to the rest.
    ///
    /// - Parameters:
    ///   - items: the questions.
    ///   - all: answers several, in their order.
    /// - Returns: the answer to each.
    /// - Throws: `CancellationError`.
    func together<Item: Sendable, Value: Sendable>(
        _ items: [Item], _ all: ([Item]) async throws -> [Result<Value, any Error>]
    ) async throws -> [Result<Value, any Error>] {
        guard !items.isEmpty else { return [] }
        do {
            return try await all(items)
        } catch is CancellationError {
            throw CancellationError()
        } catch let error where items.count > 1 && Self.mayBeOfOne(error) {
            log.debug("several questions about attachments are answered one by one", ["error": "\(error)"])
            var answers: [Result<Value, any Error>] = []
            for (place, item) in items.enumerated() {
                answers += try await together([item], all)
                guard case .failure(let error)? = answers.last, !Self.mayBeOfOne(error) else { continue }
                answers += items.dropFirst(place + 1).map { _ in .failure(error) }
                break
            }
            return answers
        } catch {
            return items.map { _ in .failure(error) }
        }
    }

    /// Whether something may have gone wrong because of one of several questions: not where the database is away, read-only or
    /// full, or where the time is over.
    private static func mayBeOfOne(_ error: any Error) -> Bool {
        if error is Problem { return true }
        guard let error = error as? PostgresError, error.code == .server, !error.isConnectionLost else {
            return false
        }
        let kind = DatabaseVerdict(error).kind
        return kind != .unavailable && kind != .misconfigured
    }

    /// Answers several questions of which some may be the same: each is asked once.
    ///
    /// - Parameters:
    ///   - items: the questions.
    ///   - name: what is the same of questions that are the same.
    ///   - all: answers several that are not, in their order.
    /// - Returns: the answer to each.
    /// - Throws: what `all` throws.
    func once<Item: Sendable, Name: Hashable, Value: Sendable>(
        _ items: [Item], by name: (Item) -> Name,
        _ all: ([Item]) async throws -> [Result<Value, any Error>]
    ) async throws -> [Result<Value, any Error>] {
        var places: [Name: Int] = [:]
        var different: [Item] = []
        let order = items.map { item -> Int in
            let name = name(item)
            if let place = places[name] { return place }
            places[name] = different.count
            different.append(item)
            return different.count - 1
        }
        let answers = try await all(different)
        return order.map { answers[$0] }
    }

    /// Does something about each of several, some at once.
    ///
    /// - Parameters:
    ///   - items: what it is done about.
    ///   - deadline: when none is begun any more, which is `Budget.Refusal`: a store that does not stop is waited for.
    ///   - body: what is done.
    /// - Returns: what it has returned or thrown, in the order of the items.
    /// - Throws: `CancellationError`.
    func each<Item: Sendable, Value: Sendable>(
        _ items: [Item], until deadline: ContinuousClock.Instant,
        _ body: @escaping @Sendable (Item) async throws -> Value
    ) async throws -> [Result<Value, any Error>] {
        try await withThrowingTaskGroup(of: (Int, Result<Value, any Error>).self) { group in
            var answers = [Result<Value, any Error>?](repeating: nil, count: items.count)
            for (place, item) in items.enumerated() {
                if place >= Self.callsAtOnce, let (done, answer) = try await group.next() {
                    answers[done] = answer
                }
                group.addTask {
                    do {
                        guard ContinuousClock.now < deadline else { throw Budget.Refusal.tooLate }
                        return (place, .success(try await body(item)))
                    } catch is CancellationError {
                        throw CancellationError()
                    } catch {
                        return (place, .failure(error))
                    }
                }
            }
            while let (done, answer) = try await group.next() { answers[done] = answer }
            return answers.compactMap { $0 }
        }
    }
}
