import PowerSyncPostgres
import PowerSyncWire

/// A rejected transaction as it is kept: whole, with who sent it and why it was refused (backend 3.4).
package struct DeadLetter: Sendable {
    /// Its id, which the answer names.
    package let id: String
    /// Why it was refused.
    package let refusal: Refusal
    /// The rows that they name.
    package let rows: LetterRows
    /// The claim of the transaction.
    package let claim: LedgerClaim
    /// Who sent it.
    package let context: UploadContext
    /// The place in the payload of the operation that failed; nil where the commit itself did.
    package let failedIndex: Int?

    private let text: String

    /// Makes a letter of its parts.
    init(
        id: String, refusal: Refusal, payload: JSON, rows: LetterRows, claim: LedgerClaim,
        context: UploadContext,
        failedIndex: Int?
    ) {
        self.id = id
        self.refusal = refusal
        self.rows = rows
        self.claim = claim
        self.context = context
        self.failedIndex = failedIndex
        text = payload.text
    }

    /// What it takes of its sender's quota: nothing if it was there before.
    package var usage: DeadLetterUsage {
        guard context.replay == nil else { return DeadLetterUsage(rows: 0, bytes: 0) }
        let texts =
            [text, context.claims, context.letterClaims, DeadLetter.storable(refusal.message)] + rows.ids
        return DeadLetterUsage(rows: 1, bytes: texts.reduce(0) { $0 + $1.utf8.count })
    }

    /// The statement that stores it, or says in it why it was refused again.
    package var statement: PostgresStatement { context.replay == nil ? insertion : update }

    private var update: PostgresStatement {
        PostgresStatement(
            """
            UPDATE psb.dead_letters SET attempts = attempts + 1, failed_index = $2::integer, error_code = $3::text,
                sqlstate = $4::text, constraint_name = $5::text, table_name = $6::text, row_id = $7::text,
                message = $8::text
            WHERE id = $1::uuid
            """, [id] + reason)
    }

    /// Why it was refused: columns from failed_index to message.
    private var reason: [String?] {
        [
            failedIndex.map { String($0) }, refusal.code, refusal.sqlstate, refusal.constraint,
            refusal.table.map(DeadLetter.storable), refusal.rowID.map(DeadLetter.storable),
            DeadLetter.storable(refusal.message),
        ]
    }

    private var insertion: PostgresStatement {
        PostgresStatement(
            """
            INSERT INTO psb.dead_letters (id, user_id, client_id, tx_id, first_op_id, last_op_id, failed_index,
                error_code, sqlstate, constraint_name, table_name, row_id, message, payload, claims, request_id, row_ids,
                row_tables, replay_claims, bytes)
            VALUES ($1::uuid, $2::text, $3::text, $4::bigint, $5::bigint, $6::bigint, $7::integer, $8::text, $9::text,
                $10::text, $11::text, $12::text, $13::text, $14::json, $15::json, $16::text, $17::text[],
                $18::text[], $19::json, $20::bigint)
            """,
            [
                id, context.subject, claim.clientID, claim.txID.map { String($0) },
                claim.clientID.map { _ in String(claim.firstOpID) },
                claim.clientID.map { _ in String(claim.lastOpID) },
            ] + reason + [
                text, context.letterClaims, context.requestID, arrayLiteral(rows.ids),
                rows.tables.map { arrayLiteral($0) }, context.claims, String(usage.bytes),
            ])
    }

    /// Texts of clients may hold what a column of text cannot, or be of any length; the payload has them in
    /// full.
    ///
    /// Scalars are counted, not characters: one of these may be as long as a body.
    private static func storable(_ text: String) -> String {
        String(text.unicodeScalars.prefix(255)).replacing("\0", with: "\u{FFFD}")
    }
}
