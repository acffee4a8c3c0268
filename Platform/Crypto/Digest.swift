import CPowerSyncCrypto

/// One-way digests of bytes.
package enum Digest {
    /// Returns the 32 bytes of SHA-256.
    package static func sha256(_ bytes: [UInt8]) -> [UInt8] { digest(bytes, EVP_sha256()) }

    /// Returns the 48 bytes of SHA-384.
    package static func sha384(_ bytes: [UInt8]) -> [UInt8] { digest(bytes, EVP_sha384()) }

    /// Returns the 64 bytes of SHA-512.
    package static func sha512(_ bytes: [UInt8]) -> [UInt8] { digest(bytes, EVP_sha512()) }

    /// Returns the 20 bytes of SHA-1, for names (UUID version 5, WebSocket handshakes) and never for safety.
    package static func sha1(_ bytes: [UInt8]) -> [UInt8] { digest(bytes, EVP_sha1()) }

    /// SHA-256 of bytes that come in parts.
    package struct SHA256: ~Copyable {
        private let context: OpaquePointer

        /// Starts an empty digest.
        package init() {
            guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
                preconditionFailure("libcrypto has no SHA-256 or no memory is left")
            }
            self.context = context
        }

        deinit { EVP_MD_CTX_free(context) }

        /// Adds bytes.
        package mutating func update(_ bytes: [UInt8]) {
            bytes.withUnsafeBytes { update($0) }
        }

        /// Adds bytes of a buffer.
        package mutating func update(_ bytes: UnsafeRawBufferPointer) {
            precondition(EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1, "a digest failed")
        }

        /// Returns the 32 bytes and ends the digest.
        package consuming func finish() -> [UInt8] {
            [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
                var length: UInt32 = 0
                precondition(EVP_DigestFinal_ex(context, buffer.baseAddress, &length) == 1, "a digest failed")
                count = Int(length)
            }
        }
    }

    private static func digest(_ bytes: [UInt8], _ kind: OpaquePointer?) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
            var length: UInt32 = 0
            let status = EVP_Digest(bytes, bytes.count, buffer.baseAddress, &length, kind, nil)
            precondition(status == 1, "libcrypto lacks a digest of the SHA family")
            count = Int(length)
        }
    }
}
