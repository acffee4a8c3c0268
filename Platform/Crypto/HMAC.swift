import CPowerSyncCrypto

/// Keyed digests (RFC 2104).
package enum HMAC {
    /// Returns the 32 bytes of HMAC-SHA-256.
    package static func sha256(key: [UInt8], message: [UInt8]) -> [UInt8] { code(key, message, EVP_sha256()) }

    /// Returns the 48 bytes of HMAC-SHA-384.
    package static func sha384(key: [UInt8], message: [UInt8]) -> [UInt8] { code(key, message, EVP_sha384()) }

    /// Returns the 64 bytes of HMAC-SHA-512.
    package static func sha512(key: [UInt8], message: [UInt8]) -> [UInt8] { code(key, message, EVP_sha512()) }

    private static func code(_ key: [UInt8], _ message: [UInt8], _ kind: OpaquePointer?) -> [UInt8] {
        precondition(key.count <= Int(Int32.max), "a key of 2 GB")
        return [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
            var length: UInt32 = 0
            let made = CPowerSyncCrypto.HMAC(
                kind, key, Int32(key.count), message, message.count, buffer.baseAddress, &length)
            precondition(made != nil, "libcrypto lacks HMAC or a digest of the SHA family")
            count = Int(length)
        }
    }
}
