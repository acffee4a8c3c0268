import PowerSyncCrypto
import PowerSyncWire

/// What a token says of its own signature, by which it is decided who reads the token; nothing of it is proved.
package struct TokenHeader: Sendable, Hashable {
    /// The most bytes of a token.
    package static let longestToken = 8 << 10
    /// What of JSON a token may have: what it is made of must not cost more than a signature.
    static let limits = JSONLimits(depth: 20, values: 1_000, refusesDuplicateNames: true)

    /// The member `alg` as it stands.
    package let algorithm: String
    /// The name of the key, of 1 to 255 printable bytes; nil where none is named.
    package let keyID: String?

    /// Reads the first of the three segments of a token.
    ///
    /// `jku`, `x5u`, `x5c` and `jwk` are never looked at: a token does not say which keys are good.
    ///
    /// - Parameter text: the token.
    /// - Throws: `Problem` 401 `CREDENTIALS_MALFORMED`.
    package init(_ text: String) throws(Problem) {
        guard text.utf8.count <= Self.longestToken else {
            throw Self.malformed("a token has at most \(Self.longestToken) bytes")
        }
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw Self.malformed("expected a token of three segments") }
        guard let bytes = Base64URL.decode(Substring(parts[0])), let json = Self.object(bytes) else {
            throw Self.malformed("the header of the token is not base64url of a JSON object")
        }
        guard let algorithm = json["alg"]?.stringValue else {
            throw Self.malformed("the header of the token names no algorithm")
        }
        guard json["crit"] == nil else {
            throw Self.malformed("the token asks for extensions, of which there are none here")
        }
        self.algorithm = algorithm
        guard let name = json["kid"] else {
            keyID = nil
            return
        }
        guard let id = name.stringValue, (1...255).contains(id.utf8.count),
            id.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else {
            throw Self.malformed("the name of the token's key is not a text of 1 to 255 printable bytes")
        }
        keyID = id
    }

    static func malformed(_ detail: String) -> Problem { .unauthenticated(.malformed, detail) }

    /// Reads a segment; nil for what is no object, or more than a token may have.
    static func object(_ bytes: [UInt8]) -> JSON? {
        // What it is instead the caller must not tell.
        guard let json = try? JSON.parse(bytes, limits: limits), json.objectMembers != nil else { return nil }
        return json
    }
}

/// A token that was taken apart, of which nothing is believed yet.
package struct UnverifiedToken: Sendable {
    /// What it says of its signature.
    package let header: TokenHeader
    /// What it claims, an object.
    let payload: JSON
    private let token: JSONWebToken

    /// Takes a token apart.
    ///
    /// - Parameter text: three segments of base64url without padding, stray bits or white space.
    /// - Throws: `Problem` 401 `CREDENTIALS_MALFORMED`.
    package init(_ text: String) throws(Problem) {
        header = try TokenHeader(text)
        do {
            token = try JSONWebToken(parsing: text)
        } catch {
            throw TokenHeader.malformed("a segment of the token is not base64url without padding")
        }
        guard let payload = TokenHeader.object(token.payload) else {
            throw TokenHeader.malformed("the payload of the token is no JSON object")
        }
        self.payload = payload
    }

    func isSigned(by key: JSONWebKey, as algorithm: SignatureAlgorithm) -> Bool {
        token.isSigned(by: key, as: algorithm)
    }
}
