import CPowerSyncCrypto

extension KeyHandle {
    /// Reads a private key (PKCS#8, also PKCS#1 and SEC 1) or a public one (SubjectPublicKeyInfo) of PEM text.
    ///
    /// A key behind a password is refused.
    static func pem(_ text: String) throws(CryptoError) -> (key: KeyHandle, isPrivate: Bool) {
        let isPrivate = text.contains("PRIVATE KEY-----")
        guard isPrivate || text.contains("PUBLIC KEY-----") else {
            throw CryptoError(.malformed, "no PEM text of a private or a public key")
        }
        let pointer = Array(text.utf8).withUnsafeBufferPointer { buffer -> OpaquePointer? in
            // The BIO reads the buffer itself, so it lives no longer than this closure.
            guard let count = Int32(exactly: buffer.count),
                let bio = BIO_new_mem_buf(buffer.baseAddress, count)
            else {
                return nil
            }
            defer { BIO_free(bio) }
            return isPrivate ? powersync_read_private_pem(bio) : powersync_read_public_pem(bio)
        }
        guard let pointer else {
            throw LibraryErrors.error(.malformed, "PEM text that holds no readable key")
        }
        ERR_clear_error()
        return (KeyHandle(owning: pointer), isPrivate)
    }

    /// Reads a private key (PKCS#8, PKCS#1, SEC 1) or a public one (SubjectPublicKeyInfo) of DER bytes.
    static func der(_ bytes: [UInt8]) throws(CryptoError) -> (key: KeyHandle, isPrivate: Bool) {
        let found = bytes.withUnsafeBufferPointer { buffer -> (OpaquePointer, Bool)? in
            var start = buffer.baseAddress
            if let key = d2i_AutoPrivateKey(nil, &start, buffer.count) { return (key, true) }
            start = buffer.baseAddress
            if let key = d2i_PUBKEY(nil, &start, buffer.count) { return (key, false) }
            return nil
        }
        guard let found else { throw LibraryErrors.error(.malformed, "DER bytes that hold no readable key") }
        ERR_clear_error()
        return (KeyHandle(owning: found.0), found.1)
    }

    /// Writes PKCS#8 or SubjectPublicKeyInfo.
    func pemText(includePrivate: Bool) throws(CryptoError) -> String {
        guard let bio = BIO_new(BIO_s_mem()) else {
            throw LibraryErrors.error(.library, "no memory for PEM text")
        }
        defer { BIO_free(bio) }
        let status =
            includePrivate
            ? PEM_write_bio_PKCS8PrivateKey(bio, pointer, nil, nil, 0, nil, nil)
            : PEM_write_bio_PUBKEY(bio, pointer)
        guard status == 1 else { throw LibraryErrors.error(.library, "the key could not be written") }
        var bytes = [UInt8](repeating: 0, count: BIO_ctrl_pending(bio))
        let count = BIO_read(bio, &bytes, Int32(bytes.count))
        return String(decoding: bytes.prefix(max(0, Int(count))), as: UTF8.self)
    }
}
