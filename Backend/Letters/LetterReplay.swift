import PowerSyncPostgres
import PowerSyncWire

/// Sends a dead letter again, as an ordinary upload with the claims that its sender had (backend 3.4, Replay).
package struct LetterReplay: Sendable {
    /// What came of it.
    package struct Outcome: Sendable {
        /// The result of the upload.
        package let result: UploadResult
        /// The letter that somebody has seen to in its place: one that an earlier attempt has left.
        package var other: (id: String, state: StoredLetter.State)?

        /// Whether it was applied.
        package var isApplied: Bool { result.status == .success || other?.state == .replayed }
    }

    /// The letter.
    package let letter: StoredLetter
    private let replay: UploadContext.Replay
    private let upload: UploadBody
    private let claims: String
    /// Whether policies see what they saw at first.
    package let hasAllClaims: Bool

    /// Reads what is to be sent.
    ///
    /// - Parameters:
    ///   - letter: the letter.
    ///   - content: what it holds.
    /// - Throws: `WireError` or `Problem` where a letter is none, which no backend has written.
    package init(_ letter: StoredLetter, _ content: DeadLetterTable.Content) throws {
        self.letter = letter
        replay = UploadContext.Replay(letterID: letter.id, attempt: letter.attempts)
        claims = content.wholeClaims ?? content.claims
        hasAllClaims = content.wholeClaims != nil
        let elements = try StoredLetter.operations(in: content.payload).arrayValue
        let members = elements?.compactMap(\.objectMembers) ?? []
        guard !members.isEmpty, members.count == elements?.count else {
            throw WireError(.invalidField, "the letter holds no operations")
        }
        // What was within the limits once is so again, although the body says more now.
        var limits = UploadLimits()
        limits.values = .max
        limits.depth += 2
        upload = try UploadBody(
            MeasuredBody(Self.body(replay, members).utf8, limits: limits), isReplay: true)
    }

    /// The names of the claims that policies see; their values are nobody's but the sender's.
    package var claimNames: [String] {
        get throws { Set((try JSON.parse(claims).objectMembers ?? []).map(\.name)).sorted() }
    }

    /// Whether a claim chooses the role, and nobody knows what it said: not all claims were kept, and this one is not among
    /// them.
    ///
    /// - Parameter roles: the roles that there are.
    /// - Returns: whether it would be written as the first of them, whoever sent it.
    /// - Throws: `WireError` where the claims are none.
    func lacksChoice(among roles: RoleSettings) throws -> Bool {
        guard !hasAllClaims, roles.first != nil, let claim = roles.claim else { return false }
        return try JSON.parse(claims)[claim] == nil
    }

    /// The rows that its operations name.
    package var rows: LetterRows {
        LetterRows(upload.request.transactions.lazy.flatMap(\.operations), in: nil)
    }

    private static func body(_ replay: UploadContext.Replay, _ operations: [[JSONMember]]) -> JSON {
        let numbers: Set<String> = ["op_id", "clientId", "client_id"]
        let crud = operations.enumerated().map { index, members in
            JSON.object(
                [JSONMember("op_id", .integer(index + 1))] + members.filter { !numbers.contains($0.name) })
        }
        return .object([
            JSONMember("v", .integer(1)), JSONMember("client_id", .string(replay.clientID)),
            JSONMember("transactions", .array([.object([JSONMember("crud", .array(crud))])])),
        ])
    }

    /// Applies it, or records why it was refused again, each in one transaction with the state of the letter.
    ///
    /// - Parameter applier: applies uploads.
    /// - Returns: what came of it.
    /// - Throws: `UploadFailure`, with `LETTER_NOT_OPEN` if somebody else has seen to the letter since it was read, else where
    ///   it may succeed later; `Problem`, `PostgresError`, `CancellationError`.
    package func run(with applier: UploadApplier) async throws -> Outcome {
        // The claims choose again, among the roles of now.
        let role = try applier.tools.roles.role(for: try JSON.parse(claims))
        let context = UploadContext(
            subject: letter.user, claims: claims, letterClaims: claims, requestID: "replay-\(letter.id)",
            role: role, replay: replay)
        guard let result = try await applier.apply(upload, context: context).first else {
            throw UploadFailure(code: "INTERNAL", isBug: true)
        }
        var outcome = Outcome(result: result)
        switch result.status {
        case .success:
            // The ledger alone knew it: of a backend that recorded this in a transaction of its own.
            guard result.replayed else { break }
            try await applier.tools.pool.withConnection { [replay] in
                try await DeadLetterTable.settle(applied: replay, on: $0)
            }
        case .fatalError:
            guard let newID = result.rejectionID, newID != letter.id else { break }
            let state = try await applier.tools.pool.withConnection { [replay, letter] in
                try await DeadLetterTable.settle(refused: replay, of: letter.user, newID: newID, on: $0)
            }
            if let state, state != .open { outcome.other = (newID, state) }
        case .retryableError, .notAttempted: throw UploadFailure(code: "NOT_ATTEMPTED")
        }
        return outcome
    }
}
