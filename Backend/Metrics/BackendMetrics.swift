import PowerSyncSystem

/// What a backend counts and measures for whoever watches it (backend 8.4).
///
/// A label is one of a list that is known beforehand: routes, tables of the map, codes, states. What is none of them counts as
/// `other`, and so does everything beyond the most series of a metric: nobody can fill memory by what is sent.
package final class BackendMetrics: Sendable {
    /// A metric that only rises, or the distribution of what was measured.
    package struct Name: Sendable, Hashable {
        /// Its name, without the prefix of all.
        let text: String
        /// The names of its labels.
        let labels: [String]
        /// The upper bounds of a distribution; none for what is counted.
        let bounds: [Double]
        /// What it is, in one sentence.
        let help: String

        fileprivate init(_ text: String, _ labels: [String] = [], bounds: [Double] = [], help: String) {
            self.text = text
            self.labels = labels
            self.bounds = bounds
            self.help = help
        }

        static let requests = Name(
            "http_requests_total", ["route", "method", "status"], help: "Requests that were answered.")
        static let requestSeconds = Name(
            "http_request_seconds", ["route"], bounds: seconds, help: "How long answering a request took.")
        static let bodyBytes = Name(
            "http_body_bytes", bounds: [1_024, 16_384, 262_144, 1_048_576, 4_194_304, 16_777_216],
            help: "The bodies of uploads, in bytes.")
        static let transactions = Name(
            "upload_transactions_total", ["result"], help: "Transactions by what became of them.")
        static let operations = Name(
            "upload_ops_total", ["table", "op", "status"], help: "Operations by what became of them.")
        static let rejections = Name(
            "upload_rejections_total", ["code", "table"], help: "Transactions that were refused for good.")
        static let replays = Name("upload_replays_total", help: "Transactions that were known already.")
        static let keyReuses = Name(
            "ledger_key_reuse_total", help: "Operations under a number that another one had.")
        static let paths = Name(
            "upload_path_total", ["path"],
            help: "Transactions that needed one round trip (fast), and others (slow).")
        static let acquireSeconds = Name(
            "db_acquire_seconds", bounds: seconds, help: "How long an upload waited for a connection.")
        static let transactionSeconds = Name(
            "db_tx_seconds", bounds: seconds,
            help: "How long the database took for the transaction of an upload.")
        static let retries = Name(
            "db_retries_total", ["sqlstate"],
            help: "Failures after which a transaction is tried again at once.")
        static let errors = Name("db_errors_total", ["class"], help: "Failures by what is done about them.")
        static let tokens = Name(
            "tokens_minted_total", ["result"], help: "Questions for a token by their answer.")
        static let keySets = Name("jwks_requests_total", help: "Questions for the public keys.")
        static let authFailures = Name(
            "auth_failures_total", ["reason"], help: "Requests that were refused for whom they are from.")

        private static let seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

        /// Every one of them, in the order of the page.
        static let all = [
            requests, requestSeconds, bodyBytes, transactions, operations, rejections, replays, keyReuses,
            paths,
            acquireSeconds, transactionSeconds, retries, errors, tokens, keySets, authFailures,
        ]
    }

    /// What was measured, by the bounds that it is not above.
    struct Distribution: Sendable {
        /// One more than there are bounds: the last one has no bound.
        var counts: [Int]
        var sum = 0.0
    }

    private struct State {
        var counters: [Name: [[String]: Int]] = [:]
        var distributions: [Name: [[String]: Distribution]] = [:]
    }

    /// The most series of a metric.
    static let mostSeries = 1_000
    /// The label of what is in no list.
    static let other = "other"

    private let state = Lock(State())

    /// Makes metrics of which nothing was counted.
    package init() {}

    /// Counts.
    ///
    /// - Parameters:
    ///   - name: what.
    ///   - labels: its labels, in their order.
    ///   - count: how many.
    func count(_ name: Name, _ labels: [String] = [], by count: Int = 1) {
        precondition(labels.count == name.labels.count, "\(name.text) has \(name.labels.count) labels")
        state.withLock { state in
            let key = Self.key(
                labels, isKnown: state.counters[name]?[labels] != nil, state.counters[name]?.count)
            state.counters[name, default: [:]][key, default: 0] += count
        }
    }

    /// Takes a measured value.
    ///
    /// - Parameters:
    ///   - value: the value.
    ///   - name: of what.
    ///   - labels: its labels, in their order.
    func measure(_ value: Double, of name: Name, _ labels: [String] = []) {
        precondition(labels.count == name.labels.count, "\(name.text) has \(name.labels.count) labels")
        let place = name.bounds.firstIndex { value <= $0 } ?? name.bounds.count
        let empty = Distribution(counts: Array(repeating: 0, count: name.bounds.count + 1))
        state.withLock { state in
            let known = state.distributions[name]
            let key = Self.key(labels, isKnown: known?[labels] != nil, known?.count)
            state.distributions[name, default: [:]][key, default: empty].counts[place] += 1
            state.distributions[name, default: [:]][key, default: empty].sum += value
        }
    }

    private static func key(_ labels: [String], isKnown: Bool, _ count: Int?) -> [String] {
        isKnown || (count ?? 0) < mostSeries ? labels : labels.map { _ in other }
    }

    /// Writes everything.
    ///
    /// - Parameter page: gets it.
    func write(to page: inout PrometheusPage) {
        let state = state.withLock { $0 }
        for name in Name.all {
            if name.bounds.isEmpty {
                var series = state.counters[name] ?? [:]
                // What has no labels is there from the beginning: its first rise is seen.
                if name.labels.isEmpty, series.isEmpty { series[[]] = 0 }
                page.counter(name.text, name.labels, name.help, series)
            } else {
                page.histogram(
                    name.text, name.labels, bounds: name.bounds, name.help, state.distributions[name] ?? [:])
            }
        }
    }
}

extension Duration {
    /// Seconds, for a measure.
    var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
