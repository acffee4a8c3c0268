import Testing

@testable import PowerSyncBenchmarks

@Suite struct SingleFiguresTests {
    @Test func theSlowestMayTakeFiveMediansOrTwiceWhatPgbenchTakes() {
        #expect(SingleFigures.tailLimit(median: 0.002, limit: 0.003) == 5 * 0.002)
        #expect(SingleFigures.tailLimit(median: 0.002, limit: 0.03) == 2 * 0.03)
    }

    @Test func aRoundHasItsRateItsMedianAndItsSlowest() {
        var figures = SingleFigures(title: "singles, fsync on", users: 3)
        figures.add(
            BackendPartRun.Outcome(rate: 1000, times: [0.001, 0.002, 0.02]),
            ProcessorTimes.Round(backend: 0.0005, generator: 0.0001),
            BackendPartRun.Outcome(rate: 4000, times: [0.0005, 0.001, 0.004]),
            ProcessorTimes.Round(postgresOfLimit: 0.0002))
        let rows = figures.figures.rows
        #expect(rows.map(\.ours) == ["1000 tx/s", "2.0 ms", "20.0 ms", "20.0 ms"])
        #expect(rows.map(\.limit) == ["4000 tx/s", "1.0 ms", "10.0 ms", "4.0 ms"])
        #expect(rows.map(\.goal) == ["≥ 0.5 ×", "", "≤ 1.0 ×", ""])
        #expect(rows[2].ratio == "2.0 × (2.0 ×–2.0 ×)")
        // What the system does not tell stays empty.
        #expect(figures.figures.processor == ["singles, fsync on", "500 µs", "", "100 µs", "200 µs", ""])
    }
}
