import PowerSyncCrypto
import PowerSyncWire

/// Computes the checksums of very many operations, with a digest that is kept (service 4.2); one owner, not shared.
package struct OperationHasher: ~Copyable {
    private var digest = KeptDigest(.sha256)
    private let putPrefix = Array("put.".utf8)
    private let deletePrefix = Array("delete.".utf8)
    private let dot = Array(".".utf8)

    /// Makes a hasher.
    package init() {}

    /// Returns the checksum of a PUT.
    ///
    /// - Parameters:
    ///   - type: The client's table, as UTF-8.
    ///   - id: The client's id.
    ///   - data: The exact data text.
    /// - Returns: The checksum over all three.
    package mutating func put(type: [UInt8], id: [UInt8], data: [UInt8]) -> Checksum {
        digest.update(putPrefix)
        digest.update(type)
        digest.update(dot)
        digest.update(id)
        digest.update(dot)
        digest.update(data)
        return finish()
    }

    /// Returns the checksum of a PUT whose texts lie in a buffer.
    ///
    /// - Parameters:
    ///   - type: The client's table, as UTF-8.
    ///   - id: Where the client's id lies.
    ///   - data: Where the exact data text lies.
    ///   - bytes: The buffer.
    /// - Returns: The checksum over all three.
    package mutating func put(
        type: [UInt8], id: Range<Int>, data: Range<Int>, in bytes: [UInt8]
    ) -> Checksum {
        digest.update(putPrefix)
        digest.update(type)
        digest.update(dot)
        bytes.withUnsafeBytes { bytes in
            digest.update(UnsafeRawBufferPointer(rebasing: bytes[id]))
            digest.update(dot)
            digest.update(UnsafeRawBufferPointer(rebasing: bytes[data]))
        }
        return finish()
    }

    /// Returns the checksum of a REMOVE.
    ///
    /// - Parameter subkey: The subkey that the PUT had, as UTF-8.
    /// - Returns: The checksum over it.
    package mutating func remove(subkey: [UInt8]) -> Checksum {
        digest.update(deletePrefix)
        digest.update(subkey)
        return finish()
    }

    /// The first four bytes of SHA-256, little endian.
    private mutating func finish() -> Checksum {
        digest.finish { Checksum(UInt32(littleEndian: $0.loadUnaligned(as: UInt32.self))) }
    }
}
