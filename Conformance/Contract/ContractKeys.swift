import PowerSyncCrypto
import PowerSyncWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The key with which a backend checks the tokens of uploads: what good and broken tokens are made with (backend 4.7).
package struct ContractKeys: Sendable {
    private let signer: JSONWebKey
    private let algorithm: SignatureAlgorithm
    private let audiences: [String]
    private let issuer: String?

    /// Takes a key.
    ///
    /// - Parameters:
    ///   - signer: A private key, with a name and an algorithm.
    ///   - audiences: The audiences of good tokens.
    ///   - issuer: The issuer of good tokens; nil where the backend asks for none.
    /// - Throws: `ContractError` for a key that cannot sign.
    package init(signer: JSONWebKey, audiences: [String], issuer: String?) throws(ContractError) {
        guard let algorithm = signer.algorithm, signer.isPrivate, algorithm.keyType != .oct else {
            throw ContractError(.token, "the key of the tokens is no private one of a named algorithm")
        }
        self.signer = signer
        self.algorithm = algorithm
        self.audiences = audiences
        self.issuer = issuer
    }

    /// Whether the backend asks for an issuer, without which no token has a wrong one.
    package var hasIssuer: Bool { issuer != nil }

    /// Makes a good token.
    ///
    /// - Parameters:
    ///   - subject: Its subject.
    ///   - extra: Claims that come in place of the usual ones, or besides; null leaves one out.
    ///   - lifetime: For how long it is good, in seconds.
    /// - Returns: The token.
    /// - Throws: `CryptoError`.
    package func token(
        for subject: String, extra: [JSONMember] = [], lifetime: Int64 = 300
    ) throws -> String {
        try JSONWebToken.signed(
            payload: payload(subject, extra, lifetime: lifetime), with: signer, algorithm: algorithm,
            kid: signer.kid)
    }

    /// Makes a broken token.
    ///
    /// - Parameters:
    ///   - mode: What is wrong with it.
    ///   - subject: Its subject.
    /// - Returns: The token.
    /// - Throws: `CryptoError`.
    package func token(_ mode: TokenMode, for subject: String) throws -> String {
        let now = Self.now
        switch mode {
        case .expired:
            return try token(
                for: subject,
                extra: [JSONMember("iat", .integer(now - 7_200)), JSONMember("exp", .integer(now - 3_600))])
        case .notYetValid:
            return try token(
                for: subject, extra: [JSONMember("nbf", .integer(now + 7_200))], lifetime: 10_000)
        case .wrongAudience:
            return try token(for: subject, extra: [JSONMember("aud", .string("https://elsewhere.invalid"))])
        case .noAudience: return try token(for: subject, extra: [JSONMember("aud", .null)])
        case .wrongIssuer:
            return try token(for: subject, extra: [JSONMember("iss", .string("https://elsewhere.invalid"))])
        case .noSubject: return try token(for: subject, extra: [JSONMember("sub", .null)])
        case .numericSubject: return try token(for: subject, extra: [JSONMember("sub", .integer(7))])
        case .noIssuedAt: return try token(for: subject, extra: [JSONMember("iat", .null)])
        case .tooLong: return try token(for: subject, lifetime: 172_800)
        case .huge:
            let text = String(repeating: "x", count: 20_000)
            return try token(for: subject, extra: [JSONMember("parameters", .string(text))])
        case .malformed: return "no.token"
        case .wrongKey: return try signedByAnother(subject, kid: signer.kid)
        case .unknownKey: return try signedByAnother(subject, kid: nil)
        case .noKeyName:
            return try JSONWebToken.signed(
                payload: payload(subject, [], lifetime: 300), with: signer, algorithm: algorithm, kid: nil)
        case .unsigned:
            let name = signer.kid.map { ",\"kid\":" + JSON.quoted($0) } ?? ""
            let header = Array("{\"alg\":\"none\",\"typ\":\"JWT\"\(name)}".utf8)
            let payload = payload(subject, [], lifetime: 300)
            return Base64URL.encode(header) + "." + Base64URL.encode(payload) + "."
        case .confusion:
            let text = try signer.pemText(includePrivate: false)
            let secret = try JSONWebKey(secret: Array(text.utf8), algorithm: .HS256)
            return try JSONWebToken.signed(
                payload: payload(subject, [], lifetime: 300), with: secret, algorithm: .HS256,
                kid: signer.kid)
        }
    }

    private func signedByAnother(_ subject: String, kid: String?) throws -> String {
        let other = try JSONWebKey.generate(algorithm)
        return try JSONWebToken.signed(
            payload: payload(subject, [], lifetime: 300), with: other, algorithm: algorithm,
            kid: kid ?? other.kid)
    }

    private func payload(_ subject: String, _ extra: [JSONMember], lifetime: Int64) -> [UInt8] {
        let now = Self.now
        var claims = [
            JSONMember("aud", .array(audiences.map { .string($0) })), JSONMember("sub", .string(subject)),
            JSONMember("iat", .integer(now)), JSONMember("exp", .integer(now + lifetime)),
        ]
        if let issuer { claims.append(JSONMember("iss", .string(issuer))) }
        for claim in extra {
            claims.removeAll { $0.name == claim.name }
            if !claim.value.isNull { claims.append(claim) }
        }
        return JSON.object(claims).utf8
    }

    /// Seconds since 1970, by the clock of this machine, which that of the backend must be near.
    private static var now: Int64 { Int64(Date().timeIntervalSince1970) }
}
