import Testing

@testable import PowerSyncBenchmarks

@Suite struct PairedRatesTests {
    @Test func aLineHasWhatBothDoInASecondAndTheirRatio() {
        var rates = PairedRates()
        rates.add(100, ours: .seconds(2), limit: .seconds(1))
        #expect(rates.last("files/s") == "50 files/s, bare 100 files/s, 0.5 ×")
        rates.add(100, ours: .seconds(1), limit: .seconds(1))
        rates.add(100, ours: .milliseconds(500), limit: .milliseconds(400))
        let row = rates.row("some files", unit: "files/s", goal: "≥ 0.5 ×")
        #expect(row.what == "some files" && row.goal == "≥ 0.5 ×")
        #expect(row.ours == "100 files/s")
        #expect(row.limit == "100 files/s")
        #expect(row.ratio == "0.8 × (0.5–1.0)")
    }

    @Test func withoutAPairNothingWasMeasured() {
        #expect(PairedRates().row("nothing", unit: "MB/s", goal: "").ours == "not measured")
    }
}
