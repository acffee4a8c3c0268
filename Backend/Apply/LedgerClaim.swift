import PowerSyncCrypto
import PowerSyncPostgres
import PowerSyncWire

/// What an attempt says in the ledger that it has executed or rejected, so that every repetition is an exact no-op (backend
/// 3.5).
package struct LedgerClaim: Sendable, Hashable {
    /// What the ledger says became of operations.
    package enum Verdict: Int, Sendable {
        /// Committed.
        case applied = 1
        /// Rejected, and kept as a dead letter.
        case rejected = 2
    }

    /// How the digests of an entry were made.
    enum Hashing: Int {
        /// Of the operation as it was spelled: entries of before the schema's second version.
        case spelling = 1
        /// Of what the operation means.
        case meaning = 2
    }

    /// Who claims.
    package enum Claimant: Sendable, Hashable {
        /// A client's database, whose operations have ids: repetitions are known for ever.
        case client(String)
        /// One attempt, whose own retries alone are known; its name is a UUID.
        case attempt(String)
    }

    /// The token's subject.
    package let userID: String
    /// Who claims.
    package let claimant: Claimant
    /// The operations.
    package let operations: [UploadOperation]
    /// The transaction's number on the client.
    package let txID: Int64?
    /// The highest id that the client has confirmed: it sends from the head of its queue.
    package let confirmedOpID: Int64
    private let attemptID: String
    /// The number of the newest entry that was consulted.
    package var considered: Int64 = 0

    /// Makes the claim of operations.
    ///
    /// - Parameters:
    ///   - operations: those to execute or to reject.
    ///   - txID: the transaction's number on the client.
    ///   - userID: the token's subject.
    ///   - clientID: the client's database, if it was sent.
    ///   - attemptID: a UUID that no other attempt has.
    ///   - confirmedOpID: the highest id that the request confirms.
    package init(
        _ operations: [UploadOperation], txID: Int64?, userID: String, clientID: String?, attemptID: String,
        confirmedOpID: Int64 = 0
    ) {
        self.operations = operations
        self.txID = txID
        self.userID = userID
        self.confirmedOpID = confirmedOpID
        self.attemptID = attemptID
        if let clientID, !operations.isEmpty, operations.indices.allSatisfy({ operations[$0].opID != nil }) {
            claimant = .client(clientID)
        } else {
            claimant = .attempt(attemptID)
        }
    }

    /// The same claim of some of the operations.
    ///
    /// - Parameter operations: which; not empty.
    /// - Returns: the claim.
    func of(_ operations: [UploadOperation]) -> LedgerClaim {
        LedgerClaim(
            operations, txID: txID, userID: userID, clientID: clientID, attemptID: attemptID,
            confirmedOpID: confirmedOpID)
    }

    /// The client's database, if repetitions are known by it.
    package var clientID: String? {
        if case .client(let id) = claimant { id } else { nil }
    }

    /// The id of the first operation, 0 without.
    package var firstOpID: Int64 { operations.first?.opID ?? 0 }
    /// The id of the last operation, 0 without.
    package var lastOpID: Int64 { operations.last?.opID ?? 0 }

    /// The statement that enters it.
    ///
    /// - Parameters:
    ///   - verdict: what will have become of the operations when this commits.
    ///   - result: the result to repeat.
    /// - Returns: the statement; that of an attempt fails with 23505 if it has committed before. It also ends the count of
    ///   the write's failures: without ids the next write of this content is another one.
    package func entry(_ verdict: Verdict, result: String? = nil) -> PostgresStatement {
        switch claimant {
        case .attempt(let id):
            return PostgresStatement(
                """
                WITH past AS (DELETE FROM psb.upload_attempts
                    WHERE user_id = $4::text AND body_hash = decode($5::text, 'hex'))
                INSERT INTO psb.commits (id, verdict, result) VALUES ($1::uuid, $2::smallint, $3::json)
                """,
                [id, String(verdict.rawValue), result, userID, contentHash], keepsRows: false)
        case .client(let id):
            var values = PostgresParameters([
                userID, id, String(firstOpID), String(lastOpID), String(confirmedOpID),
                txID.map { String($0) },
            ])
            values.appendArray(ids)
            values.appendArray(hashes(.meaning))
            values.append(String(verdict.rawValue))
            values.append(result)
            return PostgresStatement(
                """
                INSERT INTO psb.ledger (user_id, client_id, first_op_id, last_op_id, confirmed_op_id, tx_id, op_ids,
                    op_hashes, hashing, verdict, result)
                VALUES ($1::text, $2::text, $3::bigint, $4::bigint, $5::bigint, $6::bigint, $7::bigint[],
                    $8::bigint[], \(Hashing.meaning.rawValue), $9::smallint, $10::json)
                """, values, keepsRows: false)
        }
    }

    /// What `psb.open` needs to find entries that were not consulted; nils for an attempt.
    package var range: [String?] {
        guard let clientID else { return [nil, nil, nil, nil] }
        return [clientID, String(firstOpID), String(lastOpID), String(considered)]
    }

    /// Names the write while its failures are counted, in hexadecimal digits: of which client the operations are, their ids,
    /// as far as there are any, and what they mean.
    var contentHash: String {
        var bytes: [UInt8] = []
        JSON.appendQuoted(clientID ?? "", to: &bytes)
        var digest = OperationDigest()
        for operation in operations {
            for number in [operation.opID ?? 0, digest.meaning(operation)] {
                withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
            }
        }
        return Hexadecimal.encode(Digest.sha256(bytes))
    }

    /// The ids.
    var ids: [Int64] { operations.indices.map { operations[$0].opID ?? 0 } }

    /// The digests.
    func hashes(_ hashing: Hashing) -> [Int64] {
        var digest = OperationDigest()
        var hashes: [Int64] = []
        hashes.reserveCapacity(operations.count)
        for index in operations.indices {
            switch hashing {
            case .meaning: hashes.append(digest.meaning(operations[index]))
            case .spelling: hashes.append(digest.spelling(operations[index]))
            }
        }
        return hashes
    }
}
