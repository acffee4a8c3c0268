import PowerSyncCommandLine
import PowerSyncPostgres
import PowerSyncWire

extension AttachmentService {
    /// What a question for an upload has come to in the database.
    private enum Claim: Sendable {
        case uploaded(AttachmentRecord)
        case pending(AttachmentRecord, isNew: Bool)
    }

    /// Signs an upload for whoever has a row that names the attachment.
    ///
    /// - Parameters:
    ///   - request: what is to be uploaded.
    ///   - caller: who asks.
    ///   - deadline: when the request is over.
    /// - Returns: where the bytes go, or that they are there.
    /// - Throws: `Problem`, `PostgresError`, `CancellationError`.
    func upload(
        _ request: AttachmentUploadRequest, by caller: AttachmentCaller,
        until deadline: ContinuousClock.Instant
    ) async throws -> AttachmentUploadTicket {
        while true {
            switch try await claim(request, caller, deadline) {
            case .pending(let record, let isNew): return try await ticket(record, isNew, caller, deadline)
            case .uploaded(let record):
                // What the store has lost its uploader may bring again; somebody else is told what is known.
                guard record.isOwned(by: caller.subject), try await head(record, deadline) == nil else {
                    return AttachmentUploadTicket(id: request.id, isUploaded: true)
                }
                try await requireStore(deadline)
                log.error("the store has lost the bytes of an attachment: they are uploaded again")
                let now = environment.now()
                try await alone(caller, deadline) {
                    try await AttachmentTable.restart(record, at: now, on: $0, until: deadline)
                }
            }
        }
    }

    private func ticket(
        _ record: AttachmentRecord, _ isNew: Bool, _ caller: AttachmentCaller,
        _ deadline: ContinuousClock.Instant
    ) async throws -> AttachmentUploadTicket {
        if !isNew, try await isStored(record, deadline) { return try await uploaded(record, caller, deadline) }
        guard !AttachmentRules.isInParts(record.size) else {
            return try await inParts(record, caller, deadline)
        }
        let signed = try store.sign { store, now in
            try store.signUpload(
                key: record.key, contentType: record.contentType, size: record.size,
                sha256: AttachmentRules.bytes(ofDigest: record.sha256), for: record.owner, at: now)
        }
        return AttachmentUploadTicket(id: record.id, request: signed)
    }

    /// Asks whether the caller may upload, and records that it does.
    ///
    /// The row that names the id is looked for in the transaction that makes the record, and the questions of a user come one
    /// behind the other, so that two of them do not both find the same room.
    private func claim(
        _ request: AttachmentUploadRequest, _ caller: AttachmentCaller, _ deadline: ContinuousClock.Instant
    ) async throws -> Claim {
        let key = environment.uniqueName()
        while true {
            let now = environment.now()
            let found = try await transaction(caller, deadline) { transaction in
                try await claim(request, key, at: now, transaction)
            }
            if let found { return found }
        }
    }

    /// The same within a transaction; nil where somebody else has made the record meanwhile.
    private func claim(
        _ request: AttachmentUploadRequest, _ key: String, at now: Double, _ transaction: Transaction
    ) async throws -> Claim? {
        let (connection, deadline) = (transaction.connection, transaction.deadline)
        let subject = transaction.caller.subject
        try await AttachmentTable.lock(subject, on: connection, until: deadline)
        guard let row = try await row(for: request, transaction) else { throw unknown(transaction) }
        let isShared = row.table.owner == nil
        let table = row.table.source.name
        let own = try await AttachmentTable.record(
            request.id, of: subject, isLocked: true, on: connection, until: deadline)
        let known = try await isShared ? shared(own, row, request, transaction) : own
        switch AttachmentRules.upload(request, known, by: subject) {
        case .conflict: throw Problem.conflict("the id is that of other bytes")
        case .gone: throw Problem.gone
        // It is ready some day, or forgotten.
        case .busy: throw Problem.notStored
        case .uploaded(let record):
            guard try await share(record, row, transaction) else { return nil }
            try await AttachmentTable.isNamed(record, on: connection, until: deadline)
            return .uploaded(record)
        case .again(let record):
            guard try await share(record, row, transaction) else { return nil }
            try await AttachmentTable.sign(record, at: now, on: connection, until: deadline)
            return .pending(record, isNew: false)
        case .make:
            try await requireRoom(for: request, subject, on: connection, deadline)
            let made = AttachmentRecord(
                request, key: key, owner: subject, row: (table, row.id), isShared: isShared)
            guard try await AttachmentTable.insert(made, at: now, on: connection, until: deadline) else {
                return nil
            }
            return .pending(made, isNew: true)
        }
    }

    /// What is known of the file that a row of everybody names, or is to name: that of its table, else the caller's own.
    ///
    /// - Parameters:
    ///   - own: what is known of the caller's file of that id.
    ///   - row: the row.
    ///   - request: the question.
    ///   - transaction: the transaction.
    /// - Returns: the record; nil if there is none.
    /// - Throws: `Problem` where the caller's is that of another table: an id of his is one file; `PostgresError`,
    ///   `CancellationError`.
    private func shared(
        _ own: AttachmentRecord?, _ row: AttachmentAccess.Row, _ request: AttachmentUploadRequest,
        _ transaction: Transaction
    ) async throws -> AttachmentRecord? {
        if let own, row.names(own) { return own }
        let (access, subject) = (transaction.access, transaction.caller.subject)
        if let own, own.isShared, !row.isPreferred {
            // What is on its way from one table goes on, whatever rows others make in another one.
            let question = access.readable(request.id, by: subject, areEverybodys: true)
            let rows = access.rows(try await transaction.ask(question))
            if rows.contains(where: { $0.names(own) }) { return own }
        }
        let (connection, deadline) = (transaction.connection, transaction.deadline)
        if let shared = try await AttachmentTable.shared(
            request.id, in: row.table.source.name, on: connection, until: deadline)
        {
            return shared
        }
        guard let own, own.isShared, own.state != .deleted else { return own }
        throw Problem.conflict("the id is that of a file of another table")
    }

    /// Has the rows of a table that is everybody's name the caller's file, if they name none; false where they have got one
    /// meanwhile.
    private func share(
        _ record: AttachmentRecord, _ row: AttachmentAccess.Row, _ transaction: Transaction
    ) async throws -> Bool {
        guard row.table.owner == nil, !record.isShared else { return true }
        return try await AttachmentTable.share(
            record, in: row.table.source.name, row: row.id, on: transaction.connection,
            until: transaction.deadline)
    }

    /// A row that names the attachment and is the caller's, or everybody's and one that he may read: that of the request before
    /// others, his own before everybody's.
    private func row(
        for request: AttachmentUploadRequest, _ transaction: Transaction
    ) async throws -> AttachmentAccess.Row? {
        let (access, subject) = (transaction.access, transaction.caller.subject)
        var preferred: AttachmentAccess.RowName?
        if let table = request.table, let id = request.rowID, !table.utf8.contains(0), !id.utf8.contains(0) {
            preferred = AttachmentAccess.RowName(table: table, id: id)
        }
        for question in [
            access.own(request.id, by: subject, preferring: preferred, orEverybodys: true),
            access.readable(request.id, by: subject, preferring: preferred, areEverybodys: true),
        ] {
            let rows = access.rows(try await transaction.ask(question))
            if let row = rows.first(where: \.isPreferred) ?? rows.first(where: { $0.owner != nil }) ?? rows.first {
                return row
            }
        }
        return nil
    }

    private func requireRoom(
        for request: AttachmentUploadRequest, _ subject: String, on connection: PostgresConnection,
        _ deadline: ContinuousClock.Instant
    ) async throws {
        guard request.size <= policy.fileBytes else { throw Problem.tooLargeAttachment(policy.fileBytes) }
        guard policy.allows(request.contentType) else { throw Problem.attachmentTypeNotAllowed }
        let usage = try await AttachmentTable.usage(of: subject, on: connection, until: deadline)
        guard policy.hasRoom(for: request.size, beside: usage) else { throw Problem.attachmentQuota(policy) }
    }

    private func uploaded(
        _ record: AttachmentRecord, _ caller: AttachmentCaller, _ deadline: ContinuousClock.Instant
    ) async throws -> AttachmentUploadTicket {
        switch try await settle(record, by: caller, deadline) {
        case .ready: return AttachmentUploadTicket(id: record.id, isUploaded: true)
        case .deleted: throw Problem.gone
        // Cleared up in this moment: asked again it is a new one.
        case .pending, nil: throw Problem.notStored
        }
    }

    // MARK: In parts

    /// Says what is there of an upload in parts, and begins one where there is none.
    private func inParts(
        _ found: AttachmentRecord, _ caller: AttachmentCaller, _ deadline: ContinuousClock.Instant
    ) async throws -> AttachmentUploadTicket {
        var record = found
        while true {
            if let upload = record.upload {
                let key = record.key
                let parts = try await store.call(until: deadline) {
                    try await $0.parts(key: key, upload: upload)
                }
                if let parts {
                    let usable = AttachmentRules.usable(parts, of: record.size)
                    return ticket(record, uploaded: usable.map(\.number))
                }
                // Completed by somebody who has not said so yet, or given up by the store.
                if try await isStored(record, deadline) { return try await uploaded(record, caller, deadline) }
                try await forgetUpload(of: record, by: caller, deadline)
            } else if try await beginUpload(of: record, caller, deadline) {
                return ticket(record, uploaded: [])
            }
            record = try await stillPending(record, caller, deadline)
        }
    }

    /// Has the store begin an upload; false where somebody else's is known by now, and then ours is given up.
    private func beginUpload(
        of record: AttachmentRecord, _ caller: AttachmentCaller, _ deadline: ContinuousClock.Instant
    ) async throws -> Bool {
        let upload = try await store.call(until: deadline) {
            try await $0.createMultipart(key: record.key, contentType: record.contentType)
        }
        do {
            let isOurs = try await alone(caller, deadline) {
                try await AttachmentTable.setUpload(upload, of: record, on: $0, until: deadline)
            }
            if isOurs { return true }
        } catch {
            // If it is recorded all the same, the next question finds that the store does not know it, and begins another.
            await giveUp(upload, of: record)
            throw error
        }
        await giveUp(upload, of: record)
        return false
    }

    /// Gives up an upload of which nobody knows; one that the store keeps all the same is the store's to clear up.
    func giveUp(_ upload: String, of record: AttachmentRecord) async {
        do {
            // The time of the request may be over.
            try await store.call(until: .now + Self.patience) {
                try await $0.abortMultipart(key: record.key, upload: upload)
            }
        } catch {
            log.warning("an upload in parts could not be given up", ["error": "\(type(of: error))"])
        }
    }

    /// The record as it is now, if it is still the same and pending.
    private func stillPending(
        _ record: AttachmentRecord, _ caller: AttachmentCaller, _ deadline: ContinuousClock.Instant
    ) async throws -> AttachmentRecord {
        // Asked again it is uploaded, or a new one.
        guard let present = try await present(record, by: caller, deadline), present.state != .ready else {
            throw Problem.notStored
        }
        guard present.state == .pending else { throw Problem.gone }
        return present
    }

    private func ticket(_ record: AttachmentRecord, uploaded: [Int]) -> AttachmentUploadTicket {
        AttachmentUploadTicket(
            id: record.id,
            multipart: AttachmentMultipart(
                partSize: AttachmentPart.size, partCount: AttachmentRules.partCount(record.size),
                uploaded: uploaded))
    }
}
