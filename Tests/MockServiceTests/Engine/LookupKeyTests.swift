import PowerSyncServiceEngine
import Testing

/// DESIGN.md, 2: changed keys of lookups.
struct LookupKeyTests {
    @Test func theDigestIsThatOfDefinitionAndKey() {
        // FNV-1a of eight zeros, and of the same bytes with a key behind them.
        #expect(LookupKey(definition: 0, key: [UInt8]()).digest == 0xA8C7_F832_281A_39C5)
        #expect(LookupKey(definition: 0x61, key: Array("foobar".utf8)).digest == Self.digest(0x61, "foobar"))
    }

    @Test func definitionsAndKeysAreToldApart() {
        let keys: [[UInt8]] = [[], [0], [1], [0, 0], [0x11, 7]]
        var names: Set<LookupKey> = []
        for definition in Int64(1)...300 {
            for key in keys { names.insert(LookupKey(definition: definition, key: key)) }
        }
        #expect(names.count == 300 * keys.count)
        let bytes: [UInt8] = [0, 1, 2, 3]
        #expect(LookupKey(definition: 7, key: bytes[1...2]) == LookupKey(definition: 7, key: [UInt8](1...2)))
    }

    /// FNV-1a with products of 128 bits, of which the lower half counts.
    private static func digest(_ definition: UInt8, _ key: String) -> UInt64 {
        var digest: UInt64 = 14_695_981_039_346_656_037
        for byte in [definition, 0, 0, 0, 0, 0, 0, 0] + Array(key.utf8) {
            digest ^= UInt64(byte)
            digest = digest.multipliedFullWidth(by: 1_099_511_628_211).low
        }
        return digest
    }
}
