import PowerSyncCommandLine
import PowerSyncPostgres
import PowerSyncWire

extension AttachmentService {
    /// A question for the URL of a download.
    struct DownloadQuestion: Sendable {
        /// The attachment, and the row whose file is meant; without one it is left to the backend to find it.
        var asked: AttachmentAccess.Asked
        /// Whether a browser should show it.
        var isInline: Bool

        /// What is the same of questions that are the same, byte for byte.
        var name: [ExactText?] {
            [
                ExactText(asked.id), asked.row.map { ExactText($0.table) },
                asked.row.map { ExactText($0.id) },
                isInline ? ExactText("inline") : nil,
            ]
        }
    }

    /// Signs downloads for whoever may read a row that names them: all questions are one transaction.
    ///
    /// - Parameters:
    ///   - questions: which.
    ///   - caller: who asks.
    ///   - deadline: when the request is over.
    /// - Returns: where the bytes of each are, or why that is not told: `Problem`, `PostgresError`, `Budget.Refusal`.
    /// - Throws: `CancellationError`.
    func downloads(
        _ questions: [DownloadQuestion], by caller: AttachmentCaller, until deadline: ContinuousClock.Instant
    ) async throws -> [Result<AttachmentDownloadTicket, any Error>] {
        try await once(questions, by: \.name) { questions in
            let found = try await together(questions) { questions in
                try await transaction(caller, deadline) { try await readable(questions.map(\.asked), $0) }
            }
            return try await each(Array(zip(questions, found)), until: deadline) { question, record in
                try await ticket(try record.get(), inline: question.isInline, caller, deadline)
            }
        }
    }

    private func ticket(
        _ record: AttachmentRecord, inline wantsInline: Bool, _ caller: AttachmentCaller,
        _ deadline: ContinuousClock.Instant
    ) async throws -> AttachmentDownloadTicket {
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

    /// The files that the caller may read: his own, else those of the rows that he may read.
    ///
    /// The same is asked whether there are files of an id or not. A condition is asked for only where the caller has no file of
    /// his own: one that fails keeps nobody from what is his.
    private func readable(
        _ asked: [AttachmentAccess.Asked], _ transaction: Transaction
    ) async throws -> [Result<AttachmentRecord, any Error>] {
        let (access, subject) = (transaction.access, transaction.caller.subject)
        var rows = [[AttachmentAccess.Row]](repeating: [], count: asked.count)
        var answers = [Result<AttachmentRecord, any Error>?](repeating: nil, count: asked.count)
        for isOwn in [true, false] {
            let open = asked.indices.filter { answers[$0] == nil }
            let some = open.map { asked[$0] }
            let question = isOwn ? access.own(some, by: subject) : access.readable(some, by: subject)
            let found = access.rows(try await transaction.askRows(question), of: some.count)
            for (number, place) in open.enumerated() {
                rows[place] += found[number].filter { asked[place].row == nil || $0.isPreferred }
            }
            let files = try await files(open.map { (asked[$0].id, rows[$0]) }, transaction)
            for (number, place) in open.enumerated() { answers[place] = files[number] }
        }
        let named = answers.compactMap { answer -> AttachmentRecord? in
            guard case .success(let record)? = answer else { return nil }
            return record
        }
        _ = try await transaction.ask(AttachmentTable.naming(named))
        return answers.map { $0 ?? .failure(unknown(transaction)) }
    }

    /// The files that rows name, each of one id: those that have an owner before those that are everybody's; nil for none.
    ///
    /// Among several nobody is chosen by having been there first: whoever makes a row with the id of another would have his bytes
    /// taken for the other's.
    private func files(
        _ asked: [(id: String, rows: [AttachmentAccess.Row])], _ transaction: Transaction
    ) async throws -> [Result<AttachmentRecord, any Error>?] {
        var owned: [AttachmentTable.Place<String>] = []
        var shared: [AttachmentTable.Place<Catalog.Name>] = []
        let owners = asked.map { one in Set(one.rows.compactMap { $0.owner.map { ExactText($0) } }) }
        for (number, one) in asked.enumerated() {
            if owners[number].count == 1, let owner = owners[number].first {
                owned.append(AttachmentTable.Place(number: number, id: one.id, holder: owner.text))
            } else if owners[number].isEmpty {
                shared += one.rows.map { row in
                    AttachmentTable.Place(number: number, id: one.id, holder: row.table.source.name)
                }
            }
        }
        var records = [[String: AttachmentRecord]](repeating: [:], count: asked.count)
        let found = try await transaction.ask([AttachmentTable.owned(owned), AttachmentTable.shared(shared)])
        for answer in found {
            for (number, record) in try AttachmentTable.found(answer) where records.indices.contains(number) {
                records[number][record.key] = record
            }
        }
        return asked.enumerated().map { number, one -> Result<AttachmentRecord, any Error>? in
            let live = records[number].values.filter { record in
                record.state != .deleted && one.rows.contains { $0.names(record) }
            }
            guard owners[number].count < 2, live.count < 2 else {
                let tables = Set(one.rows.map(\.table.name)).sorted().joined(separator: ", ")
                log.warning(
                    "rows of several owners name one attachment, and the request names none of them: it is refused",
                    ["tables": tables])
                return .failure(Problem.severalOwners)
            }
            return live.first.map { .success($0) }
        }
    }
}
