import PowerSyncPostgres
import PowerSyncWire

/// A rejected transaction as it is kept: whole, with who sent it and why it was refused (backend 3.4).
package struct DeadLetter: Sendable {
    /// Its id, which the answer names.
    package let id: String
    /// Why it was refused.
    package let refusal: Refusal
    /// The operations as they came.
    package let payload: JSON
    /// The claim of the transaction.
    package let claim: LedgerClaim
    /// Who sent it.
    package let context: UploadContext

    /// The statement that stores it.
    package var statement: PostgresStatement {
        PostgresStatement(
            """
            INSERT INTO psb.dead_letters (id, user_id, client_id, tx_id, first_op_id, last_op_id, failed_index,
                error_code, sqlstate, constraint_name, table_name, row_id, message, payload, claims, request_id)
            VALUES ($1::uuid, $2::text, $3::text, $4::bigint, $5::bigint, $6::bigint, $7::integer, $8::text, $9::text,
                $10::text, $11::text, $12::text, $13::text, $14::json, $15::json, $16::text)
            """,
            [
                id, context.subject, claim.isDurable ? claim.clientID : nil, claim.txID.map { String($0) },
                claim.isDurable ? String(claim.firstOpID) : nil,
                claim.isDurable ? String(claim.lastOpID) : nil,
                refusal.index.map { String($0) }, refusal.code, refusal.sqlstate, refusal.constraint,
                refusal.table.map(DeadLetter.storable), refusal.rowID.map(DeadLetter.storable),
                DeadLetter.storable(refusal.message), payload.text, context.letterClaims, context.requestID,
            ])
    }

    /// Texts of clients may hold what a column of text cannot, or be of any length; the payload has them in
    /// full.
    private static func storable(_ text: String) -> String {
        String(text.prefix(255)).replacing("\0", with: "\u{FFFD}")
    }
}
