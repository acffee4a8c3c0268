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

    typealias Transaction = AttachmentTransactions.Transaction

    // MARK: Downloads

    /// Signs a download for whoever may read a row that counts.
    ///
    /// - Parameters:
    ///   - id: the attachment.
    ///   - wantsInline: whether a browser should show it.
    ///   - caller: who asks.
    ///   - deadline: when the request is over.
    /// - Returns: where the bytes are.
    /// - Throws: `Problem`, `PostgresError`, `CancellationError`.
    func download(
        _ id: String, inline wantsInline: Bool, by caller: AttachmentCaller,
        until deadline: ContinuousClock.Instant
    ) async throws -> AttachmentDownloadTicket {
        let record = try await transaction(caller, deadline) { transaction in
            guard
                let record = try await AttachmentTable.record(
                    id, on: transaction.connection, until: deadline), record.state != .deleted,
                try await transaction.isTrue(transaction.access.readable(record, by: caller.subject))
            else { throw unknown(transaction) }
            try await AttachmentTable.isNamed(record, on: transaction.connection, until: deadline)
            return record
        }
        if record.state == .pending {
            guard let object = try await head(record, deadline), AttachmentRules.fits(object, record) else {
                throw Problem.notUploaded
            }
            guard try await settle(record, deadline) == .ready else { throw Problem.unknownAttachment }
        }
        let request = try store.sign { store, now in
            try store.signDownload(
                key: record.key, contentType: record.contentType,
                disposition: AttachmentRules.disposition(inline: wantsInline, record), at: now)
        }
        return AttachmentDownloadTicket(
            url: request.url, expiresAt: request.expiresAt, size: record.size,
            contentType: record.contentType, sha256: record.sha256)
    }

    // MARK: Deleting

    /// Deletes an attachment that no row that counts names, for its uploader and for whoever owns the row that was recorded.
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
            let (connection, access) = (transaction.connection, transaction.access)
            guard
                let record = try await AttachmentTable.record(
                    id, isLocked: true, on: connection, until: deadline),
                try await mayDelete(record, transaction)
            else { throw unknown(transaction) }
            guard record.state != .deleted else { return nil }
            // A table that is being changed may have rows that nobody sees now.
            guard !transaction.tables.isMissingAttachments else { throw changing }
            let named = try await transaction.ask(access.named([record]))
            guard named?.rowCount ?? 0 == 0 else { throw Problem.stillReferenced }
            return try await AttachmentTable.delete(id, at: now, on: connection, until: deadline)
        }
        guard let removal else { return }
        do {
            try await remove(removal, until: deadline)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            // It is deleted, and clearing up tells the store again; what went wrong with that is in the log.
            log.debug("the bytes of an attachment go later", ["error": "\(type(of: error))"])
        }
    }

    private func mayDelete(_ record: AttachmentRecord, _ transaction: Transaction) async throws -> Bool {
        let subject = transaction.caller.subject
        if record.isOwned(by: subject) { return true }
        guard let table = transaction.access.table(of: record) else { return false }
        guard table.owner != nil else { return true }
        return try await transaction.isTrue(transaction.access.recordedRow(of: record, by: subject))
    }

    /// Tells the store that bytes go, and notes that it was told.
    func remove(_ removal: AttachmentRemoval, until deadline: ContinuousClock.Instant) async throws {
        try await store.call(until: deadline) { store in
            // First the parts: whoever completes them meanwhile makes an object, or finds nothing.
            if let upload = removal.upload {
                try await store.abortMultipart(key: removal.key, upload: upload)
            }
            try await store.delete(key: removal.key)
        }
        let now = environment.now()
        try await transactions.alone(until: deadline) {
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
            return try await transactions.run(as: caller, until: deadline, body)
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

    /// That there is no such attachment for the caller: the same whether it is there or not.
    func unknown(_ transaction: Transaction) -> Problem {
        if transaction.tables.isMissingAttachments { return changing }
        guard transaction.access.tables.isEmpty else { return .unknownAttachment }
        var problem = Problem.unknownAttachment
        problem.detail =
            "no table has columns of attachments: a table map names them (PSB_TABLE_MAP, attachments: [photo_id])"
        return problem
    }

    /// That the database lacks columns that the map names, as while it is migrated.
    private var changing: Problem {
        .unavailable(
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
    ///   - deadline: when the request is over.
    /// - Returns: what has become of it; nil if it is not there any more.
    /// - Throws: `PostgresError`, `CancellationError`.
    func settle(
        _ record: AttachmentRecord, _ deadline: ContinuousClock.Instant
    ) async throws -> AttachmentRecord.State? {
        let now = environment.now()
        return try await transactions.alone(until: deadline) { connection in
            if try await AttachmentTable.makeReady(record, at: now, on: connection, until: deadline) {
                return .ready
            }
            let present = try await AttachmentTable.record(record.id, on: connection, until: deadline)
            return present.flatMap { ExactText($0.key) == ExactText(record.key) ? $0.state : nil }
        }
    }

    /// Returns a record as it is now; nil if it is not there any more, or its id is another one's by now.
    func present(
        _ record: AttachmentRecord, _ deadline: ContinuousClock.Instant
    ) async throws -> AttachmentRecord? {
        let present = try await transactions.alone(until: deadline) {
            try await AttachmentTable.record(record.id, on: $0, until: deadline)
        }
        return present.flatMap { ExactText($0.key) == ExactText(record.key) ? $0 : nil }
    }

    func forgetUpload(of record: AttachmentRecord, _ deadline: ContinuousClock.Instant) async throws {
        _ = try await transactions.alone(until: deadline) {
            try await AttachmentTable.setUpload(nil, of: record, on: $0, until: deadline)
        }
    }
}
