import PowerSyncCrypto

/// The keys of tokens at one moment: one signs, all verify and are published (backend 4.5, 4.6).
package struct KeySet: Sendable {
    /// The key that signs.
    package struct Signer: Sendable {
        /// The key.
        package let key: JSONWebKey
        /// How it signs.
        package let algorithm: SignatureAlgorithm
        /// Its name.
        package let id: String
    }

    /// The key that signs; nil where it was taken away, and others still verify.
    package let signer: Signer?
    /// The public keys as they are published.
    package let published: String
    private let keys: [JSONWebKey]

    /// Takes keys.
    ///
    /// - Parameters:
    ///   - signer: the key that signs.
    ///   - others: those that verify besides.
    /// - Throws: `BackendError` with `.keys`.
    package init(signer: JSONWebKey?, others: [JSONWebKey] = []) throws(BackendError) {
        let all = (signer.map { [$0] } ?? []) + others
        guard all.allSatisfy({ $0.keyType != .oct }) else {
            throw BackendError(
                .keys, "the signing key must be ES256, RS256, EdDSA or alike, no shared secret")
        }
        guard Set(all.map(\.kid)).count == all.count, all.allSatisfy({ $0.kid != nil }) else {
            throw BackendError(.keys, "two signing keys have one name (kid), or one has none")
        }
        if let signer {
            guard let id = signer.kid, let algorithm = signer.algorithm, signer.isPrivate else {
                throw BackendError(.keys, "the signing key has no private part")
            }
            self.signer = Signer(key: signer, algorithm: algorithm, id: id)
        } else {
            self.signer = nil
        }
        keys = all.map { $0.publicKey() }
        published = JSONWebKeySet(keys: keys).jsonText()
    }

    /// Returns the key of that name and the one algorithm that it may verify.
    package subscript(_ id: String) -> (key: JSONWebKey, algorithm: SignatureAlgorithm)? {
        guard let key = keys.first(where: { $0.kid == id }), let algorithm = key.algorithm else { return nil }
        return (key, algorithm)
    }

    /// Whether another set signs and verifies with the same keys.
    func isSame(as other: KeySet) -> Bool {
        signer?.id == other.signer?.id && published == other.published
    }
}
