import PowerSyncCrypto
import PowerSyncPostgres
import PowerSyncWire

/// The entry of one transaction in the upload ledger, which makes every repetition an exact no-op (backend
/// 3.5).
package struct LedgerClaim: Sendable, Hashable {
    /// What the ledger says became of a transaction.
    package enum Verdict: Int, Sendable {
        /// Committed.
        case applied = 1
        /// Rejected, and kept as a dead letter.
        case rejected = 2
    }

    /// The token's subject.
    package let userID: String
    /// The client's database; of senders without ids, the attempt itself.
    package let clientID: String
    /// The operations that the entry stands for.
    package let operations: [UploadOperation]
    /// The transaction's number on the client.
    package let txID: Int64?
    /// Whether the sender gave ids, so that the entry also covers its repetitions.
    ///
    /// Without ids the entry only makes this server's own retries exact, such as after a lost reply to
    /// COMMIT.
    package let isDurable: Bool
    /// Counts entries of one key with different content: a cloned or restored device.
    package var generation = 0
    /// Whether operations under another grouping are looked for.
    package var checksOverlap: Bool

    /// The prefix of `clientID` where the sender gave none.
    static let attemptPrefix = "attempt:"

    /// Makes the claim of a transaction.
    ///
    /// - Parameters:
    ///   - operations: those to execute.
    ///   - txID: the transaction's number on the client.
    ///   - userID: the token's subject.
    ///   - clientID: the client's database, if it was sent.
    ///   - attemptID: a name that no other upload has.
    package init(
        _ operations: [UploadOperation], txID: Int64?, userID: String, clientID: String?, attemptID: String
    ) {
        self.operations = operations
        self.txID = txID
        self.userID = userID
        isDurable = clientID != nil && !operations.isEmpty && operations.allSatisfy { $0.opID != nil }
        checksOverlap = isDurable
        self.clientID = (isDurable ? clientID : nil) ?? LedgerClaim.attemptPrefix + attemptID
    }

    /// The number of the first operation.
    package var firstOpID: Int64 { (isDurable ? operations.first?.opID : nil) ?? 0 }
    /// The number of the last operation.
    package var lastOpID: Int64 { (isDurable ? operations.last?.opID : nil) ?? 0 }

    /// The digest of the operations as sent, numbers as spelled, in hexadecimal digits.
    package var bodyHash: String {
        Hexadecimal.encode(Digest.sha256(JSON.array(operations.map(\.json)).utf8))
    }

    /// For each operation its number and the first eight bytes of its digest, in hexadecimal digits.
    package var operationHashes: String? {
        guard isDurable else { return nil }
        return operations.map(LedgerClaim.mark).joined()
    }

    /// An operation's number and the beginning of its digest: 32 hexadecimal digits.
    package static func mark(_ operation: UploadOperation) -> String {
        let number = UInt64(bitPattern: operation.opID ?? 0)
        let bytes = (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * UInt64($0))) }
        return Hexadecimal.encode(bytes + Digest.sha256(operation.json.utf8).prefix(8))
    }

    /// The statements that claim the entry: a plain INSERT, so that a repetition fails and nothing after it
    /// runs.
    ///
    /// - Parameters:
    ///   - verdict: what will have become of the transaction when this commits.
    ///   - result: the stored result of a rejection.
    /// - Returns: one statement, or two where overlaps are looked for.
    package func statements(_ verdict: Verdict, result: String? = nil) -> [PostgresStatement] {
        var statements: [PostgresStatement] = []
        if checksOverlap {
            statements.append(
                PostgresStatement(
                    "SELECT psb.refuse_overlap($1::text, $2::text, $3::bigint, $4::bigint)",
                    [userID, clientID, String(firstOpID), String(lastOpID)]))
        }
        statements.append(
            PostgresStatement(
                """
                INSERT INTO psb.upload_ledger (user_id, client_id, first_op_id, generation, last_op_id, tx_id,
                    body_hash, op_hashes, verdict, result)
                VALUES ($1::text, $2::text, $3::bigint, $4::integer, $5::bigint, $6::bigint,
                    decode($7::text, 'hex'), decode($8::text, 'hex'), $9::smallint, $10::json)
                """,
                [
                    userID, clientID, String(firstOpID), String(generation), String(lastOpID),
                    txID.map { String($0) }, bodyHash, operationHashes, String(verdict.rawValue), result,
                ]))
        return statements
    }

    /// Asks for the entries of this key and of its neighbourhood.
    package var entries: PostgresStatement {
        PostgresStatement(
            """
            SELECT first_op_id::text, generation::text, encode(body_hash, 'hex'), verdict::text, result::text,
                encode(op_hashes, 'hex')
            FROM psb.upload_ledger WHERE user_id = $1::text AND client_id = $2::text AND first_op_id <= $4::bigint
                AND first_op_id >= coalesce((SELECT max(first_op_id) FROM psb.upload_ledger WHERE user_id = $1::text
                    AND client_id = $2::text AND first_op_id < $3::bigint), $3::bigint)
            ORDER BY generation DESC
            """, [userID, clientID, String(firstOpID), String(lastOpID)])
    }
}

/// What a taken claim means for the transaction.
package enum LedgerDecision: Sendable, Hashable {
    /// The same transaction was seen: its verdict stands, with the stored result of a rejection.
    case replay(LedgerClaim.Verdict, result: String?)
    /// The key was used for something else: execute under this generation.
    case generation(Int)
    /// Some operations were seen in other groups: execute the rest.
    case skip(Set<Int>)

    /// One entry of the ledger.
    package struct Entry: Sendable, Hashable {
        /// The number of its first operation.
        package let firstOpID: Int64
        /// Its generation.
        package let generation: Int
        /// The digest of its operations.
        package let bodyHash: String
        /// What became of it.
        package let verdict: LedgerClaim.Verdict
        /// The stored result of a rejection.
        package let result: String?
        /// The marks of its operations.
        package let marks: Set<String>

        /// Makes an entry of its fields.
        package init(
            firstOpID: Int64, generation: Int, bodyHash: String, verdict: LedgerClaim.Verdict,
            result: String? = nil,
            marks: Set<String> = []
        ) {
            self.firstOpID = firstOpID
            self.generation = generation
            self.bodyHash = bodyHash
            self.verdict = verdict
            self.result = result
            self.marks = marks
        }
    }

    /// Decides what a taken claim means.
    ///
    /// - Parameters:
    ///   - claim: the claim that failed.
    ///   - entries: those of its key and neighbourhood.
    package init(_ claim: LedgerClaim, entries: [Entry]) {
        let same = entries.filter { $0.firstOpID == claim.firstOpID }
        if let entry = same.first(where: { $0.bodyHash == claim.bodyHash }) {
            self = .replay(entry.verdict, result: entry.result)
            return
        }
        if claim.checksOverlap {
            let marks = entries.reduce(into: Set<String>()) { $0.formUnion($1.marks) }
            let seen = claim.operations.indices.filter {
                marks.contains(LedgerClaim.mark(claim.operations[$0]))
            }
            if !seen.isEmpty || same.isEmpty {
                self = .skip(Set(seen))
                return
            }
        }
        self = .generation((same.map(\.generation).max() ?? -1) + 1)
    }
}
