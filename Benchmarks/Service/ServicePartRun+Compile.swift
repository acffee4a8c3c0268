import PowerSyncSyncRules

extension ServicePartRun {
    /// How often one figure is measured; it is the median of these.
    private static let compilations = 20

    /// Compiles the configuration in this process, as `deploy` and `validate-config` do.
    func compile() throws -> [BenchmarkReport.Row] {
        let text = LanguageConfiguration.text
        var times = MeasuredPairs(.seconds)
        for pair in 1...pairs {
            var seconds: [Double] = []
            for _ in 0..<Self.compilations {
                let start = ContinuousClock.now
                let config = SyncConfig.compile(text)
                seconds.append((ContinuousClock.now - start) / .seconds(1))
                guard config.plan != nil else {
                    let message = config.diagnostics.all.first { $0.severity == .fatal }?.message ?? ""
                    throw BenchmarkError("the configuration has an error: \(message)")
                }
            }
            times.add(MeasuredPairs.median(seconds))
            progress(pair, times.last)
        }
        let size = "\(text.utf8.count / 1000) KB and \(LanguageConfiguration.queries) queries"
        return [times.row("compile a configuration of \(size)", goal: "≤ 20 ms")]
    }
}
