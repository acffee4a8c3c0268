import PowerSyncPostgres
import PowerSyncSystem
import PowerSyncWire

extension AttachmentService {
    /// What there is to complete.
    private enum Completion: Sendable {
        case pending(AttachmentRecord)
        case ready
    }

    /// Takes an upload for ready once the store has its bytes, see `completions`.
    func complete(
        _ id: String, by caller: AttachmentCaller, until deadline: ContinuousClock.Instant
    ) async throws {
        try await completions([id], by: caller, until: deadline)[0].get()
    }

    /// Takes uploads for ready of which the store has the bytes: what is known of all is read in one transaction, and recorded in
    /// one statement.
    ///
    /// - Parameters:
    ///   - ids: the attachments.
    ///   - caller: who has uploaded them.
    ///   - deadline: when the request is over.
    /// - Returns: of each that it is ready, or why it is not: `Problem`, `PostgresError`, `Budget.Refusal`.
    /// - Throws: `CancellationError`.
    func completions(
        _ ids: [String], by caller: AttachmentCaller, until deadline: ContinuousClock.Instant
    ) async throws -> [Result<Void, any Error>] {
        try await once(ids, by: ExactText.init) {
            try await completions(ofEach: $0, by: caller, until: deadline)
        }
    }

    /// Does so with uploads of which none stands twice.
    private func completions(
        ofEach ids: [String], by caller: AttachmentCaller, until deadline: ContinuousClock.Instant
    ) async throws -> [Result<Void, any Error>] {
        let found = try await together(ids) { try await completion($0, caller, deadline) }
        let stored = try await each(found, until: deadline) { found -> AttachmentRecord? in
            guard case .pending(let record) = try found.get() else { return nil }
            return try await isStored(record, deadline) ? record : nil
        }
        let whole = stored.compactMap { answer -> AttachmentRecord? in
            guard case .success(let record) = answer else { return nil }
            return record
        }
        let states = try await together(whole) { records -> [Result<AttachmentRecord.State?, any Error>] in
            try await settle(records, by: caller, deadline).map { .success($0) }
        }
        let settled = Dictionary(zip(whole.map(\.key), states)) { first, _ in first }
        var answers: [Result<Void, any Error>] = []
        for (found, stored) in zip(found, stored) {
            do {
                guard case .pending(let record) = try found.get() else {
                    answers.append(.success(()))
                    continue
                }
                if try stored.get() != nil, let state = settled[record.key] {
                    try finish(try state.get())
                } else {
                    // One behind the other: of a user one at a time is made of parts. A disk does not stop at the end of the
                    // time, so none begins behind it.
                    guard ContinuousClock.now < deadline else { throw Budget.Refusal.tooLate }
                    try await join(record, caller, deadline)
                }
                answers.append(.success(()))
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                answers.append(.failure(error))
            }
        }
        return answers
    }

    /// Completes an upload whose bytes the store does not have, if it has them in parts.
    private func join(
        _ record: AttachmentRecord, _ caller: AttachmentCaller, _ deadline: ContinuousClock.Instant
    ) async throws {
        guard let upload = record.upload else { throw try await absence(of: record, caller, deadline) }
        let parts = try await store.call(until: deadline) {
            try await $0.parts(key: record.key, upload: upload)
        }
        guard let parts else {
            // Somebody has just completed it, or the store has given it up: then the next question makes another.
            if try await isStored(record, deadline) { return try await finish(record, caller, deadline) }
            try await forgetUpload(of: record, by: caller, deadline)
            throw try await absence(of: record, caller, deadline)
        }
        let usable = AttachmentRules.usable(parts, of: record.size)
        guard AttachmentRules.isWhole(usable, of: record.size) else { throw Problem.notStored }
        do {
            // One of a user at a time: it may take all bytes of the file to be written once more.
            try await joins.run(record.owner, until: deadline) {
                try await store.call(until: deadline) {
                    try await $0.completeMultipart(
                        key: record.key, upload: upload, parts: usable,
                        sha256: AttachmentRules.bytes(ofDigest: record.sha256))
                }
            }
        } catch let error as ObjectStoreError where error.kind == .conflict {
            // Something is stored, which is looked at next, or the upload has ended otherwise.
        }
        // A store may have written for longer than the request has time: what it has done is recorded all the same.
        let end = max(deadline, ContinuousClock.now + Self.patience)
        guard try await isStored(record, end) else { throw try await absence(of: record, caller, end) }
        try await finish(record, caller, end)
    }

    /// Why the store does not have the bytes of an upload: they have not come, or somebody has deleted it meanwhile.
    private func absence(
        of record: AttachmentRecord, _ caller: AttachmentCaller, _ deadline: ContinuousClock.Instant
    ) async throws -> Problem {
        let present = try await present(record, by: caller, deadline)
        return present?.state == .deleted ? .gone : .notStored
    }

    /// Signs parts of an upload.
    ///
    /// - Parameters:
    ///   - request: which.
    ///   - id: the attachment.
    ///   - caller: who uploads it.
    ///   - deadline: when the request is over.
    /// - Returns: where they go.
    /// - Throws: `Problem`, `PostgresError`, `CancellationError`.
    func parts(
        _ request: AttachmentPartsRequest, of id: String, by caller: AttachmentCaller,
        until deadline: ContinuousClock.Instant
    ) async throws -> AttachmentPartsTicket {
        let found = try await completion([id], caller, deadline, signs: true)[0]
        guard case .pending(let record) = try found.get() else {
            throw Problem.conflict("the attachment is complete")
        }
        guard AttachmentRules.isInParts(record.size) else {
            throw Problem.invalidRequest("parts: the attachment does not go in parts")
        }
        guard let upload = record.upload else { throw Problem.notStored }
        let count = AttachmentRules.partCount(record.size)
        guard request.parts.allSatisfy({ (1...count).contains($0.number) }) else {
            throw Problem.invalidRequest("parts: expected numbers from 1 to \(count)")
        }
        return AttachmentPartsTicket(
            parts: try request.parts.map { part in
                let signed = try store.sign { store, now in
                    try store.signPart(
                        key: record.key, upload: upload, number: part.number,
                        size: AttachmentRules.partSize(part.number, of: record.size),
                        sha256: AttachmentRules.bytes(ofDigest: part.sha256), for: record.owner, at: now)
                }
                return AttachmentPartsTicket.Part(number: part.number, request: signed)
            })
    }

    /// What there is of the caller to complete.
    private func completion(
        _ ids: [String], _ caller: AttachmentCaller, _ deadline: ContinuousClock.Instant, signs: Bool = false
    ) async throws -> [Result<Completion, any Error>] {
        let now = environment.now()
        return try await transaction(caller, deadline) { transaction in
            let known = try await transaction.ask(AttachmentTable.known(ids, of: caller.subject))
            let found = try known.map { try AttachmentTable.records($0) } ?? []
            let records = Dictionary(found.map { (ExactText($0.id), $0) }) { first, _ in first }
            if signs {
                let pending = found.filter { $0.state == .pending }
                _ = try await transaction.ask(AttachmentTable.signing(pending, at: now))
            }
            return ids.map { id in
                guard let record = records[ExactText(id)] else { return .failure(unknown(transaction)) }
                switch record.state {
                case .deleted: return .failure(Problem.gone)
                case .ready: return .success(.ready)
                case .pending: return .success(.pending(record))
                }
            }
        }
    }

    private func finish(
        _ record: AttachmentRecord, _ caller: AttachmentCaller, _ deadline: ContinuousClock.Instant
    ) async throws {
        try finish(try await settle(record, by: caller, deadline))
    }

    /// Tells what has become of an upload whose bytes the store has.
    private func finish(_ state: AttachmentRecord.State?) throws(Problem) {
        switch state {
        case .ready: return
        case .deleted: throw Problem.gone
        case .pending, nil: throw Problem.notStored
        }
    }
}
