import CPowerSyncCrypto

/// libcrypto's queue of errors of the calling thread.
enum LibraryErrors {
    /// Empties the queue and returns the reason of its last entry.
    ///
    /// libpq and libcurl read the same queue on the same thread, so no entry may stay behind.
    static func take() -> String? {
        let last = ERR_peek_last_error()
        ERR_clear_error()
        guard last != 0, let reason = ERR_reason_error_string(last) else { return nil }
        return String(cString: reason)
    }

    /// An error of the message and libcrypto's reason; empties the queue.
    static func error(_ code: CryptoError.Code, _ message: String) -> CryptoError {
        guard let reason = take() else { return CryptoError(code, message) }
        return CryptoError(code, "\(message): \(reason)")
    }
}
