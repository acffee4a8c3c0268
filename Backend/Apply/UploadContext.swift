/// Who uploads, and what the request says about itself.
package struct UploadContext: Sendable {
    /// The token's subject.
    package var subject: String
    /// The token's payload, for policies of the database (backend 2.9).
    package var claims: String
    /// The claims that a dead letter keeps.
    package var letterClaims: String
    /// The request's id in logs.
    package var requestID: String

    /// Makes a context of its fields.
    package init(subject: String, claims: String, letterClaims: String, requestID: String) {
        self.subject = subject
        self.claims = claims
        self.letterClaims = letterClaims
        self.requestID = requestID
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
