import PowerSyncCrypto

/// Reads texts that come base64-encoded in the environment.
enum Base64Text {
    /// The text; nil if it is no base64, or not of UTF-8.
    static func decode(_ encoded: String) -> String? {
        Base64.decode(encoded).flatMap { String(validating: $0, as: UTF8.self) }
    }
}
