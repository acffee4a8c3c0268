import CPowerSyncCrypto

/// A digest that is computed again and again, for very many short messages; one owner, not shared.
///
/// `Digest` looks its function up for each message and makes a context for it, which takes longer than the digest of a short
/// one. Here both are kept.
package struct KeptDigest: ~Copyable {
    /// What is computed.
    package enum Function: Sendable {
        /// SHA-1 with 20 bytes, for names (UUID version 5) and never for safety.
        case sha1
        /// SHA-256 with 32 bytes.
        case sha256

        /// Its name in libcrypto.
        fileprivate var name: String {
            switch self {
            case .sha1: "SHA1"
            case .sha256: "SHA256"
            }
        }
    }

    private let function: OpaquePointer
    private let context: OpaquePointer

    /// Looks the function up and begins a message.
    package init(_ function: Function) {
        // Fetched, because libcrypto fetches what EVP_sha256() returns anew at each use (crypto(7), "Performance").
        guard let fetched = EVP_MD_fetch(nil, function.name, nil), let context = EVP_MD_CTX_new(),
            EVP_DigestInit_ex(context, fetched, nil) == 1
        else {
            preconditionFailure("libcrypto lacks a digest of the SHA family or no memory is left")
        }
        self.function = fetched
        self.context = context
    }

    deinit {
        EVP_MD_CTX_free(context)
        EVP_MD_free(function)
    }

    /// Adds bytes to the message.
    package mutating func update(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { update($0) }
    }

    /// Adds bytes of a buffer to the message.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        precondition(EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1, "a digest failed")
    }

    /// Ends the message, lends its digest to `body` and begins the next message.
    ///
    /// - Parameter body: The use; the bytes are gone afterwards.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    package mutating func finish<T>(_ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T {
        let (function, context) = (function, context)
        return try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Int(EVP_MAX_MD_SIZE)) { buffer in
            var length: UInt32 = 0
            let isDone = EVP_DigestFinal_ex(context, buffer.baseAddress, &length) == 1
            precondition(
                isDone && EVP_DigestInit_ex(context, function, nil) == 1, "a digest failed")
            return try body(UnsafeRawBufferPointer(start: buffer.baseAddress, count: Int(length)))
        }
    }

    /// Ends the message and begins the next one.
    ///
    /// Generic code that is called from another module is not specialized; this is.
    ///
    /// - Returns: The first eight bytes of the digest as a number, the first of them highest.
    package mutating func finishedNumber() -> UInt64 {
        finish { UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)) }
    }
}
