/// One line of the tables of `stack` and `faults`: some work, and the figure of each run.
struct FigureRow {
    /// What a figure counts.
    enum Unit {
        case seconds, megabytes
    }

    /// What is done.
    let work: String
    /// What is aimed at; empty for what is only reported.
    let goal: String
    var unit = Unit.seconds
    /// What the runs have measured, in their order; nil for a run that has failed.
    let figures: [Double?]
    /// The same with a server that repeats recorded bytes in place of the service; empty where that was not measured.
    var canned: [Double?] = []
    /// How many parts of the stack have died; nil where nobody looks.
    var deaths: Int?

    /// Returns a table of such lines, with the columns that at least one of them needs.
    ///
    /// A run that has failed counts as slower than all others.
    static func table(_ rows: [FigureRow]) -> String {
        var head = ["work", "goal", "median", "worst", "each run"]
        let hasCanned = rows.contains { !$0.canned.isEmpty }
        let hasDeaths = rows.contains { $0.deaths != nil }
        if hasCanned { head.append("canned server: median (each run)") }
        if hasDeaths { head.append("parts that died") }
        return BenchmarkReport.table(
            head,
            rows.map { row in
                var cells = [
                    row.work, row.goal, row.median(of: row.figures), row.worst, row.list(row.figures),
                ]
                if hasCanned {
                    cells.append(
                        row.canned.isEmpty ? "" : "\(row.median(of: row.canned)) (\(row.list(row.canned)))")
                }
                if hasDeaths { cells.append(row.deaths.map { String($0) } ?? "") }
                return cells
            })
    }

    private func median(of figures: [Double?]) -> String {
        let sorted = Self.sorted(figures)
        return sorted.isEmpty ? "" : text(sorted[sorted.count / 2])
    }

    private var worst: String { Self.sorted(figures).last.map(text) ?? "" }

    private func list(_ figures: [Double?]) -> String {
        figures.map { text($0 ?? .infinity) }.joined(separator: ", ")
    }

    private static func sorted(_ figures: [Double?]) -> [Double] { figures.map { $0 ?? .infinity }.sorted() }

    private func text(_ figure: Double) -> String {
        guard figure.isFinite else { return "failed" }
        switch unit {
        case .seconds: return PairedTimes.text(.seconds(figure))
        case .megabytes: return "\(Int(figure.rounded())) MB"
        }
    }
}
