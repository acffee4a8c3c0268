/// Times of two ways to do the same, taken in turns, so that what disturbs the machine meets both.
struct PairedTimes {
    private var ours: [Duration] = []
    private var limits: [Duration] = []

    /// Adds one pair.
    mutating func add(ours: Duration, limit: Duration) {
        self.ours.append(ours)
        limits.append(limit)
    }

    /// Makes the line of the table.
    ///
    /// - Parameters:
    ///   - what: the name of what was measured.
    ///   - goal: what is aimed at.
    ///   - operations: how many operations a time covers; more than one shows the time of each.
    /// - Returns: medians, and the median of the ratios of the pairs with their spread: the least and the most, of
    ///   hundreds of pairs without the twentieth at either end.
    func row(_ what: String, goal: String = "", operations: Int = 1) -> BenchmarkReport.Row {
        let ratios = zip(ours, limits).map { $0 / $1 }.sorted()
        guard !ratios.isEmpty else { return BenchmarkReport.Row(what: what, ours: "not measured") }
        // Among hundreds of pairs some meet a WAL checkpoint on one side alone; they say nothing about the others.
        let outliers = ratios.count < 100 ? 0 : ratios.count / 20
        let (least, most) = (ratios[outliers], ratios[ratios.count - 1 - outliers])
        let median = Self.decimals(ratios[ratios.count / 2])
        return BenchmarkReport.Row(
            what: what, ours: Self.text(Self.median(ours) / operations),
            limit: Self.text(Self.median(limits) / operations),
            ratio: "\(median) × (\(Self.decimals(least))–\(Self.decimals(most)))", goal: goal)
    }

    /// The last pair, for the progress on standard error.
    var last: String {
        guard let ours = ours.last, let limit = limits.last else { return "" }
        return "\(Self.text(ours)), bare \(Self.text(limit)), \(Self.decimals(ours / limit)) ×"
    }

    /// Returns the middle of some times.
    static func median(_ times: [Duration]) -> Duration {
        times.isEmpty ? .zero : times.sorted()[times.count / 2]
    }

    /// Returns a time with three digits and the unit that fits.
    static func text(_ time: Duration) -> String {
        let seconds = time / .seconds(1)
        if seconds < 0.001 { return digits(seconds * 1_000_000) + " µs" }
        if seconds < 1 { return digits(seconds * 1000) + " ms" }
        return digits(seconds) + " s"
    }

    private static func digits(_ number: Double) -> String {
        let scale = number < 10 ? 100.0 : number < 100 ? 10 : 1
        let rounded = (number * scale).rounded() / scale
        return scale == 1 ? String(Int(rounded)) : String(rounded)
    }

    /// Returns a number with two decimals.
    static func decimals(_ number: Double) -> String { String((number * 100).rounded() / 100) }
}
