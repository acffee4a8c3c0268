import PowerSyncCommandLine
import PowerSyncPostgres
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

    // MARK: Downloads

    /// Signs a download for whoever may read a row that names it.
    ///
    /// - Parameters:
    ///   - id: the attachment.
    ///   - row: the row whose file is meant; nil leaves it to the backend to find one.
    ///   - wantsInline: whether a browser should show it.
    ///   - caller: who asks.
    ///   - deadline: when the request is over.
    /// - Returns: where the bytes are.
    /// - Throws: `Problem`, `PostgresError`, `CancellationError`.
    func download(
        _ id: String, of row: AttachmentAccess.RowName?, inline wantsInline: Bool,
        by caller: AttachmentCaller,
        until deadline: ContinuousClock.Instant
    ) async throws -> AttachmentDownloadTicket {
        let record = try await transaction(caller, deadline) { transaction in
            guard let record = try await readable(id, of: row, transaction) else {
                throw unknown(transaction)
            }
            try await AttachmentTable.isNamed(record, on: transaction.connection, until: deadline)
            return record
        }
        if record.state == .pending {
            guard let object = try await head(record, deadline), AttachmentRules.fits(object, record) else {
                throw Problem.notUploaded
            }
            guard try await settle(record, by: caller, deadline) == .ready else {
                throw Problem.unknownAttachment
            }
        }
        let request = try store.sign { store, now in
            try store.signDownload(
                key: record.key, contentType: record.contentType,
                disposition: AttachmentRules.disposition(inline: wantsInline, record),
                for: caller.subject, at: now)
        }
        return AttachmentDownloadTicket(
            url: request.url, expiresAt: request.expiresAt, size: record.size,
            contentType: record.contentType, sha256: record.sha256)
    }

    /// The file of an id that the caller may read: his own, else that of the rows that he may read.
    ///
    /// The same is asked whether there are files of the id or not. A condition is asked for only where the caller has no file of
    /// his own: one that fails keeps nobody from what is his.
    private func readable(
        _ id: String, of row: AttachmentAccess.RowName?, _ transaction: Transaction
    ) async throws -> AttachmentRecord? {
        let (access, subject) = (transaction.access, transaction.caller.subject)
        var rows: [AttachmentAccess.Row] = []
        for question in [
            access.own(id, by: subject, preferring: row), access.readable(id, by: subject, preferring: row),
        ] {
            rows += access.rows(try await transaction.ask(question)).filter { row == nil || $0.isPreferred }
            if let record = try await file(id, of: rows, transaction) { return record }
        }
        return nil
    }

    /// The file that rows name, those that have an owner before those that are everybody's.
    ///
    /// Among several nobody is chosen by having been there first: whoever makes a row with the id of another would have his bytes
    /// taken for the other's.
    private func file(
        _ id: String, of rows: [AttachmentAccess.Row], _ transaction: Transaction
    ) async throws -> AttachmentRecord? {
        let (connection, deadline) = (transaction.connection, transaction.deadline)
        let owners = Set(rows.compactMap { $0.owner.map { ExactText($0) } })
        var records: [String: AttachmentRecord] = [:]
        if owners.count == 1, let owner = owners.first {
            let record = try await AttachmentTable.record(id, of: owner.text, on: connection, until: deadline)
            if let record { records[record.key] = record }
        } else if owners.isEmpty {
            for row in rows {
                let table = row.table.source.name
                let record = try await AttachmentTable.shared(id, in: table, on: connection, until: deadline)
                if let record { records[record.key] = record }
            }
        }
        let live = records.values.filter { record in
            record.state != .deleted && rows.contains { $0.names(record) }
        }
        guard owners.count < 2, live.count < 2 else {
            let tables = Set(rows.map(\.table.name)).sorted().joined(separator: ", ")
            log.warning(
                "rows of several owners name one attachment, and the request names none of them: it is refused",
                ["tables": tables])
            throw Problem.severalOwners
        }
        return live.first
    }

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
            let connection = transaction.connection
            let found = try await AttachmentTable.record(
                id, of: caller.subject, isLocked: true, on: connection, until: deadline)
            guard let record = found else { throw unknown(transaction) }
            guard record.state != .deleted else { return nil }
            guard !transaction.lacksRows else { throw changing(transaction) }
            guard try await !transaction.isTrue(transaction.access.needed(record)) else {
                throw Problem.stillReferenced
            }
            return try await AttachmentTable.delete(record, at: now, on: connection, until: deadline)
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
        try await requireStore(deadline)
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

    /// Runs one statement about what the backend keeps itself, in a turn of the caller: it may wait for a record.
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

    /// Notes that the store has the bytes.
    ///
    /// - Parameters:
    ///   - record: the record as it was read, pending.
    ///   - caller: who asks.
    ///   - deadline: when the request is over.
    /// - Returns: what has become of it; nil if it is not there any more. Of one that is ready no upload in parts is left.
    /// - Throws: `PostgresError`, `CancellationError`.
    func settle(
        _ record: AttachmentRecord, by caller: AttachmentCaller, _ deadline: ContinuousClock.Instant
    ) async throws -> AttachmentRecord.State? {
        let now = environment.now()
        let state = try await alone(caller, deadline) { connection -> AttachmentRecord.State? in
            if try await AttachmentTable.makeReady(record, at: now, on: connection, until: deadline) {
                return .ready
            }
            return try await AttachmentTable.present(record, on: connection, until: deadline)?.state
        }
        // Nobody knows of it any more, and a store may have kept it beside the object.
        if state == .ready, let upload = record.upload { await giveUp(upload, of: record) }
        return state
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
    func requireStore(_ deadline: ContinuousClock.Instant) async throws {
        try await StoreBinding(pool: transactions.pool, store: store).require(until: deadline)
    }

    func forgetUpload(
        of record: AttachmentRecord, by caller: AttachmentCaller, _ deadline: ContinuousClock.Instant
    ) async throws {
        try await requireStore(deadline)
        _ = try await alone(caller, deadline) {
            try await AttachmentTable.setUpload(nil, of: record, on: $0, until: deadline)
        }
    }
}
