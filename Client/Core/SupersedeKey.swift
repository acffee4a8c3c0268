import PowerSyncWire

/// The key under which a newer operation replaces an older one of the same bucket (client-core 5.5).
enum SupersedeKey {
    /// Returns the key without the JSON quotes that early JavaScript SDKs put around the subkey.
    ///
    /// - Returns: nil if the key has no such quotes.
    static func withoutQuotes(_ key: String) -> String? {
        let bytes = Array(key.utf8)
        guard bytes.last == UInt8(ascii: "\"") else { return nil }
        var position = bytes.count - 2
        while position > 0 {
            if bytes[position] == UInt8(ascii: "\"") {
                let isEscaped = bytes[position - 1] == UInt8(ascii: "\\")
                let isBackslashEscaped = position > 1 && bytes[position - 2] == UInt8(ascii: "\\")
                if !isEscaped || isBackslashEscaped { break }
            }
            position -= 1
        }
        guard position > 0 else { return nil }
        // Text that is no JSON string was not written by the old SDK: it stays as it is.
        guard case .string(let subkey)? = try? JSON.parse(Array(bytes[position...])) else { return nil }
        return String(decoding: bytes[..<position], as: UTF8.self) + subkey
    }
}
