/// A way in which a token is broken (backend 4.7, case 35).
package enum TokenMode: String, Sendable, Hashable, CaseIterable {
    /// Two hours old.
    case expired
    /// `nbf` in two hours.
    case notYetValid = "not-yet-valid"
    /// For somebody else.
    case wrongAudience = "wrong-aud"
    /// For nobody.
    case noAudience = "no-aud"
    /// Made by somebody else.
    case wrongIssuer = "wrong-iss"
    /// Signed by another key under the name of the right one.
    case wrongKey = "wrong-key"
    /// Signed by another key under its own name.
    case unknownKey = "unknown-kid"
    /// Without the name of a key.
    case noKeyName = "no-kid"
    /// `alg` none and no signature.
    case unsigned = "alg-none"
    /// `alg` HS256, the secret being the text of the public key.
    case confusion = "hs-confusion"
    /// Without a subject.
    case noSubject = "no-sub"
    /// The subject is a number.
    case numericSubject = "numeric-sub"
    /// Without the time at which it was made.
    case noIssuedAt = "no-iat"
    /// Good for two days.
    case tooLong = "too-long"
    /// No token at all.
    case malformed
    /// A good one but for 20 kB of claims.
    case huge
}
