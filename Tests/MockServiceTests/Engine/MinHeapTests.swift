import PowerSyncServiceEngine
import PowerSyncTestSupport
import Testing

struct MinHeapTests {
    @Test(.namesSeed) func whatIsTakenIsTheSmallest() async throws {
        try await forEachSeed(100) { random in
            var known = (0..<random.below(20)).map { _ in random.below(50) }
            var heap = MinHeap(known)
            for _ in 0..<200 {
                if random.once(in: 2) {
                    let element = random.below(50)
                    known.append(element)
                    heap.insert(element)
                } else {
                    known.sort()
                    #expect(heap.first == known.first)
                    #expect(heap.popFirst() == known.first)
                    known = Array(known.dropFirst())
                }
                #expect(heap.count == known.count)
            }
        }
    }
}
