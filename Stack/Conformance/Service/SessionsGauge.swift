/// The gauge that tells how many streams have not got the newest checkpoint yet (service 10.3).
package enum SessionsGauge {
    private static let name = "powersync_sessions_behind"

    /// Finds the gauge in the Prometheus text format.
    ///
    /// - Parameter metrics: the page.
    /// - Returns: its value; nil if it is not there.
    package static func value(in metrics: String) -> Double? {
        for line in metrics.split(separator: "\n") where line.hasPrefix(name) {
            let rest = line.dropFirst(name.count)
            // Another name may begin the same.
            guard rest.first == " " || rest.first == "{" else { continue }
            let value = rest.split(separator: "}").last?.split(separator: " ").first
            if let value = value.flatMap({ Double($0) }) { return value }
        }
        return nil
    }
}
