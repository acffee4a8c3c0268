import CPowerSyncCrypto

extension KeyHandle {
    /// Reads the numbers out of the key.
    func members(includePrivate: Bool) throws(CryptoError) -> KeyMembers {
        if EVP_PKEY_is_a(pointer, "RSA") == 1 { return try rsaMembers(includePrivate) }
        if EVP_PKEY_is_a(pointer, "EC") == 1 { return try ecMembers(includePrivate) }
        for curve in [KeyCurve.ed25519, .ed448] where EVP_PKEY_is_a(pointer, curve.libraryName) == 1 {
            return try edwardsMembers(curve, includePrivate)
        }
        throw CryptoError(.unsupported, "a key that is neither RSA, EC nor an Edwards key")
    }

    private func rsaMembers(_ includePrivate: Bool) throws(CryptoError) -> KeyMembers {
        let names: [(KeyMembers.Name, String)] = [
            (.n, "n"), (.e, "e"), (.d, "d"), (.p, "rsa-factor1"), (.q, "rsa-factor2"),
            (.dp, "rsa-exponent1"), (.dq, "rsa-exponent2"), (.qi, "rsa-coefficient1"),
        ]
        var values: [KeyMembers.Name: [UInt8]] = [:]
        for (name, libraryName) in names where includePrivate || !name.isPrivate {
            values[name] = number(libraryName)
        }
        return try KeyMembers(keyType: .RSA, curve: nil, values: values)
    }

    private func ecMembers(_ includePrivate: Bool) throws(CryptoError) -> KeyMembers {
        var name = [CChar](repeating: 0, count: 64)
        var length = 0
        guard EVP_PKEY_get_group_name(pointer, &name, name.count, &length) == 1,
            let curve = KeyCurve.allCases.first(where: { curve in
                Array(curve.libraryName.utf8) == name.prefix(length).map { UInt8(bitPattern: $0) }
            })
        else {
            throw LibraryErrors.error(.unsupported, "an EC key of a curve other than P-256, P-384 or P-521")
        }
        var values: [KeyMembers.Name: [UInt8]] = [:]
        values[.x] = number("qx")
        values[.y] = number("qy")
        if includePrivate { values[.d] = number("priv") }
        return try KeyMembers(keyType: .EC, curve: curve, values: values)
    }

    private func edwardsMembers(_ curve: KeyCurve, _ includePrivate: Bool) throws(CryptoError) -> KeyMembers {
        var values: [KeyMembers.Name: [UInt8]] = [:]
        var bytes = [UInt8](repeating: 0, count: curve.byteCount)
        var count = bytes.count
        if EVP_PKEY_get_raw_public_key(pointer, &bytes, &count) == 1 { values[.x] = bytes }
        count = bytes.count
        if includePrivate, EVP_PKEY_get_raw_private_key(pointer, &bytes, &count) == 1 { values[.d] = bytes }
        ERR_clear_error()
        return try KeyMembers(keyType: .OKP, curve: curve, values: values)
    }

    /// A number of the key, or nil where the key has none of the name (a public key its private ones).
    private func number(_ name: String) -> [UInt8]? {
        var number: OpaquePointer?
        defer { BN_clear_free(number) }
        guard EVP_PKEY_get_bn_param(pointer, name, &number) == 1, let number else {
            ERR_clear_error()
            return nil
        }
        let count = Int(BN_num_bits(number) + 7) / 8
        var bytes = [UInt8](repeating: 0, count: count)
        BN_bn2bin(number, &bytes)
        return bytes
    }
}
