import PowerSyncPostgres
import PowerSyncWire

/// What the ledger knows of an attempt's operations.
package struct LedgerReading: Sendable {
    /// What became of an operation before.
    package enum Known: Sendable, Hashable {
        /// It was committed.
        case applied
        /// It was rejected with its transaction.
        case rejected(Rejection)
    }

    /// What the ledger says of a rejected operation.
    package struct Rejection: Sendable, Hashable {
        /// `rejected` for the one to blame, `skipped` for its siblings.
        package var status: String
        /// Why, of the one to blame.
        package var code: String?
        /// Why its transaction was rejected; of one operation of a reading alone, the first.
        package var cause: Cause?
    }

    /// Why a transaction was rejected.
    package struct Cause: Sendable, Hashable {
        /// The failure; its index is that of then.
        package var failure: UploadResult.Failure
        /// The entry in the dead letters.
        package var rejectionID: String
        /// The operation to blame, unless the commit itself failed.
        package var culprit: UploadResult.Operation?

        init?(_ result: UploadResult) {
            guard let failure = result.failure else { return nil }
            self.failure = failure
            rejectionID = result.rejectionID ?? ""
            culprit = result.operations.first { $0.index == failure.operationIndex }
        }
    }

    /// The bytes of stored results that are read at a time.
    private static let resultBytes = 1 << 20

    /// What is known, by the operation's place in the claim.
    package var known: [Int: Known] = [:]
    /// The number of the newest entry that was looked at.
    package var considered: Int64 = 0
    /// Whether an entry holds an id of the claim with other content: a copied device.
    package var hasOtherContent = false

    /// Asks the ledger.
    ///
    /// However many entries there are, what comes back is a row for each operation of the claim, which the memory of an
    /// operation covers (`MeasuredBody`), and a part of the stored results at a time.
    ///
    /// - Parameters:
    ///   - claim: the claim that was refused.
    ///   - connection: outside a transaction.
    ///   - deadline: when it must have ended.
    /// - Throws: `PostgresError`; `WireError` for a stored result that nobody can read.
    package init(
        _ claim: LedgerClaim, reading connection: PostgresConnection, until deadline: ContinuousClock.Instant
    ) async throws {
        switch claim.claimant {
        case .attempt(let id): try await readAttempt(id, claim, connection, deadline)
        case .client(let id): try await readEntries(id, claim, connection, deadline)
        }
    }

    private mutating func readAttempt(
        _ id: String, _ claim: LedgerClaim, _ connection: PostgresConnection,
        _ deadline: ContinuousClock.Instant
    ) async throws {
        let found = try await connection.query(
            "SELECT verdict::text, result::text FROM psb.commits WHERE id = $1::uuid", [id], until: deadline)
        guard found.rowCount > 0 else { return }
        let result = try found[0, 1].map(LedgerReading.result)
        let states = Dictionary(result?.operations.map { ($0.index, $0) } ?? []) { first, _ in first }
        var cause = result.flatMap(Cause.init)
        for index in claim.operations.indices {
            let state = states[index]
            guard found[0, 0] == Self.rejected || state?.status == "rejected" else {
                known[index] = .applied
                continue
            }
            known[index] = .rejected(
                Rejection(status: state?.status ?? "skipped", code: state?.code, cause: cause))
            cause = nil
        }
    }

    /// First the numbers, then what the entries know: an entry that comes in between is above the numbers.
    private mutating func readEntries(
        _ clientID: String, _ claim: LedgerClaim, _ connection: PostgresConnection,
        _ deadline: ContinuousClock.Instant
    ) async throws {
        let range = [claim.userID, clientID, String(claim.firstOpID), String(claim.lastOpID)]
        let overlapping =
            "l.user_id = $1::text AND l.client_id = $2::text AND l.last_op_id >= $3::bigint AND l.first_op_id <= $4::bigint"
        let newest = try await connection.query(
            "SELECT max(l.id)::text FROM psb.ledger l WHERE \(overlapping)", range, until: deadline)
        considered = newest[0, 0].flatMap { Int64($0) } ?? 0
        let arrays = [claim.ids, claim.hashes(.meaning), claim.hashes(.spelling)].map { numbers in
            "{" + numbers.map { String($0) }.joined(separator: ",") + "}"
        }
        // What was applied stays applied, whatever a copy of the device was told.
        let found = try await connection.query(
            """
            SELECT k.n::text, min(k.verdict) FILTER (WHERE k.is_same)::text,
                min(k.id) FILTER (WHERE k.is_same AND k.verdict = \(Self.rejected))::text, bool_or(NOT k.is_same)
            FROM psb.ledger l CROSS JOIN LATERAL (
                SELECT o.n, l.verdict, l.id, m.hash = CASE l.hashing
                    WHEN \(LedgerClaim.Hashing.spelling.rawValue) THEN o.spelling ELSE o.meaning END AS is_same
                FROM unnest(l.op_ids, l.op_hashes) AS m(op_id, hash)
                JOIN unnest($5::bigint[], $6::bigint[], $7::bigint[]) WITH ORDINALITY AS o(op_id, meaning, spelling, n)
                    USING (op_id) OFFSET 0) AS k
            WHERE \(overlapping) GROUP BY k.n
            """,
            range + arrays, until: deadline)
        var rejected: [Int64: [Int]] = [:]
        for row in 0..<found.rowCount {
            guard let place = found[row, 0].flatMap({ Int($0) }) else { continue }
            hasOtherContent = hasOtherContent || found[row, 3] == "t"
            guard let verdict = found[row, 1] else { continue }
            if verdict == Self.rejected, let id = found[row, 2].flatMap({ Int64($0) }) {
                rejected[id, default: []].append(place - 1)
            } else {
                known[place - 1] = .applied
            }
        }
        try await readResults(of: rejected, claim, range, connection, deadline)
    }

    /// Reads what became of operations that were rejected, some entries at a time.
    private mutating func readResults(
        of rejected: [Int64: [Int]], _ claim: LedgerClaim, _ range: [String],
        _ connection: PostgresConnection, _ deadline: ContinuousClock.Instant
    ) async throws {
        let first = rejected.values.joined().min()
        var left = rejected.keys.sorted()
        while !left.isEmpty {
            let stored = try await connection.query(
                """
                SELECT s.id::text, s.result::text FROM (
                    SELECT l.id, l.result, row_number() OVER w AS n, sum(octet_length(l.result::text)) OVER w AS bytes
                    FROM psb.ledger l WHERE l.user_id = $1::text AND l.client_id = $2::text
                        AND l.last_op_id >= $3::bigint AND l.first_op_id <= $4::bigint AND l.id = ANY ($5::bigint[])
                    WINDOW w AS (ORDER BY l.id)) AS s
                WHERE s.n = 1 OR s.bytes <= \(Self.resultBytes) ORDER BY s.id
                """, range + ["{" + left.map { String($0) }.joined(separator: ",") + "}"], until: deadline)
            // What was pruned meanwhile had been confirmed; it is not known any more.
            guard stored.rowCount > 0 else { return }
            for row in 0..<stored.rowCount {
                guard let id = stored[row, 0].flatMap({ Int64($0) }), let places = rejected[id] else {
                    continue
                }
                let result = try stored[row, 1].map(LedgerReading.result)
                let states = Dictionary(
                    result?.operations.compactMap { state in state.opID.map { ($0, state) } } ?? []
                ) { first, _ in first }
                for place in places {
                    let state = claim.operations[place].opID.flatMap { states[$0] }
                    known[place] = .rejected(
                        Rejection(
                            status: state?.status ?? "skipped", code: state?.code,
                            cause: place == first ? result.flatMap(Cause.init) : nil))
                }
            }
            let last = stored[stored.rowCount - 1, 0].flatMap { Int64($0) } ?? .max
            left.removeAll { $0 <= last }
        }
    }

    private static let rejected = String(LedgerClaim.Verdict.rejected.rawValue)

    private static func result(_ stored: String) throws -> UploadResult {
        let json = JSON.object([JSONMember("results", .array([try JSON.parse(stored)]))])
        guard let result = try UploadResponse(json: json).results.first else {
            throw WireError(.invalidField, "results: expected one result")
        }
        return result
    }
}
