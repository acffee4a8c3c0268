import PowerSyncPostgres
import PowerSyncWire

/// Who uploads, and what the request says about itself.
package struct UploadContext: Sendable {
    /// The token's subject.
    package var subject: String
    /// The token's payload, for policies of the database (backend 2.9).
    package var claims: String
    /// The claims that a dead letter shows; it keeps the payload besides, for as long as it can be sent again.
    package var letterClaims: String
    /// The request's id in logs.
    package var requestID: String
    /// The role that writes; nil for the first of those that may be taken, if there are any.
    package var role: DatabaseRole?

    /// The dead letter that is sent again, if this is no upload of a client.
    package var replay: Replay?

    /// A dead letter that is sent again: what comes of it is recorded in it, in the transaction that applies or refuses it.
    package struct Replay: Sendable, Hashable {
        /// What the ids of such clients begin with; no other client may have one.
        package static let clientPrefix = "replay:"

        /// The letter.
        package let letterID: String
        /// The attempts that the letter counted when it was read.
        package let attempt: Int

        /// Makes a replay of its fields.
        package init(letterID: String, attempt: Int) {
            self.letterID = letterID
            self.attempt = attempt
        }

        /// The client, so that the ledger lets one attempt in once, whoever makes it and whatever becomes of the answer.
        package var clientID: String { "\(Replay.clientPrefix)\(letterID):\(attempt)" }

        /// The statement that locks the letter, and fails unless it is open and has not been tried since.
        ///
        /// - Parameter isApplied: whether the transaction applies it: then it is replayed when that commits.
        /// - Returns: the statement.
        func taking(isApplied: Bool) -> PostgresStatement {
            PostgresStatement(
                "SELECT psb.take_letter($1::uuid, $2::integer, $3::boolean)",
                [letterID, String(attempt), String(isApplied)], keepsRows: false)
        }
    }

    /// Makes a context of its fields.
    package init(
        subject: String, claims: String, letterClaims: String, requestID: String, role: DatabaseRole? = nil,
        replay: Replay? = nil
    ) {
        self.subject = subject
        self.claims = claims
        self.letterClaims = letterClaims
        self.requestID = requestID
        self.role = role
        self.replay = replay
    }
}

extension UploadContext {
    /// What a letter shows of claims: who, by which token, in which role.
    private static let shownClaims: Set<String> = ["sub", "jti", "iss", "iat", "exp", "role", "client_id"]

    /// Makes the context of an upload.
    ///
    /// - Parameters:
    ///   - principal: who uploads.
    ///   - requestID: names the request in logs.
    init(_ principal: Principal, requestID: String) {
        let shown = (principal.claims.objectMembers ?? []).filter { Self.shownClaims.contains($0.name) }
        self.init(
            subject: principal.subject, claims: principal.claims.text, letterClaims: JSON.object(shown).text,
            requestID: requestID, role: principal.role)
    }
}

/// A failure that may pass: the client keeps its queue and comes again.
package struct UploadFailure: Error, Sendable, Hashable {
    /// The stable code of the answer.
    package let code: String
    /// Whether this is a mistake of the backend rather than trouble of the database.
    package let isBug: Bool

    /// Makes a failure of its code.
    package init(code: String, isBug: Bool = false) {
        self.code = code
        self.isBug = isBug
    }
}
