import PowerSyncServiceEngine
import PowerSyncTestSupport
import Testing

/// The checksums of `OperationChecksum`, whose vectors are service 9.1.
@Suite(.namesSeed)
struct OperationHasherTests {
    @Test func oneHasherGivesAllOperationsTheirChecksums() async throws {
        try await forEachSeed(100) { random in
            var hasher = OperationHasher()
            for _ in 0..<20 {
                let texts = (0..<3).map { _ in
                    let part = random.pick(["", "a", ".", "é", "{\"id\":1}"])
                    return String(repeating: part, count: random.below(70))
                }
                if random.once(in: 3) {
                    let found = hasher.remove(subkey: Array(texts[0].utf8))
                    #expect(found == OperationChecksum.remove(subkey: texts[0]))
                } else {
                    let found = hasher.put(
                        type: Array(texts[0].utf8), id: Array(texts[1].utf8), data: Array(texts[2].utf8))
                    #expect(found == OperationChecksum.put(type: texts[0], id: texts[1], data: texts[2]))
                }
            }
        }
    }
}
