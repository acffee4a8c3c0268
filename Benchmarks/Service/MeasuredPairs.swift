/// Figures of some work by our way and by its limit, taken in turns, so that what disturbs the machine meets both.
///
/// Work without a limit has figures of our way alone.
struct MeasuredPairs {
    /// What a figure counts.
    enum Unit {
        case seconds
        /// Of 1,048,576 bytes.
        case megabytes
        /// Things of this name in a second.
        case perSecond(String)
    }

    /// How ours is compared with the limit.
    enum Comparison {
        /// Ours by the limit.
        case ratio
        /// By how much ours is more.
        case difference
    }

    private let unit: Unit
    private let comparison: Comparison
    private var ours: [Double] = []
    private var limits: [Double] = []

    /// Begins without figures.
    init(_ unit: Unit, comparison: Comparison = .ratio) {
        self.unit = unit
        self.comparison = comparison
    }

    /// Adds one pair, or a figure of work that has no limit.
    mutating func add(_ ours: Double, limit: Double? = nil) {
        self.ours.append(ours)
        if let limit { limits.append(limit) }
        precondition(limits.isEmpty || limits.count == self.ours.count, "a figure lacks its limit")
    }

    /// Makes the line of the table.
    ///
    /// - Parameters:
    ///   - what: the name of what was measured.
    ///   - goal: what is aimed at.
    /// - Returns: medians, and the median of the comparisons of the pairs with the least and the most of them; without
    ///   a limit the median of ours with its least and its most.
    func row(_ what: String, goal: String = "") -> BenchmarkReport.Row {
        guard !ours.isEmpty else { return BenchmarkReport.Row(what: what, ours: "not measured", goal: goal) }
        guard !limits.isEmpty else {
            return BenchmarkReport.Row(what: what, ours: Self.spread(ours, text), goal: goal)
        }
        return BenchmarkReport.Row(
            what: what, ours: text(Self.median(ours)), limit: text(Self.median(limits)),
            ratio: Self.spread(zip(ours, limits).map(compared), comparisonText), goal: goal)
    }

    /// The last pair, for the progress on standard error.
    var last: String {
        guard let ours = ours.last else { return "" }
        guard let limit = limits.last else { return text(ours) }
        return "\(text(ours)), limit \(text(limit)), \(comparisonText(compared(ours, limit)))"
    }

    /// Returns the middle of some numbers, the upper one of two.
    static func median(_ numbers: [Double]) -> Double { quantile(0.5, of: numbers) }

    /// Returns the number below which a part of them lies; 0 if there are none.
    static func quantile(_ part: Double, of numbers: [Double]) -> Double {
        guard !numbers.isEmpty else { return 0 }
        return numbers.sorted()[min(numbers.count - 1, Int(Double(numbers.count) * part))]
    }

    private static func spread(_ numbers: [Double], _ text: (Double) -> String) -> String {
        let sorted = numbers.sorted()
        guard let least = sorted.first, let most = sorted.last else { return "" }
        return "\(text(median(sorted))) (\(text(least))–\(text(most)))"
    }

    private func compared(_ ours: Double, _ limit: Double) -> Double {
        switch comparison {
        case .ratio: ours / limit
        case .difference: ours - limit
        }
    }

    private func comparisonText(_ number: Double) -> String {
        switch comparison {
        case .ratio: "\(PairedTimes.decimals(number)) ×"
        case .difference: number < 0 ? "−\(text(-number))" : "+\(text(number))"
        }
    }

    private func text(_ figure: Double) -> String {
        switch unit {
        case .seconds: PairedTimes.text(.seconds(figure))
        case .megabytes: "\(Int(figure.rounded())) MB"
        case .perSecond(let name): "\(Int(figure.rounded())) \(name)/s"
        }
    }
}
