import CPowerSyncCrypto

extension JSONWebKey {
    /// Signs the message; of an ECDSA signature r and s behind each other.
    ///
    /// - Parameters:
    ///   - message: The bytes to sign.
    ///   - algorithm: One that goes with the key.
    /// - Returns: The signature as JWS has it.
    /// - Throws: `wrongKey` where the key has no private part or another algorithm.
    package func sign(_ message: [UInt8], algorithm: SignatureAlgorithm) throws(CryptoError) -> [UInt8] {
        guard isPrivate else { throw CryptoError(.wrongKey, "the key has no private part") }
        guard goes(with: algorithm) else {
            throw CryptoError(.wrongKey, "\(algorithm.rawValue) does not go with the \(description)")
        }
        if let code = code(message, algorithm) { return code }
        guard let signature = handle?.sign(message, digest: algorithm.digest) else {
            throw LibraryErrors.error(.library, "signing failed")
        }
        guard algorithm.keyType == .EC, let curve else { return signature }
        guard let raw = ECDSASignature.raw(der: signature, curve: curve) else {
            throw LibraryErrors.error(.library, "signing failed")
        }
        return raw
    }

    /// Returns whether the signature is this key's over the message.
    ///
    /// False for an algorithm that does not go with the key: a public key is never taken for a shared secret
    /// (RFC 8725 2.1).
    package func verify(signature: [UInt8], message: [UInt8], algorithm: SignatureAlgorithm) -> Bool {
        guard goes(with: algorithm) else { return false }
        if algorithm.keyType == .oct {
            guard let code = code(message, algorithm) else { return false }
            return constantTimeEquals(code, signature)
        }
        guard let handle else { return false }
        guard algorithm.keyType == .EC, let curve else {
            return handle.verify(signature, message, digest: algorithm.digest)
        }
        guard let der = ECDSASignature.der(raw: signature, curve: curve) else { return false }
        return handle.verify(der, message, digest: algorithm.digest)
    }

    /// Whether the algorithm is the key's own or, where it has none, one of its type and curve.
    package func goes(with algorithm: SignatureAlgorithm) -> Bool {
        if let own = self.algorithm { return own == algorithm }
        return algorithm.keyType == keyType && (curve.map(algorithm.curves.contains) ?? true)
    }

    private func code(_ message: [UInt8], _ algorithm: SignatureAlgorithm) -> [UInt8]? {
        guard let secret = members.values[.k] else { return nil }
        return switch algorithm {
        case .HS256: HMAC.sha256(key: secret, message: message)
        case .HS384: HMAC.sha384(key: secret, message: message)
        case .HS512: HMAC.sha512(key: secret, message: message)
        default: nil
        }
    }
}
