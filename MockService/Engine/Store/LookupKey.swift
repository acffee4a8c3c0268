/// A key of a lookup as publications and streams name it (DESIGN.md, 2).
///
/// It is a digest: two keys that have the same one cost a stream an evaluation that comes to nothing.
package struct LookupKey: Sendable, Hashable {
    /// FNV-1a over the number of the definition, its lowest byte first, and the bytes of the key.
    package let digest: UInt64

    /// Names a key.
    ///
    /// - Parameters:
    ///   - definition: The id in `lookup_definition`.
    ///   - key: The key, as `LookupValues` packs it.
    package init(definition: Int64, key: some Sequence<UInt8>) {
        var digest: UInt64 = 0xCBF2_9CE4_8422_2325
        let number = UInt64(bitPattern: definition)
        for shift in stride(from: UInt64(0), to: 64, by: 8) {
            Self.add(UInt8(truncatingIfNeeded: number >> shift), to: &digest)
        }
        for byte in key { Self.add(byte, to: &digest) }
        self.digest = digest
    }

    private static func add(_ byte: UInt8, to digest: inout UInt64) {
        digest = (digest ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
    }
}
