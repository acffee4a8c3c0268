/// A page of metrics in the text format of Prometheus, version 0.0.4.
struct PrometheusPage: Sendable {
    /// The media type of the page.
    static let type = "text/plain; version=0.0.4; charset=utf-8"
    /// What every name begins with (backend 8.4).
    private static let prefix = "psb_"

    /// The page as it was written so far.
    private(set) var text = ""

    /// Writes a metric that only rises; nothing where there is no series.
    mutating func counter(_ name: String, _ labels: [String], _ help: String, _ series: [[String]: Int]) {
        guard !series.isEmpty else { return }
        head(name, "counter", help)
        for (values, count) in series.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            line(name, zip(labels, values).map { ($0, $1) }, String(count))
        }
    }

    /// Writes a state of the moment.
    mutating func gauge(_ name: String, _ help: String, _ samples: [([(String, String)], String)]) {
        head(name, "gauge", help)
        for (labels, value) in samples { line(name, labels, value) }
    }

    /// Writes the distribution of what was measured; nothing where nothing was.
    mutating func histogram(
        _ name: String, _ labels: [String], bounds: [Double], _ help: String,
        _ series: [[String]: BackendMetrics.Distribution]
    ) {
        guard !series.isEmpty else { return }
        head(name, "histogram", help)
        for (values, measured) in series.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            let own = zip(labels, values).map { ($0, $1) }
            var total = 0
            for (bound, count) in zip(bounds.map { "\($0)" } + ["+Inf"], measured.counts) {
                total += count
                line(name + "_bucket", own + [("le", bound)], String(total))
            }
            line(name + "_sum", own, "\(measured.sum)")
            line(name + "_count", own, String(total))
        }
    }

    private mutating func head(_ name: String, _ type: String, _ help: String) {
        text += "# HELP \(Self.prefix)\(name) \(help)\n# TYPE \(Self.prefix)\(name) \(type)\n"
    }

    private mutating func line(_ name: String, _ labels: [(String, String)], _ value: String) {
        let written = labels.map { "\($0.0)=\"\(Self.escaped($0.1))\"" }.joined(separator: ",")
        text += Self.prefix + name + (labels.isEmpty ? "" : "{\(written)}") + " \(value)\n"
    }

    /// A value as the format spells it: names of tables may be anything.
    private static func escaped(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}
