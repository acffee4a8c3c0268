import PowerSyncPostgres
import PowerSyncWire

extension AttachmentService {
    /// What there is to complete.
    private enum Completion: Sendable {
        case pending(AttachmentRecord)
        case ready
    }

    /// Takes an upload for ready once the store has its bytes.
    ///
    /// - Parameters:
    ///   - id: the attachment.
    ///   - caller: who has uploaded it.
    ///   - deadline: when the request is over.
    /// - Throws: `Problem`, `PostgresError`, `CancellationError`.
    func complete(
        _ id: String, by caller: AttachmentCaller, until deadline: ContinuousClock.Instant
    ) async throws {
        guard case .pending(let record) = try await completion(id, caller, deadline) else { return }
        if try await isStored(record, deadline) { return try await finish(record, caller, deadline) }
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
        guard case .pending(let record) = try await completion(id, caller, deadline, signs: true) else {
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
        _ id: String, _ caller: AttachmentCaller, _ deadline: ContinuousClock.Instant, signs: Bool = false
    ) async throws -> Completion {
        let now = environment.now()
        return try await transaction(caller, deadline) { transaction in
            let found = try await AttachmentTable.record(
                id, of: caller.subject, on: transaction.connection, until: deadline)
            guard let record = found else { throw unknown(transaction) }
            switch record.state {
            case .deleted: throw Problem.gone
            case .ready: return .ready
            case .pending:
                if signs {
                    try await AttachmentTable.sign(
                        record, at: now, on: transaction.connection, until: deadline)
                }
                return .pending(record)
            }
        }
    }

    private func finish(
        _ record: AttachmentRecord, _ caller: AttachmentCaller, _ deadline: ContinuousClock.Instant
    ) async throws {
        switch try await settle(record, by: caller, deadline) {
        case .ready: return
        case .deleted: throw Problem.gone
        case .pending, nil: throw Problem.notStored
        }
    }
}
