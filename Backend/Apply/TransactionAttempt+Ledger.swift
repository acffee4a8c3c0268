import PowerSyncCommandLine
import PowerSyncPostgres
import PowerSyncWire

/// Rejecting, and finding out what was decided before.
extension TransactionAttempt {
    /// Keeps the transaction as a dead letter and stores the verdict, both in one commit (backend 3.4).
    mutating func reject(_ refusal: Refusal) async throws -> UploadResult? {
        let result = UploadResult(
            status: .fatalError, txID: transaction.id, operations: refusal.states(of: transaction.operations),
            failure: refusal.failure, rejectionID: letterID)
        let letter = DeadLetter(
            id: letterID, refusal: refusal, payload: payload, claim: claim, context: context)
        let pipeline = TransactionPipeline(
            context: context, claim: claim.statements(.rejected, result: result.json.text),
            work: [letter.statement])
        switch try await tools.pool.withConnection({ try await pipeline.run(on: $0) }) {
        case .committed:
            tools.log.info(
                "transaction rejected",
                [
                    "request.id": context.requestID, "upload.code": refusal.code,
                    "upload.rejection": letterID,
                    "db.sqlstate": refusal.sqlstate ?? "",
                ])
            return result
        case .claimTaken: return try await consultLedger()
        case .failed(_, let error):
            // Its verdict is not stored, so whatever it was must not count as one.
            guard DatabaseVerdict(error).kind == .rejected else { return try await judge(error, run: nil) }
            throw UploadFailure(code: "INTERNAL", isBug: true)
        }
    }

    /// Finds out why the ledger refused the claim.
    mutating func consultLedger() async throws -> UploadResult? {
        let statement = claim.entries
        let entries = try await tools.pool.withConnection { connection in
            LedgerDecision.entries(try await connection.query(statement.sql, statement.parameters))
        }
        switch LedgerDecision(claim, entries: entries) {
        case .replay(.rejected, let stored?):
            return try replayedRejection(stored)
        case .replay:
            return UploadResult(
                status: .success, txID: transaction.id, replayed: true, operations: replayedStates())
        case .generation(let generation):
            tools.log.info("ledger key used again", ["request.id": context.requestID])
            claim.generation = generation
            claim.checksOverlap = false
        case .skip(let positions):
            let rest = transaction.operations.indices.filter { !replayed.contains($0) }
            replayed.formUnion(positions.map { rest[$0] })
            guard replayed.count < transaction.operations.count else {
                return UploadResult(
                    status: .success, txID: transaction.id, replayed: true, operations: replayedStates())
            }
            claim = claim.keeping(
                transaction.operations.indices.filter { !replayed.contains($0) }, of: transaction)
        }
        return nil
    }

    private func replayedStates() -> [UploadResult.Operation] {
        transaction.operations.enumerated().map { index, operation in
            UploadResult.Operation(index: index, opID: operation.opID, status: "replayed")
        }
    }

    private func replayedRejection(_ stored: String) throws -> UploadResult {
        let json = JSON.object([JSONMember("results", .array([try JSON.parse(stored)]))])
        guard var result = try UploadResponse(json: json).results.first else {
            throw UploadFailure(code: "INTERNAL", isBug: true)
        }
        result.replayed = true
        return result
    }
}

extension LedgerClaim {
    /// Returns the claim of what is left of a transaction when the rest was seen before.
    func keeping(_ indices: [Int], of transaction: UploadTransaction) -> LedgerClaim {
        var rest = LedgerClaim(
            indices.map { transaction.operations[$0] }, txID: txID, userID: userID, clientID: clientID,
            attemptID: clientID)
        rest.checksOverlap = false
        return rest
    }
}

extension LedgerDecision {
    /// Reads the answer to `LedgerClaim.entries`.
    static func entries(_ result: PostgresResult) -> [Entry] {
        (0..<result.rowCount).compactMap { row in
            guard let first = result[row, 0].flatMap({ Int64($0) }),
                let generation = result[row, 1].flatMap({ Int($0) }),
                let hash = result[row, 2],
                let verdict = result[row, 3].flatMap({ Int($0) }).flatMap(LedgerClaim.Verdict.init(rawValue:))
            else { return nil }
            let marks = Array((result[row, 5] ?? "").utf8)
            return Entry(
                firstOpID: first, generation: generation, bodyHash: hash, verdict: verdict,
                result: result[row, 4],
                marks: Set(
                    stride(from: 0, to: marks.count - 31, by: 32).map {
                        String(decoding: marks[$0..<($0 + 32)], as: UTF8.self)
                    }))
        }
    }
}
