import CPowerSyncCrypto

/// One key of libcrypto; public keys and key pairs, never shared secrets.
final class KeyHandle: @unchecked Sendable {
    // Safe because an EVP_PKEY is never changed after this object exists, and libcrypto guards its reference
    // count and its caches itself (openssl-threads(7)).
    let pointer: OpaquePointer

    init(owning pointer: OpaquePointer) { self.pointer = pointer }

    deinit { EVP_PKEY_free(pointer) }

    /// Makes the key of the members; a private one must fit its public half.
    static func make(of members: KeyMembers) throws(CryptoError) -> KeyHandle {
        let made: OpaquePointer? =
            switch members.keyType {
            case .RSA: rsa(members)
            case .EC: ec(members)
            case .OKP: edwards(members)
            case .oct: nil
            }
        guard let made else {
            throw LibraryErrors.error(.inconsistentKey, "not a \(members.keyType.rawValue) key")
        }
        let handle = KeyHandle(owning: made)
        try handle.checkPrivatePart(of: members)
        return handle
    }

    /// Refuses a private part that does not fit the public one: nobody would accept what it signs.
    func checkPrivatePart(of members: KeyMembers) throws(CryptoError) {
        guard members.isPrivate else { return }
        let probe = Array("probe".utf8)
        let digest = members.keyType == .OKP ? nil : EVP_sha256()
        let publicHalf = try Self.make(of: members.publicMembers())
        guard let signature = sign(probe, digest: digest),
            publicHalf.verify(signature, probe, digest: digest)
        else {
            throw LibraryErrors.error(.inconsistentKey, "the private part does not fit the public part")
        }
    }

    /// Makes a fresh key pair.
    static func generate(_ keyType: KeyType, curve: KeyCurve?, bits: Int) throws(CryptoError) -> KeyHandle {
        let made: OpaquePointer? =
            switch keyType {
            case .RSA: powersync_generate_rsa(bits)
            case .EC: powersync_generate_ec(curve?.libraryName ?? "")
            case .OKP: powersync_generate_edwards(curve?.libraryName ?? "")
            case .oct: nil
            }
        guard let made else { throw LibraryErrors.error(.library, "no \(keyType.rawValue) key was made") }
        return KeyHandle(owning: made)
    }

    /// Returns the signature, DER for ECDSA, or nil where libcrypto refuses.
    func sign(_ message: [UInt8], digest: OpaquePointer?) -> [UInt8]? {
        guard let context = EVP_MD_CTX_new() else { return nil }
        defer { EVP_MD_CTX_free(context) }
        var count = 0
        guard EVP_DigestSignInit(context, nil, digest, nil, pointer) == 1,
            EVP_DigestSign(context, nil, &count, message, message.count) == 1
        else {
            return nil
        }
        var signature = [UInt8](repeating: 0, count: count)
        guard EVP_DigestSign(context, &signature, &count, message, message.count) == 1 else { return nil }
        return Array(signature.prefix(count))
    }

    /// Returns whether the signature (DER for ECDSA) is this key's; leaves no error behind.
    func verify(_ signature: [UInt8], _ message: [UInt8], digest: OpaquePointer?) -> Bool {
        defer { ERR_clear_error() }
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        return EVP_DigestVerifyInit(context, nil, digest, nil, pointer) == 1
            && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }

    private static func rsa(_ members: KeyMembers) -> OpaquePointer? {
        let parts = KeyMembers.rsaOrder.map { members.values[$0] ?? [] }
        return powersync_rsa_key(parts.flatMap { $0 }, parts.map(\.count))
    }

    private static func ec(_ members: KeyMembers) -> OpaquePointer? {
        guard let curve = members.curve, let x = members.values[.x], let y = members.values[.y] else {
            return nil
        }
        let point = [4] + x + y
        let secret = members.values[.d] ?? []
        return powersync_ec_key(curve.libraryName, point, point.count, secret, secret.count)
    }

    private static func edwards(_ members: KeyMembers) -> OpaquePointer? {
        let kind = members.curve == .ed25519 ? EVP_PKEY_ED25519 : EVP_PKEY_ED448
        if let secret = members.values[.d] {
            return EVP_PKEY_new_raw_private_key(kind, nil, secret, secret.count)
        }
        guard let x = members.values[.x] else { return nil }
        return EVP_PKEY_new_raw_public_key(kind, nil, x, x.count)
    }
}
