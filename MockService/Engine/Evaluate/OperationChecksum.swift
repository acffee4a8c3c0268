import PowerSyncCrypto
import PowerSyncWire

/// Computes the checksum of single operations (service 4.2).
package enum OperationChecksum {
    /// The checksum of a PUT over type, id and the exact data text.
    package static func put(type: String, id: String, data: String) -> Checksum {
        hash("put.\(type).\(id).\(data)")
    }

    /// The checksum of a REMOVE over the subkey that the PUT had.
    package static func remove(subkey: String) -> Checksum { hash("delete.\(subkey)") }

    /// The first four bytes of SHA-256, little endian.
    private static func hash(_ text: String) -> Checksum {
        let digest = Digest.sha256(Array(text.utf8))
        return Checksum(
            UInt32(digest[0]) | UInt32(digest[1]) << 8 | UInt32(digest[2]) << 16 | UInt32(digest[3]) << 24)
    }
}
