import CPowerSyncCrypto

/// A key as JSON Web Keys describe it (RFC 7517, RFC 7518 6, RFC 8037).
///
/// Texts of it (`description`, a mirror) name the key and never show a number of it.
package struct JSONWebKey: Sendable {
    /// The name under which tokens refer to the key.
    package var kid: String?
    /// The only algorithm of the key; nil where every algorithm of its type and curve will do.
    package let algorithm: SignatureAlgorithm?
    /// The type of the key.
    package var keyType: KeyType { members.keyType }
    /// The curve of an EC or OKP key.
    package var curve: KeyCurve? { members.curve }
    /// What the key is for: `sig`, `enc` or nil.
    package let use: String?
    /// What may be done with the key, such as `verify`; nil where nothing was said.
    package let keyOperations: [String]?
    /// Whether the key can sign.
    package var isPrivate: Bool { members.isPrivate }

    let members: KeyMembers
    /// Of the private key where the members are those of one; nil for shared secrets.
    let handle: KeyHandle?

    init(
        members: KeyMembers, handle: KeyHandle?, algorithm: SignatureAlgorithm?, kid: String?, use: String?,
        keyOperations: [String]?
    ) throws(CryptoError) {
        if let algorithm {
            let fits =
                algorithm.keyType == members.keyType
                && (members.curve.map(algorithm.curves.contains) ?? true)
            if !fits {
                throw CryptoError(
                    .wrongKey,
                    "\(algorithm.rawValue) does not go with a \(members.keyType.rawValue) key"
                        + (members.curve.map { " of \($0.rawValue)" } ?? ""))
            }
        }
        self.members = members
        self.handle = handle
        self.algorithm = algorithm
        self.kid = kid
        self.use = use
        self.keyOperations = keyOperations
    }

    /// Makes a fresh key for the algorithm, named after its thumbprint.
    ///
    /// An RSA key has `rsaBits` bits and takes a tenth of a second and more; a secret is as long as the digest.
    package static func generate(
        _ algorithm: SignatureAlgorithm, rsaBits: Int = 2_048
    ) throws(CryptoError) -> JSONWebKey {
        if algorithm.keyType == .oct {
            let secret = randomBytes(Int(EVP_MD_get_size(algorithm.digest)))
            return try JSONWebKey(secret: secret, algorithm: algorithm).namedAfterThumbprint()
        }
        let handle = try KeyHandle.generate(algorithm.keyType, curve: algorithm.curves.first, bits: rsaBits)
        return try JSONWebKey(handle: handle, isPrivate: true, algorithm: algorithm)
    }

    /// Makes a key of a shared secret.
    package init(secret: [UInt8], algorithm: SignatureAlgorithm, kid: String? = nil) throws(CryptoError) {
        try self.init(
            members: KeyMembers(keyType: .oct, curve: nil, values: [.k: secret]), handle: nil,
            algorithm: algorithm, kid: kid, use: "sig", keyOperations: nil)
    }

    /// Reads PEM text: PKCS#8 (PKCS#1, SEC 1) private keys and SubjectPublicKeyInfo public keys.
    ///
    /// Without an algorithm the key's curve decides, and RSA means RS256. Without a `kid` it is the thumbprint.
    package static func pem(
        _ text: String, algorithm: SignatureAlgorithm? = nil, kid: String? = nil
    ) throws(CryptoError) -> JSONWebKey {
        let (handle, isPrivate) = try KeyHandle.pem(text)
        return try JSONWebKey(handle: handle, isPrivate: isPrivate, algorithm: algorithm, kid: kid)
    }

    /// Reads DER bytes of the same kinds as `pem`.
    package static func der(
        _ bytes: [UInt8], algorithm: SignatureAlgorithm? = nil, kid: String? = nil
    ) throws(CryptoError) -> JSONWebKey {
        let (handle, isPrivate) = try KeyHandle.der(bytes)
        return try JSONWebKey(handle: handle, isPrivate: isPrivate, algorithm: algorithm, kid: kid)
    }

    private init(
        handle: KeyHandle, isPrivate: Bool, algorithm: SignatureAlgorithm?, kid: String? = nil
    ) throws(CryptoError) {
        let members = try handle.members(includePrivate: isPrivate)
        try handle.checkPrivatePart(of: members)
        let usual = SignatureAlgorithm.allCases.first { algorithm in
            algorithm.keyType == members.keyType && (members.curve.map(algorithm.curves.contains) ?? true)
        }
        try self.init(
            members: members, handle: handle, algorithm: algorithm ?? usual, kid: kid, use: "sig",
            keyOperations: nil)
        if kid == nil { self.kid = thumbprint }
    }

    /// PKCS#8 text of the private key, or SubjectPublicKeyInfo text of the public one.
    package func pemText(includePrivate: Bool) throws(CryptoError) -> String {
        guard let handle else { throw CryptoError(.wrongKey, "a shared secret has no PEM form") }
        if includePrivate && !isPrivate { throw CryptoError(.wrongKey, "the key has no private part") }
        return try handle.pemText(includePrivate: includePrivate)
    }

    /// The key without its private part, in libcrypto too; of a shared secret nothing is left that could sign or verify.
    package func publicKey() -> JSONWebKey {
        JSONWebKey(publicPartOf: self)
    }

    private init(publicPartOf key: JSONWebKey) {
        members = key.members.publicMembers()
        if key.isPrivate, key.keyType != .oct {
            // Public members of a key make one: where there is no memory for it, what is left verifies nothing.
            handle = try? KeyHandle.make(of: members)
        } else {
            handle = key.handle
        }
        algorithm = key.algorithm
        kid = key.kid
        use = key.use
        keyOperations = key.keyOperations.map { _ in ["verify"] }
    }

    private func namedAfterThumbprint() -> JSONWebKey {
        var copy = self
        copy.kid = thumbprint
        return copy
    }
}

extension JSONWebKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Type, algorithm and name of the key.
    package var description: String {
        let name = kid.map { " \($0)" } ?? ""
        return "\(algorithm?.rawValue ?? keyType.rawValue) \(isPrivate ? "private" : "public") key\(name)"
    }

    /// The same as `description`.
    package var debugDescription: String { description }

    /// A mirror without children, so that `dump` shows nothing secret.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
