import CPowerSyncCrypto

/// Returns bytes of libcrypto's generator, fit for keys and tokens.
///
/// The program ends if the system gives no randomness: nothing made without it would be safe.
package func randomBytes(_ count: Int) -> [UInt8] {
    precondition(count >= 0 && count <= Int(Int32.max), "randomBytes: a count between 0 and 2 GB")
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        precondition(
            count == 0 || RAND_bytes(buffer.baseAddress, Int32(count)) == 1,
            "the system gives no random bytes")
        filled = count
    }
}

/// Returns whether both are equal, in a time that depends on their lengths alone.
package func constantTimeEquals(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    a.count == b.count && CRYPTO_memcmp(a, b, a.count) == 0
}
