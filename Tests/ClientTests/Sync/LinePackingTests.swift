import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSync

/// How the middle of a long line waits.
@Suite struct LinePackingTests {
    @Test func whatIsPackedComesOutAsItWas() {
        var random = SeededRandom(seed: 11)
        let mixed = (0..<100_000).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        for bytes in [[], [7], mixed, [UInt8](repeating: 7, count: 512 << 10)] {
            #expect(LinePacking.zstd.unpack(LinePacking.zstd.pack(bytes)) == bytes)
        }
    }

    @Test func whatRepeatsItselfTakesLittle() {
        let bytes = [UInt8](repeating: 7, count: 512 << 10)
        #expect(LinePacking.zstd.pack(bytes).count < 1_000)
    }
}
