import CPowerSyncCrypto

/// The library itself, of which a program has one.
package enum Libcrypto {
    /// Keeps its tables until the process is gone; to be called before anything else of it is used.
    ///
    /// By itself it frees them within `exit`, beside threads that are still in it: a connection to Postgres that a stop has
    /// given up goes on with its login until the process ends (OPENSSL_init_crypto(3), OPENSSL_INIT_NO_ATEXIT). For
    /// programs, not for libraries: an app decides for itself.
    package static func staysUntilTheEnd() {
        // It fails where the library has been used and cleaned up, and then there is nothing to keep.
        _ = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
    }
}
