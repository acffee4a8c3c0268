import PowerSyncCrypto
import PowerSyncWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The secret with which the team's app signs sessions, which the token route takes (backend 4.2, 4.4).
package struct ContractSignIn: Sendable {
    /// A session that a request shows.
    package enum Mode: String, Sendable, Hashable, CaseIterable {
        /// One that is good.
        case good
        /// One that has ended an hour ago.
        case expired
    }

    private let secret: JSONWebKey
    private let audience: String
    private let issuer: String

    /// Takes a secret.
    ///
    /// - Parameters:
    ///   - secret: The bytes of the secret, at least 32.
    ///   - audience: The audience of sessions.
    ///   - issuer: Their issuer.
    /// - Throws: `CryptoError` for what can be no secret.
    package init(secret: [UInt8], audience: String, issuer: String) throws(CryptoError) {
        self.secret = try JSONWebKey(secret: secret, algorithm: .HS256)
        self.audience = audience
        self.issuer = issuer
    }

    /// Makes the session of a user.
    ///
    /// - Parameters:
    ///   - mode: Whether it is good.
    ///   - subject: The user.
    /// - Returns: The token.
    /// - Throws: `CryptoError`.
    package func session(_ mode: Mode, for subject: String) throws(CryptoError) -> String {
        let begun = Int64(Date().timeIntervalSince1970) - (mode == .expired ? 7_200 : 0)
        let claims = JSON.object([
            JSONMember("iss", .string(issuer)), JSONMember("aud", .string(audience)),
            JSONMember("sub", .string(subject)), JSONMember("iat", .integer(begun)),
            JSONMember("exp", .integer(begun + 3_600)),
        ])
        return try JSONWebToken.signed(payload: claims.utf8, with: secret, algorithm: .HS256, kid: nil)
    }
}
