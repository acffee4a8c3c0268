/// How much two ways get done in a second, taken in turns, so that what disturbs the machine meets both.
struct PairedRates {
    private var ours: [Double] = []
    private var limits: [Double] = []

    /// Adds one pair.
    ///
    /// - Parameters:
    ///   - amount: how much each way has done.
    ///   - ours: how long ours took.
    ///   - limit: how long the bare way took.
    mutating func add(_ amount: Double, ours: Duration, limit: Duration) {
        self.ours.append(amount / (ours / .seconds(1)))
        limits.append(amount / (limit / .seconds(1)))
    }

    /// Makes the line of the table.
    ///
    /// - Parameters:
    ///   - what: the name of what was measured.
    ///   - unit: what is done in a second.
    ///   - goal: what is aimed at.
    /// - Returns: medians, and the median of the ratios of the pairs with the least and the most.
    func row(_ what: String, unit: String, goal: String) -> BenchmarkReport.Row {
        let ratios = zip(ours, limits).map { $0 / $1 }.sorted()
        guard let least = ratios.first, let most = ratios.last else {
            return BenchmarkReport.Row(what: what, ours: "not measured")
        }
        let median = PairedTimes.decimals(Self.median(ratios))
        return BenchmarkReport.Row(
            what: what, ours: Self.text(Self.median(ours), unit), limit: Self.text(Self.median(limits), unit),
            ratio: "\(median) × (\(PairedTimes.decimals(least))–\(PairedTimes.decimals(most)))", goal: goal)
    }

    /// Returns the last pair, for the progress on standard error.
    func last(_ unit: String) -> String {
        guard let ours = ours.last, let limit = limits.last else { return "" }
        let ratio = PairedTimes.decimals(ours / limit)
        return "\(Self.text(ours, unit)), bare \(Self.text(limit, unit)), \(ratio) ×"
    }

    private static func median(_ numbers: [Double]) -> Double { numbers.sorted()[numbers.count / 2] }

    private static func text(_ rate: Double, _ unit: String) -> String { "\(Int(rate.rounded())) \(unit)" }
}
