import Testing

@testable import PowerSyncBenchmarks

@Suite struct MeasuredPairsTests {
    @Test func aLineHasMediansAndTheRatiosOfThePairs() {
        var pairs = MeasuredPairs(.perSecond("rows"))
        pairs.add(50, limit: 100)
        #expect(pairs.last == "50 rows/s, limit 100 rows/s, 0.5 ×")
        pairs.add(100, limit: 100)
        pairs.add(200, limit: 250)
        let row = pairs.row("some rows", goal: "≥ 0.5 ×")
        #expect(row.what == "some rows" && row.goal == "≥ 0.5 ×")
        #expect(row.ours == "100 rows/s")
        #expect(row.limit == "100 rows/s")
        #expect(row.ratio == "0.8 × (0.5 ×–1.0 ×)")
    }

    @Test func aDifferenceHasASign() {
        var pairs = MeasuredPairs(.seconds, comparison: .difference)
        pairs.add(0.002, limit: 0.0015)
        #expect(pairs.last == "2.0 ms, limit 1.5 ms, +500 µs")
        pairs.add(0.001, limit: 0.002)
        pairs.add(0.003, limit: 0.003)
        #expect(pairs.row("latency").ratio == "+0.0 µs (−1.0 ms–+500 µs)")
    }

    @Test func withoutALimitALineHasTheLeastAndTheMostOfOurs() {
        var pairs = MeasuredPairs(.megabytes)
        #expect(pairs.row("memory").ours == "not measured")
        for figure in [80.4, 90, 70.6] { pairs.add(figure) }
        let row = pairs.row("memory", goal: "≤ 80 MB")
        #expect(row.ours == "80 MB (71 MB–90 MB)")
        #expect(row.limit.isEmpty && row.ratio.isEmpty && row.goal == "≤ 80 MB")
    }

    @Test func aQuantileIsOneOfTheNumbers() {
        let numbers = (1...200).map { Double($0) }.reversed()
        #expect(MeasuredPairs.median(Array(numbers)) == 101)
        #expect(MeasuredPairs.quantile(0.99, of: Array(numbers)) == 199)
        #expect(MeasuredPairs.quantile(1, of: [3, 1]) == 3)
        #expect(MeasuredPairs.median([]) == 0)
    }
}
