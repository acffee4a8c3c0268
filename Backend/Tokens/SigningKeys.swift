import PowerSyncCrypto
import PowerSyncWire

/// The keys that sign tokens: one signs, all are published (backend 4.6).
package struct SigningKeys: Sendable {
    /// Where keys come from.
    package enum Source: Sendable, Hashable {
        /// A JWK with its private part, as JSON or base64 of it (`POWERSYNC_PRIVATE_KEY`).
        case key(String)
        /// A folder of `*.jwk`; without any, a first key is made there (`JWT_KEYS_DIR`).
        case directory(String)
        /// A key of this run alone (`DEV_EPHEMERAL_KEYS`): every token dies with the process.
        case ephemeral
    }

    /// The key that signs.
    package let signer: JSONWebKey
    /// How it signs.
    package let algorithm: SignatureAlgorithm
    /// The name of the signer's key.
    package let signerID: String
    private let keys: [JSONWebKey]

    /// Takes keys, the signer first.
    ///
    /// - Parameter keys: as `key(json:)` or `JSONWebKey.generate` makes them.
    /// - Throws: `BackendError` with `.keys`.
    package init(_ keys: [JSONWebKey]) throws(BackendError) {
        guard let signer = keys.first, let signerID = signer.kid, let algorithm = signer.algorithm,
            signer.isPrivate
        else { throw BackendError(.keys, "the signing key has no private part") }
        guard keys.allSatisfy({ $0.keyType != .oct }) else {
            throw BackendError(
                .keys, "the signing key must be ES256, RS256, EdDSA or alike, no shared secret")
        }
        guard Set(keys.map(\.kid)).count == keys.count else {
            throw BackendError(.keys, "two signing keys have one name (kid)")
        }
        self.signer = signer
        self.signerID = signerID
        self.algorithm = algorithm
        self.keys = keys
    }

    /// Makes a key that nothing else knows.
    ///
    /// - Throws: `BackendError` with `.keys`.
    package static func ofThisRun() throws(BackendError) -> SigningKeys {
        do {
            return try SigningKeys([JSONWebKey.generate(.ES256)])
        } catch {
            throw BackendError(.keys, "no signing key can be made: \(error)", cause: error)
        }
    }

    /// The published keys: public parts alone (backend 4.5).
    package var published: String { JSONWebKeySet(keys: keys.map { $0.publicKey() }).jsonText() }

    /// Returns the key of that name and the one algorithm that it may verify.
    package subscript(_ id: String) -> (key: JSONWebKey, algorithm: SignatureAlgorithm)? {
        guard let key = keys.first(where: { $0.kid == id }), let algorithm = key.algorithm else { return nil }
        return (key, algorithm)
    }

    /// Reads a key as the demos spell it: base64 of a JWK, or the JWK itself.
    ///
    /// - Parameter text: the key.
    /// - Returns: the key.
    /// - Throws: `BackendError` with `.keys`.
    package static func key(_ text: String) throws(BackendError) -> JSONWebKey {
        let text = ValueConversion.trimmed(text)
        let bytes = text.hasPrefix("{") ? Array(text.utf8) : Base64.decode(text) ?? Base64URL.decode(text)
        guard let bytes else { throw BackendError(.keys, "POWERSYNC_PRIVATE_KEY is no base64 of a JWK") }
        return try key(json: bytes)
    }

    /// Reads a JWK and names what it leaves open: purpose, algorithm by its type, and its RFC 7638
    /// thumbprint.
    ///
    /// - Parameter bytes: the JSON.
    /// - Returns: the key.
    /// - Throws: `BackendError` with `.keys`; the text stays out of it.
    package static func key(json bytes: [UInt8]) throws(BackendError) -> JSONWebKey {
        do {
            let json = try JSON.parse(bytes)
            var members = json.objectMembers ?? []
            func add(_ name: String, _ value: String?) {
                guard let value, json[name]?.stringValue?.isEmpty ?? true else { return }
                members.removeAll { $0.name == name }
                members.append(JSONMember(name, .string(value)))
            }
            add("use", "sig")
            add("alg", usualAlgorithm(json["kty"]?.stringValue, json["crv"]?.stringValue))
            add("kid", try JSONWebKey(json: JSON.object(members).utf8).thumbprint)
            return try JSONWebKey(json: JSON.object(members).utf8)
        } catch {
            throw BackendError(.keys, "the signing key is no JWK that can be used: \(error)", cause: error)
        }
    }

    private static func usualAlgorithm(_ type: String?, _ curve: String?) -> String? {
        switch (type, curve) {
        case ("RSA", _): "RS256"
        case ("EC", "P-384"): "ES384"
        case ("EC", "P-521"): "ES512"
        case ("EC", _): "ES256"
        case ("OKP", _): "EdDSA"
        default: nil
        }
    }
}
