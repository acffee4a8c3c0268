import Testing

@testable import PowerSyncServiceEngine

/// DESIGN.md, 1: which segments are merged.
struct MergeRuleTests {
    /// A segment is small below 100 bytes, and a thousand are merged at once.
    private static func choice(_ lengths: [Int], atOnce bytes: Int = 1000) -> [Int] {
        var limits = StoreLimits()
        limits.smallSegmentBytes = 100
        limits.mergeBytes = bytes
        let segments = lengths.enumerated().map { index, count in
            MergeRule.Segment(id: Int64(index), byteCount: count)
        }
        return MergeRule(limits: limits).choice(among: segments).map { Int($0.id) }
    }

    @Test func onlySmallNeighboursAreMerged() {
        #expect(Self.choice([]) == [])
        #expect(Self.choice([10]) == [])
        #expect(Self.choice([10, 100, 10, 200, 10]) == [])
        #expect(Self.choice([10, 100, 10, 99, 200, 10]) == [2, 3])
    }

    @Test func whereMostStandTogetherIsMergedFirst() {
        #expect(Self.choice([10, 10, 200, 10, 10, 10, 200, 10, 10]) == [3, 4, 5])
    }

    @Test func anOlderSegmentThatIsMuchLongerStaysAsItIs() {
        let newest = [Int](repeating: 1, count: 15)
        #expect(Self.choice([30] + newest) == Array(0...15))
        #expect(Self.choice([31] + newest) == Array(1...15))
        #expect(Self.choice([90, 40, 20] + newest) == Array(0...17))
    }

    /// Else a bucket would be looked at with each row that it gets.
    @Test func mostOfARunIsMergedWhateverItsLengths() {
        let oldest = [Int](repeating: 50, count: 14)
        #expect(Self.choice(oldest + [1, 1]) == Array(0...15))
        #expect(Self.choice([50, 1]) == [0, 1])
    }

    @Test func ofALongRunTheOldestAreMergedUpToWhatOneTransactionWrites() {
        #expect(Self.choice([Int](repeating: 90, count: 30)) == Array(0...10))
        #expect(Self.choice([90, 90, 90], atOnce: 100) == [0, 1])
        #expect(Self.choice([90, 90, 90], atOnce: 1) == [0, 1])
    }

    /// Single rows of 300 bytes become segments that are not small: merging all small ones each time writes eight times.
    @Test(arguments: [(300, 4.5), (4000, 3.0)])
    func anOperationIsWrittenAFewTimes(length: Int, times: Double) {
        let limits = StoreLimits()
        let rule = MergeRule(limits: limits)
        var lengths: [Int] = []
        var (stored, written) = (0, 0)
        for _ in 0..<5000 {
            lengths.append(length)
            stored += length
            written += length
            while lengths.count(where: { $0 < limits.smallSegmentBytes }) >= limits.smallSegments {
                let chosen = rule.choice(
                    among: lengths.enumerated().map { MergeRule.Segment(id: Int64($0), byteCount: $1) })
                guard let first = chosen.first, let last = chosen.last else { break }
                let range = Int(first.id)...Int(last.id)
                let bytes = chosen.reduce(0) { $0 + $1.byteCount }
                lengths.replaceSubrange(range, with: [bytes])
                written += bytes
            }
        }
        #expect(Double(written) <= times * Double(stored), "\(written) for \(stored)")
    }
}
