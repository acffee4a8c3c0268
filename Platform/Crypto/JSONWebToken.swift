#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A signed token in the compact form (RFC 7515 7.1); what its claims mean is the reader's matter.
package struct JSONWebToken: Sendable {
    /// What the token says of its own signature; nothing of it is proved before `isSigned`.
    package struct Header: Sendable, Equatable {
        /// The member `alg` as it stands, `none` and unknown names included.
        package let algorithm: String
        /// The name of the key; nil where there is none, or it is no text.
        package let kid: String?
        /// The member `typ`, usually `JWT`; nil where there is none, or it is no text.
        package let type: String?
        /// Whether there is a member `crit`: extensions that must be understood, of which there are none here.
        package let hasCriticalExtensions: Bool
    }

    /// The header.
    package let header: Header
    /// The payload, usually a JSON object of claims.
    package let payload: [UInt8]
    /// The signature; empty for `none`.
    package let signature: [UInt8]
    private let signedText: [UInt8]

    /// Takes a token apart without believing it.
    ///
    /// - Parameter text: Three parts of unpadded base64url with dots between.
    /// - Throws: `malformed`.
    package init(parsing text: String) throws(CryptoError) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(parts[0]),
            let payload = Base64URL.decode(parts[1]),
            let signature = Base64URL.decode(parts[2])
        else {
            throw CryptoError(.malformed, "not a token of three base64url parts")
        }
        do {
            let fields = try JSONDecoder().decode(HeaderFields.self, from: Data(header))
            self.header = Header(
                algorithm: fields.alg, kid: fields.kid, type: fields.typ,
                hasCriticalExtensions: fields.hasCriticalExtensions)
        } catch {
            // The decoder's own error quotes the header; the token stays out of errors.
            throw CryptoError(.malformed, "the header of the token is not a JSON object with an \"alg\"")
        }
        self.payload = payload
        self.signature = signature
        signedText = Array(text.utf8.prefix(parts[0].utf8.count + 1 + parts[1].utf8.count))
    }

    /// Returns whether the token was signed by the key with the algorithm.
    ///
    /// The header must name the very algorithm that the caller expects, and the key must go with it.
    package func isSigned(by key: JSONWebKey, as algorithm: SignatureAlgorithm) -> Bool {
        header.algorithm == algorithm.rawValue && !header.hasCriticalExtensions
            && key.verify(signature: signature, message: signedText, algorithm: algorithm)
    }

    /// Signs a payload.
    ///
    /// - Parameters:
    ///   - payload: The bytes to carry.
    ///   - key: A private key or shared secret.
    ///   - algorithm: One that goes with the key.
    ///   - kid: The key's name for the header; nil leaves it out.
    /// - Returns: The compact form, its header with `typ` JWT.
    /// - Throws: `wrongKey`.
    package static func signed(
        payload: [UInt8], with key: JSONWebKey, algorithm: SignatureAlgorithm, kid: String?
    ) throws(CryptoError) -> String {
        let name = kid.map { ",\"kid\":\(JSONWebKey.quoted($0))" } ?? ""
        let header = "{\"alg\":\"\(algorithm.rawValue)\",\"typ\":\"JWT\"\(name)}"
        let text = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(payload)
        let signature = try key.sign(Array(text.utf8), algorithm: algorithm)
        return text + "." + Base64URL.encode(signature)
    }

    private struct HeaderFields: Decodable {
        let alg: String
        let kid: String?
        let typ: String?
        let hasCriticalExtensions: Bool

        enum CodingKeys: String, CodingKey { case alg, kid, typ, crit }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            alg = try container.decode(String.self, forKey: .alg)
            // What is no text names no key and no type; the signature is what counts.
            kid = try? container.decode(String.self, forKey: .kid)
            typ = try? container.decode(String.self, forKey: .typ)
            hasCriticalExtensions = container.contains(.crit)
        }
    }
}
