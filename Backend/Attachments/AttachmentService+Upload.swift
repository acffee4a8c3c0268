import PowerSyncCommandLine
import PowerSyncPostgres
import PowerSyncWire

extension AttachmentService {
    /// What a question for an upload has come to in the database.
    private enum Claim: Sendable {
        case uploaded(AttachmentRecord)
        case pending(AttachmentRecord, isNew: Bool)
    }

    /// Signs an upload for whoever has a row that names the attachment, see `uploads`.
    func upload(
        _ request: AttachmentUploadRequest, by caller: AttachmentCaller,
        until deadline: ContinuousClock.Instant
    ) async throws -> AttachmentUploadTicket {
        while true {
            let claim = try await claims([request], caller, deadline)[0].get()
            if let claim, let ticket = try await ticket(claim, caller, deadline) { return ticket }
        }
    }

    /// Signs uploads for whoever has rows that name the attachments: all questions are one transaction.
    ///
    /// - Parameters:
    ///   - requests: what is to be uploaded.
    ///   - caller: who asks.
    ///   - deadline: when the request is over.
    /// - Returns: where the bytes of each go, or that they are there, or why neither is told: `Problem`, `PostgresError`,
    ///   `Budget.Refusal`.
    /// - Throws: `CancellationError`.
    func uploads(
        _ requests: [AttachmentUploadRequest], by caller: AttachmentCaller,
        until deadline: ContinuousClock.Instant
    ) async throws -> [Result<AttachmentUploadTicket, any Error>] {
        var answers = [Result<AttachmentUploadTicket, any Error>?](repeating: nil, count: requests.count)
        var known: Set<ExactText> = []
        let firsts = requests.indices.filter { known.insert(ExactText(requests[$0].id)).inserted }
        let some = firsts.map { requests[$0] }
        let claims = try await together(some) { try await self.claims($0, caller, deadline) }
        let asked = Array(zip(some, claims))
        let tickets = try await each(asked, until: deadline) { request, claim -> AttachmentUploadTicket in
            if let claim = try claim.get(), let ticket = try await ticket(claim, caller, deadline) {
                return ticket
            }
            return try await upload(request, by: caller, until: deadline)
        }
        for (place, ticket) in zip(firsts, tickets) { answers[place] = ticket }
        // Another question about the same id finds what the first one has made.
        for place in requests.indices where answers[place] == nil {
            answers[place] = try await each([requests[place]], until: deadline) {
                try await upload($0, by: caller, until: deadline)
            }.first
        }
        return answers.compactMap { $0 }
    }

    /// Signs what was claimed; nil if it is to be claimed once more, since the store has lost it.
    private func ticket(
        _ claim: Claim, _ caller: AttachmentCaller, _ deadline: ContinuousClock.Instant
    ) async throws -> AttachmentUploadTicket? {
        switch claim {
        case .pending(let record, let isNew): return try await ticket(record, isNew, caller, deadline)
        case .uploaded(let record):
            // What the store has lost its uploader may bring again; somebody else is told what is known.
            guard record.isOwned(by: caller.subject), try await head(record, deadline) == nil else {
                return AttachmentUploadTicket(id: record.id, isUploaded: true)
            }
            try await requireStore(by: caller, deadline)
            log.error("the store has lost the bytes of an attachment: they are uploaded again")
            let now = environment.now()
            try await alone(caller, deadline) {
                try await AttachmentTable.restart(record, at: now, on: $0, until: deadline)
            }
            return nil
        }
    }

    private func ticket(
        _ record: AttachmentRecord, _ isNew: Bool, _ caller: AttachmentCaller,
        _ deadline: ContinuousClock.Instant
    ) async throws -> AttachmentUploadTicket {
        if !isNew, try await isStored(record, deadline) {
            return try await uploaded(record, caller, deadline)
        }
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

    // MARK: The transaction

    /// What a transaction records when it has decided about all questions.
    private struct Writing {
        /// What the user has, with what is made.
        var usage: AttachmentUsage
        /// Those for which a URL is signed again.
        var signed: [AttachmentRecord] = []
        /// Those that are there, and that a row names.
        var named: [AttachmentRecord] = []
        /// Those that a table without an owner is to share.
        var shared: [AttachmentTable.Sharing] = []
        /// Those that are new.
        var made: [AttachmentRecord] = []

        /// Has the rows of a table that is everybody's name the caller's file, if they name none.
        mutating func share(_ record: AttachmentRecord, _ row: AttachmentAccess.Row) {
            guard row.table.owner == nil, !record.isShared else { return }
            shared.append(
                AttachmentTable.Sharing(record: record, table: row.table.source.name, row: row.id))
        }
    }

    /// Asks whether the caller may upload files of different ids, and records that it does.
    ///
    /// The rows that name them are looked for in the transaction that makes the records, and the questions of a user come one
    /// behind the other, so that two of them do not both find the same room.
    ///
    /// - Parameters:
    ///   - requests: what is to be uploaded.
    ///   - caller: who asks.
    ///   - deadline: when the request is over.
    /// - Returns: what each has come to; nil where somebody else has made the record meanwhile, so that it is to be asked again.
    /// - Throws: `PostgresError`, `Budget.Refusal`, `CancellationError`.
    private func claims(
        _ requests: [AttachmentUploadRequest], _ caller: AttachmentCaller,
        _ deadline: ContinuousClock.Instant
    ) async throws -> [Result<Claim?, any Error>] {
        let keys = requests.map { _ in environment.uniqueName() }
        let now = environment.now()
        return try await transaction(caller, deadline) { transaction in
            try await claims(requests, keys, at: now, transaction)
        }
    }

    private func claims(
        _ requests: [AttachmentUploadRequest], _ keys: [String], at now: Double, _ transaction: Transaction
    ) async throws -> [Result<Claim?, any Error>] {
        let (access, subject) = (transaction.access, transaction.caller.subject)
        let asked = requests.map { AttachmentAccess.Asked(id: $0.id, row: Self.row(of: $0)) }
        // In this order: what is read behind the lock is what those before have left.
        let found = try await transaction.ask(
            [
                AttachmentTable.lock(subject), access.own(asked, by: subject, orEverybodys: true),
                AttachmentTable.known(requests.map(\.id), of: subject, isLocked: true),
                AttachmentTable.used(by: subject),
            ], asRole: [1])
        let known = try found[2].map { try AttachmentTable.records($0) } ?? []
        let own = Dictionary(known.map { (ExactText($0.id), $0) }) { first, _ in first }
        let rows = try await rows(for: asked, access.rows(found[1], of: asked.count), transaction)
        let shared = try await shared(requests, rows, transaction)
        var writing = Writing(usage: try AttachmentTable.usage(found[3]))
        var claims: [Result<Claim?, any Error>] = []
        for (place, request) in requests.enumerated() {
            do {
                guard let row = rows[place] else { throw unknown(transaction) }
                let known = (own: own[ExactText(request.id)], shared: shared[place])
                claims.append(
                    .success(try await claim(request, keys[place], row, known, &writing, transaction)))
            } catch let problem as Problem {
                claims.append(.failure(problem))
            }
        }
        // Where a table has got another file meanwhile nothing is recorded: it is asked again.
        let taken = try await AttachmentTable.share(
            writing.shared, on: transaction.connection, until: transaction.deadline)
        writing.signed.removeAll { taken.contains($0.key) }
        writing.named.removeAll { taken.contains($0.key) }
        let written = try await transaction.ask([
            AttachmentTable.signing(writing.signed, at: now), AttachmentTable.naming(writing.named),
            AttachmentTable.making(writing.made, at: now),
        ])
        let made = Set((0..<(written[2]?.rowCount ?? 0)).compactMap { written[2]?[$0, 0] })
        return claims.map { claim -> Result<Claim?, any Error> in
            guard case .success(let found?) = claim else { return claim }
            switch found {
            case .pending(let record, isNew: true): return made.contains(record.key) ? claim : .success(nil)
            case .pending(let record, isNew: false), .uploaded(let record):
                return taken.contains(record.key) ? .success(nil) : claim
            }
        }
    }

    /// Decides about one of the questions.
    private func claim(
        _ request: AttachmentUploadRequest, _ key: String, _ row: AttachmentAccess.Row,
        _ known: (own: AttachmentRecord?, shared: AttachmentRecord?), _ writing: inout Writing,
        _ transaction: Transaction
    ) async throws -> Claim {
        let subject = transaction.caller.subject
        let isShared = row.table.owner == nil
        let record = try await isShared ? self.known(known, row, request, transaction) : known.own
        switch AttachmentRules.upload(request, record, by: subject) {
        case .conflict: throw Problem.conflict("the id is that of other bytes")
        case .gone: throw Problem.gone
        // It is ready some day, or forgotten.
        case .busy: throw Problem.notStored
        case .uploaded(let record):
            writing.share(record, row)
            writing.named.append(record)
            return .uploaded(record)
        case .again(let record):
            writing.share(record, row)
            writing.signed.append(record)
            return .pending(record, isNew: false)
        case .make:
            try requireRoom(for: request, beside: writing.usage)
            let made = AttachmentRecord(
                request, key: key, owner: subject, row: (row.table.source.name, row.id), isShared: isShared)
            writing.usage.files += 1
            writing.usage.bytes += request.size
            writing.made.append(made)
            return .pending(made, isNew: true)
        }
    }

    /// The files that rows of everybody name, of each question whose row is one; nil for none.
    private func shared(
        _ requests: [AttachmentUploadRequest], _ rows: [AttachmentAccess.Row?], _ transaction: Transaction
    ) async throws -> [AttachmentRecord?] {
        var places: [AttachmentTable.Place<Catalog.Name>] = []
        for (number, row) in rows.enumerated() {
            guard let row, row.table.owner == nil else { continue }
            places.append(
                AttachmentTable.Place(number: number, id: requests[number].id, holder: row.table.source.name))
        }
        var records = [AttachmentRecord?](repeating: nil, count: requests.count)
        let answer = try await transaction.ask(AttachmentTable.shared(places))
        for (number, record) in try AttachmentTable.found(answer) where records.indices.contains(number) {
            records[number] = record
        }
        return records
    }

    /// What is known of the file that a row of everybody names, or is to name: that of its table, else the caller's own.
    ///
    /// - Parameters:
    ///   - known: what is known of the caller's file of that id, and of the one that the table shares.
    ///   - row: the row.
    ///   - request: the question.
    ///   - transaction: the transaction.
    /// - Returns: the record; nil if there is none.
    /// - Throws: `Problem` where the caller's is that of another table: an id of his is one file; `PostgresError`,
    ///   `CancellationError`.
    private func known(
        _ known: (own: AttachmentRecord?, shared: AttachmentRecord?), _ row: AttachmentAccess.Row,
        _ request: AttachmentUploadRequest, _ transaction: Transaction
    ) async throws -> AttachmentRecord? {
        let own = known.own
        if let own, row.names(own) { return own }
        let (access, subject) = (transaction.access, transaction.caller.subject)
        if let own, own.isShared, !row.isPreferred {
            // What is on its way from one table goes on, whatever rows others make in another one.
            let question = access.readable(
                [AttachmentAccess.Asked(id: request.id)], by: subject, areEverybodys: true)
            let rows = access.rows(try await transaction.askRows(question), of: 1)[0]
            if rows.contains(where: { $0.names(own) }) { return own }
        }
        if let shared = known.shared { return shared }
        guard let own, own.isShared, own.state != .deleted else { return own }
        throw Problem.conflict("the id is that of a file of another table")
    }

    /// Rows that name the attachments and are the caller's, or everybody's and such that he may read them: that of the request
    /// before others, his own before everybody's; nil for none.
    ///
    /// - Parameters:
    ///   - asked: the attachments.
    ///   - found: the rows that need no condition.
    ///   - transaction: the transaction.
    /// - Returns: a row for each.
    /// - Throws: `PostgresError`, `CancellationError`.
    private func rows(
        for asked: [AttachmentAccess.Asked], _ found: [[AttachmentAccess.Row]], _ transaction: Transaction
    ) async throws -> [AttachmentAccess.Row?] {
        let (access, subject) = (transaction.access, transaction.caller.subject)
        var rows = found
        let open = rows.indices.filter { rows[$0].isEmpty }
        let question = access.readable(open.map { asked[$0] }, by: subject, areEverybodys: true)
        let others = access.rows(try await transaction.askRows(question), of: open.count)
        for (number, place) in open.enumerated() { rows[place] = others[number] }
        return rows.map { rows in
            rows.first(where: \.isPreferred) ?? rows.first(where: { $0.owner != nil }) ?? rows.first
        }
    }

    /// The row that a question names.
    private static func row(of request: AttachmentUploadRequest) -> AttachmentAccess.RowName? {
        guard let table = request.table, let id = request.rowID, !table.utf8.contains(0), !id.utf8.contains(0)
        else { return nil }
        return AttachmentAccess.RowName(table: table, id: id)
    }

    private func requireRoom(
        for request: AttachmentUploadRequest, beside usage: AttachmentUsage
    ) throws(Problem) {
        guard request.size <= policy.fileBytes else { throw Problem.tooLargeAttachment(policy.fileBytes) }
        guard policy.allows(request.contentType) else { throw Problem.attachmentTypeNotAllowed }
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
                if try await isStored(record, deadline) {
                    return try await uploaded(record, caller, deadline)
                }
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
            // The time of the request may be over.
            await giveUp(upload, of: record, until: .now + Self.patience)
            throw error
        }
        await giveUp(upload, of: record, until: .now + Self.patience)
        return false
    }

    /// Gives up an upload of which nobody knows; one that the store keeps all the same is the store's to clear up.
    func giveUp(_ upload: String, of record: AttachmentRecord, until deadline: ContinuousClock.Instant) async
    {
        do {
            try await store.call(until: deadline) {
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
